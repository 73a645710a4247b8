// Tests random sequences of events: states stay valid and the money adds up.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { next } from '#core/machine.ts'
import { type AttemptOutcome, applyReport, beginAttempt } from './charge-report.ts'
import { draftPayment, type NewPayment, toPayment } from './new-payment.ts'
import { isOpen, type Payment, payerMachine, paymentMachine } from './payment.ts'
import { applyPayoutReport, releasePayouts } from './payout.ts'
import { cancel, expire, refund } from './request-end.ts'
import { expiryCheckTime, type Settlement, type Transition } from './transition.ts'

const start = new Date('2026-01-01T00:00:00.000Z')
const feeSchedule = {
  cardProcessingPercent: '2.90',
  platformProcessingPercent: '0.50',
  agentProcessingPercent: '1.00',
  conveniencePercent: '0',
}
const timesToPayS = { agent: 259_200, direct_pos: 900, payment_link: 86_400 }
const linkKeyId = 'a1b2c3d4'
const merchant = { merchantId: 'm', businessName: 'Demo Store', mobileNumber: '+12025550199' }

function newPayment(shares: bigint[], payees: bigint[], paysFees: boolean): Payment {
  const request: NewPayment = {
    projectId: 'p',
    merchantId: 'm',
    transactionId: 't',
    amountMinor: shares.reduce((sum, share) => sum + share, 0n),
    currency: 'USD',
    description: '',
    fraudCheck: false,
    feeTerms: { paysFees, payerCoversPercent: 60 },
    payers: shares.map((amountMinor, index) => ({
      mobileNumber: '1',
      mobileNumberE164: '+12025550100',
      firstName: '',
      lastName: '',
      email: '',
      paymentChannel: index % 2 === 0 ? 'payment_link' : 'direct_pos',
      paymentMethod: 'card',
      amountMinor,
    })),
    payees: payees.map((amountMinor, index) => ({
      mobileNumber: '2',
      mobileNumberE164: '+12025550111',
      amountMinor,
      delayDays: index,
    })),
    urls: { success: '', error: '', notify: '', callback: '' },
    fingerprint: new Uint8Array(32),
  }
  return toPayment(draftPayment(request, merchant, { feeSchedule, timesToPayS, linkKeyId }), start)
}

type Step =
  | { do: 'report'; payer: number; attempt: number; outcome: AttemptOutcome }
  | { do: 'begin'; payer: number; attempt: number }
  | { do: 'payout'; payee: number; outcome: 'completed' | 'failed' }
  | { do: 'cancel' | 'refund' | 'expire' | 'release' }
  | { do: 'wait'; hours: number }

const index = fc.integer({ min: 0, max: 2 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      payer: index,
      attempt: fc.integer({ min: 0, max: 6 }),
      outcome: fc.constantFrom<AttemptOutcome>('processing', 'paid', 'refused', 'refused'),
    }),
  },
  fc.record({ do: fc.constant('begin' as const), payer: index, attempt: fc.constant(9) }),
  fc.record({
    do: fc.constant('payout' as const),
    payee: index,
    outcome: fc.constantFrom('completed' as const, 'failed' as const),
  }),
  fc.record({ do: fc.constantFrom('cancel', 'refund', 'expire', 'release') }),
  fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }),
)

/** A payment with everything that its transitions have written so far. */
type History = {
  payment: Payment
  now: Date
  reports: Map<string, AttemptOutcome[]>
  settlements: Settlement[]
  refunds: number
  callbacks: number
}

function take(history: History, doing: Step): Transition | undefined {
  const { payment, now } = history
  if (doing.do === 'report') {
    const payer = payment.payers[doing.payer % payment.payers.length]
    if (payer === undefined) return undefined
    const attemptId = `a${doing.attempt}`
    const key = `${payer.payerId} ${attemptId}`
    const earlier = history.reports.get(key) ?? []
    if (earlier.includes(doing.outcome)) return undefined
    history.reports.set(key, [...earlier, doing.outcome])
    const { payerId } = payer
    const { outcome } = doing
    return applyReport(
      payment,
      { payerId, attemptId, outcome, earlier, paymentMethod: undefined },
      now,
    )
  }
  if (doing.do === 'begin') {
    const payerId = payment.payers[doing.payer % payment.payers.length]?.payerId ?? ''
    return beginAttempt(payment, { payerId, attemptId: `a${doing.attempt}` }, now)
  }
  if (doing.do === 'payout') {
    const payeeId = payment.payees[doing.payee % payment.payees.length]?.payeeId ?? ''
    return applyPayoutReport(payment, { payeeId, outcome: doing.outcome }, now)
  }
  if (doing.do === 'wait') {
    history.now = new Date(now.getTime() + doing.hours * 3_600_000)
    return undefined
  }
  return { cancel, refund, expire, release: releasePayouts }[doing.do](payment, now)
}

/** Does a step; answers the rules that it broke. */
function run(history: History, doing: Step): string[] {
  let transition: Transition | undefined
  try {
    transition = take(history, doing)
  } catch (error) {
    // A refusal is a valid result; any other error is a bug.
    if (!(error instanceof Failure)) throw error
  }
  if (transition === undefined) return []
  const problems = unlawful(history.payment, transition)
  history.payment = transition.payment
  history.settlements.push(...transition.settlements)
  history.refunds += transition.refunds.length
  const sequence = transition.fact?.callbackSequence ?? 0
  if (sequence > 0) {
    history.callbacks += 1
    if (sequence !== history.callbacks) problems.push('callbacks are not numbered one by one')
  }
  return [...problems, ...unsound(history)]
}

