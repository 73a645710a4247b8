// Creates, reads, cancels and refunds payments.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { digestsEqual } from '#core/identity/digest.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { AmountsByCurrency, FeeSchedule, FraudRules } from '#platform/config/config.ts'
import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused, type Queryable } from '#platform/db/db.ts'
import { committedEvent, creationEvent } from '../api/events.ts'
import { announcementsOf } from '../domain/backend-call.ts'
import { findFraud } from '../domain/fraud.ts'
import { linkToken, linkTokenHash } from '../domain/links.ts'
import {
  checkNewPayment,
  type DraftPayment,
  draftPayment,
  failedDraft,
  type NewPayment,
  type TimesToPay,
  toPayment,
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
  /** A refund by a person above this amount waits for a second person. */
  refundApprovalAboveMinor: AmountsByCurrency
  timesToPayS: TimesToPay
  /** Accepts http and loopback URLs for pushes too; for a local start. */
  allowLoopback: boolean
  /** URL of the gateway as payers reach it. */
  publicBaseUrl: string
}

/** The dependencies of all operations of payments. */
export type PaymentContext = ChangeContext & {
  /** Stores new payments. */
  storePayment: StorePayment
  storeChecked: StoreChecked
  findPayment: FindPayment
  linkKeys: KeySource
  settings: PaymentSettings
  findMerchant: FindMerchant
}

/** The owner of a payment; without a merchant, any merchant of the project. */
export type PaymentKey = { projectId: string; merchantId?: string; paymentId: string }

/** A payment that was created, or the stored one when the request is a repeat. */
export type Created = {
  payment: Payment
  replayed: boolean
  /** The tokens of its links, by payer; empty for a replay, whose tokens the caller derives again. */
  linkTokens: ReadonlyMap<string, string>
}

/**
 * Creates a payment once per (project, merchant, transaction id). It makes one round trip to the database, and one more if the
 * id exists. If the request asks for the fraud check, it makes three in a transaction of its own.
 */
export async function createPayment(
  payments: PaymentContext,
  request: NewPayment,
): Promise<Created> {
  const { settings, linkKeys, metrics } = payments
  await refuseBadContent(payments, request)
  const merchant = await payments.findMerchant(request.projectId, request.merchantId)
  const { keyId: linkKeyId, key } = linkKeys().current
  const drafted = routeCharges(
    draftPayment(request, merchant, { ...settings, linkKeyId }),
    payments.routing(),
  )
  const { rows, linkTokens, createTime } = await store(payments, drafted, key)
  const { draft, event } = rows
  if (createTime === undefined) {
    return { payment: await readReplay(payments, request), replayed: true, linkTokens: new Map() }
  }
  metrics.created(draft.fraudCheckStatus)
  const payment = toPayment(draft, createTime)
  payments.publish(committedEvent(event, draft.projectId, createTime))
  payments.callBackend(announcementsOf(payment))
  return { payment, replayed: false, linkTokens }
}

/** Refuses invalid content. If the transaction id was used with other content, that is the error: a repeat of the id comes first. */
async function refuseBadContent(
  { db, settings }: PaymentContext,
  request: NewPayment,
): Promise<void> {
  try {
    checkNewPayment(request, settings)
  } catch (failure) {
    const isWellFormed = failure instanceof Failure && contentReasons.has(failure.reason)
    if (isWellFormed && (await readByTransaction(db, request)) !== undefined)
      throw duplicateTransactionId()
    throw failure
  }
}

/** Refusals of requests whose fields are all well formed. */
const contentReasons = new Set<Reason>(['UNSUPPORTED_CHANNEL_METHOD', 'AMOUNT_MISMATCH'])

/** What was stored. `createTime` is undefined when the transaction id exists. */
type Stored = { rows: NewRows; linkTokens: Map<string, string>; createTime: Date | undefined }

/** Stores a draft; one whose fraud check is asked for in the transaction of its check, so that the next check counts it. */
async function store(
  payments: PaymentContext,
  drafted: DraftPayment,
  linkKey: Buffer,
): Promise<Stored> {
  if (drafted.fraudCheckStatus === 'skipped') {
    const made = rowsOf(drafted, linkKey)
    return { ...made, createTime: await payments.storePayment(made.rows) }
  }
  return payments.storeChecked(async (tx) => {
    const { draft, time } = await runFraudRules(tx, payments.settings, drafted)
    const made = rowsOf(draft, linkKey, time)
    return { ...made, createTime: await insertPayment(tx, made.rows) }
  })
}

function rowsOf(draft: DraftPayment, linkKey: Buffer, time?: Date): Omit<Stored, 'createTime'> {
  const event = creationEvent(time === undefined ? draft : toPayment(draft, time), newFact(draft))
  const linked = draft.payers.filter(({ hasLink }) => hasLink)
  const linkTokens = new Map(linked.map(({ payerId: id }) => [id, linkToken(linkKey, id)]))
  const tokenHashes = draft.payers.map(({ payerId }) => {
    const token = linkTokens.get(payerId)
    return token === undefined ? null : linkTokenHash(token)
  })
  return { rows: { draft, event, tokenHashes, time }, linkTokens }
}

