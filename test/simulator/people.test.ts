// Proves that people act as the sandbox promises, that attempts are made once and that reports arrive.
import { randomUUID } from 'node:crypto'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AttemptOutcome,
  ChargeChannel,
  RefusalReason,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, newCharge, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const outcomesOf = (id: string) => harness.payments.of(id).map(({ outcome }) => outcome)
const announce = async (options: Parameters<typeof newCharge>[0]) => {
  const charge = newCharge({ now: harness.testClock.now(), ...options })
  await harness.charges.announceCharges({ charges: [charge] })
  return charge
}
const withdraw = (chargeId: string, reason: WithdrawReason) =>
  harness.charges.withdrawCharges({ withdrawals: [{ chargeId, reason }] })
const expectSoon = <T>(read: () => T, expected: T) =>
  eventually(() => expect(read()).toEqual(expected))
/** All that was due before is done and reported: charges that came due later, twice, are paid. */
async function workIsDone(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const { chargeId } = await announce({ number: '+12025550101' })
    harness.testClock.advance(1_000)
    await expectSoon(() => outcomesOf(chargeId), ['PROCESSING', 'PAID'])
  }
}

describe('people who act by themselves', () => {
  it('number 01 pays a second after the announcement', async () => {
    const startedMs = Date.now()
    const { chargeId } = await announce({ number: '+12025550101' })
    await expectSoon(() => outcomesOf(chargeId), ['PROCESSING', 'PAID'])
    expect(Date.now() - startedMs).toBeGreaterThanOrEqual(1_000)
    expect(new Set(harness.payments.of(chargeId).map(({ attemptId }) => attemptId)).size).toBe(1)
  })

  it('number 02 refuses once a second, five times, each an attempt of its own', async () => {
    const startedMs = harness.testClock.now().getTime()
    const { chargeId } = await announce({ number: '+12025550102' })
    for (let attempts = 1; attempts <= 5; attempts += 1) {
      harness.testClock.advance(1_000)
      // A machine that stalls may have let the time of the next one come.
      const expected = Array.from({ length: attempts }, () => ['PROCESSING', 'REFUSED']).flat()
      await expectSoon(() => outcomesOf(chargeId).slice(0, 2 * attempts), expected)
      const tookMs = harness.testClock.now().getTime() - startedMs
      expect(outcomesOf(chargeId).length).toBeLessThanOrEqual((2 * tookMs) / 1_000)
    }
    harness.testClock.advance(5_000)
    await workIsDone()
    expect(outcomesOf(chargeId)).toHaveLength(10)
    expect(new Set(harness.payments.of(chargeId).map(({ attemptId }) => attemptId)).size).toBe(5)
  })

  it('number 05 pays after five seconds, on any channel', async () => {
    const channel = ChargeChannel.DIRECT_POS
    const startedMs = harness.testClock.now().getTime()
    const { chargeId } = await announce({ number: '+12025550105', channel })
    harness.testClock.advance(4_200)
    await expectSoon(() => outcomesOf(chargeId), ['PROCESSING', 'PAID'])
    expect(harness.testClock.now().getTime() - startedMs).toBeGreaterThanOrEqual(5_000)
  })

  it('number 12 pays two seconds after the request was cancelled, and only then', async () => {
    const charge = await announce({ number: '+12025550112' })
    const failed = await announce({ number: '+12025550112' })
    harness.testClock.advance(60_000)
    await workIsDone()
    expect(outcomesOf(charge.chargeId)).toEqual([])
    await withdraw(charge.chargeId, WithdrawReason.CANCELLED)
    await withdraw(failed.chargeId, WithdrawReason.FAILED)
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(charge.chargeId), ['PAID'])
    harness.testClock.advance(10_000)
    await workIsDone()
    expect(outcomesOf(charge.chargeId)).toEqual(['PAID'])
    expect(outcomesOf(failed.chargeId)).toEqual([])
  })

  it('late money also comes when the withdrawal overtook the announcement', async () => {
    const charge = newCharge({ number: '+12025550112', now: harness.testClock.now() })
    await withdraw(charge.chargeId, WithdrawReason.CANCELLED)
    await harness.charges.announceCharges({ charges: [charge] })
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(charge.chargeId), ['PAID'])
    expect(harness.payments.of(charge.chargeId)[0]?.method).toBe('UNSPECIFIED')
  })

  it('numbers 08 and 00 do nothing by themselves', async () => {
    const silent = await announce({ number: '+12025550108' })
    const byHand = await announce({ number: '+12025550100' })
    harness.testClock.advance(60_000)
    await workIsDone()
    expect([...outcomesOf(silent.chargeId), ...outcomesOf(byHand.chargeId)]).toEqual([])
  })

  it('nobody acts on a charge that was withdrawn or whose time has run out', async () => {
    const withdrawn = await announce({ number: '+12025550105' })
    await withdraw(withdrawn.chargeId, WithdrawReason.EXPIRED)
    const late = await announce({ number: '+12025550105', expiresInMs: 3_000 })
    harness.testClock.advance(60_000)
    await workIsDone()
    expect([...outcomesOf(withdrawn.chargeId), ...outcomesOf(late.chargeId)]).toEqual([])
  })

  it('announcing a charge again changes nothing', async () => {
    const charge = await announce({ number: '+12025550101' })
    await harness.charges.announceCharges({ charges: [charge, charge] })
    harness.testClock.advance(1_000)
    await expectSoon(() => outcomesOf(charge.chargeId), ['PROCESSING', 'PAID'])
    await harness.charges.announceCharges({ charges: [charge] })
    harness.testClock.advance(5_000)
    await workIsDone()
    expect(outcomesOf(charge.chargeId)).toEqual(['PROCESSING', 'PAID'])
  })
})

