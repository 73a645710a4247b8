// Movements on customers' accounts: session token, limits and money in one transaction.
import { Failure } from '#core/errors/errors.ts'
import { digestsEqual, fingerprint } from '#core/identity/digest.ts'
import { isUuid } from '#core/identity/id.ts'
import { requireRoom } from '#core/money/limit-room.ts'
import type { UserLimits } from '#platform/config/values.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import {
  type Counted,
  type LimitUse,
  requireLimitUse,
  requireWithinLimits,
  roomWithin,
} from '../domain/limits.ts'
import {
  type Address,
  accountNotFound,
  addressText,
  type Details,
  holderKey,
  type Line,
  linesFingerprint,
  maxMinor,
  refuse,
  requireLines,
  requirePositive,
  tooLarge,
  wholeDetails,
} from '../domain/lines.ts'
import { readHolder } from '../store/balance-store.ts'
import { writeHoldReleased } from '../store/hold-store.ts'
import { readTransfer } from '../store/ledger-store.ts'
import { countUse, giveBackUse, readUse } from '../store/limit-store.ts'
import {
  type AccountStanding,
  endMovement,
  insertBegun,
  insertNeverBegun,
  type Movement,
  type MovementDraft,
  readMovement,
  readStandings,
  type SessionValidity,
  spendSession,
} from '../store/movement-store.ts'
import {
  createHold,
  type HoldLines,
  heldLinesFingerprint,
  lateTransferId,
  postHold,
  postLate,
} from './hold.ts'
import { conflict, type Posted, postTransfer, repeatOf } from './ledger.ts'

/** The dependencies of movements. */
export type Movements = { db: Database; userLimits: UserLimits }

/** Money to hold until the outcome of a movement is known. */
export type MovementHold = {
  accountId: string
  currency: string
  amountMinor: bigint
  expireTime: Date
  /** How much of it is fees; zero when unset. */
  feeMinor?: bigint
}

/** Money that an account gets when a movement completes. Nothing keeps room for it. */
export type MovementCredit = { accountId: string; currency: string; amountMinor: bigint }

/** A movement to begin. */
export type NewMovement = {
  projectId: string
  movementId: string
  sessionTokenHash: Buffer
  institutionId: string
  limitUse: LimitUse | undefined
  /** Lines to post at once; empty when the movement waits for an outcome. */
  lines: readonly Line[]
  hold: MovementHold | undefined
  /** What a movement that waits will credit; undefined: not checked. */
  credit?: MovementCredit | undefined
  /** The time from which it can no longer begin; a repeat of a movement that has begun succeeds at any time. */
  beginBefore?: Date | undefined
  details?: Details
}

/**
 * Begins a movement in one transaction: recognises a repeat, spends the token, checks the accounts, counts the limits,
 * then posts or holds. The first refusal in this order is thrown and nothing has changed. AMOUNT_OUT_OF_RANGE when the balance
 * of an account cannot take what it gets, also by the `credit` of a movement that waits.
 */
export async function beginMovement(
  { db, userLimits }: Movements,
  wanted: NewMovement,
): Promise<{ beginTime: Date; repeated: boolean }> {
  const draft = draftOf(userLimits, wanted)
  const beginTime = await db.transaction(async (tx) => {
    const claimed = await insertBegun(tx, draft)
    if (claimed !== undefined) await moveMoney(tx, userLimits, wanted, claimed)
    return claimed
  })
  if (beginTime !== undefined) return { beginTime, repeated: false }
  const known = await readMovement(db, wanted.projectId, wanted.movementId)
  if (known === undefined) throw new Error('a movement that was begun is gone')
  if (known.fingerprint !== null && !digestsEqual(known.fingerprint, draft.fingerprint)) {
    throw conflict(wanted.movementId)
  }
  if (known.state === 'cancelled') throw cancelled(wanted.movementId)
  return { beginTime: known.beginTime, repeated: true }
}

function draftOf(userLimits: UserLimits, wanted: NewMovement): MovementDraft {
  const { projectId, movementId, lines, hold, credit, limitUse } = wanted
  if (lines.length > 0) requireLines(projectId, lines)
  if (lines.length > 0 && hold !== undefined) refuse('hold', 'cannot go with postings')
  if (lines.length > 0 && credit !== undefined) refuse('credit', 'cannot go with postings')
  if (credit !== undefined) requirePositive(credit.amountMinor, 'credit.amount')
  if (limitUse !== undefined) requireLimitUse(userLimits, limitUse)
  const details = wholeDetails(wanted.details)
  return {
    projectId,
    movementId,
    fingerprint: movementFingerprint(wanted, details),
    state: lines.length > 0 ? 'posted' : 'waiting',
    hasHold: hold !== undefined,
    limitUse,
    details,
  }
}

