// Lists of a merchant's payments and the history of one: what is in them, in which order, and for whom.

import { randomUUID } from 'node:crypto'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentEventType, PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import { type Sql, sql } from '#platform/db/db.ts'
import { listPayments } from '../../services/payments/store/list-store.ts'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const { PAID, REFUSED, PROCESSING } = ChargeOutcome

/** Makes payers like those of a payment, in payments that the merchant of a list does not have. */
const copyPayers = sql(
  'test_copy_payers',
  `insert into payer (payer_id, project_id, payment_id, position, mobile_number,
     mobile_number_e164, first_name, last_name, email, payment_channel, payment_method,
     amount_minor, fee_minor, state, expire_time, create_time)
   select gen_random_uuid(), project_id, gen_random_uuid(), position, mobile_number,
     mobile_number_e164, first_name, last_name, email, payment_channel, payment_method,
     amount_minor, fee_minor, state, expire_time, create_time + i * interval '1 millisecond'
   from payer, generate_series(1, $2::integer) as i
   where payment_id = $1`,
)

/** A merchant whose list is empty. */
function newMerchant(projectId = harness.projectId): string {
  const merchantId = randomUUID()
  harness.accounts.add(merchantId, { projectId, businessName: 'New Store' })
  return merchantId
}

type Filter = Omit<Parameters<Harness['payments']['listPayments']>[0], '$typeName'>

async function list(merchantId: string, more: Filter = {}) {
  const { projectId } = harness
  return await harness.payments.listPayments({ projectId, merchantId, ...more })
}

async function idsOf(merchantId: string, more: Filter = {}): Promise<string[]> {
  return (await list(merchantId, more)).payments.map(({ paymentId }) => paymentId)
}

/** All pages, as a client that goes on until there is no token. */
async function pagesOf(merchantId: string, more: Filter): Promise<string[][]> {
  const pages: string[][] = []
  let pageToken = ''
  do {
    const { payments, nextPageToken } = await list(merchantId, { ...more, pageToken })
    pages.push(payments.map(({ paymentId }) => paymentId))
    pageToken = nextPageToken
  } while (pageToken !== '')
  return pages
}

