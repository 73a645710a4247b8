// What the test clock of a sandbox moves, and what it leaves in real time, as a client sees it.
import { expect } from 'vitest'
import { runHere } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import type { Mesh } from '../../support/mesh.ts'
import { callbackReceiver, newProfile } from '../accounts/account-client.ts'
import { detailsOf, type Json, merchant, order, payer, person, receiver } from '../harness.ts'
import { transferClient } from '../money/transfer-client.ts'

const dayMs = 86_400_000
const aheadMs = 2.5 * dayMs

/** Moves the clock of a system by two and a half days, and holds what happens against it. */
export async function movesBusinessTime(mesh: Mesh): Promise<void> {
  const shop = merchant(mesh)
  const demo = transferClient(mesh)
  const clock = (...words: string[]) => runHere(mesh.dataDir, 'sandbox', 'clock', ...words)
  const [inbox, broken] = [receiver(mesh), receiver(mesh, 'fail')]
  const open = await shop.create(order({ payers: [payer(8)], urls: inbox.urls }))
  const payees = [{ mobile_number: person(3), amount: '100.00', delay_days: 2 }]
  const paid = await shop.create(order({ payers: [payer(1)], payees, urls: inbox.urls }))
  await shop.stateIs(paid.id, 'paid')
  const token = await demo.session(0)
  const { body: quote } = await demo.quote(token, { credit_party: { currency: 'TTD' } })
  expect(await clock('show')).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('real time'),
  })
  // A push under way, whose retries are in seconds.
  const retried = await shop.create(order({ payers: [payer(8)], urls: broken.urls }))
  await eventually(
    () => broken.notifies(),
    (now) => expect(now.length).toBeGreaterThan(0),
  )

  const moved = await clock('advance', '2d12h')
  expect(moved).toMatchObject({ code: 0, err: '', out: expect.stringContaining('2d 12h ahead') })

  await shop.stateIs(open.id, 'Expired')
  await shop.stateIs(retried.id, 'Expired')
  const callbacks = await inbox.calledBack(2)
  const expired = callbacks.find(({ status }) => status === 'Expired')
  const expireMs = Date.parse(String(expired?.['timestamp']))
  expect(Math.abs(expireMs - Date.now() - aheadMs)).toBeLessThan(60_000)
  await inbox.awaitNotifies(['payment_expired', 'payout_scheduled', 'payout_completed'])
  const { body: late } = await demo.readQuote(quote['quote_id'], {}, '/institution/post')
  expect(late['quote_status']).toBe('expired')

  // What begins now has its whole time, and works as before. A token goes by real time, so this one has not expired.
  for (const session of [token, await demo.session(0)]) {
    const { body: fresh } = await demo.quote(session)
    expect(fresh['message']).toBe('Quote created successfully.')
  }
  const next = await shop.create(order({ payers: [payer(8)] }))
  const { timestamps } = detailsOf(await shop.status(next.id)) as { timestamps: Json }
  const times = ['created_time', 'expire_time'].map((name) => timeOf(timestamps[name]))
  const [createMs = 0, endMs = 0] = times
  expect(endMs - createMs).toBe(dayMs)
  expect(createMs).toBeGreaterThan(expireMs - 2_000)
  // The time in the signature of its callback is real.
  const account = callbackReceiver(mesh)
  const body = { ...newProfile(), ...account.asked }
  expect((await demo.call('POST', '/account/personal_account', { body })).status).toBe(200)
  const reported = await account.proved()
  expect(timeOf(reported['request_timestamp'])).toBeGreaterThan(expireMs - 2_000)

  expect(await mesh.rows(inTheFuture, [])).toEqual([])
  const wrong = await clock('advance', '2 days')
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('90s')])
}

/** Milliseconds since 1970 of a time as the API shows it. */
function timeOf(text: unknown): number {
  return Date.parse(`${String(text).replace(' ', 'T')}Z`)
}

/** Leases, retries and attempts of pushes, which are all near. */
const inTheFuture = `
  select next_time from payments.task where next_time > now() + interval '1 hour'
  union all select next_at from payments.outbox where next_at > now() + interval '1 hour'
  union all select next_enquiry_time from payments.attempt
    where next_enquiry_time > now() + interval '1 hour'
  union all select next_attempt_at from delivery.delivery
    where next_attempt_at > now() + interval '1 hour'
  union all select started_at from delivery.attempt where started_at > now() + interval '1 hour'`
