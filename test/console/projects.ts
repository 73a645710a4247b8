// Projects of the peers with one of each thing, whose every text tries to be markup or a formula.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { BillPaymentSchema, BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import {
  type Attempt,
  AttemptOutcome,
  DeliveryKind,
  DeliverySchema,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { ReplayJobSchema, ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import {
  TransactionSchema,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentSchema,
  PaymentState,
  PayoutState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import {
  QuoteKind,
  QuoteSchema,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { requestOf } from './api-log-peer.ts'
import { type Texts, time } from './rows.ts'

/** A push as its merchant sees it. */
export function pushOf({ delivery }: Project, { url, body: text }: Texts) {
  const { deliveryId, eventId, kind, state, attemptCount, attempts } = delivery
  const shownOnce = { eventType: 'payment_completed', url, createTime: time }
  const body = new TextEncoder().encode(text)
  const subject = { deliveryId, eventId, paymentId: delivery.subjectId, kind, state, body }
  return { ...subject, ...shownOnce, attemptCount, attempts }
}

/** A push with as many attempts as are kept, and this answer to each. */
export function triedOften<T extends { attempts: Attempt[] }>(push: T, answerText: string): T {
  const answer = new TextEncoder().encode(answerText)
  const [attempt] = push.attempts
  if (attempt === undefined) throw new Error('a push that was tried')
  const attempts = Array.from({ length: 100 }, (_, at) => ({ ...attempt, number: at + 1, answer }))
  return { ...push, attempts }
}

/** A project and its things. */
export type Project = ReturnType<typeof newProject>

/** A project with one of each thing. */
export function newProject(name: string, texts: Texts) {
  const projectId = randomUUID()
  const payment = create(PaymentSchema, {
    paymentId: randomUUID(),
    projectId,
    merchantId: randomUUID(),
    transactionId: `${name}-${texts.id}`.slice(0, 64),
    amountMinor: 2_500n,
    currency: 'USD',
    description: texts.note,
    state: PaymentState.PAID,
    fraudCheckStatus: FraudCheckStatus.SKIPPED,
    createTime: time,
    updateTime: time,
    expireTime: time,
    payers: [
      {
        payerId: randomUUID(),
        linkToken: 'token-of-the-payer',
        mobileNumber: texts.number,
        firstName: texts.name,
        lastName: texts.name,
        amountMinor: 2_500n,
        state: PayerState.PAID,
        paymentChannel: PaymentChannel.PAYMENT_LINK,
        paymentMethod: PaymentMethod.WALLET,
      },
    ],
    payees: [{ mobileNumber: texts.number, amountMinor: 2_500n, payoutState: PayoutState.SENT }],
  })
  const delivery = create(DeliverySchema, {
    deliveryId: randomUUID(),
    projectId,
    kind: DeliveryKind.NOTIFY,
    subjectId: payment.paymentId,
    origin: texts.url,
    state: DeliveryState.EXHAUSTED,
    attemptCount: 1,
    eventId: randomUUID(),
    occurredTime: time,
    body: new TextEncoder().encode(texts.body),
    attempts: [
      {
        number: 1,
        startTime: time,
        outcome: AttemptOutcome.CONNECTION_FAILED,
        error: texts.note,
        durationMs: 12,
        answer: new TextEncoder().encode(texts.body),
      },
    ],
  })
  const bill = create(BillPaymentSchema, {
    transactionId: `bill_${randomUUID().replaceAll('-', '')}`,
    state: BillPaymentState.SUCCESS,
    receiptId: 'PWBP-AAAA1111',
    externalReference: texts.id,
    clientReceiptId: texts.id,
    failureCode: texts.note,
    amount: { currency: 'USD', minorUnits: 500n },
    billerCode: texts.name,
    productCode: texts.name,
    customerReference: texts.number,
    createTime: time,
    endTime: time,
  })
  const party = { mobileNumber: texts.number, organizationId: texts.name, metadata: texts.note }
  const transfer = create(TransactionSchema, {
    movementId: randomUUID(),
    projectId,
    transactionId: texts.id,
    institutionName: texts.name,
    institutionReceiptId: texts.id,
    type: TransactionType.CASHOUT,
    status: TransactionStatus.COMPLETED,
    amount: { currency: 'USD', minorUnits: 2_500n },
    senderAmount: { currency: 'USD', minorUnits: 2_500n },
    fees: { senderPays: { currency: 'USD', minorUnits: 100n } },
    description: texts.note,
    debitParty: party,
    creditParty: { ...party, mobileNumber: '', accountNumber: texts.id },
    createTime: time,
    endTime: time,
  })
  const quote = create(QuoteSchema, {
    quoteId: randomUUID(),
    projectId,
    institutionName: texts.name,
    accountId: randomUUID(),
    kind: QuoteKind.TRANSFER,
    status: QuoteStatus.USED,
    requested: { currency: 'USD', minorUnits: 2_500n },
    quoted: { currency: 'TTD', minorUnits: 16_957n },
    rate: '6.7829',
    transactionId: texts.id,
    institutionReceiptId: texts.id,
    transactionStatus: QuoteTransactionStatus.COMPLETED,
    quoteTime: time,
    expireTime: time,
  })
  const job = create(ReplayJobSchema, {
    jobId: randomUUID(),
    projectId,
    state: ReplayJobState.RUNNING,
    replayedCount: 7n,
    ratePerS: 50,
    createTime: time,
  })
  const named = { name: `${name} ${texts.name}`, merchantName: texts.name, secret: randomUUID() }
  const keyId = randomUUID()
  const branding = {
    color: '#ffd400',
    logoDigest: 'ab'.repeat(32),
    supportEmail: texts.email,
    supportPhone: texts.number,
    websiteUrl: texts.url,
  }
  const customer = {
    accountId: randomUUID(),
    institutionName: texts.name,
    accountType: texts.note,
    country: 'GH',
    currency: 'USD',
    accountStatus: AccountStatus.AVAILABLE,
    accountLevel: 2,
    fundsAccessStatus: FundsAccessStatus.FULL,
    onboardingStatus: OnboardingStatus.COMPLETED,
  }
  const things = { payment, bill, transfer, quote, delivery, job, customer }
  return { projectId, branding, ...named, keyId, ...things, request: requestOf(projectId, texts) }
}

/** A project as AccessService shows it. */
export function shown({ projectId, name }: Project) {
  return { projectId, name, environment: Environment.SANDBOX }
}

/** The payment of a project. Throws PAYMENT_NOT_FOUND for another id. */
export function paymentOf({ payment }: Project, paymentId: string) {
  if (payment.paymentId === paymentId) return payment
  throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
}

/** The delivery of a project. Throws DELIVERY_NOT_FOUND for another id. */
export function deliveryOf({ delivery }: Project, deliveryId: string) {
  if (delivery.deliveryId === deliveryId) return delivery
  throw new Failure('DELIVERY_NOT_FOUND', 'no such delivery')
}

/** The day of a merchant: what ended in each of its hours, and what is open. */
export function dayOf(isFull: boolean) {
  const { seconds } = time
  const thisHour = seconds - (seconds % 3_600n)
  const currencies = isFull ? ['EUR', 'GHS', 'USD'] : ['USD']
  const hours = Array.from({ length: 24 }, (_, index) =>
    currencies.flatMap((currency) =>
      [PaymentState.PAID, PaymentState.EXPIRED, PaymentState.FAILED].map((state) => {
        const count = BigInt((index * 7) % 11) * (state === PaymentState.PAID ? 9n : 1n)
        const startTime = timestampFromMs(Number(thisHour - BigInt(23 - index) * 3_600n) * 1_000)
        return { startTime, ended: { state, currency, count, amountMinor: count * 2_500n } }
      }),
    ),
  ).flat()
  const open = { state: PaymentState.PENDING, count: 3n, amountMinor: 7_500n, currency: 'USD' }
  return { hours, open: [open], openIsCut: isFull, readTime: time }
}
