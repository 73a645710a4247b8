// Seals values for the API and opens those that it sends: AES-256-GCM in the wire format of Google Tink.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A shared key of an institution: its 8 hex digits, and base64 of its 32 bytes. */
export type SealingKey = { keyId: string; sharedKey: string }

/** What a value is sealed for. A value that is sealed for one purpose opens for no other. */
export type SealedPurpose = 'session_token' | 'authorisation-token'

const wireVersion = 0x01
const headerBytes = 5
const ivBytes = 12
const tagBytes = 16

/**
 * Seals a text, such as the session token of an institution transaction (`session_token_enc`). Throws a RangeError that
 * names the mistake in the key.
 */
export function sealValue(
  text: string,
  key: SealingKey,
  purpose: SealedPurpose = 'session_token',
): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', keyBytes(key), iv)
  cipher.setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([header(key), iv, cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64')
}

/**
 * Opens a sealed value with the key that it names. Throws a RangeError that names the mistake: a bad key, a text that is
 * no sealed value, a key that is not among `keys`, or another purpose or a changed byte.
 */
export function openValue(
  sealed: string,
  keys: readonly SealingKey[],
  purpose: SealedPurpose,
): string {
  const bytes = Buffer.from(sealed, 'base64')
  const isSealed = bytes.toString('base64') === sealed && bytes[0] === wireVersion
  if (!isSealed || bytes.length < headerBytes + ivBytes + tagBytes) {
    throw new RangeError('the value is not sealed')
  }
  const named = bytes.subarray(0, headerBytes)
  const key = keys.find((candidate) => header(candidate).equals(named))
  if (key === undefined) {
    throw new RangeError(
      `the value is sealed under key ${named.toString('hex', 1)}, which is not among the given keys`,
    )
  }
  const iv = bytes.subarray(headerBytes, headerBytes + ivBytes)
  const decipher = createDecipheriv('aes-256-gcm', keyBytes(key), iv, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(purpose))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    const text = decipher.update(bytes.subarray(headerBytes + ivBytes, -tagBytes))
    return Buffer.concat([text, decipher.final()]).toString()
  } catch (cause) {
    throw new RangeError(`the value is not sealed as ${purpose} with this key`, { cause })
  }
}

function header({ keyId }: SealingKey): Buffer {
  if (!/^[0-9a-f]{8}$/i.test(keyId)) throw new RangeError('keyId must be 8 hex digits')
  return Buffer.concat([Buffer.of(wireVersion), Buffer.from(keyId, 'hex')])
}

function keyBytes({ sharedKey }: SealingKey): Buffer {
  const bytes = Buffer.from(sharedKey, 'base64')
  if (bytes.length !== 32) throw new RangeError('sharedKey must be base64 of 32 bytes')
  return bytes
}
