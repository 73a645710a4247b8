// Reserves money in two phases: a hold is placed, then posted, voided or expired.
import { Failure, invalid } from '#core/errors/errors.ts'
import { digestsEqual, fingerprint } from '#core/identity/digest.ts'
import { namedUuid } from '#core/identity/id.ts'
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
  type HoldDraft,
  type HoldPosting,
  hasPassed,
  readHold,
  type WrittenHoldPosting,
  writeHoldReleased,
  writeHolds,
  writeHoldsPosted,
} from '../store/hold-store.ts'
import { readTransfer } from '../store/ledger-store.ts'
import type { LockWait, Written } from '../store/posting-store.ts'
import {
  conflict,
  insufficientFunds,
  openingFloats,
  type Posted,
  postDraft,
  refusing,
  repeatOf,
} from './ledger.ts'

export type { Hold } from '../store/hold-store.ts'

/** A hold to place. */
export type NewHold = {
  projectId: string
  holdId: string
  address: HolderAddress
  currency: string
  amountMinor: bigint
  expireTime: Date
  /** How much of it is fees; zero when unset. */
  feeMinor?: bigint
  details?: Details
}

/** What placing a hold answers. */
export type PlacedHold = { createTime: Date; repeated: boolean }

/**
 * Places a hold, once: a repeat returns the first result, also with another expiry. INSUFFICIENT_FUNDS,
 * LEDGER_ACCOUNT_NOT_FOUND, LEDGER_CONFLICT.
 */
export function createHold(tx: Queryable, wanted: NewHold): Promise<PlacedHold> {
  return placeHold(tx, holdDraft(wanted))
}

/** Places one hold, as `createHold` does. */
export async function placeHold(tx: Queryable, draft: HoldDraft): Promise<PlacedHold> {
  const { projectId, holdId, key, amountMinor } = draft
  const deltas = [{ ...key, deltaMinor: amountMinor }]
  const written = await openingFloats(tx, deltas, () => writeOne(tx, draft))
  if (!written.holdersFound) throw accountNotFound('no balance in this currency')
  if (written.time !== undefined) return { createTime: written.time, repeated: false }
  const known = await readHold(tx, projectId, holdId)
  if (known === undefined) {
    if ((await readTransfer(tx, projectId, holdId)) !== undefined) throw conflict(holdId)
    if (await hasPassed(tx, draft.expireTime)) refuse('expire_time', 'must be in the future')
    throw insufficientFunds()
  }
  if (!digestsEqual(known.fingerprint, draft.fingerprint)) throw conflict(holdId)
  return { createTime: known.createTime, repeated: true }
}

/**
 * Places holds in one statement. Undefined for each one that it did not place, for which `placeHold` reports the reason. When the tables refuse one,
 * none is placed.
 */
export async function placeHolds(
  q: Queryable,
  drafts: readonly HoldDraft[],
  wait: LockWait,
): Promise<(PlacedHold | undefined)[]> {
  const written = await writeHolds(q, drafts, wait)
  return written.map(({ time }) =>
    time === undefined ? undefined : { createTime: time, repeated: false },
  )
}

async function writeOne(tx: Queryable, draft: HoldDraft): Promise<Written> {
  const [written] = await refusing(() => writeHolds(tx, [draft]))
  if (written === undefined) throw new Error('one hold has one outcome')
  return written
}

/** What is written of a hold; INVALID_PARAMETER, LEDGER_ACCOUNT_NOT_FOUND or AMOUNT_OUT_OF_RANGE for what makes none. */
export function holdDraft(wanted: NewHold): HoldDraft {
  const { projectId, holdId, address, currency, amountMinor, expireTime, feeMinor = 0n } = wanted
  requireAddress(projectId, address, 'address')
  requireCurrency(currency, 'amount.currency')
  requirePositive(amountMinor, 'amount')
  if (feeMinor < 0n || feeMinor > amountMinor)
    refuse('fee_minor_units', 'must be within the amount')
  const details = wholeDetails(wanted.details)
  return {
    projectId,
    holdId: holdId.toLowerCase(),
    key: holderKey(address, currency),
    fingerprint: fingerprint([addressText(address), currency, String(amountMinor), details]),
    amountMinor,
    feeMinor,
    details,
    expireTime,
  }
}

