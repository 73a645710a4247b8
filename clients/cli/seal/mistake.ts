// Names what is wrong with a sealed value, for the side that seals and has the key. The API itself never says.
import { createDecipheriv } from 'node:crypto'
import { open } from '#core/identity/seal.ts'

/** What sealed values are for; the purpose is the associated data of AES-256-GCM. */
export const sealPurposes = ['session_token', 'authorisation-token'] as const

/** What a sealed value is for. */
export type SealPurpose = (typeof sealPurposes)[number]

/** What is wrong, and what to change. Neither holds the key or what was sealed. */
export type SealMistake = { mistake: string; remedy: string }

const layout = '0x01, key id (4 bytes), IV (12 bytes), ciphertext, tag (16 bytes)'
const headerBytes = 5
const ivBytes = 12
const tagBytes = 16
const keyBytes = 32

/**
 * Returns the first mistake in a value that does not open, undefined when it opens. `key` is the shared key as the
 * institution got it, 32 bytes in base64, and `keyId` its 8 hex digits. The checks go from the outside in: the given
 * key, the text, the bytes, then the encryption, where one wrong step would hide all later ones.
 */
export function findSealMistake(
  sealed: string,
  { keyId, key }: { keyId: string; key: string },
  purpose: SealPurpose,
): SealMistake | undefined {
  const bytes = Buffer.from(key, 'base64')
  if (bytes.length !== keyBytes || bytes.toString('base64') !== key) {
    return found(
      'The shared key is not 32 bytes in base64.',
      'Copy it as it was given to you, 44 characters with the padding.',
    )
  }
  if (!/^[0-9a-f]{8}$/i.test(keyId)) {
    return found('The key id is not 8 hex digits.', 'Use the key_id that came with the shared key.')
  }
  return (
    mistakeOfText(sealed) ??
    mistakeOfBytes(Buffer.from(sealed, 'base64'), sealed, { keyId, key: bytes }, purpose)
  )
}

function mistakeOfText(sealed: string): SealMistake | undefined {
  if (sealed === '') return found('The value is empty.', 'Send the sealed value.')
  if (sealed.startsWith('pws_')) {
    return found(
      'The value is a session token that is not sealed.',
      'Seal it with the shared key of the institution.',
    )
  }
  if (/\s/.test(sealed)) {
    return found('The value holds blanks or line breaks.', 'Encode base64 without line breaks.')
  }
  if (/^[\w-]+={0,2}$/.test(sealed) && /[-_]/.test(sealed)) {
    return found(
      'The value is in the URL-safe alphabet of base64.',
      'Use the standard alphabet, with + and /.',
    )
  }
  if (/^([0-9a-f]{2}){33,}$/i.test(sealed)) {
    return found('The value is in hex.', 'Encode the bytes in base64.')
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(sealed)) {
    return found(
      'The value is not base64.',
      'Encode the bytes in standard base64 (RFC 4648, section 4).',
    )
  }
  if (Buffer.from(sealed, 'base64').toString('base64') !== sealed) {
    return found('The padding of the base64 is missing or wrong.', 'Keep the = signs at the end.')
  }
  return undefined
}

function mistakeOfBytes(
  bytes: Buffer,
  sealed: string,
  { keyId, key }: { keyId: string; key: Buffer },
  purpose: SealPurpose,
): SealMistake | undefined {
  if (bytes.length < headerBytes + ivBytes + tagBytes) {
    return found(
      `The value has ${bytes.length} bytes; the minimum is 33.`,
      `Join ${layout}, in this order.`,
    )
  }
  if (bytes[0] !== 1) {
    return found('The first byte is not 0x01.', `Begin with the version byte: ${layout}.`)
  }
  const named = bytes.subarray(1, headerBytes).toString('hex')
  if (named !== keyId.toLowerCase()) {
    return found(
      `The value names key ${named}, not ${keyId.toLowerCase()}.`,
      'Write the 8 hex digits of the key id as 4 bytes, not as 8 characters. After a rotation use the new key with its own id.',
    )
  }
  const keys = [{ keyId, key }]
  if (open(sealed, keys, purpose) !== undefined) return undefined
  const other = sealPurposes.find((one) => one !== purpose && open(sealed, keys, one) !== undefined)
  if (other !== undefined) {
    return found(
      `The value is sealed for the purpose ${other}.`,
      `Use the associated data ${purpose}.`,
    )
  }
  return mistakeOfSealing(bytes.subarray(headerBytes), key, purpose)
}

/**
 * Decrypts under each of the usual mistakes (no associated data, parts in another order, the key's text as the key) to
 * find out which one was made.
 */
function mistakeOfSealing(body: Buffer, key: Buffer, purpose: string): SealMistake {
  const usual = {
    key,
    iv: body.subarray(0, ivBytes),
    rest: body.subarray(ivBytes),
    aad: Buffer.from(purpose),
  }
  if (decrypts({ ...usual, aad: Buffer.alloc(0) })) {
    return found(
      'The value is sealed without associated data.',
      `Set the associated data (AAD) to the text ${purpose}.`,
    )
  }
  const rest = Buffer.concat([usual.rest.subarray(tagBytes), usual.rest.subarray(0, tagBytes)])
  if (decrypts({ ...usual, rest })) {
    return found('The tag stands before the ciphertext.', `Join ${layout}, in this order.`)
  }
  const ivLast = { ...usual, iv: body.subarray(-ivBytes), rest: body.subarray(0, -ivBytes) }
  if (decrypts(ivLast)) {
    return found('The IV stands at the end.', `Join ${layout}, in this order.`)
  }
  // The base64 text of a key has 44 bytes; some cut it to the 32 that AES wants.
  const textKey = Buffer.from(key.toString('base64')).subarray(0, keyBytes)
  if (decrypts({ ...usual, key: textKey })) {
    return found(
      'The key is the text of the base64.',
      'Decode the base64 of the shared key to its 32 bytes.',
    )
  }
  return found(
    'The value does not open: the key, the associated data or a byte is another one.',
    `Check that AES-256-GCM has the decoded shared key, a 12-byte IV, the associated data ${purpose} and a 16-byte tag.`,
  )
}

function decrypts({
  key,
  iv,
  rest,
  aad,
}: {
  key: Buffer
  iv: Buffer
  rest: Buffer
  aad: Buffer
}): boolean {
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  decipher.setAAD(aad)
  decipher.setAuthTag(rest.subarray(-tagBytes))
  try {
    decipher.update(rest.subarray(0, -tagBytes))
    decipher.final()
    return true
  } catch {
    return false
  }
}

function found(mistake: string, remedy: string): SealMistake {
  return { mistake, remedy }
}
