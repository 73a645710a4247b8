// Tests the form of session tokens and page tokens, and which ones are refused.
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { seal } from '#core/identity/seal.ts'
import {
  openSessionToken,
  pageToken,
  readPageToken,
  sealingKeyId,
  sessionToken,
  sessionTokenHash,
} from './token.ts'

const key = randomBytes(32)

describe('a session token', () => {
  it('a session token is the same each time for one session and key, and another for any other', () => {
    const sessionId = randomUUID()
    const token = sessionToken(key, sessionId)
    expect(token).toMatch(/^pws_[A-Za-z0-9_-]{43}$/)
    expect(sessionToken(key, sessionId)).toBe(token)
    expect(sessionToken(key, randomUUID())).not.toBe(token)
    expect(sessionToken(randomBytes(32), sessionId)).not.toBe(token)
  })

  it('a session token of another form has the digest of no session', () => {
    const none = sessionTokenHash(undefined)
    for (const text of ['', 'pws_', `pws_${'a'.repeat(44)}`, `pws_${'é'.repeat(43)}`]) {
      expect(sessionTokenHash(text)).toEqual(none)
    }
    expect(sessionTokenHash(sessionToken(key, randomUUID()))).not.toEqual(none)
  })

  it('a session token names the key that sealed it and opens under that key for its purpose alone', () => {
    const sealKey = { keyId: 'a1b2c3d4', key }
    const sealed = seal(Buffer.from('token'), { ...sealKey, purpose: 'session_token' })
    expect(sealingKeyId(sealed)).toBe('a1b2c3d4')
    expect(openSessionToken(sealed, sealKey)).toBe('token')
    expect(openSessionToken(sealed, { keyId: 'a1b2c3d4', key: randomBytes(32) })).toBeUndefined()
    const other = seal(Buffer.from('token'), { ...sealKey, purpose: 'authorisation-token' })
    expect(openSessionToken(other, sealKey)).toBeUndefined()
    for (const text of ['', 'AQ==', 'x'.repeat(1_000)]) expect(sealingKeyId(text)).toBeUndefined()
  })
})

describe('a page token', () => {
  const projectId = randomUUID()
  const accountId = randomUUID()
  const cursor = { startUs: 1_000_001n, endUs: 2_000_002n, after: 'here' }
  const token = pageToken(key, projectId, accountId, cursor)

  it('a page token says where its page begins, only to its own project and account', () => {
    expect(readPageToken([{ key }], projectId, accountId, token)).toEqual(cursor)
    const openEnded = { ...cursor, endUs: undefined }
    const another = pageToken(key, projectId, accountId, openEnded)
    expect(readPageToken([{ key }], projectId, accountId, another)).toEqual(openEnded)
    expect(readPageToken([{ key }], randomUUID(), accountId, token)).toBeUndefined()
    expect(readPageToken([{ key }], projectId, randomUUID(), token)).toBeUndefined()
    const others = [{ key: randomBytes(32) }]
    expect(readPageToken(others, projectId, accountId, token)).toBeUndefined()
    expect(readPageToken([...others, { key }], projectId, accountId, token)).toEqual(cursor)
  })

  it('a page token that was changed in any byte, cut or made up is refused', () => {
    const bytes = Buffer.from(token, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      const text = changed.toString('base64url')
      expect(readPageToken([{ key }], projectId, accountId, text)).toBeUndefined()
    }
    for (const text of ['', 'x', '💥', token.slice(0, 12), token.slice(0, -4)]) {
      expect(readPageToken([{ key }], projectId, accountId, text)).toBeUndefined()
    }
  })
})
