// Counts the rows of payments once all that was to be announced has been. It must not change any.
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import { type World } from './harness.ts'

const counts = sql(
  'test_counts',
  `select (select count(*) from payment) as payments, (select count(*) from payer) as payers,
     (select count(*) from payee) as payees, (select count(*) from outbox) as events,
     (select count(*) from task) as tasks,
     (select count(*) from task where done_time is null) as open`,
)

/** The rows there are. */
export async function rowCounts({ db }: World) {
  return await db.row<{ tasks: bigint; open: bigint }>(counts, [])
}

/** The rows there are once nothing is left to be announced: an announcement's row goes when it was made. */
export async function quietCounts(world: World) {
  return await eventually(async () => {
    const found = await rowCounts(world)
    return found?.open === 0n && found
  })
}
