// Proves that tokens can be derived again and are bound to their key, purpose and row.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deriveToken, digestsEqual, hashKey, hashToken } from './token.ts'

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