describe('wallets', () => {
  const pay = async (chargeId: string, pin: string, attemptId = randomUUID()) =>
    (await harness.charges.payWithWallet({ chargeId, attemptId, pin })).outcome
  const enquire = async (attemptId: string) =>
    (await harness.charges.getAttempt({ attemptId })).outcome

  it('a wallet pays with PIN 123456 and declines 000002 and every other PIN', async () => {
    const { chargeId } = await announce({})
    expect(await pay(chargeId, '000002')).toBe(AttemptOutcome.REFUSED)
    expect(await pay(chargeId, '999999')).toBe(AttemptOutcome.REFUSED)
    expect(await pay(chargeId, '123456')).toBe(AttemptOutcome.PAID)
  })

  it.each([
    ['000002', RefusalReason.DECLINED],
    ['000014', RefusalReason.INVALID_DETAILS],
    ['000017', RefusalReason.NOT_CONFIRMED],
    ['000051', RefusalReason.INSUFFICIENT_FUNDS],
    ['000055', RefusalReason.WRONG_CREDENTIALS],
    ['000057', RefusalReason.NOT_PERMITTED],
    ['000061', RefusalReason.LIMIT_EXCEEDED],
    ['000091', RefusalReason.UNAVAILABLE],
    ['999999', RefusalReason.WRONG_CREDENTIALS],
  ])(
    'a wallet refuses PIN %s with a reason of its own, and an enquiry has it too',
    async (pin, reason) => {
      const { chargeId } = await announce({})
      const attemptId = randomUUID()
      const refused = { outcome: AttemptOutcome.REFUSED, refusalReason: reason }
      expect(await harness.charges.payWithWallet({ chargeId, attemptId, pin })).toMatchObject(
        refused,
      )
      expect(await harness.charges.getAttempt({ attemptId })).toMatchObject(refused)
    },
  )

  it('a payment and a charge that is paid already have no reason of a refusal', async () => {
    const { chargeId } = await announce({})
    for (const pin of ['123456', '000051']) {
      const attempt = { chargeId, attemptId: randomUUID(), pin }
      const { refusalReason } = await harness.charges.payWithWallet(attempt)
      expect(refusalReason).toBe(RefusalReason.UNSPECIFIED)
    }
  })

  it('the same attempt answers the same, and a charge pays once', async () => {
    const { chargeId } = await announce({})
    const attemptId = randomUUID()
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => pay(chargeId, '123456', attemptId)),
    )
    expect(new Set(outcomes)).toEqual(new Set([AttemptOutcome.PAID]))
    expect(await pay(chargeId, '000002', attemptId)).toBe(AttemptOutcome.PAID)
    expect(await enquire(attemptId)).toBe(AttemptOutcome.PAID)
    expect(await pay(chargeId, '123456')).toBe(AttemptOutcome.REFUSED)
  })

  it('one of many concurrent attempts of a wallet pays', async () => {
    const { chargeId } = await announce({})
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => pay(chargeId, '123456')))
    expect(outcomes.filter((outcome) => outcome === AttemptOutcome.PAID)).toHaveLength(1)
  })

  it('an attempt that was called unknown is refused for ever', async () => {
    const { chargeId } = await announce({})
    const attemptId = randomUUID()
    expect(await enquire(attemptId)).toBe(AttemptOutcome.UNSPECIFIED)
    expect(await pay(chargeId, '123456', attemptId)).toBe(AttemptOutcome.REFUSED)
    expect(await enquire(attemptId)).toBe(AttemptOutcome.UNSPECIFIED)
    expect(await pay(chargeId, '123456')).toBe(AttemptOutcome.PAID)
  })

  it('an enquiry that races with its attempt never contradicts it', async () => {
    const { chargeId } = await announce({})
    const attempts = Array.from({ length: 20 }, () => randomUUID())
    const pairs = await Promise.all(
      attempts.map((id) => Promise.all([pay(chargeId, '000002', id), enquire(id)])),
    )
    const paid = pairs.filter(([outcome]) => outcome === AttemptOutcome.PAID)
    expect(paid).toEqual([])
    const answers = await Promise.all(attempts.map(enquire))
    const contradicted = pairs.filter(
      ([, first], index) => first === AttemptOutcome.UNSPECIFIED && answers[index] !== first,
    )
    expect(contradicted).toEqual([])
  })

  it('a withdrawn charge is refused and an unknown one is not found', async () => {
    const { chargeId } = await announce({})
    await withdraw(chargeId, WithdrawReason.CANCELLED)
    expect(await pay(chargeId, '123456')).toBe(AttemptOutcome.REFUSED)
    await expect(pay(randomUUID(), '123456')).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
  })

  it('an attempt of one charge cannot be used for another', async () => {
    const [first, second] = [await announce({}), await announce({})]
    const attemptId = randomUUID()
    await pay(first.chargeId, '123456', attemptId)
    await expect(pay(second.chargeId, '123456', attemptId)).rejects.toMatchObject({
      reason: 'REFERENCE_CONFLICT',
    })
  })
})