/**
 * The fingerprint leaves out the expiry of the hold, because a repeat may compute another one. It leaves out the fees of the hold and the
 * credit, because the previous release did not send them and they do not change what is moved.
 */
function movementFingerprint(wanted: NewMovement, details: Required<Details>): Buffer {
  const { sessionTokenHash, institutionId, limitUse, lines, hold } = wanted
  return fingerprint([
    sessionTokenHash.toString('hex'),
    institutionId.toLowerCase(),
    amountOf(limitUse),
    amountOf(hold),
    linesFingerprint(lines).toString('hex'),
    details,
  ])
}

function amountOf(
  one: { accountId: string; currency: string; amountMinor: bigint } | undefined,
): string[] | null {
  return one === undefined ? null : [addressText(one), one.currency, String(one.amountMinor)]
}

/** Pipelines the statements in one round trip, and checks their results in the order of the refusals. */
async function moveMoney(
  tx: Queryable,
  userLimits: UserLimits,
  wanted: NewMovement,
  beginTime: Date,
): Promise<void> {
  const { limitUse } = wanted
  const singleLimits = userLimits.levels.map(({ singleMinor }) => singleMinor)
  const answers = await Promise.allSettled([
    spendSession(tx, wanted.sessionTokenHash, wanted),
    readStandings(tx, wanted.projectId, accountsOf(wanted)),
    limitUse === undefined ? undefined : countUse(tx, wanted, limitUse, singleLimits),
    wanted.lines.length > 0 ? postOnce(tx, wanted) : holdOnce(tx, wanted),
  ])
  const [session, standings, counted, money] = answers
  requireAccepted(valueOf(session))
  requireInTime(wanted, beginTime)
  requireAvailable(valueOf(standings))
  if (limitUse !== undefined) requireLimits(userLimits, limitUse, valueOf(counted))
  if (valueOf(money)) throw conflict(wanted.movementId)
}

function valueOf<T>(answer: PromiseSettledResult<T>): T {
  if (answer.status === 'rejected') throw answer.reason
  return answer.value
}

async function postOnce(tx: Queryable, wanted: NewMovement): Promise<boolean> {
  return (await postTransfer(tx, { ...wanted, transferId: wanted.movementId })).repeated
}

async function holdOnce(tx: Queryable, wanted: NewMovement): Promise<boolean> {
  const { projectId, movementId: holdId, hold, credit, details = {} } = wanted
  if (credit !== undefined) await requireFits(tx, credit)
  if (hold === undefined) return false
  return (await createHold(tx, { projectId, holdId, address: hold, details, ...hold })).repeated
}

/** Others may credit the account before the movement completes: then completing it is refused. */
async function requireFits(tx: Queryable, credit: MovementCredit): Promise<void> {
  const { accountId, currency, amountMinor } = credit
  const { isOpen, postedMinor } = await readHolder(tx, holderKey({ accountId }, currency))
  if (!isOpen) throw accountNotFound('no balance in this currency')
  if (postedMinor + amountMinor > maxMinor) throw tooLarge()
}

function accountsOf({ limitUse, hold, credit, lines }: NewMovement): string[] {
  const named = [
    ...[limitUse, hold, credit].flatMap((one) => (one === undefined ? [] : [one.accountId])),
    ...lines.flatMap(({ address }) => ('accountId' in address ? [address.accountId] : [])),
  ]
  return [...new Set(named)]
}

function requireAccepted(validity: SessionValidity): void {
  if (validity === 'expired') throw new Failure('SESSION_EXPIRED', 'the session has expired')
  if (validity === 'invalid')
    throw new Failure('SESSION_INVALID', 'the session is unknown or was used')
}

function requireInTime({ movementId, beginBefore }: NewMovement, beginTime: Date): void {
  if (beginBefore === undefined || beginTime < beginBefore) return
  throw new Failure('QUOTE_EXPIRED', `the quote expired before movement ${movementId} began`)
}

/** Every account must be one that the project sees, and available. */
function requireAvailable(standings: readonly AccountStanding[]): void {
  for (const { accountId, isVisible, isAvailable } of standings) {
    if (!isVisible) throw accountNotFound(accountId)
    if (!isAvailable) {
      throw new Failure('ACCOUNT_UNAVAILABLE', `account ${accountId} is not available`)
    }
  }
}

