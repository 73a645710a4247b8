// Proves the pure rules of the Stripe connector: amounts, what codes mean, when a card is charged, and when a refund is sent again.
import { assert, bigInt, constantFrom, property, string } from 'fast-check'
import { expect, it } from 'vitest'
import { refusalReasons } from '#core/payment/words.ts'
import { stripeAmount } from './amount.ts'
import { type IntentProgress, mayAct, mayStart, nextStep, pauseMs } from './intent.ts'
import { keyProblem } from './keys.ts'
import { refusalOf, refusalOfRequest } from './reasons.ts'
import { afterAbsence, nextRefundStep, type RefundProgress, refundPauseMs } from './refund.ts'

it('amounts are in Stripe’s units: whole for zero-decimal currencies, hundredths of ISK and UGX, thousandths that end in zero', () => {
  const sent: [bigint, string, number | undefined][] = [
    [1250n, 'USD', 1250],
    [500n, 'JPY', 500],
    [500n, 'XOF', 500],
    [5n, 'ISK', 500],
    [5n, 'UGX', 500],
    [1200n, 'MGA', 12],
    [1250n, 'MGA', undefined],
    [5120n, 'KWD', 5120],
    [5124n, 'KWD', undefined],
    [10_000n, 'CLF', undefined],
    [999_999_999_999n, 'IDR', 999_999_999_999],
    [1_000_000_000_000n, 'IDR', undefined],
    [100n, 'ZZZ', undefined],
  ]
  for (const [minor, currency, amount] of sent)
    expect(stripeAmount(minor, currency), `${minor} ${currency}`).toBe(amount)
})

it('production takes live keys alone, and all others test keys alone', () => {
  const live = { publishable: 'pk_live_1', secret: 'rk_live_1' }
  const test = { publishable: 'pk_test_1', secret: 'sk_test_1' }
  expect(keyProblem('production', live)).toBeUndefined()
  for (const environment of ['sandbox', 'local']) {
    expect(keyProblem(environment, test)).toBeUndefined()
    expect(keyProblem(environment, { ...test, publishable: 'pk_live_1' })).toContain('pk_test_')
    expect(keyProblem(environment, { ...test, secret: 'rk_live_1' })).toContain('rk_test_')
  }
  expect(keyProblem('production', { ...live, publishable: 'pk_test_1' })).toContain('pk_live_')
  expect(keyProblem('production', { ...live, secret: 'sk_test_1' })).toContain('sk_live_')
})

it('a secret key in place of the publishable one stops the start, and so do other mistaken keys, of which the error has no part', () => {
  const publishable = 'pk_live_1'
  const secret = 'sk_live_51SecretOfTheAccount'
  for (const keys of [
    { publishable: secret, secret },
    { publishable: 'rk_live_51SecretOfTheAccount', secret },
    { publishable: secret, secret: publishable },
    { publishable, secret: publishable },
    { publishable, secret: 'whsec_51SecretOfTheAccount' },
    { publishable, secret: ` ${secret}` },
  ]) {
    const problem = keyProblem('production', keys)
    expect(problem).toContain('must begin with')
    expect(problem).not.toContain('51')
  }
})

it('an amount is never rounded: what is sent says what was asked for', () => {
  // Units of ours in one of Stripe's, for currencies where they differ by a whole number.
  const unitsOf = { USD: 1n, JPY: 1n, MGA: 100n, KWD: 1n }
  const currencies = constantFrom(...(Object.keys(unitsOf) as (keyof typeof unitsOf)[]))
  const isExact = property(bigInt(1n, 10n ** 10n), currencies, (minor, currency) => {
    const amount = stripeAmount(minor, currency)
    return amount === undefined || BigInt(amount) * unitsOf[currency] === minor
  })
  expect(() => assert(isExact)).not.toThrow()
})