describe('reports and requests', () => {
  it('payouts and refunds complete at once and are reported once', async () => {
    const [payoutId, refundId] = [randomUUID(), randomUUID()]
    const amount = { currency: 'USD', minorUnits: 500n }
    const payout = { payoutId, amount, mobileNumber: '+12025550103' }
    const refund = { refundId, chargeId: randomUUID(), amount }
    await harness.payouts.createPayout(payout)
    await harness.payouts.createRefund(refund)
    await expectSoon(
      () => [...outcomesOf(payoutId), ...outcomesOf(refundId)],
      ['COMPLETED', 'COMPLETED'],
    )
    await harness.payouts.createPayout(payout)
    await harness.payouts.createRefund(refund)
    await workIsDone()
    expect([...outcomesOf(payoutId), ...outcomesOf(refundId)]).toHaveLength(2)
  })

  it('a payout and a refund under one UUID are reported both', async () => {
    const id = randomUUID()
    const amount = { currency: 'USD', minorUnits: 500n }
    await harness.payouts.createPayout({ payoutId: id, amount, mobileNumber: '+12025550103' })
    await harness.payouts.createRefund({ refundId: id, chargeId: randomUUID(), amount })
    await expectSoon(() => outcomesOf(id), ['COMPLETED', 'COMPLETED'])
  })

  it('reports wait for payments, over a restart too, and arrive in order', async () => {
    await harness.payments.stop()
    const { chargeId } = await announce({ number: '+12025550102' })
    const paying = await announce({ number: '+12025550101' })
    harness.testClock.advance(5_000)
    for (const id of [chargeId, paying.chargeId]) {
      await eventually(async () => (await harness.reportAttempts(id)) > 0)
    }
    await harness.restart()
    const before = await harness.reportAttempts(chargeId)
    await eventually(async () => (await harness.reportAttempts(chargeId)) > before)
    await harness.payments.start()
    harness.testClock.advance(60_000)
    await expectSoon(() => outcomesOf(chargeId).length, 10)
    await expectSoon(() => outcomesOf(paying.chargeId), ['PROCESSING', 'PAID'])
    const got = harness.payments.of(chargeId)
    for (let at = 0; at < 10; at += 2) {
      expect([got[at]?.outcome, got[at + 1]?.outcome]).toEqual(['PROCESSING', 'REFUSED'])
      expect(got[at]?.attemptId).toBe(got[at + 1]?.attemptId)
    }
  })

  it('a report that payments cannot take now comes again, in its turn', async () => {
    const { chargeId } = await announce({ number: '+12025550101' })
    harness.payments.refuse(chargeId, 'SERVICE_UNAVAILABLE', 'TIMEOUT')
    harness.testClock.advance(1_000)
    await eventually(() => expect(outcomesOf(chargeId)).toHaveLength(2))
    expect(outcomesOf(chargeId)).toEqual(['PROCESSING', 'PAID'])
  })

  it('a report that payments refuses permanently does not hold up the next one', async () => {
    const { chargeId } = await announce({ number: '+12025550101' })
    harness.payments.refuse(chargeId, 'PAYMENT_NOT_PAYABLE')
    harness.testClock.advance(1_000)
    await eventually(() => expect(outcomesOf(chargeId)).toEqual(['PAID']))
    harness.testClock.advance(60_000)
    await workIsDone()
    expect(outcomesOf(chargeId)).toEqual(['PAID'])
  })

  it('what is malformed is refused and names its field', async () => {
    const invalid = (field: string) => ({ reason: 'INVALID_PARAMETER', details: { field } })
    const missing = (field: string) => ({ reason: 'MISSING_PARAMETER', details: { field } })
    const charge = newCharge()
    const bad: [object, object][] = [
      [{ chargeId: 'no-uuid' }, invalid('charges[0].charge_id')],
      [{ amount: { currency: 'USD', minorUnits: 0n } }, invalid('charges[0].amount')],
      [{ amount: { currency: 'ZZZ', minorUnits: 1n } }, invalid('amount')],
      [{ channel: ChargeChannel.UNSPECIFIED }, missing('charges[0].channel')],
      [{ cashCode: '12' }, invalid('charges[0].cash_code')],
      [{ mobileNumber: '' }, missing('charges[0].mobile_number')],
    ]
    for (const [wrong, refusal] of bad) {
      const call = harness.charges.announceCharges({ charges: [{ ...charge, ...wrong }] })
      await expect(call).rejects.toMatchObject(refusal)
    }
    await expect(harness.charges.announceCharges({ charges: [] })).rejects.toMatchObject(
      missing('charges'),
    )
    await expect(withdraw(charge.chargeId, WithdrawReason.UNSPECIFIED)).rejects.toMatchObject(
      missing('withdrawals[0].reason'),
    )
  })

  it('only payments may call the RPCs for charges', async () => {
    await expect(harness.strangers.getAttempt({ attemptId: randomUUID() })).rejects.toMatchObject({
      cause: { code: Code.PermissionDenied },
    })
  })
})
