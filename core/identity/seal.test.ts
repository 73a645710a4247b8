// Proves the wire form of sealed values and signatures, and that nothing else opens or verifies.
import { createDecipheriv, createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isSealed,
  open,
  openInRow,
  seal,
  sealedUnder,
  sealInRow,
  signWebhook,
  verifyWebhook,
} from './seal.ts'

const current = { keyId: '0a1b2c3d', key: Buffer.alloc(32, 1) }
const previous = { keyId: 'ffffffff', key: Buffer.alloc(32, 2) }
const purpose = 'session_token'
const plaintext = Buffer.from('pws_token')

describe('seal', () => {
  it('seal has the wire form version, key id, iv, ciphertext, tag', () => {
    const bytes = Buffer.from(seal(plaintext, { ...current, purpose }), 'base64')
    expect(bytes.subarray(0, 5).toString('hex')).toBe('010a1b2c3d')
    expect(bytes.length).toBe(1 + 4 + 12 + plaintext.length + 16)
    const decipher = createDecipheriv('aes-256-gcm', current.key, bytes.subarray(5, 17))
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(-16))
    const opened = Buffer.concat([decipher.update(bytes.subarray(17, -16)), decipher.final()])
    expect(opened).toEqual(plaintext)
  })

  it('seal never gives the same text twice', () => {
    const sealing = { ...current, purpose }
    expect(seal(plaintext, sealing)).not.toBe(seal(plaintext, sealing))
  })

  it('seal throws on a key id or a key of the wrong form', () => {
    expect(() => seal(plaintext, { ...current, keyId: 'abc', purpose })).toThrow(RangeError)
    expect(() => seal(plaintext, { ...current, key: Buffer.alloc(16), purpose })).toThrow(Error)
  })
})

describe('open', () => {
  it('open gives back what was sealed, under any of the live keys', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom(current, previous),
        (bytes, key) => {
          const sealed = seal(Buffer.from(bytes), { ...key, purpose })
          expect(open(sealed, [current, previous], purpose)).toEqual(Buffer.from(bytes))
        },
      ),
    )
  })

  it('open finds the right one of two keys that share an id', () => {
    const twin = { keyId: current.keyId.toUpperCase(), key: Buffer.alloc(32, 3) }
    const sealed = seal(plaintext, { ...current, purpose })
    expect(open(sealed, [twin, current], purpose)).toEqual(plaintext)
  })

  it('open refuses another key, another key id and another purpose', () => {
    const sealed = seal(plaintext, { ...current, purpose })
    expect(open(sealed, [previous], purpose)).toBeUndefined()
    expect(open(sealed, [{ ...current, key: previous.key }], purpose)).toBeUndefined()
    expect(open(sealed, [{ ...current, keyId: previous.keyId }], purpose)).toBeUndefined()
    expect(open(sealed, [current], 'authorisation-token')).toBeUndefined()
    expect(open(sealed, [], purpose)).toBeUndefined()
  })

  it('open refuses a sealed value in which any one bit is changed', () => {
    const bytes = Buffer.from(seal(plaintext, { ...current, purpose }), 'base64')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(open(changed.toString('base64'), [current], purpose)).toBeUndefined()
    }
  })

  it('open refuses cut values and other spellings of the same bytes', () => {
    const sealed = seal(Buffer.alloc(1), { ...current, purpose })
    const bytes = Buffer.from(sealed, 'base64')
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = bytes.subarray(0, length).toString('base64')
      expect(open(cut, [current], purpose)).toBeUndefined()
    }
    expect(open(` ${sealed}`, [current], purpose)).toBeUndefined()
    expect(open(`${sealed}\n`, [current], purpose)).toBeUndefined()
    expect(open(`${sealed}=`, [current], purpose)).toBeUndefined()
    expect(open(`${sealed}!!`, [current], purpose)).toBeUndefined()
  })

  it('open refuses any text that nobody sealed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(open(text, [current, previous], purpose)).toBeUndefined()
      }),
    )
  })
})

describe('a value sealed for a row', () => {
  const context = {
    purpose: 'review.details_sealed',
    rowId: '0198c0de-0000-7000-8000-00000000000a',
  }
  const sealed = sealInRow(plaintext, current, context)

  it('a value sealed for a row opens in its row under any of the live keys, the id in either case', () => {
    expect(openInRow(sealed, [previous, current], context)).toEqual(plaintext)
    const upper = { ...context, rowId: context.rowId.toUpperCase() }
    expect(openInRow(sealed, [current], upper)).toEqual(plaintext)
  })

  it('a value sealed for a row does not open in another row, in another column or without a row', () => {
    const elsewhere = { ...context, rowId: context.rowId.replace(/a$/, 'b') }
    expect(openInRow(sealed, [current], elsewhere)).toBeUndefined()
    expect(
      openInRow(sealed, [current], { ...context, purpose: 'artefact.key_sealed' }),
    ).toBeUndefined()
    expect(openInRow(sealed, [previous], context)).toBeUndefined()
    expect(open(sealed, [current], context.purpose)).toBeUndefined()
  })

  it('a value sealed for a row is not confused with one that has no row, nor purpose with row id', () => {
    const wire = seal(plaintext, { ...current, purpose: `${context.purpose}\0${context.rowId}` })
    expect(openInRow(wire, [current], context)).toBeUndefined()
    const shifted = { purpose: 'review', rowId: `.details_sealed${context.rowId}` }
    expect(openInRow(sealed, [current], shifted)).toBeUndefined()
    expect(() => sealInRow(plaintext, current, { ...context, purpose: 'a\0b' })).toThrow(RangeError)
  })

  it('a value sealed for a row differs from the wire form in its version and associated data alone', () => {
    const bytes = Buffer.from(sealed, 'base64')
    expect(bytes.subarray(0, 5).toString('hex')).toBe('020a1b2c3d')
    const decipher = createDecipheriv('aes-256-gcm', current.key, bytes.subarray(5, 17))
    decipher.setAAD(Buffer.from(`${context.purpose}\0${context.rowId}`))
    decipher.setAuthTag(bytes.subarray(-16))
    const opened = Buffer.concat([decipher.update(bytes.subarray(17, -16)), decipher.final()])
    expect(opened).toEqual(plaintext)
  })
})