/** Runs the fraud rules. A draft that they stop gets its time here, because its callback contains it. */
async function runFraudRules(
  tx: Queryable,
  { fraudRules }: PaymentSettings,
  draft: DraftPayment,
): Promise<{ draft: DraftPayment; time?: Date }> {
  const payerNumbers = [...new Set(draft.payers.map((payer) => payer.mobileNumberE164))]
  const limit = fraudRules.velocityPerMin * 20
  const recent = await countRecentRequests(tx, draft.projectId, payerNumbers, limit)
  const finding = findFraud(fraudRules, {
    amountMinor: draft.amountMinor,
    currency: draft.currency,
    payerNumbers,
    recentRequests: recent.requests,
  })
  return finding === undefined ? { draft } : { draft: failedDraft(draft), time: recent.now }
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

async function readReplay({ db }: PaymentContext, request: NewPayment): Promise<Payment> {
  const earlier = await readByTransaction(db, request)
  if (earlier === undefined) throw new Error('the taken transaction id is not there')
  if (!digestsEqual(earlier.fingerprint, Buffer.from(request.fingerprint))) {
    throw duplicateTransactionId()
  }
  return earlier.payment
}

function duplicateTransactionId(): Failure {
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
  return requireOwn(reading?.payment, key)
}

/** Cancels a pending payment; returns a cancelled one unchanged. */
export async function cancelPayment(context: PaymentContext, key: PaymentKey): Promise<Payment> {
  const { payment } = await change(context, {
    target: key,
    absent: notFound,
    decide: ({ payment, now }) => ({ transition: cancel(requireOwn(payment, key), now) }),
  })
  return payment
}

/** Refunds a paid payment and stores the reason, if there is one; returns a refunded one unchanged. */
export async function refundPayment(
  context: PaymentContext,
  key: PaymentKey,
  reason = '',
): Promise<Payment> {
  const { payment } = await change(context, {
    target: key,
    absent: notFound,
    decide({ payment, now }) {
      const transition = refund(requireOwn(payment, key), now)
      return { transition, reason: transition && refundReason(key, reason) }
    },
  })
  return payment
}

/** What is stored of the reason of a refund; undefined for none. */
export function refundReason({ projectId, paymentId }: PaymentKey, reason: string) {
  return reason === '' ? undefined : { projectId, paymentId, reason }
}

/** A payment of the merchant that the key names, if it names one. Throws PAYMENT_NOT_FOUND for any other. */
function requireOwn(payment: Payment | undefined, key: PaymentKey): Payment {
  if (payment === undefined) throw notFound()
  if (key.merchantId !== undefined && payment.merchantId !== key.merchantId) throw notFound()
  return payment
}

/** The refusal of a payment id that is unknown, malformed, or of another project or merchant: the same for all, so that it reveals nothing. */
export function notFound(): Failure {
  return new Failure('PAYMENT_NOT_FOUND', 'there is no such payment request')
}

/** Stores a payment, perhaps in a batch. Resolves to its time of creation; undefined when the transaction id exists. */
export type StorePayment = (rows: NewRows) => Promise<Date | undefined>

/** Makes the batcher that stores payments. A payment that the database refuses does not affect the others of its batch. */
export function batchingStore(db: Database): StorePayment {
  const alone = (rows: NewRows) => insertPayment(db, rows)
  const store = batched<NewRows, Date | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone,
    together: (group) => storeGroup(db, group),
    // Refused by the server, or a value that cannot be encoded for it.
    isOfOne: (error) => isRefused(error) || error instanceof RangeError,
  })
  return (rows) => (isPlain(rows) ? store(rows) : alone(rows))
}

/** Checks and stores a payment in a transaction. */
type StoreChecked = (work: (tx: Queryable) => Promise<Stored>) => Promise<Stored>

/**
 * Makes the function that checks and stores payments whose fraud check is asked for. At most four run at once, because each holds a
 * connection while it waits for the requests of its payers before it. It rejects as a Database does, and as `batched` says.
 */
export function checkedStore(db: Database): StoreChecked {
  const alone = (work: Parameters<StoreChecked>[0]) => db.transaction(work)
  return batched({
    maxInFlight: 4,
    maxBatchSize: 1,
    alone,
    together: (works) => Promise.all(works.map(alone)),
    isOfOne: () => false,
  })
}

/** Inserts in the order of keys, so that two groups with the same transaction ids wait for each other and do not deadlock. */
async function storeGroup(db: Database, group: NewRows[]): Promise<(Date | undefined)[]> {
  const sorted = group.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const times = await insertPaymentGroup(db, sorted)
  const byRows = new Map(sorted.map((rows, index) => [rows, times[index]]))
  return group.map((rows) => byRows.get(rows))
}

function keyOf({ draft }: NewRows): string {
  return `${draft.projectId} ${draft.merchantId} ${draft.transactionId}`
}

/** Reads a payment, perhaps in a batch. */
export type FindPayment = (key: ReadKey) => Promise<Reading | undefined>

/** Makes the batcher that reads payments. A read starts after its call, so it sees everything that was committed before the call. */
export function batchingReader(db: Database): FindPayment {
  return batched<ReadKey, Reading | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: ({ projectId, paymentId }) => readPayment(db, projectId, paymentId),
    together: (keys) => readPayments(db, keys),
    isOfOne: isRefused,
  })
}
