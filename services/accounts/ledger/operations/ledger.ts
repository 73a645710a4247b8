// Posts and reverses transfers, and reads balances and histories.

import { Failure } from '#core/errors/errors.ts'
import { digestsEqual } from '#core/identity/token.ts'
import { isCheckViolation, type Queryable } from '#platform/db/db.ts'
import { sqlState } from '#platform/db/errors.ts'
import {
  accountNotFound,
  type Details,
  foldedAddress,
  holderDeltas,
  holderKey,
  type Line,
  linesFingerprint,
  requireLines,
  reversedLines,
  tooLarge,
  wholeDetails,
} from '../domain/lines.ts'
import {
  openHolders,
  readTransfer,
  type Transfer,
  type TransferDraft,
  writeTransfer,
} from '../store/ledger-store.ts'

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
export async function postTransfer(
  tx: Queryable,
  { projectId, transferId, lines, details }: NewTransfer,
): Promise<Posted> {
  requireLines(projectId, lines)
  const whole = wholeDetails(details)
  return post(tx, {
    projectId,
    transferId,
    fingerprint: linesFingerprint(lines, whole),
    lines,
    deltas: holderDeltas(lines),
    details: whole,
  })
}

/** Takes a transfer back, once ever; the same reversal again answers as before. */
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
  const lines = reversedLines(original.lines)
  return post(tx, {
    projectId,
    transferId,
    reversesId,
    fingerprint: linesFingerprint(lines, { reversesId, description }),
    lines,
    deltas: holderDeltas(lines),
    details: { ...original.details, description },
  })
}

/** A transfer as it is in the moment in which it was posted. */
export function freshTransfer({
  lines,
  ...rest
}: Pick<Transfer, 'projectId' | 'transferId' | 'details' | 'postTime'> & {
  lines: readonly Line[]
}): Omit<Transfer, 'fingerprint'> {
  const folded = lines.map((line) => ({ ...line, address: foldedAddress(line.address) }))
  return { ...rest, lines: folded, reversesId: undefined, reversedById: undefined }
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

/** Opens the ledger's account of a customer at zero; an open one stays as it is. */
export async function openCustomerLedger(
  tx: Queryable,
  { accountId, currency }: { accountId: string; currency: string },
): Promise<void> {
  await openHolders(tx, [holderKey({ accountId }, currency)])
}

async function post(tx: Queryable, draft: TransferDraft): Promise<Posted> {
  let written = await refusing(() => writeTransfer(tx, draft))
  if (!written.holdersFound) {
    await openFloats(tx, draft.deltas)
    written = await refusing(() => writeTransfer(tx, draft))
    if (!written.holdersFound) throw accountNotFound('no balance in this currency')
  }
  if (written.postTime !== null) return { postTime: written.postTime, repeated: false }
  return repeatOf(await readTransfer(tx, draft.projectId, draft.transferId), draft)
}

/** What a write that changed nothing means: a repeat, another content, or another reversal. */
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
  if (known === undefined && reversesId !== undefined) {
    throw new Failure('TRANSFER_REVERSED', `transfer ${reversesId} was taken back before`)
  }
  throw conflict(transferId)
}

/** The refusal of a UUID that was used for something else. */
export function conflict(id: string): Failure {
  return new Failure('LEDGER_CONFLICT', `${id} was used with other content`)
}

/** Floats are opened by the first transfer or hold that names them; customers' accounts are not. */
export async function openFloats(tx: Queryable, deltas: TransferDraft['deltas']): Promise<void> {
  const floats = deltas.filter(({ holder }) => holder === 'float')
  if (floats.length === 0) throw accountNotFound('no balance in this currency')
  await openHolders(tx, floats)
}

/** Turns what the tables refuse into refusals. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isCheckViolation(error, 'ledger_account_available')) {
      throw new Failure('INSUFFICIENT_FUNDS', 'too little is available', { cause: error })
    }
    if (sqlState(error) === '22003') throw tooLarge(error)
    throw error
  }
}
