// Statements on what is asked of MTN.
import { type Queryable, sql } from '#platform/db/db.ts'

/** A request as it is stored. */
export type StoredRequest = {
  reference: string
  sentAgeMs: number | null
  isAccepted: boolean
  refusal: string | null
}

const columns = `reference, accepted_at is not null as "isAccepted", refusal,
     (extract(epoch from clock_now() - sent_at) * 1000)::float8 as "sentAgeMs"`

const findRequestStatement = sql(
  'find_request',
  `with made as (
     insert into request (subject) values ($1) on conflict (subject) do nothing
     returning reference, sent_at, accepted_at, refusal
   )
   select ${columns} from made union all select ${columns} from request where subject = $1`,
)
/** Finds the request of an attempt or credit, which gets its reference when it is first looked for. */
export async function findRequest(db: Queryable, subject: string): Promise<StoredRequest> {
  const row = await db.row<StoredRequest>(findRequestStatement, [subject])
  // Another worker is storing it: this work is tried again.
  if (row === undefined) throw new Error('the request is being stored')
  return row
}

const recordSentStatement = sql(
  'record_sent',
  `update request set sent_at = clock_now() where subject = $1`,
)
/** Records that the request is about to be sent: from now on MTN may have it. */
export async function recordSent(db: Queryable, subject: string): Promise<void> {
  await db.run(recordSentStatement, [subject])
}

const recordAcceptedStatement = sql(
  'record_accepted',
  `update request set accepted_at = coalesce(accepted_at, clock_now())
   where subject = $1 and reference = $2`,
)
/** Records that MTN has the request, unless it has been renewed. */
export async function recordAccepted(
  db: Queryable,
  subject: string,
  reference: string,
): Promise<void> {
  await db.run(recordAcceptedStatement, [subject, reference])
}

const recordRefusedStatement = sql(
  'record_refused',
  `update request set refusal = $3 where subject = $1 and reference = $2`,
)
/** Records the code with which MTN has refused a call, after another that had no answer, unless the request has been renewed. */
export async function recordRefused(
  db: Queryable,
  subject: string,
  { reference, code }: { reference: string; code: string },
): Promise<void> {
  await db.run(recordRefusedStatement, [subject, reference, code])
}

const renewRequestStatement = sql(
  'renew_request',
  `update request set reference = default, sent_at = null, accepted_at = null, refusal = null
   where subject = $1`,
)
/** Makes a new request, with a reference of its own, of one that has failed. */
export async function renewRequest(db: Queryable, subject: string): Promise<void> {
  await db.run(renewRequestStatement, [subject])
}
