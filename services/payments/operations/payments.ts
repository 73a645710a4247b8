// Creates, reads, cancels and refunds payments.
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { digestsEqual } from '#core/identity/token.ts'
import type { FeeSchedule, FraudRules } from '#platform/config/config.ts'
import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused } from '#platform/db/db.ts'
import { committedEvent, creationEvent } from '../api/events.ts'
import { announcementsOf } from '../domain/backend-call.ts'
import { findFraud } from '../domain/fraud.ts'
import { linkToken, linkTokenHash } from '../domain/links.ts'
import {
  checkNewPayment,
  created,
  type DraftPayment,
  draftPayment,
  type NewPayment,
  stopped,
  type TimesToPay,
} from '../domain/new-payment.ts'
import type { Payment } from '../domain/payment.ts'
import { cancel, refund } from '../domain/request-end.ts'
import { routeCharges } from '../domain/routing.ts'
import type { Fact } from '../domain/transition.ts'
import type { FindMerchant } from '../ports/merchants.ts'
import {
  countRecentRequests,
  insertPayment,
  insertPaymentGroup,
  isPlain,
  type NewRows,
} from '../store/create-store.ts'
import {
  type Reading,
  type ReadKey,
  readByTransaction,
  readPayment,
  readPayments,
} from '../store/payment-store.ts'
import { type ChangeContext, change } from './change.ts'

/** The settings of payments. */
export type PaymentSettings = {
  feeSchedule: FeeSchedule
  fraudRules: FraudRules
  timesToPayS: TimesToPay
  /** Takes http and loopback URLs too; for the local start. */
  allowLoopback: boolean
  /** The gateway as payers reach it. */
  publicBaseUrl: string
}

/** The dependencies of all operations of payments. */
export type PaymentContext = ChangeContext & {
  /** Stores new payments. */
  storePayment: StorePayment
  findPayment: FindPayment
  linkKeys: KeySource
  settings: PaymentSettings
  findMerchant: FindMerchant
}

/** Whose payment is meant; without a merchant any of the project. */
export type PaymentKey = { projectId: string; merchantId?: string; paymentId: string }

/** A payment as it was made, or as it stands when it had been made before. */
export type Created = {
  payment: Payment
  replayed: boolean
  /** The tokens of its links, by payer; those of a replay are to be derived again. */
  linkTokens: ReadonlyMap<string, string>
}

/**
 * Makes a payment once per (project, merchant, transaction id), in one round trip to the database unless
 * the fraud rules are asked for or the id is taken.
 */
export async function createPayment(
  payments: PaymentContext,
  request: NewPayment,
): Promise<Created> {
  const { settings, linkKeys, metrics } = payments
  await check(payments, request)
  const merchant = await payments.findMerchant(request.projectId, request.merchantId)
  const { keyId: linkKeyId, key } = linkKeys().current
  const drafted = routeCharges(
    draftPayment(request, merchant, { ...settings, linkKeyId }),
    payments.routing(),
  )
  const { draft, time } = await screen(payments, drafted)
  const event = creationEvent(time === undefined ? draft : created(draft, time), newFact(draft))
  const linked = draft.payers.filter(({ hasLink }) => hasLink)
  const linkTokens = new Map(linked.map(({ payerId: id }) => [id, linkToken(key, id)]))
  const tokenHashes = draft.payers.map(({ payerId }) => {
    const token = linkTokens.get(payerId)
    return token === undefined ? null : linkTokenHash(token)
  })
  const createTime = await payments.storePayment({ draft, event, tokenHashes, time })
  if (createTime === undefined) {
    return { payment: await repeat(payments, request), replayed: true, linkTokens: new Map() }
  }
  metrics.created(draft.fraudCheckStatus)
  const payment = created(draft, createTime)
  payments.publish(committedEvent(event, draft.projectId, createTime))
  payments.callBackend(announcementsOf(payment))
  return { payment, replayed: false, linkTokens }
}

/** Refuses invalid content; an id that was used with other content is reported first. */
async function check({ db, settings }: PaymentContext, request: NewPayment): Promise<void> {
  try {
    checkNewPayment(request, settings)
  } catch (failure) {
    const isWellFormed = failure instanceof Failure && aboutContent.has(failure.reason)
    if (isWellFormed && (await readByTransaction(db, request)) !== undefined) throw usedBefore()
    throw failure
  }
}

/** Refusals of requests whose fields are all well formed. */
const aboutContent = new Set<Reason>(['UNSUPPORTED_CHANNEL_METHOD', 'AMOUNT_MISMATCH'])