describe('the list of a merchant', () => {
  it('the list of a merchant has each payment as soon as it was answered, newest first', async () => {
    const merchantId = newMerchant()
    const made: string[] = []
    for (let index = 0; index < 5; index += 1) {
      made.unshift((await harness.create({ merchantId })).paymentId)
      // Payments of one millisecond have no order.
      harness.testClock.advance(1)
      expect(await idsOf(merchantId)).toEqual(made)
    }
    const [newest] = (await list(merchantId)).payments
    expect(newest).toMatchObject({
      amountMinor: 10_000n,
      paidMinor: 0n,
      currency: 'USD',
      state: PaymentState.PENDING,
    })
  })

  it('payments of a merchant are found by their amount in its currency, page after page, by their index', async () => {
    const merchantId = newMerchant()
    const made: string[] = []
    for (let index = 0; index < 3; index += 1) {
      made.unshift((await harness.create({ merchantId })).paymentId)
      harness.testClock.advance(1)
    }
    const amount = { amountMinor: 10_000n, currency: 'USD' }
    expect(await pagesOf(merchantId, { ...amount, pageSize: 2 })).toEqual([
      made.slice(0, 2),
      made.slice(2),
    ])
    expect(await idsOf(merchantId, { ...amount, currency: 'TTD' })).toEqual([])
    expect(await idsOf(merchantId, { ...amount, amountMinor: 9_999n })).toEqual([])
    expect(await idsOf(merchantId, { ...amount, state: PaymentState.PAID })).toEqual([])
    expect(await refusal(list(merchantId, { amountMinor: 1n }))).toBe('MISSING_PARAMETER currency')
    let plan = ''
    const explain = async ({ name, text }: Sql, values: unknown[]) => {
      const lines = await harness.db.rows<{ 'QUERY PLAN': string }>(
        sql(`explain_${name}`, `explain (generic_plan) ${text}`),
        values,
      )
      plan = lines.map((line) => line['QUERY PLAN']).join('\n')
      return []
    }
    const { projectId } = harness
    const before = { createTime: new Date(), paymentId: randomUUID() }
    const any = { transactionId: undefined, mobileNumberE164: undefined, state: undefined }
    const filter = { ...any, projectId, merchantId, startTime: undefined, before, limit: 25 }
    const asked = { ...harness.db, rows: explain }
    await listPayments(asked, { ...filter, amount: { minor: 1n, currency: 'USD' } })
    expect(plan).toContain('payment_of_amount')
  })

  it('the list of a merchant comes in pages that neither repeat nor miss a payment, in all states', async () => {
    const merchantId = newMerchant()
    const made = await Promise.all(
      Array.from({ length: 23 }, () => harness.create({ merchantId, payers: [payer()] })),
    )
    const paid = made.filter((_, index) => index % 3 === 0)
    for (const { payers } of paid) await harness.report(at(payers).payerId, PAID)
    const pages = await pagesOf(merchantId, { pageSize: 5 })
    expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 5, 3])
    expect(pages.flat()).toEqual(await idsOf(merchantId))
    expect(new Set(pages.flat())).toEqual(new Set(made.map(({ paymentId }) => paymentId)))
    const times = (await list(merchantId)).payments.map(({ createTime }) => createTime?.seconds)
    expect(times).toEqual(times.toSorted((one, other) => Number((other ?? 0n) - (one ?? 0n))))

    const ofState = await pagesOf(merchantId, { pageSize: 3, state: PaymentState.PAID })
    expect(new Set(ofState.flat())).toEqual(new Set(paid.map(({ paymentId }) => paymentId)))
    expect(await idsOf(merchantId, { state: PaymentState.CANCELLED })).toEqual([])
  })

  it('the list of a merchant is filtered by id, by number of any payer and by time of creation', async () => {
    const merchantId = newMerchant()
    const others = { mobileNumberE164: '+12025550177' }
    const first = await harness.create({ merchantId })
    harness.testClock.advance(10_000)
    const second = await harness.create({
      merchantId,
      payers: [payer(4_000n), payer(3_000n, others), payer(3_000n, others)],
    })
    const { transactionId } = second
    expect(await idsOf(merchantId, { transactionId })).toEqual([second.paymentId])
    expect(await idsOf(merchantId, { transactionId, ...others })).toEqual([second.paymentId])
    expect(await idsOf(merchantId, { transactionId, mobileNumberE164: '+12025550178' })).toEqual([])
    expect(await idsOf(merchantId, others)).toEqual([second.paymentId])
    expect(await idsOf(merchantId, { ...others, state: PaymentState.PAID })).toEqual([])
    expect(await pagesOf(merchantId, { mobileNumberE164: '+12025550100', pageSize: 1 })).toEqual([
      [second.paymentId],
      [first.paymentId],
    ])
    const startTime = second.createTime ?? timestampFromDate(new Date(0))
    for (const filter of [{}, { transactionId }, others]) {
      expect(await idsOf(merchantId, { ...filter, startTime })).toEqual([second.paymentId])
      expect(await idsOf(merchantId, { ...filter, endTime: startTime })).not.toContain(
        second.paymentId,
      )
    }
    const pageSize = 1
    const { nextPageToken: pageToken } = await list(merchantId, { pageSize })
    expect(await idsOf(merchantId, { pageToken, endTime: startTime })).toEqual([first.paymentId])
  })

  it('the list of a merchant shows the sum of the shares that are paid', async () => {
    const merchantId = newMerchant()
    const made = await harness.create({ merchantId, payers: [payer(4_000n), payer(6_000n)] })
    await harness.report(at(made.payers, 1).payerId, PAID)
    expect((await list(merchantId)).payments).toMatchObject([
      { paidMinor: 6_000n, state: PaymentState.PARTIALLY_PAID },
    ])
  })

  it('the list of a merchant holds nothing of other merchants or projects, with any filter', async () => {
    const made = await harness.create()
    const { transactionId, paymentId } = made
    const filters = [{}, { transactionId }, { mobileNumberE164: '+12025550100' }]
    for (const filter of filters) {
      expect(await idsOf(harness.merchantId, { ...filter, pageSize: 100 })).toContain(paymentId)
      expect(await idsOf(harness.otherMerchantId, filter)).toEqual([])
      expect(await idsOf(harness.merchantId, { ...filter, projectId: randomUUID() })).toEqual([])
    }
  })

  it('the list of a merchant finds a payment behind a thousand others of its payer, in bounded steps', async () => {
    const merchantId = newMerchant()
    const mobileNumberE164 = '+12025550166'
    const payers = [payer(5_000n, { mobileNumberE164 }), payer(5_000n, { mobileNumberE164 })]
    const { paymentId } = await harness.create({ merchantId, payers })
    await harness.db.run(copyPayers, [paymentId, 1_500])
    const pages = await pagesOf(merchantId, { mobileNumberE164, pageSize: 10 })
    expect(pages).toEqual([[], [], [], [paymentId]])
    // Where such a page ends is the place of another merchant's payment.
    const { nextPageToken } = await list(merchantId, { mobileNumberE164, pageSize: 10 })
    for (const encoding of ['base64', 'base64url'] as const) {
      expect(Buffer.from(nextPageToken, encoding).toString()).not.toMatch(/[0-9a-f]{8}-|\d{13}/)
    }
    const changed = Buffer.from(nextPageToken, 'base64')
    changed.writeUInt8(changed.readUInt8(20) ^ 1, 20)
    const forged = list(merchantId, { mobileNumberE164, pageToken: changed.toString('base64') })
    expect(await refusal(forged)).toBe('INVALID_PARAMETER page_token')
  })

  it('the list of a merchant refuses an invalid page token', async () => {
    const tokens = ['abc', Buffer.from('5 x').toString('base64url')]
    for (const pageToken of tokens) {
      expect(await refusal(list(harness.merchantId, { pageToken }))).toBe(
        'INVALID_PARAMETER page_token',
      )
    }
  })
})

