// Writes and lists the audit: changes of the catalogue, and decisions about payments.
import { type Cursor, endCursor } from '#core/paging.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

const insertStatement = sql(
  'catalogue_audit_insert',
  `insert into catalogue_audit (caller, request_id, action, target, note)
   values ($1, $2, $3, $4, $5)`,
)

/** What is written about a change that a person made. */
export type AuditEntry = {
  caller: string
  requestId: string | undefined
  action: string
  target: string
  note?: string
}

/** Writes who changed what, in the change's transaction. */
export async function insertAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { caller, requestId, action, target, note = '' } = entry
  await tx.run(insertStatement, [caller, requestId ?? null, action, target, note])
}

/** An audit entry as it is read. */
export type ListedAuditEntry = Required<Omit<AuditEntry, 'requestId'>> & {
  requestId: string | null
  auditId: string
  /** When, in microseconds since 1970. */
  occurTimeUs: bigint
}

/** Which entries to list; undefined takes any. */
export type AuditFilter = {
  caller: string | undefined
  target: string | undefined
  /** First time, inclusive, in microseconds since 1970. */
  startUs: bigint | undefined
  /** End of the times, exclusive, in microseconds since 1970. */
  endUs: bigint | undefined
  /** Only entries before this cursor, whose number is microseconds since 1970. */
  before: Cursor | undefined
  limit: number
}

const instant = (micros: string) =>
  `timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond'`

/** A list reads the index of its most selective filter, whose name stands in front, from the cursor on. */
function listOf(name: string, first: string) {
  return sql(
    name,
    `select audit_id as "auditId", (extract(epoch from occurred_at) * 1000000)::bigint as "occurTimeUs",
       caller, request_id as "requestId", action, target, note
     from catalogue_audit
     where ${first} occurred_at >= coalesce(${instant('$3')}, '-infinity')
       and occurred_at < coalesce(${instant('$4')}, 'infinity')
       and (occurred_at, audit_id) < (${instant('$5')}, $6::uuid)
       and ($1::text is null or target = $1) and ($2::text is null or caller = $2)
     order by occurred_at desc, audit_id desc limit $7`,
  )
}

const listOfTarget = listOf('catalogue_audit_of_target', 'target = $1 and')
const listOfCaller = listOf('catalogue_audit_of_caller', 'caller = $2 and')
const listOfAll = listOf('catalogue_audit_list', '')

/** Audit entries, newest first. Locks nothing. */
export function listAudit(db: Queryable, filter: AuditFilter): Promise<ListedAuditEntry[]> {
  const { caller, target, startUs, endUs, before = endCursor, limit } = filter
  const ofCaller = caller === undefined ? listOfAll : listOfCaller
  return db.rows(target === undefined ? ofCaller : listOfTarget, [
    target ?? null,
    caller ?? null,
    startUs ?? null,
    endUs ?? null,
    before.at,
    before.id,
    limit,
  ])
}
