// Statements of the delivery measurements, outside the measured part: inserts a backlog, and counts to compare.

import { endpointId } from '../../../services/delivery/domain/delivery.ts'
import { onDatabase } from '../store/on-database.ts'

const laneOf = (projectId: string, origin: string) => endpointId(projectId, origin, 'notify')

/** Inserts pushes to one receiver that have failed once and are all due, then vacuums and analyzes the tables. */
export async function loadRetries(
  databaseUrl: string,
  { projectId, origin, count }: { projectId: string; origin: string; count: number },
): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query('set search_path = delivery')
    await client.query(
      `insert into endpoint (
         endpoint_id, project_id, origin, hostname, lane_kind, ready_at, window_started_at, created_at
       ) values ($1, $2, $3, $4, 'notify', now(), now(), now())`,
      [laneOf(projectId, origin), projectId, origin, new URL(origin).hostname],
    )
    await client.query(
      `insert into delivery (
         delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state, attempts,
         failures, next_attempt_at, occurred_at, created_at
       )
       select gen_random_uuid(), $1, $2, gen_random_uuid(), 'notify', 'payment-' || n,
         $3 || '/retry/' || n, convert_to(repeat('x', 600), 'UTF8'), 'pending', 1, 1,
         now() - n * interval '1 millisecond', now() - interval '1 hour', now() - interval '1 hour'
       from generate_series(1, $4::integer) as n`,
      [projectId, laneOf(projectId, origin), origin, count],
    )
    await client.query('vacuum analyze delivery')
    await client.query('checkpoint')
  })
}

/** How many retries wait for a receiver. */
export async function countRetries(
  databaseUrl: string,
  { projectId, origin }: { projectId: string; origin: string },
): Promise<number> {
  return onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::integer as n from delivery.delivery
       where endpoint_id = $1 and state in ('pending', 'sending') and attempts > 0`,
      [laneOf(projectId, origin)],
    )
    return rows[0]?.n ?? 0
  })
}

/** Rows of what was delivered. */
export type DeliveredRows = { inbox: number; deliveries: number; attempts: number }

/** Counts them. */
export async function countDelivered(databaseUrl: string): Promise<DeliveredRows> {
  return onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<DeliveredRows>(
      `select (select count(*)::integer from delivery.inbox) as inbox,
         (select count(*)::integer from delivery.delivery where state = 'delivered') as deliveries,
         (select count(*)::integer from delivery.attempt where outcome = 'delivered') as attempts`,
    )
    const [row] = rows
    if (row === undefined) throw new Error('a count has no row')
    return row
  })
}
