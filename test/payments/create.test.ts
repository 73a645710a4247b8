// Making payment requests: what is stored, what is refused, and that a repeat makes nothing new.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import {
  FraudCheckStatus,
  PaymentChannel,
  PaymentMethod,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import {
  at,
  type Harness,
  type Order,
  payer,
  quietCounts,
  refusal,
  rowCounts,
  startHarness,
  states,
} from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const eventIdVersions = sql(
  'test_event_id_versions',
  'select distinct uuid_extract_version(event_id)::integer as version from outbox',
)

describe('a new payment request', () => {
  it('a new payment request has an id of 64 characters at most, however wide they are', async () => {
    const transactionId = '😀'.repeat(64)
    expect(await harness.create({ transactionId })).toMatchObject({ transactionId })
  })

  it('a new payment request is pending, costs what the schedule says, and goes to the merchant when nobody else is named', async () => {
    const made = await harness.create({
      payers: [payer(0n, { paymentMethod: PaymentMethod.CARD })],
      amountMinor: 10_000n,
    })
    expect(states(made)).toEqual(['PENDING', 'PENDING'])
    expect(made.fraudCheckStatus).toBe(FraudCheckStatus.SKIPPED)
    expect(made.fees).toMatchObject({
      totalMinor: 340n,
      cardProcessingMinor: 290n,
      platformProcessingMinor: 50n,
      agentProcessingMinor: 0n,
      merchantPaysMinor: 340n,
    })
    expect(made.payees).toMatchObject([
      { mobileNumber: '+12025550199', amountMinor: 10_000n, feeMinor: 0n, feesCovered: true },
    ])
    expect(at(made.payers)).toMatchObject({ mobileNumber: '202 555 0100', amountMinor: 10_000n })
    expect(at(made.payers).linkToken).toMatch(/^[\w-]{43}$/)
    const life = Number((made.expireTime?.seconds ?? 0n) - (made.createTime?.seconds ?? 0n))
    expect(life).toBe(86_400)
  })

  it('a new payment request has events with time-ordered ids', async () => {
    await harness.create()
    expect(await harness.db.rows(eventIdVersions, [])).toEqual([{ version: 7 }])
  })

  it('a new payment request can be read as it was answered', async () => {
    const made = await harness.create()
    expect(await harness.get(made.paymentId)).toEqual(made)
  })

  it('a new payment request writes one event, without link tokens and times, with a notice for every payer', async () => {
    const made = await harness.create({ payers: [payer(4_000n), payer(6_000n)] })
    const events = await harness.events(made.paymentId)
    expect(events).toMatchObject([
      {
        transition: 'CREATED',
        notices: ['PAYMENT_INITIATED 0', 'PAYMENT_INITIATED 1'],
        callbackSequence: 0,
      },
    ])
    const [event] = events
    expect(event?.payment?.createTime).toBeUndefined()
    expect(event?.payment?.payers.map(({ linkToken }) => linkToken)).toEqual(['', ''])
    const createdMs =
      Number(made.createTime?.seconds) * 1_000 + Number(made.createTime?.nanos) / 1e6
    expect(event?.occurredAt.getTime()).toBe(createdMs)
  })

  it('a new payment request is announced to the back end with what each payer is charged', async () => {
    const made = await harness.create({
      feeTerms: { paysFees: true },
      payers: [
        payer(4_000n),
        payer(6_000n, {
          paymentChannel: PaymentChannel.AGENT,
          paymentMethod: PaymentMethod.CASH,
        }),
      ],
    })
    const [first, second] = made.payers.map(({ payerId }) => payerId)
    const { received } = harness.backend
    const announced = await eventually(
      () => (received.charges.get(second ?? '') && received.charges) ?? false,
    )
    expect(announced.get(first ?? '')).toMatchObject({
      amount: { currency: 'USD', minorUnits: 4_020n },
      mobileNumber: '+12025550100',
      businessName: 'Demo Store',
      cashCode: '',
    })
    expect(announced.get(second ?? '')).toMatchObject({ amount: { minorUnits: 6_090n } })
    expect(announced.get(second ?? '')?.cashCode).toMatch(/^\d{12}$/)
  })

  it('a new payment request is announced once the back end is back when it was down', async () => {
    harness.backend.state.isDown = true
    const made = await harness.create()
    harness.backend.state.isDown = false
    const announced = await eventually(
      () => harness.backend.received.charges.get(at(made.payers).payerId) ?? false,
    )
    expect(announced.amount?.minorUnits).toBe(10_000n)
  })

  it('a new payment request takes twenty payers and twenty payees, in their order', async () => {
    const payers = Array.from({ length: 20 }, (_, index) => payer(BigInt(index + 1)))
    const payees = payers.map(({ amountMinor }, index) => ({
      mobileNumberE164: `+120255501${10 + index}`,
      amountMinor: 21n - amountMinor,
      delayDays: index,
    }))
    const made = await harness.create({ amountMinor: 210n, payers, payees })
    expect(await harness.get(made.paymentId)).toEqual(made)
    expect(made.payers.map(({ amountMinor }) => Number(amountMinor))).toEqual(
      payers.map(({ amountMinor }) => Number(amountMinor)),
    )
    expect(made.payees.map(({ delayDays }) => delayDays)).toEqual(
      payees.map(({ delayDays }) => delayDays),
    )
  })

  it('a new payment request asks accounts about a merchant once', async () => {
    await harness.create()
    const { questions } = harness.accounts.counted
    await harness.create()
    expect(harness.accounts.counted.questions).toBe(questions)
  })
})

