// Statements on administrative requests with an idempotency key of the caller.
import { type Queryable, sql } from '#platform/db/db.ts'

/** A request that was done, and what it made. */
export type DoneRequest = { fingerprint: Buffer; targetId: string; keyId: string }

const claimStatement = sql(
  'access_request_claim',
  `insert into access_request (request_id, fingerprint) values ($1, $2)
   on conflict (request_id) do nothing`,
)

const readStatement = sql(
  'access_request_read',
  `select fingerprint, target_id as "targetId", key_id as "keyId" from access_request
   where request_id = $1`,
)

/**
 * Claims a request id for this transaction; answers the request that has used it before. Waits for a transaction
 * that is using it now.
 */
export async function claimRequest(
  tx: Queryable,
  requestId: string,
  fingerprint: Buffer,
): Promise<DoneRequest | undefined> {
  if ((await tx.run(claimStatement, [requestId, fingerprint])) === 1) return undefined
  const done = await tx.row<DoneRequest>(readStatement, [requestId])
  if (done === undefined) throw new Error('a request id that is taken is not there')
  return done
}

const recordStatement = sql(
  'access_request_note',
  'update access_request set target_id = $2, key_id = $3 where request_id = $1',
)

/** Records what a claimed request made. */
export async function recordRequest(
  tx: Queryable,
  requestId: string,
  made: { targetId: string; keyId: string },
): Promise<void> {
  await tx.run(recordStatement, [requestId, made.targetId, made.keyId])
}
