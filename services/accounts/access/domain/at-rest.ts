// Seals secrets for the column and row that store them, and opens them there; never logs one.
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import {
  open,
  openInRow,
  type RowContext,
  seal,
  sealedUnder,
  sealInRow,
} from '#core/identity/seal.ts'

/** The service's own secrets: the peppers of key digests and the keys that seal secrets at rest. */
export type AccountSecrets = { pepper: KeySource; seal: KeySource }

/** Every column of sealed values, with the purpose to which the previous release bound its values; now they are bound to their rows. */
const purposesBeforeRows = {
  'institution_key.shared_key_sealed': 'institution-key',
  'institution_key.signing_secret_sealed': 'institution-key',
  'review.details_sealed': 'profile-details',
  'review.authorisation_token_sealed': 'authorisation-token-at-rest',
  'challenge.authorisation_token_sealed': 'authorisation-token-at-rest',
  'business_owner.authorisation_token_sealed': 'authorisation-token-at-rest',
  'artefact.key_sealed': 'artefact-key',
} as const

/** A column of sealed values. */
export type SealedColumn = keyof typeof purposesBeforeRows

/** Every column of sealed values. */
export const sealedColumns = Object.keys(purposesBeforeRows) as readonly SealedColumn[]

/** Where a sealed value is stored. A row with a key of two columns has both, with a slash between. */
export type SealedCell = { column: SealedColumn; rowId: string }

type SealKeys = Pick<AccountSecrets, 'seal'>

/**
 * Seals bytes for one cell under the service's current key. The key without a time, which the previous release knows too,
 * still seals in the format of that release, because both releases may run side by side.
 */
export function sealAtRest({ seal: keys }: SealKeys, cell: SealedCell, bytes: Buffer): string {
  const { current } = keys()
  if (!bindsToRow(current)) return seal(bytes, { ...current, purpose: oldPurpose(cell) })
  return sealInRow(bytes, current, contextOf(cell))
}

/**
 * Opens what `sealAtRest` made for this cell. A value that is not bound to a row opens only under the key without a time,
 * because no other key has sealed such values. Throws when it was sealed for another cell, or under a key that is no longer in the list.
 */
export function openAtRest({ seal: keys }: SealKeys, cell: SealedCell, sealed: string): Buffer {
  const ring = keys()
  const bytes = openInRow(sealed, ring.keys, contextOf(cell)) ?? openWithoutRow(ring, cell, sealed)
  if (bytes !== undefined) return bytes
  throw new Error(`${cell.column} of ${cell.rowId} was not sealed there under this seal.key`)
}

/** Whether a sealed value, or its first 8 characters, is in the form and under the key that `sealAtRest` uses now. */
export function isSealedAnew({ current }: KeyRing, sealed: string): boolean {
  const under = sealedUnder(sealed)
  return under?.keyId === current.keyId && under.inRow === bindsToRow(current)
}

function openWithoutRow(ring: KeyRing, cell: SealedCell, sealed: string): Buffer | undefined {
  const untimed = ring.find(null)
  return untimed && open(sealed, [untimed], oldPurpose(cell))
}

function bindsToRow({ makeTime }: KeyRing['current']): boolean {
  return makeTime !== undefined
}

function oldPurpose({ column }: SealedCell): string {
  return purposesBeforeRows[column]
}

function contextOf({ column, rowId }: SealedCell): RowContext {
  return { purpose: column, rowId }
}
