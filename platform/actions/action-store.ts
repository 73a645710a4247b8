// Statements on the audit of actions: who had the service ask a back end again, send a call once more, or settle a refund.
import { newId } from '#core/identity/id.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'

/** What was done, and what it was about. */
export type NewAction = { action: string; target: string; note?: string }

const insertStatement = sql(
  'action_insert',
  `insert into action_audit (action_id, caller, request_id, action, target, note)
   values ($1, $2, $3, $4, $5, $6)`,
)

/** Writes an action of the current caller, in the transaction that does it. Rejects as a Queryable does. */
export async function recordAction(
  tx: Queryable,
  { action, target, note = '' }: NewAction,
): Promise<void> {
  const context = currentContext()
  const who = [auditName(context?.caller), context?.requestId ?? null]
  await tx.run(insertStatement, [newId(), ...who, action, target, note])
}

/** An action as it is read. */
export type StoredAction = Required<NewAction> & {
  actionId: string
  actionTime: Date
  caller: string
  requestId: string | null
}

/** Which actions: of a caller, about a thing; empty for any. */
export type ActionFilter = { caller: string; target: string }

const listStatement = sql(
  'action_list',
  `select action_id as "actionId", action_time as "actionTime", caller, request_id as "requestId", action,
     target, note
   from action_audit
   where ($1 = '' or caller = $1) and ($2 = '' or target = $2) and ($3::uuid is null or action_id < $3)
   order by action_id desc limit $4`,
)

/** Actions behind one, newest first. Locks nothing. Rejects as a Queryable does. */
export function listActions(
  db: Queryable,
  { caller, target }: ActionFilter,
  afterId: string | undefined,
  limit: number,
): Promise<StoredAction[]> {
  return db.rows(listStatement, [caller, target, afterId ?? null, limit])
}
