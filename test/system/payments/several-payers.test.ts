// Requests that several payers share, and payers who refuse.
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  detailsOf,
  distinct,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  receiver,
  sharedMesh,
} from '../harness.ts'
import { payByPin } from './browser.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

/** Notifies of one type, by the number that they are about. */
function about(notifies: Json[], type: string): unknown[] {
  const found = notifies
    .filter(({ event_type }) => event_type === type)
    .map(({ payer, payee }) => ((payer ?? payee) as Json)['mobile_number'] as string)
  return [...new Set(found)].toSorted()
}

/** When the first notify of a type came about. */
function timeOf(notifies: Json[], type: string): string {
  const found = notifies.filter(({ event_type }) => event_type === type)
  const [first = ''] = found.map(({ timestamp }) => String(timestamp)).toSorted()
  return first
}

describe('a request with several payers', { concurrent: true }, () => {
  it('a request with several payers is Partially_paid until every one has paid', async () => {
    const inbox = receiver(mesh)
    const payers = [payer(1, { amount: '60.00' }), payer(25, { amount: '40.00' })]
    const created = await shop.create(order({ payers, urls: inbox.urls }))
    expect(detailsOf(created.answer)['payers']).toEqual([
      { amount: '60.00', status: 'Pending', url: created.urls[0] },
      { amount: '40.00', status: 'Pending', url: created.urls[1] },
    ])
    expect(created.urls[0]).not.toBe(created.urls[1])
    const partial = await shop.stateIs(created.id, 'Partially_paid')
    expect(partial.body).toMatchObject({
      transaction_request: { status: 'processing' },
      payment_details: {
        payments_status: { paid: '60.00 TTD', remaining: '40.00 TTD' },
      },
    })
    expect(payerStatesOf(partial)).toEqual(['paid', 'Pending'])
    const early = await inbox.awaitNotifies([
      'payment_initiated',
      'payment_initiated',
      'payment_completed',
    ])
    expect(about(early, 'payment_initiated')).toEqual([person(1), person(25)])
    expect(about(early, 'payment_completed')).toEqual([person(1)])
    expect(about(early, 'payout_scheduled')).toEqual([])
    const refused = await shop.cancel(created.id)
    expect(refused.body).toMatchObject({ code: 409, errorCode: 'PAYMENT_NOT_CANCELLABLE' })

    await payByPin(created.urls[1] ?? '', '123456')
    const paid = await shop.stateIs(created.id, 'paid')
    expect(payerStatesOf(paid)).toEqual(['paid', 'paid'])
    expect(detailsOf(paid)['payments_status']).toMatchObject({
      paid: '100.00 TTD',
      remaining: '0.00 TTD',
    })
    const late = await inbox.awaitNotifies([
      'payment_completed',
      'payment_completed',
      'payout_completed',
    ])
    expect(about(late, 'payment_completed')).toEqual([person(1), person(25)])
    const callbacks = await inbox.calledBack(1)
    expect(callbacks).toMatchObject([{ status: 'paid', sequence: 1 }])
  })

  it('a request fails when one payer is refused five times, and the other payer is refunded', async () => {
    const inbox = receiver(mesh)
    const payers = [payer(1, { amount: '60.00' }), payer(2, { amount: '40.00' })]
    const created = await shop.create(order({ payers, urls: inbox.urls }))
    const failed = await shop.stateIs(created.id, 'Failed')
    expect((failed.body['transaction_request'] as Json)['status']).toBe('failed')
    await eventually(
      () => shop.status(created.id),
      (answer) => expect(payerStatesOf(answer)).toEqual(['Refunded', 'Failed']),
    )
    const notifies = await inbox.awaitNotifies([
      'payment_completed',
      'payment_failed',
      'payment_refunded',
    ])
    expect(about(notifies, 'payment_completed')).toEqual([person(1)])
    expect(timeOf(notifies, 'payment_completed') < timeOf(notifies, 'payment_failed')).toBe(true)
    expect(about(notifies, 'payment_failed')).toContain(person(2))
    expect(about(notifies, 'payment_refunded')).toEqual([person(1)])
    expect(about(notifies, 'payout_scheduled')).toEqual([])
    const callbacks = await inbox.calledBack(1)
    expect(callbacks[0]).toMatchObject({ status: 'Failed', sequence: 1 })
    expect(callbacks.at(-1)).toMatchObject({
      status: 'Failed',
      payers: [{ status: 'Refunded' }, { status: 'Failed' }],
    })
    const money = await mesh.rows<{ kind: string; amount_minor: string }>(
      `select kind, amount_minor from payments.settlement
       where payment_id = $1 and kind in ('payer_receipt', 'refund') order by kind`,
      [created.id],
    )
    expect(money).toEqual([
      { kind: 'payer_receipt', amount_minor: '6000' },
      { kind: 'refund', amount_minor: '6000' },
    ])
    expect((await shop.cancel(created.id)).status).toBe(409)
  })

  it('a request with several payers fails when its only payer has refused five times', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(2)], urls: inbox.urls }))
    const failed = await shop.stateIs(created.id, 'Failed')
    expect(failed.body).toMatchObject({
      transaction_request: { status: 'failed' },
      payment_details: { payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD' } },
      payers: [{ status: 'Failed' }],
    })
    const notifies = await inbox.awaitNotifies(['payment_failed', 'payment_initiated'])
    expect(notifies.map(({ event_type }) => event_type).toSorted()).toEqual([
      'payment_failed',
      'payment_initiated',
    ])
    const callbacks = await inbox.calledBack(1)
    expect(callbacks).toMatchObject([{ status: 'Failed', sequence: 1 }])
  })

  it('a request with several payers stays open while one payer still refuses', async () => {
    const created = await shop.create(order({ payers: [payer(2)] }))
    const { body } = await eventually(
      () => shop.status(created.id),
      (answer) => expect(detailsOf(answer)['status']).toBe('Failed'),
      20_000,
    )
    const attempts = await mesh.rows<{ refused_attempts: number }>(
      'select refused_attempts from payments.payer where payment_id = $1',
      [created.id],
    )
    expect(body['payers']).toMatchObject([{ status: 'Failed' }])
    expect(attempts).toEqual([{ refused_attempts: 5 }])
  })

  it('a request with several payers is paid by twenty payers at once, each notified once', async () => {
    const inbox = receiver(mesh)
    const payers = Array.from({ length: 20 }, (_, index) => payer(1, { amount: `${index + 1}.00` }))
    const created = await shop.create(order({ amount: '210.00', payers, urls: inbox.urls }))
    await shop.stateIs(created.id, 'paid', 25_000)
    const completed = Array.from({ length: 20 }, () => 'payment_completed')
    await inbox.awaitNotifies([...completed, 'payout_completed'], 25_000)
    const money = await mesh.rows(
      `select 1 from payments.settlement where payment_id = $1 and kind = 'payer_receipt'`,
      [created.id],
    )
    expect(money).toHaveLength(20)
    const callbacks = await inbox.calledBack(1)
    expect(callbacks).toMatchObject([{ status: 'paid', sequence: 1 }])
    expect(distinct(await inbox.callbacks())).toHaveLength(1)
  })
})
