// Cancelling, and money that comes too late.
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  dateTimePattern,
  detailsOf,
  eventTypes,
  isoPattern,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  receiver,
  sharedMesh,
} from '../harness.ts'
import { expectRefused } from '../refusals/refusal.ts'
import { formOf, open, payByPin, submitPin } from './browser.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

describe('a cancelled request', { concurrent: true }, () => {
  it('a cancelled request is answered whole, and the same again on a repeat', async () => {
    const inbox = receiver(mesh)
    const transaction = order({
      payers: [payer(26, { payment_method: 'card' })],
      fees: { pays_fees: 1 },
      urls: inbox.urls,
    })
    const created = await shop.create(transaction)
    const answer = await shop.cancel(created.id)
    const time = expect.stringMatching(dateTimePattern)
    expect(answer.body).toEqual({
      status: 'success',
      code: 200,
      message: expect.stringMatching(/cancel/i),
      request_id: expect.any(String),
      timestamp: expect.stringMatching(isoPattern),
      observed_client_ip: expect.any(Object),
      payment_details: {
        id: created.id,
        transaction_id: transaction.id,
        amount: '100.00',
        currency: 'TTD',
        status: 'Cancelled',
        fraud_check_status: 'skipped',
        payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD', metadata: [] },
        fees: {
          total: '3.40',
          card_processing: '2.90',
          platform_processing: '0.50',
          agent_processing: '0.00',
          payer_pays: '3.40',
          payee_pays: '0.00',
          merchant_pays: '0.00',
          convenience: '0.00',
        },
        timestamps: { created_time: time, updated_time: time, expire_time: time },
        payers: [
          {
            mobile_number: person(26),
            amount: '100.00',
            payment_channel: 'payment_link',
            payment_method: 'card',
            fee: '3.40',
            tip: '0.00',
            tax: '0.00',
            convenience_fee: '0.00',
            status: 'Cancelled',
            expire_time: time,
            metadata: '',
            url: created.urls[0],
            expire_date_time: expect.stringMatching(isoPattern),
          },
        ],
        payees: [
          {
            mobile_number: expect.any(String),
            amount: '100.00',
            delay_days: 0,
            fees_covered: 1,
            fee: '0.00',
          },
        ],
      },
    })
    const [{ expire_time, expire_date_time }] = detailsOf(answer)['payers'] as [
      Record<string, string>,
    ]
    expect(expire_date_time?.slice(0, 19).replace('T', ' ')).toBe(expire_time)

    const again = await shop.cancel(created.id)
    expect(again.status).toBe(200)
    expect(detailsOf(again)).toEqual(detailsOf(answer))
    const status = await shop.status(created.id)
    expect(status.body).toMatchObject({
      transaction_request: { status: 'cancelled' },
      payment_details: { status: 'Cancelled' },
      payers: [{ status: 'Cancelled' }],
    })
    const notifies = await inbox.awaitNotifies(['payment_cancelled', 'payment_initiated'])
    const notice = notifies.find(({ event_type }) => event_type === 'payment_cancelled')
    expect(notice).toMatchObject({
      status: 'CANCELLED',
      payer: { mobile_number: person(26), amount: 100, currency: 'TTD' },
    })
    expect(eventTypes(await inbox.notifies())).toEqual(['payment_cancelled', 'payment_initiated'])
    const callbacks = await inbox.calledBack(1)
    const { transaction_request, payment_details, payers } = status.body
    expect(callbacks).toMatchObject([
      { status: 'Cancelled', sequence: 1, transaction_request, payment_details, payers },
    ])
  })

  it('a request that is cancelled many times at once is cancelled once', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ urls: inbox.urls }))
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.cancel(created.id)))
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(detailsOf(answer)).toEqual(detailsOf(answers[0] as (typeof answers)[0]))
    }
    await inbox.awaitNotifies(['payment_cancelled', 'payment_initiated'])
    expect(await inbox.calledBack(1)).toHaveLength(1)
    expect(eventTypes(await inbox.notifies())).toEqual(['payment_cancelled', 'payment_initiated'])
  })

  it('a cancelled request cannot be paid any more', async () => {
    const created = await shop.create(order({ payers: [payer(27)] }))
    const [url = ''] = created.urls
    const before = await open(url)
    await shop.cancel(created.id)
    const page = await open(url)
    expect(page.html).toMatch(/cancelled/i)
    expect(page.html).not.toContain('<form')
    expect(before.html).toContain('<form')
    expect(payerStatesOf(await shop.status(created.id))).toEqual(['Cancelled'])
  })

  it('a cancelled request stays cancelled when money comes late, and the money goes back once', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(12)], urls: inbox.urls }))
    expect(detailsOf(await shop.cancel(created.id))['status']).toBe('Cancelled')
    const after = await eventually(
      () => shop.status(created.id),
      (answer) => expect(payerStatesOf(answer)).toEqual(['Refunded']),
    )
    expect(after.body).toMatchObject({
      transaction_request: { status: 'cancelled' },
      payment_details: {
        status: 'Cancelled',
        payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD' },
      },
    })
    const notifies = await inbox.awaitNotifies(['payment_refunded'])
    expect(notifies.find(({ event_type }) => event_type === 'payment_refunded')).toMatchObject({
      status: 'REFUNDED',
      payer: { mobile_number: person(12), amount: 100 },
    })
    const callbacks = await inbox.calledBack(2)
    expect(callbacks).toMatchObject([
      { status: 'Cancelled', sequence: 1, payers: [{ status: 'Cancelled' }] },
      { status: 'Cancelled', sequence: 2, payers: [{ status: 'Refunded' }] },
    ])
    const money = await mesh.rows<{ kind: string; amount_minor: string }>(
      'select kind, amount_minor from payments.settlement where payment_id = $1 order by kind',
      [created.id],
    )
    expect(money).toEqual([
      { kind: 'late_receipt', amount_minor: '10000' },
      { kind: 'refund', amount_minor: '10000' },
    ])
    expect((await shop.cancel(created.id)).status).toBe(200)
  })

  it('a cancelled request is refused once the payer has paid', async () => {
    const created = await shop.create(order({ payers: [payer(28)] }))
    await payByPin(created.urls[0] ?? '', '123456')
    await shop.stateIs(created.id, 'paid')
    expectRefused(await shop.cancel(created.id), {
      status: 409,
      errorCode: 'PAYMENT_NOT_CANCELLABLE',
    })
    expect(detailsOf(await shop.status(created.id))['status']).toBe('paid')
  })

  it('when a cancellation and a payment race, the first one wins, and both sides agree on it', async () => {
    const races = Array.from({ length: 8 }, async () => {
      const created = await shop.create(order({ payers: [payer(29)] }))
      const form = formOf(await open(created.urls[0] ?? ''))
      const [, cancelled] = await Promise.all([
        submitPin(() => form, '123456'),
        shop.cancel(created.id),
      ])
      const settled = await eventually(
        () => shop.status(created.id),
        (answer) =>
          expect(['paid/paid', 'Cancelled/Cancelled', 'Cancelled/Refunded']).toContain(
            `${String(detailsOf(answer)['status'])}/${String(payerStatesOf(answer)[0])}`,
          ),
      )
      const state = detailsOf(settled)['status']
      expect(cancelled.status).toBe(state === 'Cancelled' ? 200 : 409)
      const money = await mesh.rows<Json>(
        `select kind from payments.settlement
         where payment_id = $1 and kind::text in ('payer_receipt', 'late_receipt')`,
        [created.id],
      )
      expect(money.length).toBeLessThanOrEqual(1)
    })
    await Promise.all(races)
  })
})
