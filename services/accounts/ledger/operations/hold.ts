// Reserves money in two phases: a hold is placed, then posted, voided or expired.
import { Failure } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/fingerprint.ts'
import { digestsEqual } from '#core/identity/token.ts'
import { isUniqueViolation, type Queryable } from '#platform/db/db.ts'
import {
  accountNotFound,
  addressText,
  type Details,
  type HolderAddress,
  holderDeltas,
  holderKey,
  type Line,
  linesFingerprint,
  refuse,
  requireAddress,
  requireCurrency,
  requireLines,
  requirePositive,
  wholeDetails,
} from '../domain/lines.ts'
import {
  type Hold,
  readHold,
  writeHold,
  writeHoldPosted,
  writeHoldReleased,
} from '../store/hold-store.ts'
import { readTransfer } from '../store/ledger-store.ts'
import { conflict, openFloats, type Posted, refusing, repeatOf } from './ledger.ts'

export type { Hold } from '../store/hold-store.ts'

/** A hold to make. */
export type NewHold = {
  projectId: string
  holdId: string
  address: HolderAddress
  currency: string
  amountMinor: bigint
  expireTime: Date
  /** How much of it is fees; none when it is not said. */
  feeMinor?: bigint
  details?: Details
}

/**
 * Places a hold, once: a repeat returns the first result, also with another expiry. INSUFFICIENT_FUNDS,
 * LEDGER_ACCOUNT_NOT_FOUND, LEDGER_CONFLICT.
 */
export async function createHold(
  tx: Queryable,
  wanted: NewHold,
): Promise<{ createTime: Date; repeated: boolean }> {
  const { projectId, holdId, address, currency, amountMinor, expireTime, feeMinor = 0n } = wanted
  requireAddress(projectId, address, 'address')
  requireCurrency(currency, 'amount.currency')
  requirePositive(amountMinor, 'amount')
  if (feeMinor < 0n || feeMinor > amountMinor)
    refuse('fee_minor_units', 'must be within the amount')
  const key = holderKey(address, currency)
  const details = wholeDetails(wanted.details)
  const content = [addressText(address), currency, String(amountMinor), details]
  const digest = fingerprint(content)
  const hold = { projectId, holdId, key, fingerprint: digest, amountMinor, feeMinor }
  const draft = { ...hold, details, expireTime }
  let written = await refusing(() => writeHold(tx, draft))
  if (!written.holderFound) {
    await openFloats(tx, [{ ...key, deltaMinor: amountMinor }])
    written = await refusing(() => writeHold(tx, draft))
  }
  if (written.createTime !== null) return { createTime: written.createTime, repeated: false }
  const known = await readHold(tx, projectId, holdId)
  if (known === undefined) {
    if ((await readTransfer(tx, projectId, holdId)) !== undefined) throw conflict(holdId)
    return refuse('expire_time', 'must be in the future')
  }
  if (!digestsEqual(known.fingerprint, digest)) throw conflict(holdId)
  return { createTime: known.createTime, repeated: true }
}

/** A hold as it is in the moment in which it was made. */
export function freshHold(
  wanted: NewHold & { createTime: Date },
): Omit<Hold, 'fingerprint' | 'hasLapsed'> {
  const { projectId, holdId, address, currency, amountMinor, createTime, expireTime } = wanted
  return {
    ...holderKey(address, currency),
    projectId: projectId.toLowerCase(),
    holdId: holdId.toLowerCase(),
    amountMinor,
    state: 'open',
    details: wholeDetails(wanted.details),
    createTime,
    expireTime,
  }
}

/** Turns a hold into a transfer of the same UUID and details, once; what the lines do not use is released. */
export async function postHold(
  tx: Queryable,
  { projectId, holdId, lines }: { projectId: string; holdId: string; lines: readonly Line[] },
): Promise<Posted & { details: Required<Details> }> {
  requireLines(projectId, lines)
  const deltas = holderDeltas(lines)
  const draft = {
    projectId,
    transferId: holdId,
    lines,
    deltas,
    fingerprint: heldLinesFingerprint(lines),
  }
  let written = await posting(tx, draft)
  const hasFloat = deltas.some(({ holder }) => holder === 'float')
  if (written.postTime === null && !written.holdersFound && hasFloat) {
    await openFloats(tx, deltas)
    written = await posting(tx, draft)
  }
  if (written.postTime !== null) return { ...written, repeated: false }
  const hold = await requireHold(tx, projectId, holdId)
  if (hold.state === 'posted') {
    const known = await readTransfer(tx, projectId, holdId)
    return { ...repeatOf(known, draft), details: hold.details }
  }
  if (hold.state !== 'open' || hold.hasLapsed) throw closed(hold)
  if (!written.holdersFound) throw accountNotFound('no balance in this currency')
  return refuse('postings', 'must debit the account of the hold by its amount or less')
}

/** The fingerprint that distinguishes a repeat of posting a hold from a conflict; its details are the hold's own. */
export function heldLinesFingerprint(lines: readonly Line[]): Buffer {
  return linesFingerprint(lines, 'hold')
}

/** Voids a hold; one that was voided or has expired is returned. HOLD_CLOSED when it was posted. */
export async function voidHold(tx: Queryable, projectId: string, holdId: string): Promise<Hold> {
  await writeHoldReleased(tx, projectId, holdId)
  const hold = await requireHold(tx, projectId, holdId)
  if (hold.state === 'posted') throw closed(hold)
  return hold
}

/** Reads a hold; HOLD_NOT_FOUND. */
export async function requireHold(q: Queryable, projectId: string, holdId: string): Promise<Hold> {
  const found = await readHold(q, projectId, holdId)
  if (found === undefined) {
    throw new Failure('HOLD_NOT_FOUND', `the project has no hold ${holdId}`)
  }
  return found
}

async function posting(
  tx: Queryable,
  draft: Parameters<typeof writeHoldPosted>[1],
): ReturnType<typeof writeHoldPosted> {
  try {
    return await refusing(() => writeHoldPosted(tx, draft))
  } catch (error) {
    // Somebody posted a transfer under the hold's UUID in the same moment.
    if (isUniqueViolation(error, 'transfer_pkey')) throw conflict(draft.transferId)
    throw error
  }
}

function closed({ holdId, state, hasLapsed }: Hold): Failure {
  const ending = state === 'open' && hasLapsed ? 'has lapsed' : `is ${state}`
  return new Failure('HOLD_CLOSED', `hold ${holdId} ${ending}`)
}
