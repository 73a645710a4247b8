// Posts and reverses transfers, and reads balances and histories.

import { Failure } from '#core/errors/errors.ts'
import { digestsEqual } from '#core/identity/digest.ts'
import { isCheckViolation, type Queryable } from '#platform/db/db.ts'
import { sqlState } from '#platform/db/errors.ts'
import {
  accountNotFound,
  type Details,
  holderDeltas,
  holderKey,
  type Line,
  linesFingerprint,
  normalizedAddress,
  requireLines,
  reversedLines,
  tooLarge,
  wholeDetails,
} from '../domain/lines.ts'
import { readHold } from '../store/hold-store.ts'
import { openHolders, readTransfer, type Transfer } from '../store/ledger-store.ts'
import {
  type LockWait,
  type TransferDraft,
  type Written,
  writeTransfers,
} from '../store/posting-store.ts'

export type { Address, InternalName, Line } from '../domain/lines.ts'
export { listAccountPostings, readBalance } from './balance.ts'

/** A transfer to post. */
export type NewTransfer = {
  projectId: string
  transferId: string
  lines: readonly Line[]
  details?: Details
}

/** What posting answers. */
export type Posted = {
  postTime: Date
  /** True when it had been posted before, with the same content. */
  repeated: boolean
}

/**
 * Posts a transfer once: a repeat with the same content answers as before, with other content it is LEDGER_CONFLICT.
 * A refusal (INSUFFICIENT_FUNDS, LEDGER_ACCOUNT_NOT_FOUND, AMOUNT_OUT_OF_RANGE) leaves a transaction that must roll back.
 */
export async function postTransfer(tx: Queryable, wanted: NewTransfer): Promise<Posted> {
  return postDraft(tx, transferDraft(wanted))
}

/**
 * Posts transfers in one statement. Undefined for each one that it did not post, for which `postDraft` reports the reason: a repeat, a conflict,
 * a refusal, a float to be opened. When the tables refuse one, none is posted.
 */
export async function postDrafts(
  q: Queryable,
  drafts: readonly TransferDraft[],
  wait: LockWait = 'full',
): Promise<(Posted | undefined)[]> {
  const written = await writeTransfers(q, drafts, wait)
  return written.map(({ time }) =>
    time === undefined ? undefined : { postTime: time, repeated: false },
  )
}

/** The rows of a transfer. INVALID_PARAMETER, LEDGER_ACCOUNT_NOT_FOUND or AMOUNT_OUT_OF_RANGE for lines that are not a transfer. */
export function transferDraft(wanted: NewTransfer): TransferDraft {
  const { projectId, transferId, lines, details } = wanted
  requireLines(projectId, lines)
  const whole = wholeDetails(details)
  return {
    projectId,
    transferId: transferId.toLowerCase(),
    fingerprint: linesFingerprint(lines, whole),
    lines,
    deltas: holderDeltas(lines),
    details: whole,
  }
}

/** Reverses a transfer, once; a repeat of the same reversal returns the first result. */
export async function reverseTransfer(
  tx: Queryable,
  {
    projectId,
    transferId,
    reversesId,
    description,
  }: { projectId: string; transferId: string; reversesId: string; description: string },
): Promise<Posted> {
  const original = await requireTransfer(tx, projectId, reversesId)
  const { reversedById = transferId } = original
  if (reversedById !== transferId) throw reversed(reversesId)
  const lines = reversedLines(original.lines)
  return postDraft(tx, {
    projectId,
    transferId,
    reversesId,
    fingerprint: linesFingerprint(lines, { reversesId, description }),
    lines,
    deltas: holderDeltas(lines),
    details: { ...original.details, description },
  })
}

/** A transfer that was just posted, as a read would return it. */
export function freshTransfer({
  lines,
  ...rest
}: Pick<Transfer, 'projectId' | 'transferId' | 'details' | 'postTime'> & {
  lines: readonly Line[]
}): Omit<Transfer, 'fingerprint'> {
  const normalized = lines.map((line) => ({ ...line, address: normalizedAddress(line.address) }))
  return { ...rest, lines: normalized, reversesId: undefined, reversedById: undefined }
}

/** Reads a transfer; TRANSFER_NOT_FOUND. */
export async function requireTransfer(
  q: Queryable,
  projectId: string,
  transferId: string,
): Promise<Transfer> {
  const found = await readTransfer(q, projectId, transferId)
  if (found === undefined) {
    throw new Failure('TRANSFER_NOT_FOUND', `the project has no transfer ${transferId}`)
  }
  return found
}

/** Opens the ledger account of a customer with a balance of zero; does nothing if it is open. */
export async function openCustomerLedger(
  tx: Queryable,
  { accountId, currency }: { accountId: string; currency: string },
): Promise<void> {
  await openHolders(tx, [holderKey({ accountId }, currency)])
}

/** Posts one transfer, as `postTransfer` does. */
export async function postDraft(tx: Queryable, draft: TransferDraft): Promise<Posted> {
  const written = await openingFloats(tx, draft.deltas, () => writeOne(tx, draft))
  if (!written.holdersFound) throw accountNotFound('no balance in this currency')
  if (written.time !== undefined) return { postTime: written.time, repeated: false }
  const known = await readTransfer(tx, draft.projectId, draft.transferId)
  if (known === undefined && !written.isCovered) {
    const isHold = (await readHold(tx, draft.projectId, draft.transferId)) !== undefined
    throw isHold ? conflict(draft.transferId) : insufficientFunds()
  }
  return repeatOf(known, draft)
}

async function writeOne(tx: Queryable, draft: TransferDraft): Promise<Written> {
  const [written] = await refusing(() => writeTransfers(tx, [draft]))
  if (written === undefined) throw new Error('one transfer has one outcome')
  return written
}

/** Writes. If a float among the holders has no row, opens it and writes once more: a float is opened by its first transfer or hold. */
export async function openingFloats<T extends { holdersFound: boolean }>(
  tx: Queryable,
  deltas: TransferDraft['deltas'],
  write: () => Promise<T>,
): Promise<T> {
  const first = await write()
  if (first.holdersFound) return first
  const floats = deltas.filter(({ holder }) => holder === 'float')
  if (floats.length === 0) return first
  await openHolders(tx, floats)
  return write()
}

/** Why a write changed nothing: returns the first result of a repeat, throws for other content or for another reversal. */
export function repeatOf(
  known: Pick<Transfer, 'fingerprint' | 'postTime'> | undefined,
  {
    fingerprint,
    reversesId,
    transferId,
  }: Pick<TransferDraft, 'fingerprint' | 'reversesId' | 'transferId'>,
): Posted {
  if (known !== undefined && digestsEqual(known.fingerprint, fingerprint)) {
    return { postTime: known.postTime, repeated: true }
  }
  if (known === undefined && reversesId !== undefined) throw reversed(reversesId)
  throw conflict(transferId)
}

function reversed(transferId: string): Failure {
  return new Failure('TRANSFER_REVERSED', `transfer ${transferId} was already reversed`)
}

/** The refusal of a UUID that was used for something else. */
export function conflict(id: string): Failure {
  return new Failure('LEDGER_CONFLICT', `${id} was used with other content`)
}

/** The refusal of a debit that a holder cannot pay. */
export function insufficientFunds(cause?: unknown): Failure {
  return new Failure('INSUFFICIENT_FUNDS', 'too little is available', { cause })
}

/** Maps errors of constraints to Failures. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isCheckViolation(error, 'ledger_account_available')) throw insufficientFunds(error)
    if (sqlState(error) === '22003') throw tooLarge(error)
    throw error
  }
}
