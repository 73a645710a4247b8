// Tests a payment whose charges are reported by a connector of real rails, in order and out of order.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PayerState, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  type Created,
  detailsOf,
  eventTypes,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  receiver,
  sharedMesh,
  unique,
} from '../harness.ts'
import { open } from '../payments/browser.ts'
import { internalTeam, refusalOf } from './grpc.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const team = internalTeam(mesh)
const { PROCESSING, PAID, REFUSED } = ChargeOutcome
let projectId: string

beforeAll(async () => {
  projectId = await team.projectId(mesh.sandbox.projects.demo.subscription_key)
})
afterAll(() => team.close())

/** Reports on the only payer of a payment. */
async function reporter({ id }: Created) {
  const payment = await team.getPayment(projectId, id)
  const chargeId = payment?.payers[0]?.payerId ?? ''
  return async (outcome: ChargeOutcome, attemptId: string, method?: PaymentMethod) => {
    const answer = await team.chargeReports.reportCharge({
      chargeId,
      attemptId,
      outcome,
      ...(method !== undefined && { paymentMethod: method }),
    })
    return answer.payerState
  }
}

function moneyOf({ id }: Created): Promise<Json[]> {
  return mesh.rows(
    `select kind, count(*)::int from payments.settlement
     where payment_id = $1 and kind::text ~ 'receipt|refund' group by kind order by kind`,
    [id],
  )
}

describe('a share', { concurrent: true }, () => {
  it('a share is Processing while its payer pays, and cannot be cancelled meanwhile', async () => {
    const created = await shop.create(order({ payers: [payer(20)] }))
    const report = await reporter(created)
    const attempt = unique('attempt')
    expect(await report(PROCESSING, attempt)).toBe(PayerState.PROCESSING)
    const paying = await shop.status(created.id)
    expect(paying.body).toMatchObject({
      transaction_request: { status: 'processing' },
      payment_details: { status: 'Pending', payments_status: { paid: '0.00 TTD' } },
      payers: [{ status: 'Processing' }],
    })
    expect((await open(created.urls[0] ?? '')).html).toMatch(/process/i)
    expect((await shop.cancel(created.id)).body['errorCode']).toBe('PAYMENT_NOT_CANCELLABLE')
    expect(await report(REFUSED, attempt)).toBe(PayerState.PENDING)
    expect((await shop.status(created.id)).body).toMatchObject({
      transaction_request: { status: 'pending' },
      payers: [{ status: 'Pending' }],
    })
    expect((await shop.cancel(created.id)).status).toBe(200)
  })

  it('a share is paid once, however often that is reported', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(20)], urls: inbox.urls }))
    const report = await reporter(created)
    const attempt = unique('attempt')
    const reports = [PROCESSING, ...Array.from({ length: 10 }, () => PAID), PROCESSING]
    await Promise.all(reports.map((outcome) => report(outcome, attempt, PaymentMethod.CARD)))
    await shop.stateIs(created.id, 'paid')
    expect(await moneyOf(created)).toEqual([{ kind: 'payer_receipt', count: 1 }])
    const notifies = await inbox.awaitNotifies(['payment_completed', 'payout_completed'])
    expect(notifies.find(({ event_type }) => event_type === 'payment_completed')).toMatchObject({
      payer: { payment_method: 'card' },
    })
    const completed = eventTypes(await inbox.notifies()).filter((it) => it === 'payment_completed')
    expect(completed).toHaveLength(1)
  })

  it('a share paid twice by mistake stays paid, and the second payment is returned', async () => {
    const created = await shop.create(order({ payers: [payer(20)] }))
    const report = await reporter(created)
    await report(PAID, unique('attempt'))
    await report(PAID, unique('attempt'))
    const after = await shop.status(created.id)
    expect(detailsOf(after)).toMatchObject({
      status: 'paid',
      payments_status: { paid: '100.00 TTD', remaining: '0.00 TTD' },
    })
    expect(await moneyOf(created)).toEqual([
      { kind: 'payer_receipt', count: 1 },
      { kind: 'duplicate_receipt', count: 1 },
      { kind: 'refund', count: 1 },
    ])
  })

  it('a share that has ended is not changed by later reports', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(20)], urls: inbox.urls }))
    const report = await reporter(created)
    await shop.cancel(created.id)
    expect(await report(PROCESSING, 'one')).toBe(PayerState.CANCELLED)
    expect(await report(REFUSED, 'one')).toBe(PayerState.CANCELLED)
    expect(await report(PAID, 'two')).toBe(PayerState.REFUNDED)
    expect(await report(PAID, 'two')).toBe(PayerState.REFUNDED)
    const after = await shop.status(created.id)
    expect(detailsOf(after)['status']).toBe('Cancelled')
    expect(payerStatesOf(after)).toEqual(['Refunded'])
    expect(await moneyOf(created)).toEqual([
      { kind: 'late_receipt', count: 1 },
      { kind: 'refund', count: 1 },
    ])
    await inbox.awaitNotifies(['payment_cancelled', 'payment_refunded'])
    expect(await inbox.calledBack(2)).toMatchObject([
      { status: 'Cancelled', sequence: 1 },
      { status: 'Cancelled', sequence: 2 },
    ])
  })

  it('a share that was never announced is not found', async () => {
    const refusal = await refusalOf(
      team.chargeReports.reportCharge({
        chargeId: crypto.randomUUID(),
        attemptId: 'one',
        outcome: PAID,
      }),
    )
    expect(refusal.status).toBe('NOT_FOUND')
    expect(refusal.domain).toBe('payweave')
  })
})
