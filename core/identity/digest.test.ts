// Proves that tokens can be derived again and are bound to their key, purpose and row.
import { createHash, createHmac } from 'node:crypto'
import canonicalize from 'canonicalize'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deriveToken, digestsEqual, fingerprint, hashKey, hashToken } from './digest.ts'

const key = Buffer.alloc(32, 7)
const rowId = '0198c0de-0000-7000-8000-00000000000a'

describe('deriveToken', () => {
  it('deriveToken is base64url of HMAC-SHA-256 over purpose and row id', () => {
    const expected = createHmac('sha256', key).update(`payment_link${rowId}`).digest('base64url')
    expect(deriveToken(key, 'payment_link', rowId)).toBe(expected)
    expect(expected).toMatch(/^[\w-]{43}$/)
  })

  it('deriveToken is the same for a row id in either case, and another for all else', () => {
    const token = deriveToken(key, 'payment_link', rowId)
    expect(deriveToken(key, 'payment_link', rowId.toUpperCase())).toBe(token)
    expect(deriveToken(key, 'session', rowId)).not.toBe(token)
    expect(deriveToken(Buffer.alloc(32, 8), 'payment_link', rowId)).not.toBe(token)
    expect(deriveToken(key, 'payment_link', rowId.replace(/a$/, 'b'))).not.toBe(token)
  })

  it('deriveToken takes only a UUID for a row id, so that two purposes cannot meet', () => {
    expect(() => deriveToken(key, 'session', 'row-1')).toThrow(RangeError)
  })
})

describe('hashes', () => {
  it('hashes of tokens are plain SHA-256', () => {
    expect(hashToken('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  it('hashes of keys are HMAC-SHA-256 under the pepper (RFC 4231, case 2)', () => {
    expect(hashKey(Buffer.from('Jefe'), 'what do ya want for nothing?').toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('hashes are equal only when every byte is', () => {
    expect(digestsEqual(hashToken('a'), hashToken('a'))).toBe(true)
    expect(digestsEqual(hashToken('a'), hashToken('b'))).toBe(false)
    expect(digestsEqual(hashToken('a'), Buffer.alloc(0))).toBe(false)
  })
})

describe('fingerprint', () => {
  it('fingerprint is SHA-256 of the RFC 8785 form', () => {
    const canonical = '{"a":1,"b":[true,null,"\u20ac\\n"],"c":{"x":10,"y":1e+30}}'
    const value = { c: { y: 1e30, x: 10 }, b: [true, null, '\u20ac\n'], a: 1 }
    expect(fingerprint(value)).toEqual(createHash('sha256').update(canonical).digest())
  })

  it('fingerprint does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed())
        expect(fingerprint(reversed)).toEqual(fingerprint(value))
      }),
    )
  })

  it('fingerprint is that of RFC 8785 for any value, its keys sorted or not', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const canonical = canonicalize(value) ?? ''
        const expected = createHash('sha256').update(canonical).digest()
        expect(fingerprint(value)).toEqual(expected)
        // What is read from the canonical form has its keys in order.
        expect(fingerprint(JSON.parse(canonical))).toEqual(expected)
      }),
    )
  })

  it('fingerprint sorts keys as text, also those that JavaScript orders as numbers', () => {
    const expected = createHash('sha256').update('{"10":1,"9":2,"a":3}').digest()
    expect(fingerprint({ a: 3, 9: 2, 10: 1 })).toEqual(expected)
    expect(fingerprint({ at: new Date(0) })).toEqual(fingerprint({ at: new Date(0).toJSON() }))
  })

  it('fingerprint distinguishes amounts that are written differently', () => {
    expect(fingerprint({ amount: '10.0' })).not.toEqual(fingerprint({ amount: '10.00' }))
    expect(fingerprint(['a', 'b'])).not.toEqual(fingerprint(['b', 'a']))
  })

  it('fingerprint ignores fields that are undefined, as JSON does', () => {
    expect(fingerprint({ a: 1, b: undefined })).toEqual(fingerprint({ a: 1 }))
  })

  it('fingerprint refuses what has no JSON form', () => {
    expect(() => fingerprint(undefined)).toThrow(TypeError)
    expect(() => fingerprint(Number.NaN)).toThrow(Error)
    expect(() => fingerprint('\ud800')).toThrow(Error)
    expect(() => fingerprint({ '\ud800': 1 })).toThrow(Error)
    expect(() => fingerprint([{ a: Number.POSITIVE_INFINITY }])).toThrow(Error)
  })
})
