// Statements of the measurement of lists: a push about each payment of the past, all delivered.
import { endpointId } from '../../../services/delivery/domain/delivery.ts'
import { withoutIndexes } from './bulk-load-store.ts'
import { onDatabase } from './on-database.ts'

/** The type of the event that each push is about. */
export const pushEventType = 'payment_expired'
const origin = 'https://shop.example'

/** Inserts the pushes. No service may run meanwhile: the table has no indexes until its rows are there. */
export async function loadPushes(databaseUrl: string): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query('set search_path = delivery')
    const { rows } = await client.query<{ projectId: string }>(
      'select project_id as "projectId" from payments.payment limit 1',
    )
    const projectId = rows[0]?.projectId ?? ''
    const lane = endpointId(projectId, origin, 'callback')
    await client.query(
      `insert into endpoint (
         endpoint_id, project_id, origin, hostname, lane_kind, ready_at, window_started_at, created_at
       ) values ($1, $2, $3, $4, 'callback', now(), now(), now())`,
      [lane, projectId, origin, new URL(origin).hostname],
    )
    await withoutIndexes(client, 'delivery', () =>
      client.query(
        `insert into delivery (
           delivery_id, project_id, merchant_id, endpoint_id, event_id, event_type, kind, subject_id,
           url, body, state, attempts, occurred_at, created_at, ended_at
         )
         select uuidv7(create_time - now()), project_id, merchant_id, $1, uuidv7(create_time - now()),
           $2, 'callback', payment_id::text, $3 || '/pushes', convert_to(repeat('x', 600), 'UTF8'),
           'delivered', 1, create_time, create_time, create_time
         from payments.payment order by create_time`,
        [lane, pushEventType, origin],
      ),
    )
    await client.query('checkpoint')
  })
}

/** A payment from the middle of the past. */
export async function samplePayment(
  databaseUrl: string,
): Promise<{ paymentId: string; transactionId: string }> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ paymentId: string; transactionId: string }>(
      `select payment_id as "paymentId", transaction_id as "transactionId" from payments.payment
       where transaction_id like 'past-%'
       order by create_time offset (select count(*) / 2 from payments.payment) limit 1`,
    )
    const [found] = rows
    if (found === undefined) throw new Error('there are no payments of the past')
    return found
  })
}