async function historyOf(paymentId: string): Promise<string[]> {
  const { projectId, merchantId } = harness
  const { events } = await harness.payments.listPaymentEvents({ projectId, merchantId, paymentId })
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length)
  const times = events.map(({ time }) => (time === undefined ? 0 : timestampDate(time).getTime()))
  expect(times).toEqual(times.toSorted((one, other) => one - other))
  return events.map(({ type, party, amountMinor }) =>
    [PaymentEventType[type], party.value, amountMinor]
      .filter((part) => part !== undefined)
      .join(' '),
  )
}

const number = '202 555 0100'
const payeeNumber = '+12025550190'

describe('the history of a payment', () => {
  it('the history of a payment has its attempts, its states, its payouts and its refund', async () => {
    const made = await harness.create({
      amountMinor: 10_000n,
      payers: [payer(4_000n), payer(6_000n)],
      payees: [{ mobileNumberE164: payeeNumber, amountMinor: 10_000n, delayDays: 0 }],
    })
    const { paymentId, payers } = made
    expect(await historyOf(paymentId)).toEqual(['PAYMENT_CREATED 10000'])
    const [one, other] = payers.map(({ payerId }) => payerId) as [string, string]
    await harness.report(one, PROCESSING, 'a')
    const refused = { chargeId: one, attemptId: 'a', outcome: REFUSED }
    await harness.reports.reportCharge({ ...refused, refusalReason: RefusalReason.LIMIT_EXCEEDED })
    await harness.report(one, PAID, 'b')
    await harness.report(other, PAID, 'c')
    await harness.report(other, PAID, 'd')
    const payeeId = at(made.payees).payeeId
    await eventually(() => harness.backend.received.payouts.has(payeeId))
    await harness.reportPayout(payeeId, TransferOutcome.COMPLETED)
    const { projectId, merchantId } = harness
    await harness.payments.refundPayment({ projectId, merchantId, paymentId, reason: 'Sold out' })
    const refund = await eventually(() => harness.refundsOf(one)[0] ?? false)
    await harness.reports.reportRefund({
      refundId: refund.refundId,
      outcome: TransferOutcome.COMPLETED,
    })

    const history = await historyOf(paymentId)
    const feeMinor = (index: number) => at(payers, index).feeMinor
    expect(feeMinor(0)).toBe(0n)
    expect(history.slice(0, 11)).toEqual([
      'PAYMENT_CREATED 10000',
      `ATTEMPT_STARTED ${number} 4000`,
      `ATTEMPT_REFUSED ${number} 4000`,
      `ATTEMPT_SUCCEEDED ${number} 4000`,
      'PAYMENT_PARTIALLY_PAID 10000',
      `ATTEMPT_SUCCEEDED ${number} 6000`,
      'PAYMENT_PAID 10000',
      expect.stringMatching(`^PAYOUT_SCHEDULED \\${payeeNumber} `),
      expect.stringMatching(`^PAYOUT_SENT \\${payeeNumber} `),
      `UNEXPECTED_MONEY_RECEIVED ${number} 6000`,
      `REFUND_STARTED ${number} 6000`,
    ])
    expect(history.slice(11).map((entry) => entry.split(' ')[0])).toEqual([
      'PAYOUT_COMPLETED',
      'PAYMENT_REFUNDED',
      'REFUND_STARTED',
      'REFUND_STARTED',
      'REFUND_COMPLETED',
    ])
    const { events, currency } = await harness.payments.listPaymentEvents({
      projectId,
      merchantId,
      paymentId,
    })
    expect(currency).toBe('USD')
    const reasons = events.filter(({ reason }) => reason !== '')
    expect(reasons).toMatchObject([{ type: PaymentEventType.PAYMENT_REFUNDED, reason: 'Sold out' }])
    expect(events.filter(({ attemptId }) => attemptId === 'b')).toHaveLength(1)
    const refusals = events.filter(
      ({ refusalReason }) => refusalReason !== RefusalReason.UNSPECIFIED,
    )
    expect(refusals).toMatchObject([
      { type: PaymentEventType.ATTEMPT_REFUSED, refusalReason: RefusalReason.LIMIT_EXCEEDED },
    ])
  })

  it('the history of a payment keeps its ids while it grows', async () => {
    const { paymentId, payerId } = await harness.one()
    const { projectId, merchantId } = harness
    const key = { projectId, merchantId, paymentId }
    const before = (await harness.payments.listPaymentEvents(key)).events
    await harness.report(payerId, PAID)
    const after = (await harness.payments.listPaymentEvents(key)).events
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.length).toBeGreaterThan(before.length)
  })

  it('the history of a payment keeps an attempt that the back end turned out not to have', async () => {
    const { paymentId, payers } = await harness.create()
    const { payerId, linkToken } = at(payers)
    const { received, state } = harness.backend
    await eventually(() => received.charges.has(payerId))
    state.lacks.add('wallets')
    const call = harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await refusal(call)).toBe('UNSUPPORTED_CHANNEL_METHOD')
    state.lacks.clear()
    expect(await harness.stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
    const entries = ['PAYMENT_CREATED 10000', `ATTEMPT_STARTED ${number} 10000`]
    expect(await historyOf(paymentId)).toEqual(entries)
  })

  it('the history of a payment keeps the end of a refund whose money came back', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PAID)
    await harness.refund(paymentId)
    const { refundId } = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
    const { projectId, merchantId, reports } = harness
    const read = async () =>
      (await harness.payments.listPaymentEvents({ projectId, merchantId, paymentId })).events
    await reports.reportRefund({ refundId, outcome: TransferOutcome.COMPLETED })
    const before = await read()
    expect(before.at(-1)?.type).toBe(PaymentEventType.REFUND_COMPLETED)
    await reports.reportRefund({ refundId, outcome: TransferOutcome.RETURNED })
    const after = await read()
    expect(after.slice(0, -1)).toEqual(before)
    expect(after.at(-1)?.type).toBe(PaymentEventType.REFUND_FAILED)
  })

  it('the history of a payment shows how it ended, and money that came later', async () => {
    const cancelled = await harness.one()
    await harness.cancel(cancelled.paymentId)
    await harness.report(cancelled.payerId, PAID)
    expect(await historyOf(cancelled.paymentId)).toEqual([
      'PAYMENT_CREATED 10000',
      'PAYMENT_CANCELLED 10000',
      `UNEXPECTED_MONEY_RECEIVED ${number} 10000`,
      `REFUND_STARTED ${number} 10000`,
    ])

    const expired = await harness.shared(4_000n, 6_000n)
    await harness.report(at(expired.payerIds), PAID)
    await harness.expireNow(expired.paymentId)
    expect(await historyOf(expired.paymentId)).toEqual([
      'PAYMENT_CREATED 10000',
      `ATTEMPT_SUCCEEDED ${number} 4000`,
      'PAYMENT_PARTIALLY_PAID 10000',
      'PAYMENT_EXPIRED 10000',
      `REFUND_STARTED ${number} 4000`,
    ])

    const failed = await harness.one()
    for (let time = 0; time < 5; time += 1) await harness.report(failed.payerId, REFUSED)
    const end = [`ATTEMPT_REFUSED ${number} 10000`, 'PAYMENT_FAILED 10000']
    expect((await historyOf(failed.paymentId)).slice(-2)).toEqual(end)

    const stopped = await harness.create({
      fraudCheck: true,
      payers: [payer(0n, { mobileNumberE164: '+12025550106' })],
    })
    expect(await historyOf(stopped.paymentId)).toEqual([
      'PAYMENT_CREATED 10000',
      'PAYMENT_FAILED 10000',
    ])
  })

  it('the history of a payment is for its own merchant', async () => {
    const { paymentId } = await harness.one()
    const { projectId, merchantId, otherMerchantId } = harness
    const read = (key: { projectId: string; merchantId: string; paymentId: string }) =>
      refusal(harness.payments.listPaymentEvents(key))
    const unknown = 'PAYMENT_NOT_FOUND'
    expect(await read({ projectId, merchantId: otherMerchantId, paymentId })).toBe(unknown)
    expect(await read({ projectId: randomUUID(), merchantId, paymentId })).toBe(unknown)
    expect(await read({ projectId, merchantId, paymentId: randomUUID() })).toBe(unknown)
  })
})
