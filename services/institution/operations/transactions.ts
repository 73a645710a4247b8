// Creates, reads and lists transactions.
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, reasons } from '#core/errors/errors.ts'
import { digestsEqual, hashToken } from '#core/identity/digest.ts'
import { randomId } from '#core/identity/id.ts'
import { recordAction } from '#platform/actions/action-store.ts'
import { currentContext, runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import type { Shown } from '../api/messages.ts'
import { priceTransaction } from '../domain/new-transaction.ts'
import type { Draft, Leased, NewTransaction, Session, Transaction } from '../domain/transaction.ts'
import { countedMinor } from '../ports/rates.ts'
import { resolveSession, type Token } from '../ports/sessions.ts'
import {
  findById,
  findByKey,
  findByName,
  insertClaim,
  type TransactionKey,
} from '../store/transaction-store.ts'
import { resume } from '../store/work-store.ts'
import { executeTransfer } from './claim.ts'
import type { Institution } from './institution.ts'

// A hold must outlive the deadline of its transfer by as long as an outage of the back end may last.
const holdMarginS = 30 * 86_400

/**
 * Makes a transaction once per (project, institution, client's id). While concurrent requests with the id are refused, it tries again,
 * so that each of them gets its own refusal. SERVICE_UNAVAILABLE when that takes too long.
 */
export async function createTransaction(
  institution: Institution,
  given: NewTransaction,
  token: Token,
): Promise<{ transaction: Shown; replayed: boolean }> {
  const session = await resolveSession(institution.peers.accounts, given, token)
  const fingerprint = wholeFingerprint(given.fingerprint, session.tokenHash)
  const request = { ...given, fingerprint }
  const key = {
    projectId: given.projectId,
    institutionId: session.account.institutionId,
    transactionId: given.transactionId,
  }
  const deadlineMs = performance.now() + institution.settings.patienceMs
  for (;;) {
    const made = await tryToMake(institution, request, session, key)
    if (made !== undefined) return made
    const known = await settled(institution, () => findByKey(institution.db, key))
    if (known !== undefined) return repeated(known, fingerprint)
    if (performance.now() > deadlineMs) {
      throw new Failure('SERVICE_UNAVAILABLE', 'other requests with this id keep being refused')
    }
  }
}

/** The client's fields with the hash of the token in the place of the token, which may be sealed anew. */
function wholeFingerprint(fields: Buffer, tokenHash: Buffer): Buffer {
  return hashToken(`${fields.toString('hex')}${tokenHash.toString('hex')}`)
}

/** Undefined when the client's id is taken, which is reported before any other error of the request. */
async function tryToMake(
  institution: Institution,
  request: NewTransaction,
  session: Session,
  key: TransactionKey,
): Promise<{ transaction: Shown; replayed: false } | undefined> {
  const { db, settings, metrics } = institution
  let claim: Leased | undefined
  try {
    const draft = await draftOf(institution, request, session)
    const lease = { token: randomId(), ms: settings.leaseMs }
    claim = await insertClaim(db, draft, lease, settings.transferTtlS + holdMarginS)
    if (claim === undefined) return undefined
    const held = claim
    const transaction = await detached(() => executeTransfer(institution, held))
    return transaction === undefined ? undefined : { transaction, replayed: false }
  } catch (error) {
    const isTaken = claim === undefined && (await findByKey(db, key)) !== undefined
    if (isTaken) return undefined
    if (error instanceof Failure && reasons[error.reason].http < 500) metrics.refused(error.reason)
    throw error
  }
}

async function draftOf(
  { rateOf }: Institution,
  request: NewTransaction,
  session: Session,
): Promise<Draft> {
  const { own, ...priced } = priceTransaction(request, session)
  const { accountId, isCounted } = own
  if (!isCounted) {
    const { amountMinor: minor, currency } = own
    return { ...priced, limit: { accountId, minor, currency, isCounted } }
  }
  const { limitCurrency: currency } = session
  const minor = await countedMinor(rateOf, own, currency)
  return { ...priced, limit: { accountId, minor, currency, isCounted } }
}

/** What was begun goes on when the client has gone, until the deadline of its call; the worker finishes what is left then. */
function detached<T>(work: () => Promise<T>): Promise<T> {
  const context = currentContext()
  const traceparent = context?.traceparent ?? newTraceparent()
  const requestId = context?.requestId ?? randomId()
  return runWithContext({ requestId, traceparent, deadline: context?.deadline }, work)
}

function repeated(known: Shown, fingerprint: Buffer): { transaction: Shown; replayed: true } {
  if (!digestsEqual(known.fingerprint, fingerprint)) {
    const field = 'transaction_id'
    throw new Failure('DUPLICATE_TRANSACTION_ID', `${field} was used before with another body`, {
      details: { field },
    })
  }
  return { transaction: known, replayed: true }
}

const firstPauseMs = 5
const maxPauseMs = 100

/** Waits until it is decided whether there is a transaction; SERVICE_UNAVAILABLE when that takes too long. */
async function settled(
  { settings }: Institution,
  find: () => Promise<Transaction | undefined>,
): Promise<Shown | undefined> {
  const deadlineMs = performance.now() + settings.patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    const known = await find()
    if (known === undefined) return undefined
    const { state } = known
    if (state !== 'claimed') return { ...known, state }
    if (performance.now() > deadlineMs) {
      throw new Failure('SERVICE_UNAVAILABLE', 'the transaction is not decided yet')
    }
    // At random, so that those that wait for one claim do not all claim at once when it is refused.
    await sleep(pauseMs * (0.5 + Math.random()))
  }
}

/** The client's id of a transaction at an institution or, where it is not empty, its UUID. */
export type NamedTransaction = {
  projectId: string
  institutionName: string
  transactionId: string
  movementId: string
}

/** Reads a transaction. TRANSACTION_NOT_FOUND. */
export async function getTransaction(
  institution: Institution,
  key: NamedTransaction,
): Promise<Shown> {
  const find = key.movementId === '' ? findByName : findById
  const known = await settled(institution, () => find(institution.db, key))
  if (known === undefined)
    throw new Failure('TRANSACTION_NOT_FOUND', 'there is no such transaction')
  return known
}

/** Makes the next step of a transaction due, which may be its quote's. TRANSACTION_NOT_FOUND when none is left. */
export async function resumeTransaction(
  { db, notify }: Institution,
  movementId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await resume(tx, movementId)))
      throw new Failure('TRANSACTION_NOT_FOUND', 'transaction not found, or it has no pending step')
    await recordAction(tx, { action: 'resume_transaction', target: movementId })
  })
  notify()
}