function unlawful(before: Payment, { payment, payers }: Transition): string[] {
  const steps: [from: string, to: string, allowed: string[]][] = []
  if (payment.state !== before.state) {
    steps.push([before.state, payment.state, reachable(paymentMachine, before.state)])
  }
  for (const [first, ...rest] of payers.values()) {
    let from = first
    for (const to of rest) {
      steps.push([from, to, reachable(payerMachine, from)])
      from = to
    }
  }
  return steps
    .filter(([, to, allowed]) => !allowed.includes(to))
    .map(([from, to]) => `unlawful step from ${from} to ${to}`)
}

function reachable<S extends string, E extends string>(
  machine: Record<S, Partial<Record<E, S>>>,
  state: S,
): S[] {
  return Object.values(machine[state])
}

function unsound({ payment, settlements, refunds, callbacks }: History): string[] {
  const total = (...kinds: string[]): bigint =>
    amountOf(settlements.filter(({ kind }) => kinds.includes(kind)))
  const receipts = settlements.filter(({ kind }) => /^(payer|late)_receipt$/.test(kind))
  const reversed = settlements.flatMap(({ reversesId }) => reversesId ?? [])
  const inflow = total('payer_receipt', 'late_receipt', 'duplicate_receipt')
  const held = payment.payees
    .filter(({ payoutState }) => payoutState === 'scheduled')
    .reduce((sum, { netMinor }) => sum + netMinor, 0n)
  const notOwed = settlements.filter(({ reversesKind }) => reversesKind === 'payout_recovery')
  const owed = total('payout_recovery') - amountOf(notOwed)
  const isPaid = payment.state === 'paid'
  const hasEnded = !isPaid && !isOpen(payment)
  const rules: Record<string, boolean> = {
    'one receipt per payer': isUnique(receipts.map(({ payerId }) => payerId ?? '')),
    'one refund per receipt': isUnique(reversed),
    'a refund per refund movement': refunds === settlements.filter(isRefund).length,
    'callbacks are counted': payment.callbackSequence === callbacks,
    'only open requests expire': expiryCheckTime(payment) === undefined || isOpen(payment),
    'nobody waits for an ended request':
      isOpen(payment) || payment.payers.every(({ state }) => state !== 'Pending'),
    'money that came in is held, earned or paid out':
      !isPaid || inflow - total('refund') === held + total('fee') + total('payout'),
    'fees are earned once': !isPaid || total('fee', 'merchant_fee') === payment.fees.totalMinor,
    'an ended request keeps no money': !hasEnded || total('refund') === inflow,
    'an ended request keeps no fee': !hasEnded || total('fee_returned') === total('fee'),
    'no more is owed than was paid out': total('payout_recovery') <= total('payout'),
    'of a refunded request the merchant owes what was paid out and did not come back':
      payment.state !== 'Refunded' || owed === total('payout') - total('payout_returned'),
  }
  return Object.keys(rules).filter((rule) => rules[rule] !== true)
}

function amountOf(settlements: Settlement[]): bigint {
  return settlements.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}

function isUnique(ids: string[]): boolean {
  return new Set(ids).size === ids.length
}

function isRefund({ kind }: Settlement): boolean {
  return kind === 'refund'
}

describe('a payment', () => {
  it('a payment keeps its states valid and its money balanced through any history', () => {
    const share = fc.bigInt(1n, 10n ** 9n)
    const history = fc.record({
      shares: fc.array(share, { minLength: 1, maxLength: 3 }),
      hasPayees: fc.boolean(),
      paysFees: fc.boolean(),
      steps: fc.array(step, { maxLength: 40, size: 'max' }),
    })
    fc.assert(
      fc.property(history, ({ shares, hasPayees, paysFees, steps }) => {
        const history: History = {
          payment: newPayment(shares, hasPayees ? shares.toReversed() : [], paysFees),
          now: start,
          reports: new Map(),
          settlements: [],
          refunds: 0,
          callbacks: 0,
        }
        expect(steps.flatMap((doing) => run(history, doing))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('a payment is not changed by a decision: the answer is a copy', () => {
    const payment = newPayment([100n, 200n], [], false)
    const before = structuredClone(payment)
    cancel(payment, start)
    expect(payment).toEqual(before)
  })

  it('a payment ends at its first deadline', () => {
    const payment = newPayment([100n, 200n], [], false)
    expect(expire(payment, new Date(start.getTime() + 899_999))).toBeUndefined()
    const ended = expire(payment, new Date(start.getTime() + 900_000))
    expect(ended?.payment.state).toBe('Expired')
  })

  it('a payment has no step out of a final state but the return of money', () => {
    expect(next(paymentMachine, 'Cancelled', 'refund')).toBeUndefined()
    expect(next(payerMachine, 'Cancelled', 'refund')).toBe('Refunded')
    expect(next(payerMachine, 'Failed', 'refund')).toBeUndefined()
  })
})
