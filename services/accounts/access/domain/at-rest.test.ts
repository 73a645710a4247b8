// Tests where a secret at rest opens: in its own cell, under a key of the list, in the previous release's form or this one's.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { seal } from '#core/identity/seal.ts'
import { testKeys } from '../../../../test/support/keys.ts'
import { isSealedAnew, openAtRest, type SealedCell, sealAtRest } from './at-rest.ts'

const bytes = Buffer.from('a secret')
const cell: SealedCell = { column: 'review.authorisation_token_sealed', rowId: randomUUID() }
const elsewhere: SealedCell[] = [
  { ...cell, rowId: randomUUID() },
  { ...cell, column: 'challenge.authorisation_token_sealed' },
  { ...cell, column: 'review.details_sealed' },
]

describe('a secret at rest', () => {
  it('a secret at rest opens in its own cell alone', () => {
    const secrets = { seal: testKeys() }
    const sealed = sealAtRest(secrets, cell, bytes)
    expect(openAtRest(secrets, cell, sealed)).toEqual(bytes)
    for (const other of elsewhere) {
      expect(() => openAtRest(secrets, other, sealed)).toThrow('was not sealed there')
    }
  })

  it('a secret at rest opens on every replica through each step of a rotation, until its key is retired', () => {
    const keys = testKeys()
    const old = keys().current.keyId
    const before = sealAtRest({ seal: keys }, cell, bytes)
    keys.add()
    const stale = { seal: keys.asOfNow() }
    keys.use()
    const after = sealAtRest({ seal: keys }, cell, bytes)
    for (const sealed of [before, after, sealAtRest(stale, cell, bytes)]) {
      expect(openAtRest(stale, cell, sealed)).toEqual(bytes)
      expect(openAtRest({ seal: keys }, cell, sealed)).toEqual(bytes)
    }
    expect([before, after].map((sealed) => isSealedAnew(keys(), sealed))).toEqual([false, true])
    keys.retire(old)
    expect(() => openAtRest({ seal: keys }, cell, before)).toThrow('was not sealed there')
    expect(openAtRest({ seal: keys }, cell, after)).toEqual(bytes)
  })

  it('a secret at rest is in the form of the previous release while the key is the one that release knows', () => {
    const keys = testKeys('untimed')
    const secrets = { seal: keys }
    const sealed = sealAtRest(secrets, cell, bytes)
    const byRelease = seal(bytes, { ...keys().current, purpose: 'authorisation-token-at-rest' })
    for (const value of [sealed, byRelease]) {
      expect(Buffer.from(value, 'base64')[0]).toBe(1)
      expect(openAtRest(secrets, cell, value)).toEqual(bytes)
      expect(isSealedAnew(keys(), value)).toBe(true)
    }
    keys.rotate()
    expect(openAtRest(secrets, cell, byRelease)).toEqual(bytes)
    expect(isSealedAnew(keys(), byRelease)).toBe(false)
    expect(Buffer.from(sealAtRest(secrets, cell, bytes), 'base64')[0]).toBe(2)
  })

  it('a secret at rest without a row opens under no key that was made by a rotation', () => {
    const keys = testKeys()
    const forged = seal(bytes, { ...keys().current, purpose: 'authorisation-token-at-rest' })
    expect(() => openAtRest({ seal: keys }, cell, forged)).toThrow('was not sealed there')
    expect(isSealedAnew(keys(), forged)).toBe(false)
  })

  it('a secret at rest is named in the error by its cell, without its content', () => {
    const sealed = sealAtRest({ seal: testKeys() }, cell, bytes)
    const open = () => openAtRest({ seal: testKeys() }, cell, sealed)
    expect(open).toThrow(`review.authorisation_token_sealed of ${cell.rowId}`)
    expect(open).not.toThrow(sealed)
  })
})
