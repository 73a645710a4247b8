// Seals values, for the wire or for a row of a table, and signs webhooks. A refusal of a sealed value gives no reason.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { digestsEqual } from './digest.ts'

/** An AES-256 key and the 8 hex digits that name it. */
export type SealKey = { keyId: string; key: Buffer }

/** First byte of a sealed value: for the wire, or for one row of a table. */
const wireVersion = 0x01
const rowVersion = 0x02
const headerBytes = 5
const ivBytes = 12
const tagBytes = 16
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * Seals bytes for the wire: base64(0x01 ‖ key_id[4] ‖ iv[12] ‖ AES-256-GCM ciphertext ‖ tag[16]) with the purpose as
 * associated data, the wire form of Google Tink. Throws RangeError for a key id that is not 8 hex digits or a key that
 * is not 32 bytes.
 */
export function seal(
  plaintext: Buffer,
  { keyId, key, purpose }: SealKey & { purpose: string },
): string {
  return sealAs(wireVersion, plaintext, { keyId, key }, Buffer.from(purpose))
}

/**
 * Opens a sealed value with the key that its key id names. Returns undefined, without a reason, for everything that was
 * not sealed under one of the keys for this purpose: a reason would help an attacker. Throws RangeError only for a bad
 * entry of `keys` (key id not 8 hex digits).
 */
export function open(
  sealed: string,
  keys: readonly SealKey[],
  purpose: string,
): Buffer | undefined {
  return openAs(wireVersion, sealed, keys, Buffer.from(purpose))
}

/** What a value is sealed for: its purpose, and the id of its row. */
export type RowContext = { purpose: string; rowId: string }

/**
 * Seals a value for one row of a table: base64(0x02 ‖ key_id[4] ‖ iv[12] ‖ AES-256-GCM ciphertext ‖ tag[16]) with
 * purpose ‖ 0x00 ‖ row id as associated data, so that a copy in another row or column does not open. Throws RangeError
 * for a bad key (as `seal`) and for a purpose with a NUL.
 */
export function sealInRow(plaintext: Buffer, key: SealKey, context: RowContext): string {
  return sealAs(rowVersion, plaintext, key, contextBytes(context))
}

/**
 * Opens a value that `sealInRow` made for this context; undefined, without a reason, for everything else. Throws
 * RangeError only for a bad entry of `keys` and for a purpose with a NUL.
 */
export function openInRow(
  sealed: string,
  keys: readonly SealKey[],
  context: RowContext,
): Buffer | undefined {
  return openAs(rowVersion, sealed, keys, contextBytes(context))
}

/**
 * Reads from the first characters of a sealed value (8 are enough) whether it is bound to its row, and the 8 hex digits
 * of the key that it was sealed under. Returns undefined for a text of another form.
 */
export function sealedUnder(sealed: string): { inRow: boolean; keyId: string } | undefined {
  const header = Buffer.from(sealed.slice(0, 8), 'base64').subarray(0, headerBytes)
  const [version] = header
  if (header.length < headerBytes || (version !== wireVersion && version !== rowVersion)) {
    return undefined
  }
  return { inRow: version === rowVersion, keyId: header.subarray(1).toString('hex') }
}

/** Returns whether a text has the form of a value sealed for the wire. Only opening it shows whether it is one. */
export function isSealed(text: string): boolean {
  const bytes = sealedBytes(text)
  return bytes !== undefined && bytes[0] === wireVersion
}

function contextBytes({ purpose, rowId }: RowContext): Buffer {
  if (purpose.includes('\0')) throw new RangeError('a purpose has no NUL')
  return Buffer.from(`${purpose}\0${rowId.toLowerCase()}`)
}

function sealAs(version: number, plaintext: Buffer, { keyId, key }: SealKey, bound: Buffer) {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  cipher.setAAD(bound)
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  const header = sealHeader(version, keyId)
  return Buffer.concat([header, iv, ciphertext, cipher.getAuthTag()]).toString('base64')
}

function openAs(version: number, sealed: string, keys: readonly SealKey[], bound: Buffer) {
  const bytes = sealedBytes(sealed)
  if (bytes === undefined) return undefined
  const header = bytes.subarray(0, headerBytes)
  for (const { keyId, key } of keys) {
    if (!header.equals(sealHeader(version, keyId))) continue
    const plaintext = decrypt(bytes.subarray(headerBytes), key, bound)
    if (plaintext) return plaintext
  }
  return undefined
}

function sealedBytes(text: string): Buffer | undefined {
  if (!base64Pattern.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) return undefined
  return bytes.length < headerBytes + ivBytes + tagBytes ? undefined : bytes
}

function decrypt(bytes: Buffer, key: Buffer, bound: Buffer): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(bound)
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}

function sealHeader(version: number, keyId: string): Buffer {
  if (!/^[0-9a-f]{8}$/i.test(keyId)) throw new RangeError('a key id is 8 hex digits')
  return Buffer.concat([Buffer.of(version), Buffer.from(keyId, 'hex')])
}

/** How far the time of a webhook signature may be from the receiver's clock. */
const signatureToleranceS = 300

/**
 * The value of `pw-signature`: `t=<unix seconds>,v1=<hex>`, with one `v1` (HMAC-SHA-256 of `<unix seconds>.<body>`) for
 * each live secret, the newest first. Throws RangeError without a secret and for a time that is not a whole number.
 */
export function signWebhook(
  secrets: readonly string[],
  unixS: number,
  rawBody: Buffer | string,
): string {
  if (!Number.isSafeInteger(unixS)) throw new RangeError('the time is in whole seconds')
  if (secrets.length === 0) throw new RangeError('a signature needs a secret')
  const digests = secrets.map((secret) => webhookDigest(secret, unixS, rawBody).toString('hex'))
  return [`t=${unixS}`, ...digests.map((digest) => `v1=${digest}`)].join(',')
}

/**
 * Returns whether a `pw-signature` was made with one of the secrets, over exactly these bytes, within
 * `signatureToleranceS` of `nowS` (unix seconds). A malformed signature is false, not an error.
 */
export function verifyWebhook(
  secrets: readonly string[],
  signature: string,
  rawBody: Buffer | string,
  nowS: number,
): boolean {
  const match = /^t=([1-9]\d{0,11})((?:,v1=[0-9a-f]{64}){1,8})$/.exec(signature)
  if (!match) return false
  const unixS = Number(match[1])
  if (Math.abs(nowS - unixS) > signatureToleranceS) return false
  const offered = (match[2] ?? '').slice(1).split(',')
  const digests = offered.map((part) => Buffer.from(part.slice('v1='.length), 'hex'))
  return secrets.some((secret) => {
    const expected = webhookDigest(secret, unixS, rawBody)
    return digests.some((digest) => digestsEqual(digest, expected))
  })
}

function webhookDigest(secret: string, unixS: number, rawBody: Buffer | string): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'utf8'))
    .update(`${unixS}.`)
    .update(rawBody)
    .digest()
}
