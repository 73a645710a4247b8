// Refunds by internal call, and the money of payees.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PayerState, PaymentState, PayoutState } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  detailsOf,
  eventTypes,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  receiver,
  sharedMesh,
} from '../harness.ts'
import { internalTeam } from '../tools/grpc.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const team = internalTeam(mesh)
let projectId: string

beforeAll(async () => {
  projectId = await team.projectId(mesh.sandbox.projects.demo.subscription_key)
})
afterAll(() => team.close())

function settlements(paymentId: string): Promise<{ kind: string; amount_minor: string }[]> {
  return mesh.rows(
    `select kind, amount_minor from payments.settlement
     where payment_id = $1 and kind::text in ('payer_receipt', 'refund') order by kind`,
    [paymentId],
  )
}

describe('a refund', { concurrent: true }, () => {
  it('a refund returns the money of a paid request, once, and notifies the merchant', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(
      order({ payers: [payer(1)], fees: { pays_fees: 1 }, urls: inbox.urls }),
    )
    await shop.stateIs(created.id, 'paid')
    const refunds = await Promise.all(
      Array.from({ length: 5 }, () => team.refund(projectId, created.id)),
    )
    for (const payment of refunds) {
      expect(payment).toMatchObject({
        state: PaymentState.REFUNDED,
        payers: [{ state: PayerState.REFUNDED }],
      })
    }
    const refunded = await shop.stateIs(created.id, 'Refunded')
    expect((refunded.body['transaction_request'] as Json)['status']).toBe('refunded')
    expect(payerStatesOf(refunded)).toEqual(['Refunded'])
    const notifies = await inbox.awaitNotifies(['payment_refunded'])
    expect(notifies.find(({ event_type }) => event_type === 'payment_refunded')).toMatchObject({
      status: 'REFUNDED',
      payer: { mobile_number: person(1), amount: 100, currency: 'TTD' },
    })
    const callbacks = await inbox.calledBack(2)
    expect(callbacks).toMatchObject([
      { status: 'paid', sequence: 1, transaction_request: { status: 'succeeded' } },
      { status: 'Refunded', sequence: 2, transaction_request: { status: 'refunded' } },
    ])
    const { transaction_request, payment_details, payers } = refunded.body
    expect(callbacks[1]).toMatchObject({ transaction_request, payment_details, payers })
    // The payer paid the fee of 0.50 as well.
    expect(await settlements(created.id)).toEqual([
      { kind: 'payer_receipt', amount_minor: '10050' },
      { kind: 'refund', amount_minor: '10050' },
    ])
    const types = eventTypes(await inbox.notifies())
    expect(types.filter((type) => type === 'payment_refunded')).toHaveLength(1)
  })

  it('a refund reaches every payer', async () => {
    const inbox = receiver(mesh)
    const payers = [payer(1, { amount: '70.00' }), payer(1, { amount: '30.00' })]
    const created = await shop.create(order({ payers, urls: inbox.urls }))
    await shop.stateIs(created.id, 'paid')
    await team.refund(projectId, created.id)
    expect(payerStatesOf(await shop.status(created.id))).toEqual(['Refunded', 'Refunded'])
    expect(await settlements(created.id)).toHaveLength(4)
    await inbox.calledBack(2)
  })

  it('a refund keeps held money from the payees', async () => {
    const inbox = receiver(mesh)
    const payees = [{ mobile_number: '+12025550130', amount: '100.00', delay_days: 3 }]
    const created = await shop.create(order({ payers: [payer(1)], payees, urls: inbox.urls }))
    await shop.stateIs(created.id, 'paid')
    const payment = await team.refund(projectId, created.id)
    expect(payment?.payees).toMatchObject([{ payoutState: PayoutState.VOIDED }])
    await inbox.awaitNotifies(['payment_refunded'])
    expect(eventTypes(await inbox.notifies())).not.toContain('payout_completed')
  })
})

describe('payouts', { concurrent: true }, () => {
  it('payouts are sent at once without delay_days, and after that many days with them', async () => {
    const inbox = receiver(mesh)
    const payees = [
      { mobile_number: '+12025550130', amount: '50.00' },
      { mobile_number: '+12025550131', amount: '30.00', delay_days: 1 },
      { mobile_number: '+12025550132', amount: '20.00', delay_days: 90 },
    ]
    const created = await shop.create(order({ payers: [payer(1)], payees, urls: inbox.urls }))
    const paid = await shop.stateIs(created.id, 'paid')
    expect(detailsOf(paid)['payees']).toEqual(
      payees.map(({ mobile_number, amount, delay_days = 0 }) => ({
        mobile_number,
        amount,
        delay_days,
        fees_covered: 1,
        fee: '0.00',
      })),
    )
    const notifies = await inbox.awaitNotifies([
      ...payees.map(() => 'payout_scheduled'),
      'payout_completed',
    ])
    const of = (type: string) =>
      notifies
        .filter(({ event_type }) => event_type === type)
        .map(({ payee }) => (payee as Json)['mobile_number'])
    expect(of('payout_scheduled').toSorted()).toEqual(payees.map((one) => one.mobile_number))
    expect(of('payout_completed')).toEqual(['+12025550130'])
    const payment = await team.getPayment(projectId, created.id)
    expect(payment?.payees.map(({ payoutState }) => payoutState)).toEqual([
      PayoutState.COMPLETED,
      PayoutState.SCHEDULED,
      PayoutState.SCHEDULED,
    ])
    const [now = 0n, tomorrow = 0n, later = 0n] = (payment?.payees ?? []).map(
      ({ releaseTime }) => releaseTime?.seconds,
    )
    expect(tomorrow - now).toBe(86_400n)
    expect(later - now).toBe(90n * 86_400n)
  })

  it('payouts are held until every payer has paid', async () => {
    const inbox = receiver(mesh)
    const payers = [payer(1, { amount: '50.00' }), payer(20, { amount: '50.00' })]
    const payees = [
      { mobile_number: '+12025550130', amount: '60.00' },
      { mobile_number: '+12025550131', amount: '40.00', delay_days: 1 },
    ]
    const created = await shop.create(order({ payers, payees, urls: inbox.urls }))
    await shop.stateIs(created.id, 'Partially_paid')
    await inbox.awaitNotifies(['payment_completed'])
    const payment = await team.getPayment(projectId, created.id)
    expect(payment?.payees.map(({ payoutState }) => payoutState)).toEqual(
      payees.map(() => PayoutState.WAITING),
    )
  })
})
