// The connectors of each run of payments, and the routes to them, which no run changes.
import type { Client } from 'pg'

/** Charges go to the first one, payouts to the second; what either certainly did not get goes to the other. */
export const connectorNames = ['first', 'second'] as const

/** Writes the routes. */
export async function insertRoutes(owner: Client): Promise<void> {
  const [first, second] = connectorNames
  await owner.query(
    `insert into payments.route (kind, project_id, currency, channel, method, connector, fallback_connector,
       changed_by, update_time)
     values ('charge', '', '', '', '', $1, $2, 'simulation', now()), ('payout', '', '', '', '', $2, $1, 'simulation', now())`,
    [first, second],
  )
}
