// Statements that list pushes which were given up, over all projects. They lock nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { type DeliveryRow, shownColumns } from './read-store.ts'

/** States in which a push was given up. */
export const deadStates = ['exhausted', 'blocked', 'gone'] as const

/** One of them. */
export type DeadState = (typeof deadStates)[number]

/** Where a page begins: behind the push that ended then, in microseconds since 1970. */
export type DeadLetterCursor = { endedUs: bigint; deliveryId: string }

/** A push that was given up, with its cursor in the list. */
export type DeadLetterRow = DeliveryRow & DeadLetterCursor

/** An order of the list, with the bound of a page without a cursor. */
type Order = 'newest' | 'oldest'
const orders = {
  newest: { direction: 'desc', behind: '<', bound: 'infinity' },
  oldest: { direction: 'asc', behind: '>', bound: '-infinity' },
} as const

/** Each state is read by the partial index that holds it. */
const inState = (state: DeadState, order: Order) => {
  const { direction, behind, bound } = orders[order]
  const endedAt = `coalesce(timestamptz 'epoch' + $1::bigint * interval '1 microsecond', '${bound}')`
  return `(select ${shownColumns}, (extract(epoch from ended_at) * 1000000)::bigint as "endedUs"
    from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
    where state = '${state}' and (ended_at, d.delivery_id) ${behind} (${endedAt}, $2)
    order by ended_at ${direction}, d.delivery_id ${direction} limit $3)`
}

const statementsOf = (order: Order): Record<DeadState | 'any', Sql> => {
  const { direction } = orders[order]
  const ofState = (state: DeadState) =>
    sql(`dead_letter_list_${order}_${state}`, inState(state, order))
  return {
    exhausted: ofState('exhausted'),
    blocked: ofState('blocked'),
    gone: ofState('gone'),
    any: sql(
      `dead_letter_list_${order}`,
      `select * from (${deadStates.map((state) => inState(state, order)).join(' union all ')}) dead
       order by "endedUs" ${direction}, "deliveryId" ${direction} limit $3`,
    ),
  }
}

const listStatements = { newest: statementsOf('newest'), oldest: statementsOf('oldest') }

const outerIds = {
  newest: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  oldest: '00000000-0000-0000-0000-000000000000',
}

/** Pushes that were given up, the last or the first of them first, in one state or in any; `cursor`: behind this one. */
export function listDeadLetters(
  db: Queryable,
  state: DeadState | undefined,
  cursor: DeadLetterCursor | undefined,
  limit: number,
  order: Order = 'newest',
): Promise<DeadLetterRow[]> {
  const values = [cursor?.endedUs ?? null, cursor?.deliveryId ?? outerIds[order], limit]
  return db.rows(listStatements[order][state ?? 'any'], values)
}

const findStatement = sql(
  'dead_letter_find',
  `select ${shownColumns}, (extract(epoch from ended_at) * 1000000)::bigint as "endedUs"
   from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
   where d.delivery_id = $1 and state = any ($2::text[])`,
)

/** A push that was given up, in one state or in any; undefined for one that was not. */
export function findDeadLetter(
  db: Queryable,
  deliveryId: string,
  state: DeadState | undefined,
): Promise<DeadLetterRow | undefined> {
  return db.row(findStatement, [deliveryId, state === undefined ? deadStates : [state]])
}
