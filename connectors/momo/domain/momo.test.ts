// Proves the pure rules of the MoMo connector: what codes mean, when a request is sent, enquired about and given up.
import { readFileSync } from 'node:fs'
import { assert, property, string } from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { refusalReasons } from '#core/payment/words.ts'
import { createTokenCache } from '../ports/token.ts'
import { differenceOf, type Moved } from './moved.ts'
import { isPermanent, permanentCodes, refusalOf, refusals } from './reasons.ts'
import { isLost, nextStep, type Product, pauseMs, type RequestProgress } from './request.ts'
import { targetProblem } from './target.ts'
import { msisdnOf, plainText } from './text.ts'

type OpenApi = {
  components: { schemas: { ErrorReason: { properties: { code: { enum: string[] } } } } }
}
const text = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8')
const openapi = parse(text, { merge: true }) as OpenApi
/** About a reference, not about why money did not move. */
const aboutReferences = new Set(['RESOURCE_NOT_FOUND', 'RESOURCE_ALREADY_EXIST'])

it('every code that MTN has published has a reason, and no other', () => {
  const published = openapi.components.schemas.ErrorReason.properties.code.enum
  const expected = published.filter((code) => !aboutReferences.has(code))
  expect(Object.keys(refusals).toSorted()).toEqual(expected.toSorted())
  for (const codes of Object.values(permanentCodes))
    for (const code of codes) expect(published).toContain(code)
  assert(property(string(), (code) => refusalReasons.includes(refusalOf(code))))
  expect(refusalOf('A_NEW_CODE')).toBe('declined')
  expect(refusalOf('constructor')).toBe('declined')
})

it('a code of MTN ends what cannot be accepted later; a disbursement waits for our account and configuration', () => {
  const ends = (product: Product, status: number) => (code?: string) =>
    isPermanent(product, status, code)
  const ofPayer = ['NOT_ENOUGH_FUNDS', 'PAYER_NOT_FOUND', 'REQUEST_REJECTED']
  const codes = ['PAYEE_NOT_FOUND', ...ofPayer, 'INVALID_CURRENCY', undefined]
  expect(codes.map(ends('collection', 400))).toEqual([true, true, true, true, true, true])
  expect(codes.map(ends('collection', 500))).toEqual([true, true, true, true, false, false])
  const receiverAlone = [true, false, false, false, false, false]
  expect(codes.map(ends('disbursement', 400))).toEqual(receiverAlone)
  expect(codes.map(ends('disbursement', 500))).toEqual(receiverAlone)
})

const fresh: RequestProgress = {
  ageMs: 0,
  sentAgeMs: null,
  isAccepted: false,
  refusal: null,
  isWanted: true,
}

it('a request is sent until MTN has accepted it, and then only enquired about', () => {
  expect(nextStep(fresh)).toBe('send')
  expect(nextStep({ ...fresh, sentAgeMs: 10 })).toBe('send')
  expect(nextStep({ ...fresh, sentAgeMs: 10, isAccepted: true })).toBe('enquire')
  expect(nextStep({ ...fresh, isAccepted: true, isWanted: false })).toBe('enquire')
})

it('a payer who may no longer pay is not asked, and an unanswered request counts as lost only after two minutes', () => {
  const unwanted = { ...fresh, isWanted: false }
  expect(nextStep(unwanted)).toBe('lost')
  expect(nextStep({ ...unwanted, sentAgeMs: 0 })).toBe('enquire')
  expect(isLost({ ...unwanted, sentAgeMs: 120_000 })).toBe(false)
  expect(isLost({ ...unwanted, sentAgeMs: 120_001 })).toBe(true)
  expect(isLost({ ...unwanted, sentAgeMs: 1e9, isAccepted: true })).toBe(false)
  expect(isLost({ ...fresh, sentAgeMs: 1e9 })).toBe(false)
})

it('a refusal after a call that had no answer ends a request only when MTN does not know it after two minutes', () => {
  const refused = { ...fresh, sentAgeMs: 0, refusal: 'PAYEE_NOT_FOUND' }
  expect(nextStep(refused)).toBe('enquire')
  expect(isLost({ ...refused, sentAgeMs: 120_000 })).toBe(false)
  expect(isLost({ ...refused, sentAgeMs: 120_001 })).toBe(true)
  expect(isLost({ ...refused, sentAgeMs: 1e9, isAccepted: true })).toBe(false)
})

it('enquiries become rarer, from half a second to an hour', () => {
  const at = (ageMs: number) => pauseMs({ ...fresh, ageMs })
  expect([0, 4_000, 60_000, 86_400_000].map(at)).toEqual([500, 1_000, 15_000, 3_600_000])
})

it('a text has only characters that MTN takes, and at most 160', () => {
  expect(plainText("Mama's <Kitchen> & Söhne, 2.0")).toBe('Mama s Kitchen Söhne, 2.0')
  assert(
    property(string({ unit: 'grapheme', maxLength: 300 }), (name) => plainText(name).length <= 160),
  )
  expect(msisdnOf('+256772123456')).toBe('256772123456')
})

it('production moves real money alone, and no other environment does', () => {
  expect(targetProblem('production', 'mtnuganda')).toBeUndefined()
  expect(targetProblem('production', 'sandbox')).toContain('must not be sandbox')
  for (const environment of ['sandbox', 'local']) {
    expect(targetProblem(environment, 'sandbox')).toBeUndefined()
    expect(targetProblem(environment, 'mtnuganda')).toContain('must be sandbox')
  }
})

it('a token is fetched once for all who wait, kept until a minute before it expires, and replaced when it is refused', async () => {
  let nowMs = 0
  let fetched = 0
  let isDown = false
  const cache = createTokenCache(
    async () => {
      if (isDown) throw new Error('down')
      fetched += 1
      return { value: `token ${fetched}`, expiresInS: 3_600 }
    },
    () => nowMs,
  )
  expect(await Promise.all([cache.current(), cache.current()])).toEqual(['token 1', 'token 1'])
  nowMs = 3_539_999
  expect(await cache.current()).toBe('token 1')
  nowMs = 3_540_000
  expect(await cache.current()).toBe('token 2')
  cache.forget('token 1')
  expect(await cache.current()).toBe('token 2')
  cache.forget('token 2')
  isDown = true
  await expect(cache.current()).rejects.toThrow('down')
  isDown = false
  expect(await cache.current()).toBe('token 3')
})

it('money has moved as ordered with any zeros at the end of its amount, and any other amount, currency or id differs', () => {
  const asked = { currency: 'EUR', amountMinor: 500n, externalId: 'a' }
  const moved: Moved = { amount: '5', currency: 'EUR', externalId: 'a' }
  for (const amount of ['5', '5.0', '5.00', '5.0000'])
    expect(differenceOf(asked, { ...moved, amount })).toBeUndefined()
  for (const amount of ['5.01', '5.001', '50', '-5', '5,00', '', undefined])
    expect(differenceOf(asked, { ...moved, amount }), String(amount)).toBe('amount')
  const yen = { ...asked, currency: 'JPY' }
  expect(differenceOf(yen, { ...moved, currency: 'JPY', amount: '500.0' })).toBeUndefined()
  for (const currency of ['USD', undefined])
    expect(differenceOf(asked, { ...moved, currency })).toBe('currency')
  for (const externalId of ['b', undefined])
    expect(differenceOf(asked, { ...moved, externalId })).toBe('externalId')
})
