// Proves that equal JSON values have equal fingerprints and others do not.
import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint } from './fingerprint.ts'

describe('fingerprint', () => {
  it('is SHA-256 of the RFC 8785 form', () => {
    const canonical = '{"a":1,"b":[true,null,"\u20ac\\n"],"c":{"x":10,"y":1e+30}}'
    const value = { c: { y: 1e30, x: 10 }, b: [true, null, '\u20ac\n'], a: 1 }
    expect(fingerprint(value)).toEqual(createHash('sha256').update(canonical).digest())
  })

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed())
        expect(fingerprint(reversed)).toEqual(fingerprint(value))
      }),
    )
  })

  it('tells amounts apart that are written differently', () => {
    expect(fingerprint({ amount: '10.0' })).not.toEqual(fingerprint({ amount: '10.00' }))
    expect(fingerprint(['a', 'b'])).not.toEqual(fingerprint(['b', 'a']))
  })

  it('ignores fields that are undefined, as JSON does', () => {
    expect(fingerprint({ a: 1, b: undefined })).toEqual(fingerprint({ a: 1 }))
  })

  it('refuses what has no JSON form', () => {
    expect(() => fingerprint(undefined)).toThrow(TypeError)
    expect(() => fingerprint(Number.NaN)).toThrow(Error)
    expect(() => fingerprint('\ud800')).toThrow(Error)
  })
})
