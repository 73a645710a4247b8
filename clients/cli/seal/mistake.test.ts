// Tests that each common mistake of sealing is named, and that a good value passes.
import { createCipheriv, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { seal } from '#core/identity/seal.ts'
import { findSealMistake } from './mistake.ts'

const keyBytes = randomBytes(32)
const shared = { keyId: '00a1b2c3', key: keyBytes.toString('base64') }
const token = 'pws_0123456789abcdef0123456789abcdef0123456789a'

/** Seals as a client would, with what is said done in another way. */
function sealedBy(change: {
  key?: Buffer
  aad?: string
  version?: number
  keyId?: Buffer
  order?: (iv: Buffer, text: Buffer, tag: Buffer) => Buffer[]
}): Buffer {
  const { key = keyBytes, aad = 'session_token', version = 1 } = change
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(aad))
  const text = Buffer.concat([cipher.update(token), cipher.final()])
  const { keyId = Buffer.from(shared.keyId, 'hex'), order = (...parts) => parts } = change
  return Buffer.concat([Buffer.of(version), keyId, ...order(iv, text, cipher.getAuthTag())])
}

const mistakeIn = (sealed: string) => findSealMistake(sealed, shared, 'session_token')?.mistake
const good = seal(Buffer.from(token), {
  keyId: shared.keyId,
  key: keyBytes,
  purpose: 'session_token',
})

describe('a sealed value', () => {
  it('a sealed value that opens has no mistake', () => {
    expect(mistakeIn(good)).toBeUndefined()
    expect(mistakeIn(sealedBy({}).toString('base64'))).toBeUndefined()
  })

  it.each<[string, string, RegExp]>([
    ['empty', '', /empty/],
    ['the bare token', token, /not sealed/],
    ['with a line break', `${good.slice(0, 40)}\n${good.slice(40)}`, /line breaks/],
    ['in base64url', Buffer.alloc(60, 0xfb).toString('base64url'), /URL-safe/],
    ['in hex', sealedBy({}).toString('hex'), /hex/],
    ['no base64', '{"a":1}', /not base64/],
    ['without padding', Buffer.alloc(61, 1).toString('base64').replace(/=+$/, ''), /padding/],
    ['very short', 'AAAA', /3 bytes/],
    ['short', Buffer.alloc(12, 1).toString('base64'), /12 bytes/],
    ['without the version', sealedBy({ version: 2 }).toString('base64'), /0x01/],
    [
      'with the key id as text',
      sealedBy({ keyId: Buffer.from(shared.keyId) }).toString('base64'),
      /names key/,
    ],
    [
      'of another purpose',
      sealedBy({ aad: 'authorisation-token' }).toString('base64'),
      /purpose authorisation-token/,
    ],
    [
      'without associated data',
      sealedBy({ aad: '' }).toString('base64'),
      /without associated data/,
    ],
    [
      'with the tag first',
      sealedBy({ order: (iv, text, tag) => [iv, tag, text] }).toString('base64'),
      /tag stands before/,
    ],
    [
      'with the IV last',
      sealedBy({ order: (iv, text, tag) => [text, tag, iv] }).toString('base64'),
      /IV stands at the end/,
    ],
    [
      'under the text of the key',
      sealedBy({ key: Buffer.from(shared.key).subarray(0, 32) }).toString('base64'),
      /text of the base64/,
    ],
    ['under another key', sealedBy({ key: randomBytes(32) }).toString('base64'), /does not open/],
  ])('a mistake in a sealed value is named: %s', (_, sealed, named) => {
    expect(mistakeIn(sealed)).toMatch(named)
  })

  it('a sealed value is not opened with a key or a key id of the wrong form', () => {
    const check = (key: string, keyId = shared.keyId) =>
      findSealMistake(good, { keyId, key }, 'session_token')
    expect(check('short')?.mistake).toMatch(/not 32 bytes/)
    expect(check(shared.key, 'zz')?.mistake).toMatch(/not 8 hex digits/)
  })

  it('a sealed value says neither its key nor what was sealed', () => {
    const said = JSON.stringify(
      findSealMistake(sealedBy({ aad: '' }).toString('base64'), shared, 'session_token'),
    )
    expect(said).not.toContain(shared.key)
    expect(said).not.toContain(token)
  })
})