/** Runs the fraud rules where they are asked for. A stopped draft has a time, which its callback contains. */
async function screen(
  { db, settings }: PaymentContext,
  draft: DraftPayment,
): Promise<{ draft: DraftPayment; time?: Date }> {
  if (draft.fraudCheckStatus === 'skipped') return { draft }
  const { fraudRules } = settings
  const payerNumbers = [...new Set(draft.payers.map((payer) => payer.mobileNumberE164))]
  const limit = fraudRules.velocityPerMin * 20
  const recent = await countRecentRequests(db, draft.projectId, payerNumbers, limit)
  const finding = findFraud(fraudRules, {
    amountMinor: draft.amountMinor,
    currency: draft.currency,
    payerNumbers,
    recentRequests: recent.requests,
  })
  return finding === undefined ? { draft } : { draft: stopped(draft), time: recent.now }
}

function newFact(draft: DraftPayment): Fact {
  const isStopped = draft.state === 'Failed'
  const kind = isStopped ? 'payment_failed' : 'payment_initiated'
  return {
    kind: isStopped ? 'FAILED' : 'CREATED',
    notices: draft.payers.map((_, index) => ({ kind, index })),
    callbackSequence: draft.callbackSequence,
  }
}

async function repeat({ db }: PaymentContext, request: NewPayment): Promise<Payment> {
  const earlier = await readByTransaction(db, request)
  if (earlier === undefined) throw new Error('the taken transaction id is not there')
  if (!digestsEqual(earlier.fingerprint, Buffer.from(request.fingerprint))) {
    throw usedBefore()
  }
  return earlier.payment
}

function usedBefore(): Failure {
  return new Failure('DUPLICATE_TRANSACTION_ID', 'id was used before with another body', {
    details: { field: 'id' },
  })
}

/** Reads a payment. */
export async function getPayment(
  { findPayment }: PaymentContext,
  key: PaymentKey,
): Promise<Payment> {
  const reading = await findPayment(key)
  return owned(reading?.payment, key)
}

/** Cancels a pending payment; a cancelled one is answered as it is. */
export async function cancelPayment(context: PaymentContext, key: PaymentKey): Promise<Payment> {
  const { payment } = await change(context, {
    place: key,
    absent: notFound,
    decide: ({ payment, now }) => ({ transition: cancel(owned(payment, key), now) }),
  })
  return payment
}

/** Refunds a paid payment and keeps the reason, if there is one; a refunded one is answered as it is. */
export async function refundPayment(
  context: PaymentContext,
  key: PaymentKey,
  reason = '',
): Promise<Payment> {
  const { projectId, paymentId } = key
  const { payment } = await change(context, {
    place: key,
    absent: notFound,
    decide({ payment, now }) {
      const transition = refund(owned(payment, key), now)
      const isReason = transition !== undefined && reason !== ''
      return { transition, reason: isReason ? { projectId, paymentId, reason } : undefined }
    },
  })
  return payment
}

/** A payment of the merchant that the key names, if it names one. Throws PAYMENT_NOT_FOUND for any other. */
function owned(payment: Payment | undefined, key: PaymentKey): Payment {
  if (payment === undefined) throw notFound()
  if (key.merchantId !== undefined && payment.merchantId !== key.merchantId) throw notFound()
  return payment
}

/** The one answer for ids that are unknown, foreign or no ids at all. */
export function notFound(): Failure {
  return new Failure('PAYMENT_NOT_FOUND', 'there is no such payment request')
}

/** Stores a payment, alone or with others; what it answers and throws is its own. */
export type StorePayment = (rows: NewRows) => Promise<Date | undefined>

/** Makes what stores payments. One that the server refuses is refused alone. */
export function batchingStore(db: Database): StorePayment {
  const alone = (rows: NewRows) => insertPayment(db, rows)
  const store = batched<NewRows, Date | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone,
    together: (group) => storeTogether(db, group),
    // By the server, or as something that cannot be sent to it.
    isOfOne: (error) => isRefused(error) || error instanceof RangeError,
  })
  return (rows) => (isPlain(rows) ? store(rows) : alone(rows))
}

/** In one order everywhere: groups with the same ids of merchants wait for each other instead of locking up. */
async function storeTogether(db: Database, group: NewRows[]): Promise<(Date | undefined)[]> {
  const sorted = group.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const times = await insertPaymentGroup(db, sorted)
  const byRows = new Map(sorted.map((rows, index) => [rows, times[index]]))
  return group.map((rows) => byRows.get(rows))
}

function keyOf({ draft }: NewRows): string {
  return `${draft.projectId} ${draft.merchantId} ${draft.transactionId}`
}

/** Reads a payment, alone or with others. */
export type FindPayment = (key: ReadKey) => Promise<Reading | undefined>

/** Makes what reads payments. Each read begins after it was asked for, so it sees what was committed by then. */
export function batchingReader(db: Database): FindPayment {
  return batched<ReadKey, Reading | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: ({ projectId, paymentId }) => readPayment(db, projectId, paymentId),
    together: (keys) => readPayments(db, keys),
    isOfOne: isRefused,
  })
}
