// Makes, reads and lists transactions; it must not know the wire.
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, reasons } from '#core/errors.ts'
import { randomId } from '#core/id.ts'
import { digestsEqual, hashToken } from '#core/token.ts'
import { currentContext, runWithContext } from '#runtime/rpc/context.ts'
import { newTraceparent } from '#runtime/trace.ts'
import { carryOut } from './claim.ts'
import type { Institution } from './institution.ts'
import type { Shown } from './messages.ts'
import { type NewTransaction, priceTransaction, type Session } from './new-transaction.ts'
import { countedMinor } from './rates.ts'
import { resolveSession, type Token } from './sessions.ts'
import { findByKey, findByName, insertClaim, type TransactionKey } from './store.ts'
import type { Draft, Leased, Transaction } from './transaction.ts'

// A hold must outlive the deadline of its transfer by as long as an outage of the back end may last.
const holdMarginS = 30 * 86_400

// Each round ends with an answer unless somebody else's claim was refused meanwhile.
const maxRounds = 5

/** Makes a transaction once per (project, institution, client's id). */
export async function createTransaction(
  institution: Institution,
  asked: NewTransaction,
  token: Token,
): Promise<{ transaction: Shown; replayed: boolean }> {
  const session = await resolveSession(institution.peers.accounts, asked, token)
  const fingerprint = wholeFingerprint(asked.fingerprint, session.tokenHash)
  const request = { ...asked, fingerprint }
  const key = {
    projectId: asked.projectId,
    institutionId: session.account.institutionId,
    transactionId: asked.transactionId,
  }
  for (let round = 0; round < maxRounds; round += 1) {
    const made = await tryToMake(institution, request, session, key)
    if (made !== undefined) return made
    const known = await settled(institution, () => findByKey(institution.db, key))
    if (known !== undefined) return repeated(known, fingerprint)
  }
  throw new Failure('SERVICE_UNAVAILABLE', 'another request with this id keeps being refused')
}

/** The client's fields with the hash of the token in the place of the token, which may be sealed anew. */
function wholeFingerprint(fields: Buffer, tokenHash: Buffer): Buffer {
  return hashToken(`${fields.toString('hex')}${tokenHash.toString('hex')}`)
}

/** Undefined when the client's id is taken. That is the first thing to tell of a request, whatever else is wrong with it. */
async function tryToMake(
  institution: Institution,
  asked: NewTransaction,
  session: Session,
  key: TransactionKey,
): Promise<{ transaction: Shown; replayed: false } | undefined> {
  const { db, settings, metrics } = institution
  let claim: Leased | undefined
  try {
    const draft = await draftOf(institution, asked, session)
    const lease = { token: randomId(), ms: settings.leaseMs }
    claim = await insertClaim(db, draft, lease, settings.transferTtlS + holdMarginS)
    if (claim === undefined) return undefined
    const inHand = claim
    const transaction = await onItsOwn(() => carryOut(institution, inHand))
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
  asked: NewTransaction,
  session: Session,
): Promise<Draft> {
  const { own, ...priced } = priceTransaction(asked, session)
  const { limitCurrency: currency } = session
  const minor = await countedMinor(rateOf, own, currency)
  return { ...priced, limit: { accountId: own.accountId, minor, currency } }
}

/** What was begun is brought to its end, even when the client has gone or its time is over. */
function onItsOwn<T>(work: () => Promise<T>): Promise<T> {
  const context = currentContext()
  const traceparent = context?.traceparent ?? newTraceparent()
  return runWithContext({ requestId: context?.requestId ?? randomId(), traceparent }, work)
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
const longestPauseMs = 100

/** Waits until it is decided whether there is a transaction; SERVICE_UNAVAILABLE when that takes too long. */
async function settled(
  { settings }: Institution,
  find: () => Promise<Transaction | undefined>,
): Promise<Shown | undefined> {
  const deadlineMs = Date.now() + settings.patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const known = await find()
    if (known === undefined) return undefined
    const { state } = known
    if (state !== 'claimed') return { ...known, state }
    if (Date.now() > deadlineMs) {
      throw new Failure('SERVICE_UNAVAILABLE', 'the transaction is not decided yet')
    }
    await sleep(pauseMs)
  }
}

/** Reads a transaction by the client's id. TRANSACTION_NOT_FOUND. */
export async function getTransaction(
  institution: Institution,
  key: { projectId: string; institutionName: string; transactionId: string },
): Promise<Shown> {
  const known = await settled(institution, () => findByName(institution.db, key))
  if (known === undefined)
    throw new Failure('TRANSACTION_NOT_FOUND', 'there is no such transaction')
  return known
}