it('a code has a reason; fraud, lost and stolen cards are only declined, and a request of ours that is refused is unavailable', () => {
  const known = ['insufficient_funds', 'incorrect_cvc', 'expired_card', 'card_not_supported']
  expect(known.map(refusalOf)).toEqual([
    'insufficient_funds',
    'wrong_credentials',
    'invalid_details',
    'not_permitted',
  ])
  for (const code of ['fraudulent', 'lost_card', 'stolen_card', 'pickup_card', 'constructor'])
    expect(refusalOf(code)).toBe('declined')
  expect(refusalOf('payment_intent_authentication_failure')).toBe('not_confirmed')
  expect(['amount_too_small', 'parameter_unknown'].map(refusalOfRequest)).toEqual([
    'not_permitted',
    'unavailable',
  ])
  assert(property(string(), (code) => refusalReasons.includes(refusalOf(code))))
})

const fresh: IntentProgress = {
  ageMs: 0,
  intentId: null,
  isConfirmed: false,
  refusal: null,
  isPayable: true,
}
const made = { ...fresh, intentId: 'pi_1' }

it('a card is charged within 30 s and while the charge is open; an intent that exists is cancelled before a refusal', () => {
  expect(nextStep(fresh)).toBe('create')
  expect(nextStep({ ...fresh, ageMs: 30_000 })).toBe('never')
  expect(nextStep({ ...fresh, isPayable: false })).toBe('never')
  expect(nextStep(made)).toBe('confirm')
  expect(nextStep({ ...made, isPayable: false })).toBe('cancel')
  expect(nextStep({ ...made, ageMs: 30_000 })).toBe('cancel')
  expect(nextStep({ ...made, isConfirmed: true, ageMs: 1e9, isPayable: false })).toBe('enquire')
  expect(nextStep({ ...made, isConfirmed: true, refusal: 'declined' })).toBe('cancel')
  expect(mayStart({ ...made, ageMs: 29_999 })).toBe(true)
})

it('a payer has a quarter of an hour for their bank, as long as the charge is open', () => {
  expect(mayAct({ ...made, ageMs: 899_999 })).toBe(true)
  expect(mayAct({ ...made, ageMs: 900_000 })).toBe(false)
  expect(mayAct({ ...made, isPayable: false })).toBe(false)
  expect([0, 40_000, 1e9].map(pauseMs)).toEqual([1_000, 10_000, 60_000])
})

const unsent: RefundProgress = {
  refundId: null,
  sentAgeMs: null,
  keyAgeMs: null,
  isKeySpent: false,
  refusal: null,
}
const sent = { ...unsent, sentAgeMs: 10, keyAgeMs: 10 }
const hourMs = 3_600_000

it('a refund that was sent is looked for before it is sent again', () => {
  expect(nextRefundStep(unsent)).toBe('send')
  expect(nextRefundStep(sent)).toBe('look')
  expect(nextRefundStep({ ...sent, refundId: 're_1' })).toBe('enquire')
  expect([0, 40_000, 1e9].map(refundPauseMs)).toEqual([1_000, 10_000, hourMs])
})

it('a refund that Stripe does not list is repeated with the same key, and with a new one only when no call with the old one can be on its way', () => {
  expect(afterAbsence(sent)).toBe('repeat')
  const old = { ...sent, keyAgeMs: 23 * hourMs }
  expect(afterAbsence(old)).toBe('repeat')
  // Stripe forgets a key after 24 hours: by then the same one could refund twice.
  expect(afterAbsence({ ...old, keyAgeMs: 23 * hourMs + 1 })).toBe('wait')
  expect(afterAbsence({ ...old, keyAgeMs: 48 * hourMs, sentAgeMs: 120_001 })).toBe('renew')
  expect(afterAbsence({ ...sent, isKeySpent: true })).toBe('wait')
  expect(afterAbsence({ ...sent, isKeySpent: true, sentAgeMs: 120_001 })).toBe('renew')
  expect(afterAbsence({ ...sent, refusal: 'charge_already_refunded' })).toBe('wait')
  const silent = { ...sent, refusal: 'charge_already_refunded', sentAgeMs: 120_001 }
  expect(afterAbsence(silent)).toBe('fail')
})
