// Creates session tokens, opens sealed ones and signs page tokens; never logs one.

import { deriveToken, digestsEqual, hashKey, hashToken } from '#core/identity/digest.ts'
import { isUuid } from '#core/identity/id.ts'
import { open, type SealKey } from '#core/identity/seal.ts'
import type { MicrosWindow } from '../../ledger/operations/balance.ts'

const sessionPurpose = 'session'
const sealedPurpose = 'session_token'
const prefix = 'pws_'
const tokenPattern = /^pws_[A-Za-z0-9_-]{43}$/
const maxSealed = 512
const signatureBytes = 16

/** The token of a session; the same one each time. */
export function sessionToken(key: Buffer, sessionId: string): string {
  return `${prefix}${deriveToken(key, sessionPurpose, sessionId)}`
}

/** The digest that is stored for a token. For a malformed token, the digest of an empty text, which no session has. */
export function sessionTokenHash(token: string | undefined): Buffer {
  return hashToken(token !== undefined && tokenPattern.test(token) ? token : '')
}

/** The id of the key that a sealed token names; undefined for a text that names none. */
export function sealingKeyId(sealed: string): string | undefined {
  if (sealed.length > maxSealed) return undefined
  const keyId = Buffer.from(sealed.slice(0, 8), 'base64').subarray(1, 5)
  return keyId.length === 4 ? keyId.toString('hex') : undefined
}

/** The token inside a sealed one; undefined for everything that this key did not seal as a session token. */
export function openSessionToken(sealed: string, key: SealKey): string | undefined {
  return open(sealed, [key], sealedPurpose)?.toString()
}

/** Where a page of a history goes on. */
export type PageCursor = MicrosWindow & {
  /** Where the page before ended, in the ledger's own terms. */
  after: string
}

/** A page token: good for this account of this project and no other. */
export function pageToken(
  key: Buffer,
  projectId: string,
  accountId: string,
  { startUs, endUs, after }: PageCursor,
): string {
  const cursor = Buffer.from(
    JSON.stringify([String(startUs), endUs === undefined ? null : String(endUs), after]),
  )
  return Buffer.concat([pageSignature(key, projectId, accountId, cursor), cursor]).toString(
    'base64url',
  )
}

/**
 * What a page token says; undefined for one that none of the keys signed, or that is of another account or project.
 */
export function readPageToken(
  keys: readonly { key: Buffer }[],
  projectId: string,
  accountId: string,
  token: string,
): PageCursor | undefined {
  const bytes = Buffer.from(token, 'base64url')
  const cursor = bytes.subarray(signatureBytes)
  const offered = bytes.subarray(0, signatureBytes)
  const isOurs = keys.some(({ key }) =>
    digestsEqual(offered, pageSignature(key, projectId, accountId, cursor)),
  )
  if (!isOurs) return undefined
  const [start, end, after] = JSON.parse(cursor.toString()) as [string, string | null, string]
  return { startUs: BigInt(start), endUs: end === null ? undefined : BigInt(end), after }
}

function pageSignature(key: Buffer, projectId: string, accountId: string, cursor: Buffer): Buffer {
  if (!isUuid(projectId) || !isUuid(accountId)) throw new RangeError('ids are UUIDs')
  const text = `history-page${projectId}${accountId}${cursor.toString('base64')}`
  return hashKey(key, text).subarray(0, signatureBytes)
}