describe('sealedUnder', () => {
  it('sealedUnder shows form and key in the first eight characters', () => {
    const row = sealInRow(plaintext, previous, { purpose, rowId: 'a' })
    expect(sealedUnder(row.slice(0, 8))).toEqual({ inRow: true, keyId: 'ffffffff' })
    const wire = seal(plaintext, { ...current, purpose })
    expect(sealedUnder(wire)).toEqual({ inRow: false, keyId: '0a1b2c3d' })
  })

  it.each(['', 'AQ==', 'AwAAAAAA', '////////'])('sealedUnder shows neither in %j', (text) => {
    expect(sealedUnder(text)).toBeUndefined()
  })
})

describe('isSealed', () => {
  it('isSealed recognises a sealed value by its form, for any key', () => {
    expect(isSealed(seal(plaintext, { ...previous, purpose }))).toBe(true)
  })

  it('isSealed does not take one that is bound to a row for one of the wire', () => {
    expect(isSealed(sealInRow(plaintext, previous, { purpose, rowId: 'a' }))).toBe(false)
  })

  it.each(['', 'token-0123456789', 'A'.repeat(44), 'A'.repeat(1024), '/'.repeat(44)])(
    'isSealed does not take %j for one',
    (text) => expect(isSealed(text)).toBe(false),
  )
})

describe('signWebhook', () => {
  const body = '{"status":"completed"}'

  it('signWebhook signs the time and the raw body with each secret', () => {
    const first = createHmac('sha256', 'new').update(`1700000000.${body}`).digest('hex')
    const second = createHmac('sha256', 'old').update(`1700000000.${body}`).digest('hex')
    expect(signWebhook(['new', 'old'], 1_700_000_000, body)).toBe(
      `t=1700000000,v1=${first},v1=${second}`,
    )
    expect(signWebhook(['new', 'old'], 1_700_000_000, Buffer.from(body))).toBe(
      signWebhook(['new', 'old'], 1_700_000_000, body),
    )
  })

  it('signWebhook uses the UTF-8 bytes of the secret', () => {
    const digest = createHmac('sha256', Buffer.from('schlüssel')).update('1.x').digest('hex')
    expect(signWebhook(['schlüssel'], 1, 'x')).toBe(`t=1,v1=${digest}`)
  })

  it('signWebhook throws without a secret and on fractions of a second', () => {
    expect(() => signWebhook([], 1, body)).toThrow(RangeError)
    expect(() => signWebhook(['s'], 1.5, body)).toThrow(RangeError)
  })

  it('signWebhook verifies with any one common secret while keys rotate', () => {
    const signature = signWebhook(['new', 'old'], 1000, body)
    expect(verifyWebhook(['old'], signature, body, 1000)).toBe(true)
    expect(verifyWebhook(['new'], signature, body, 1000)).toBe(true)
    expect(verifyWebhook(['other', 'new'], signature, body, 1000)).toBe(true)
    expect(verifyWebhook(['other'], signature, body, 1000)).toBe(false)
    expect(verifyWebhook([], signature, body, 1000)).toBe(false)
  })

  it('signWebhook verifies up to 300 seconds away on either side', () => {
    const signature = signWebhook(['s'], 1000, body)
    expect(verifyWebhook(['s'], signature, body, 1300)).toBe(true)
    expect(verifyWebhook(['s'], signature, body, 700)).toBe(true)
    expect(verifyWebhook(['s'], signature, body, 1301)).toBe(false)
    expect(verifyWebhook(['s'], signature, body, 699)).toBe(false)
  })

  it('signWebhook does not verify another body, another time or another form', () => {
    const signature = signWebhook(['s'], 1000, body)
    expect(verifyWebhook(['s'], signature, `${body} `, 1000)).toBe(false)
    expect(verifyWebhook(['s'], signature.replace('t=1000', 't=1001'), body, 1000)).toBe(false)
    const otherTime = signature.replace('t=', 't=0')
    for (const form of [
      '',
      't=1000',
      'v1=00',
      `${signature},`,
      signature.toUpperCase(),
      otherTime,
    ]) {
      expect(verifyWebhook(['s'], form, body, 1000)).toBe(false)
    }
  })
})