describe('the fraud rules', () => {
  it('the fraud rules pass a request that breaks none', async () => {
    const made = await harness.create({
      fraudCheck: true,
      payers: [payer(0n, { mobileNumberE164: '+12025550101' })],
    })
    expect(made.fraudCheckStatus).toBe(FraudCheckStatus.PASSED)
    expect(states(made)).toEqual(['PENDING', 'PENDING'])
  })

  it.each<[string, Order]>([
    ['a blocked number', { payers: [payer(0n, { mobileNumberE164: '+12025550106' })] }],
    ['an amount over the ceiling', { amountMinor: 1_000_001n }],
  ])(
    'the fraud rules stop %s: the request is stored as failed, without links, announced to nobody',
    async (_, order) => {
      const made = await harness.create({ ...order, fraudCheck: true })
      expect(made.fraudCheckStatus).toBe(FraudCheckStatus.FAILED)
      expect(states(made)).toEqual(['FAILED', 'FAILED'])
      expect(at(made.payers).linkToken).toBe('')
      expect(await harness.events(made.paymentId)).toMatchObject([
        { transition: 'FAILED', notices: ['PAYMENT_FAILED 0'], callbackSequence: 1 },
      ])
      const [event] = await harness.events(made.paymentId)
      expect(event?.payment?.createTime).toEqual(made.createTime)
      expect(await harness.get(made.paymentId)).toEqual(made)
      expect(await refusal(harness.report(at(made.payers).payerId, ChargeOutcome.PAID))).toBe(
        'CHARGE_NOT_FOUND',
      )
      expect(harness.backend.received.charges.has(at(made.payers).payerId)).toBe(false)
    },
  )

  it('the fraud rules stop the thirty-first request of a payer in a minute and allow later ones', async () => {
    const order = { fraudCheck: true, payers: [payer(0n, { mobileNumberE164: '+12025550150' })] }
    const checks: FraudCheckStatus[] = []
    for (let round = 0; round < 31; round += 1) {
      checks.push((await harness.create(order)).fraudCheckStatus)
    }
    expect(checks.lastIndexOf(FraudCheckStatus.PASSED)).toBe(29)
    expect(checks.at(-1)).toBe(FraudCheckStatus.FAILED)
    harness.testClock.advance(61_000)
    expect((await harness.create(order)).fraudCheckStatus).toBe(FraudCheckStatus.PASSED)
  })

  it('the fraud rules are not asked when the request does not want them', async () => {
    const made = await harness.create({ payers: [payer(0n, { mobileNumberE164: '+12025550106' })] })
    expect(made.fraudCheckStatus).toBe(FraudCheckStatus.SKIPPED)
  })
})

describe('a repeat', () => {
  it('a repeat with the same content returns the first response and creates nothing', async () => {
    const order = harness.order()
    const first = await harness.payments.createPayment(order)
    const before = await quietCounts(harness)
    const second = await harness.payments.createPayment(order)
    expect(second.payment).toEqual(first.payment)
    expect([first.replayed, second.replayed]).toEqual([false, true])
    expect(await rowCounts(harness)).toEqual(before)
  })

  it('a repeat with other content is refused and creates nothing', async () => {
    const order = harness.order()
    await harness.payments.createPayment(order)
    const before = await quietCounts(harness)
    const changed = { ...order, amountMinor: 20_000n }
    expect(await refusal(harness.payments.createPayment(changed))).toBe(
      'DUPLICATE_TRANSACTION_ID id',
    )
    const wrong = { ...changed, payers: [payer(0n, { paymentMethod: PaymentMethod.CASH })] }
    expect(await refusal(harness.payments.createPayment(wrong))).toBe('DUPLICATE_TRANSACTION_ID id')
    expect(await rowCounts(harness)).toEqual(before)
  })

  it('a repeat is recognised by the fingerprint when the caller gives one', async () => {
    const requestFingerprint = new Uint8Array(32).fill(7)
    const order = harness.order({ requestFingerprint })
    await harness.payments.createPayment(order)
    const sameBody = await harness.payments.createPayment({ ...order, description: 'edge form' })
    expect(sameBody.replayed).toBe(true)
  })

  it('a repeat sent thirty times at once makes one payment', async () => {
    const order = harness.order()
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => harness.payments.createPayment(order)),
    )
    expect(new Set(answers.map(({ payment }) => payment?.paymentId)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await harness.events(answers[0]?.payment?.paymentId ?? '')).toHaveLength(1)
  })

  it('a repeated id of another merchant is another payment', async () => {
    const order = harness.order()
    const mine = await harness.payments.createPayment(order)
    const theirs = await harness.payments.createPayment({
      ...order,
      merchantId: harness.otherMerchantId,
    })
    expect(theirs.payment?.paymentId).not.toBe(mine.payment?.paymentId)
  })
})

describe('a cancelled request', () => {
  it('a cancelled request takes its payers with it, withdraws the charges, and calls back once', async () => {
    const { paymentId } = await harness.create({ payers: [payer(4_000n), payer(6_000n)] })
    const cancelled = await harness.cancel(paymentId)
    expect(states(cancelled)).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED'])
    expect(await harness.cancel(paymentId)).toEqual(cancelled)
    expect(await harness.get(paymentId)).toEqual(cancelled)
    const [, event, ...rest] = await harness.events(paymentId)
    expect(event).toMatchObject({
      transition: 'CANCELLED',
      notices: ['PAYMENT_CANCELLED 0', 'PAYMENT_CANCELLED 1'],
      callbackSequence: 1,
    })
    expect(rest).toEqual([])
    const payerId = at(cancelled.payers).payerId
    const withdrawn = await eventually(
      () => harness.backend.received.withdrawals.get(payerId) ?? false,
    )
    expect(withdrawn.reason).toBe(WithdrawReason.CANCELLED)
    expect(await harness.movements(paymentId)).toEqual([])
  })
})