/** A hold that was just placed, as a read would return it. */
export function freshHold(
  wanted: NewHold & { createTime: Date },
): Omit<Hold, 'fingerprint' | 'hasExpired'> {
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

/** Lines for which a hold was placed. */
export type HoldLines = { projectId: string; holdId: string; lines: readonly Line[] }

/** What posting a hold answers. */
export type PostedHold = Posted & { details: Required<Details> }

/** Posts a hold, once: the transfer has its UUID and details. What the lines do not use is released. */
export async function postHold(tx: Queryable, wanted: HoldLines): Promise<PostedHold> {
  return postPosting(tx, holdPosting(wanted))
}

/** Posts one hold, as `postHold` does. */
export async function postPosting(tx: Queryable, draft: HoldPosting): Promise<PostedHold> {
  const { projectId, transferId: holdId } = draft
  const written = await openingFloats(tx, draft.deltas, () => writeOnePosted(tx, draft))
  if (written.time !== undefined) return postedNow(written)
  const hold = await requireHold(tx, projectId, holdId)
  if (hold.state === 'posted') {
    const known = await readTransfer(tx, projectId, holdId)
    return { ...repeatOf(known, draft), details: hold.details }
  }
  if (hold.state !== 'open' || hold.hasExpired) throw closed(hold)
  if (!written.holdersFound) throw accountNotFound('no balance in this currency')
  throw wrongDebit()
}

/**
 * Posts the lines of a hold that is closed to `postHold`, mostly because it has expired: releases it if nobody has, and debits what is
 * available now, once. The transfer has the details of the hold, with the hold's id as `movement_id` of their metadata, and the id of
 * `lateTransferId`, since a hold that expired has no transfer of its own id. HOLD_NOT_FOUND; refuses lines as `postHold` does; INSUFFICIENT_FUNDS when too little is available. Follows `postHold` in
 * one transaction, which has locked the holders of the lines in their order.
 */
export async function postLate(
  tx: Queryable,
  { projectId, holdId, lines }: HoldLines,
): Promise<Posted> {
  const hold = await requireHold(tx, projectId, holdId)
  const draft = holdPosting({ projectId, holdId: lateTransferId(holdId), lines })
  if (!isDebitedBy(hold, draft)) throw wrongDebit()
  await writeHoldReleased(tx, projectId, holdId)
  const metadata = { ...hold.details.metadata, movement_id: holdId.toLowerCase() }
  return postDraft(tx, { ...draft, details: { ...hold.details, metadata } })
}

/** The id of the transfer that `postLate` posts. */
export function lateTransferId(holdId: string): string {
  return namedUuid('late transfer', holdId.toLowerCase())
}

function isDebitedBy(hold: Hold, { deltas }: HoldPosting): boolean {
  return deltas.some(
    ({ holder, holderId, currency, deltaMinor }) =>
      holder === hold.holder &&
      holderId === hold.holderId &&
      currency === hold.currency &&
      deltaMinor < 0n &&
      -deltaMinor <= hold.amountMinor,
  )
}

/**
 * Posts holds in one statement. Undefined for each one that it did not post, for which `postPosting` reports the reason. When the tables refuse one, none
 * is posted.
 */
export async function postPostings(
  q: Queryable,
  drafts: readonly HoldPosting[],
  wait: LockWait,
): Promise<(PostedHold | undefined)[]> {
  const written = await writeHoldsPosted(q, drafts, wait)
  return written.map((one) => (one.time === undefined ? undefined : postedNow(one)))
}

function postedNow({ time, details }: { time: Date; details: Required<Details> }): PostedHold {
  return { postTime: time, details, repeated: false }
}

/** What is written of a hold that is posted; refuses lines as `postTransfer` does. */
export function holdPosting({ projectId, holdId, lines }: HoldLines): HoldPosting {
  requireLines(projectId, lines)
  return {
    projectId,
    transferId: holdId.toLowerCase(),
    lines,
    deltas: holderDeltas(lines),
    fingerprint: heldLinesFingerprint(lines),
  }
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

async function writeOnePosted(tx: Queryable, draft: HoldPosting): Promise<WrittenHoldPosting> {
  try {
    const [written] = await refusing(() => writeHoldsPosted(tx, [draft]))
    if (written === undefined) throw new Error('one hold has one outcome')
    return written
  } catch (error) {
    // A concurrent call has posted a transfer with the UUID of the hold.
    if (isUniqueViolation(error, 'transfer_pkey')) throw conflict(draft.transferId)
    throw error
  }
}

function wrongDebit(): Failure {
  return invalid('postings', 'must debit the account of the hold by its amount or less')
}

function closed({ holdId, state, hasExpired }: Hold): Failure {
  const ending = state === 'open' && hasExpired ? 'has expired' : `is ${state}`
  return new Failure('HOLD_CLOSED', `hold ${holdId} ${ending}`)
}
