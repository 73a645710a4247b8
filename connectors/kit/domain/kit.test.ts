// Proves the pure rules of the kit: signatures, backoff, reconciliation.
import { assert, property, string, uniqueArray, uuid } from 'fast-check'
import { expect, it } from 'vitest'
import { delayAfter, isPermanent, maxDelayOf } from './backoff.ts'
import { createLogSampler } from './log-sampler.ts'
import { type Movement, reconcile, type Settled, settledMovements } from './reconcile.ts'
import { isSigned, signatureOf } from './signature.ts'

const body = Buffer.from('{"event":"debit.ended"}')
const nowMs = Date.parse('2026-11-23T12:00:00Z')
const scheme = { header: 'acme-signature', secrets: ['old', 'new'], toleranceS: 300 }

it('a webhook that one of the secrets has signed is accepted, for five minutes', () => {
  for (const secret of scheme.secrets) {
    const value = signatureOf(secret, body, nowMs)
    expect(isSigned(scheme, value, body, nowMs)).toBe(true)
    expect(isSigned(scheme, value, body, nowMs + 300_000)).toBe(true)
    expect(isSigned(scheme, value, body, nowMs + 302_000)).toBe(false)
    expect(isSigned(scheme, value, body, nowMs - 302_000)).toBe(false)
  }
})

it('a webhook with another body, secret, time or form is refused', () => {
  const value = signatureOf('new', body, nowMs)
  expect(isSigned(scheme, value, Buffer.from('{}'), nowMs)).toBe(false)
  expect(isSigned(scheme, signatureOf('other', body, nowMs), body, nowMs)).toBe(false)
  expect(isSigned({ ...scheme, secrets: [] }, value, body, nowMs)).toBe(false)
  expect(isSigned(scheme, value.replace(/t=\d+/, `t=${nowMs / 1_000 + 1}`), body, nowMs)).toBe(
    false,
  )
  assert(property(string(), (text) => !isSigned(scheme, text, body, nowMs)))
})

it('delays double to their maximum, spread by a fifth', () => {
  expect([1, 2, 3, 9].map((failures) => delayAfter(failures, 10_000, 0.5))).toEqual([
    250, 500, 1_000, 10_000,
  ])
  expect(delayAfter(1, 10_000, 0)).toBe(200)
  expect(delayAfter(1_000, 10_000, 1)).toBe(12_000)
})

it('an outage of Payweave delays work by seconds, any other failure by up to a quarter of an hour', () => {
  expect(maxDelayOf('SERVICE_UNAVAILABLE')).toBe(10_000)
  expect(maxDelayOf('TIMEOUT')).toBe(10_000)
  for (const reason of ['INTERNAL_ERROR', 'CHARGE_NOT_FOUND'] as const)
    expect(maxDelayOf(reason)).toBe(900_000)
})

it('a report that Payweave finds nothing for is tried for a week, and one that it refuses is not', () => {
  const dayMs = 86_400_000
  expect(isPermanent('CHARGE_NOT_FOUND', 0)).toBe(false)
  expect(isPermanent('CHARGE_NOT_FOUND', 7 * dayMs)).toBe(false)
  expect(isPermanent('CHARGE_NOT_FOUND', 7 * dayMs + 1)).toBe(true)
  expect(isPermanent('INVALID_PARAMETER', 0)).toBe(true)
  for (const reason of ['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'REFERENCE_CONFLICT'] as const)
    expect(isPermanent(reason, 400 * dayMs)).toBe(false)
})

it('a line that repeats is logged at once and then once a minute, with the count of those that were not', () => {
  let nowMs = 0
  const lines: string[] = []
  const sample = createLogSampler(() => nowMs)
  const log = (kind: string) => sample(kind, (count) => void lines.push(`${kind} ${count}`))
  for (const at of [0, 1, 59_999, 60_000, 60_001, 200_000]) {
    nowMs = at
    log('a')
  }
  log('b')
  expect(lines).toEqual(['a 1', 'a 3', 'a 2', 'b 1'])
})

const movement = (reference: string, amountMinor = 100n, currency = 'USD'): Movement => ({
  reference,
  currency,
  amountMinor,
  time: new Date('2026-11-25T12:00:00Z'),
})

it('equal reports have no difference, in any order', () => {
  assert(
    property(uniqueArray(uuid()), (references) => {
      const rows = references.map((reference) => movement(reference))
      expect(reconcile(rows, rows.toReversed())).toEqual([])
    }),
  )
})

it('what one side lacks, repeats or has with another amount or currency is named', () => {
  const provider = [movement('a'), movement('b'), movement('b'), movement('c', 99n), movement('e')]
  const settlements = [movement('b'), movement('c'), movement('d'), movement('e', 100n, 'EUR')]
  expect(
    reconcile(provider, settlements).map(({ kind, reference }) => `${reference} ${kind}`),
  ).toEqual([
    'a not_settled',
    'b repeated',
    'c amount_differs',
    'd not_reported',
    'e amount_differs',
  ])
})

it('settlements say what a provider moved: receipts, refunds and payouts that were not returned, and nothing of our own accounts', () => {
  const settled = (kind: string, ids: Partial<Settled>): Settled => ({
    settlementId: 's',
    attemptId: '',
    payeeId: '',
    reversesId: '',
    kind,
    ...ids,
    ...movement(''),
  })
  const rows = [
    settled('PAYER_RECEIPT', { attemptId: 'paid' }),
    settled('LATE_RECEIPT', { attemptId: 'late' }),
    settled('DUPLICATE_RECEIPT', { attemptId: 'twice' }),
    settled('FEE', {}),
    settled('REFUND', { settlementId: 'refund', reversesId: 'receipt' }),
    settled('REFUND', { settlementId: 'returned', reversesId: 'receipt' }),
    settled('REFUND_RETURNED', { reversesId: 'returned' }),
    settled('PAYOUT', { payeeId: 'payee' }),
    settled('PAYOUT', { payeeId: 'refused' }),
    settled('PAYOUT_RETURNED', { payeeId: 'refused' }),
    settled('PAYOUT_RECOVERY', { payeeId: 'payee' }),
  ]
  expect(settledMovements(rows).map(({ reference }) => reference)).toEqual([
    'paid',
    'late',
    'twice',
    'refund',
    'payee',
  ])
})
