// Statements that list pushes which were given up, over all projects. They lock nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { type DeliveryRow, shownColumns } from './read-store.ts'

/** States in which a push was given up. */
export const deadStates = ['exhausted', 'blocked', 'gone'] as const

/** One of them. */
export type DeadState = (typeof deadStates)[number]

/** Where a page begins: behind the push that ended then, in microseconds since 1970. */
export type DeadPlace = { endedUs: bigint; deliveryId: string }

/** A push that was given up, with its place in the list. */
export type DeadLetterRow = DeliveryRow & DeadPlace

// Without a place there is no upper bound.
const endedAt = `coalesce(timestamptz 'epoch' + $1::bigint * interval '1 microsecond', 'infinity')`

/** Each state is read by the partial index that holds it. */
const inState = (state: DeadState) =>
  `(select ${shownColumns}, (extract(epoch from ended_at) * 1000000)::bigint as "endedUs"
    from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
    where state = '${state}' and (ended_at, d.delivery_id) < (${endedAt}, $2)
    order by ended_at desc, d.delivery_id desc limit $3)`

const listStatements: Record<DeadState, Sql> = {
  exhausted: sql('dead_letter_list_exhausted', inState('exhausted')),
  blocked: sql('dead_letter_list_blocked', inState('blocked')),
  gone: sql('dead_letter_list_gone', inState('gone')),
}

const listAllStatement = sql(
  'dead_letter_list',
  `select * from (${deadStates.map(inState).join(' union all ')}) dead
   order by "endedUs" desc, "deliveryId" desc limit $3`,
)

const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Pushes that were given up, the last first, in one state or in any. */
export function listDeadLetters(
  db: Queryable,
  state: DeadState | undefined,
  before: DeadPlace | undefined,
  limit: number,
): Promise<DeadLetterRow[]> {
  const statement = state === undefined ? listAllStatement : listStatements[state]
  return db.rows(statement, [before?.endedUs ?? null, before?.deliveryId ?? lastUuid, limit])
}
