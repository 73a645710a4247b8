// Tests that equal JSON values have equal fingerprints and others do not.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint } from './fingerprint.ts'

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