/** LEDGER_ACCOUNT_NOT_FOUND unless the project sees every customer's account among some addresses. */
export async function requireVisible(
  q: Queryable,
  projectId: string,
  addresses: readonly Address[],
): Promise<void> {
  const named = addresses.flatMap((one) => ('accountId' in one ? [one.accountId] : []))
  if (named.length === 0) return
  for (const accountId of named) if (!isUuid(accountId)) throw accountNotFound(accountId)
  const standings = await readStandings(q, projectId, named)
  const hidden = standings.find(({ isVisible }) => !isVisible)
  if (hidden !== undefined) throw accountNotFound(hidden.accountId)
}

function requireLimits(limits: UserLimits, use: LimitUse, counted: Counted | undefined): void {
  if (counted === undefined) throw accountNotFound(use.accountId)
  requireWithinLimits(limits, use.amountMinor, counted)
}

/**
 * Posts a movement that waited, once. Its hold pays for the lines, and the rest of the hold is released. When the hold has expired, the lines
 * are posted all the same, from what is available now: the money is owed. A repeat answers as the first time. MOVEMENT_NOT_FOUND;
 * HOLD_CLOSED when it was cancelled; LEDGER_CONFLICT when it was posted with other lines. Refuses lines as `postTransfer` does;
 * INSUFFICIENT_FUNDS when too little is available, and then it waits as before.
 */
export async function completeMovement(
  { db }: Movements,
  wanted: { projectId: string; movementId: string; lines: readonly Line[] },
): Promise<Posted> {
  const { projectId, movementId, lines } = wanted
  requireLines(projectId, lines)
  const posted = await db.transaction(async (tx) => {
    const ended = await endMovement(tx, projectId, movementId, 'posted')
    if (ended === undefined) return undefined
    const { hasHold, details } = ended
    if (!hasHold) return postTransfer(tx, { projectId, transferId: movementId, lines, details })
    return postHeld(tx, { projectId, holdId: movementId, lines })
  })
  if (posted !== undefined) return posted
  const known = await requireMovement(db, projectId, movementId)
  if (known.state !== 'posted') throw cancelled(movementId)
  const fingerprint = known.hasHold
    ? heldLinesFingerprint(lines)
    : linesFingerprint(lines, known.details)
  const transfer =
    (await readTransfer(db, projectId, movementId)) ??
    (await readTransfer(db, projectId, lateTransferId(movementId)))
  return repeatOf(transfer, { fingerprint, transferId: movementId })
}

async function postHeld(tx: Queryable, wanted: HoldLines): Promise<Posted> {
  try {
    const { postTime, repeated } = await postHold(tx, wanted)
    return { postTime, repeated }
  } catch (error) {
    // A cancelled movement does not come here: nobody but time has closed the hold.
    if (!(error instanceof Failure) || error.reason !== 'HOLD_CLOSED') throw error
    return postLate(tx, wanted)
  }
}

/** Cancels a movement: releases its hold and restores its limit, once. One that has not begun can no longer begin. */
export async function cancelMovement(
  { db }: Movements,
  { projectId, movementId }: { projectId: string; movementId: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    if (await insertNeverBegun(tx, projectId, movementId)) return
    const ended = await endMovement(tx, projectId, movementId, 'cancelled')
    if (ended === undefined) {
      const { state } = await requireMovement(tx, projectId, movementId)
      if (state === 'cancelled') return
      throw new Failure('HOLD_CLOSED', `movement ${movementId} was posted`)
    }
    if (ended.hasLimit) await giveBackUse(tx, projectId, movementId)
    if (ended.hasHold) await writeHoldReleased(tx, projectId, movementId)
  })
}

/** LIMIT_EXCEEDED unless an amount is within an account's limits now. Counts nothing. */
export async function checkLimits(
  { db, userLimits }: Movements,
  projectId: string,
  use: LimitUse,
): Promise<void> {
  requireLimitUse(userLimits, use)
  const used = await readUse(db, projectId, use.accountId, use.currency)
  if (used === undefined) throw accountNotFound(use.accountId)
  requireRoom(roomWithin(userLimits, used), use.amountMinor)
}

async function requireMovement(
  q: Queryable,
  projectId: string,
  movementId: string,
): Promise<Movement> {
  const found = await readMovement(q, projectId, movementId)
  if (found === undefined) {
    throw new Failure('MOVEMENT_NOT_FOUND', `the project has no movement ${movementId}`)
  }
  return found
}

function cancelled(movementId: string): Failure {
  return new Failure('HOLD_CLOSED', `movement ${movementId} was cancelled`)
}
