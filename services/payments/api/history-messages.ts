// Maps lists, histories and counts of payments to the messages of payweave.payments.v1.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { missing } from '#core/errors/errors.ts'
import { numberOf, paymentStates, refusalReasons, wordOf } from '#core/payment/words.ts'
import type {
  GetPaymentSummaryResponseSchema,
  ListPaymentsRequest,
  PaymentCountSchema,
  PaymentHistoryEventSchema,
  PaymentSummarySchema,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { type HistoryEvent, historyTypes } from '../domain/history.ts'
import type { PaymentListing } from '../operations/history.ts'
import type { PaymentSummary } from '../store/list-store.ts'
import type { PaymentCount, PaymentCounts } from '../store/summary-store.ts'
import { timestampOf } from './messages.ts'

/** The filters of a list request; an empty filter matches all. Throws MISSING_PARAMETER for an amount without its currency. */
export function listingOf(request: ListPaymentsRequest, projectId: string): PaymentListing {
  return {
    projectId,
    merchantId: request.merchantId,
    transactionId: request.transactionId || undefined,
    mobileNumberE164: request.mobileNumberE164 || undefined,
    state: wordOf(paymentStates, request.state),
    amount: amountOf(request),
    startTime: timeOf(request.startTime),
    endTime: timeOf(request.endTime),
    pageSize: request.pageSize,
    pageToken: request.pageToken,
  }
}

/** The amount to find. Throws MISSING_PARAMETER for one without its currency. */
function amountOf({ amountMinor, currency }: ListPaymentsRequest): PaymentListing['amount'] {
  if (amountMinor === 0n) return undefined
  if (currency === '') throw missing('currency')
  return { minor: amountMinor, currency }
}

function timeOf(time: Timestamp | undefined): Date | undefined {
  return time === undefined ? undefined : timestampDate(time)
}

/** A payment of a list, amounts in minor units. */
export function summaryMessage(
  payment: PaymentSummary,
): MessageInitShape<typeof PaymentSummarySchema> {
  const { state, createTime, updateTime, ...same } = payment
  return {
    ...same,
    state: numberOf(paymentStates, state),
    createTime: timestampOf(createTime),
    updateTime: timestampOf(updateTime),
  }
}

/** An entry of a history, amounts in minor units. */
export function historyMessage(
  event: HistoryEvent,
): MessageInitShape<typeof PaymentHistoryEventSchema> {
  const { type, time, party, releaseTime, refusalReason, ...same } = event
  return {
    ...same,
    type: numberOf(historyTypes, type),
    time: timestampOf(time),
    ...(releaseTime === undefined ? {} : { releaseTime: timestampOf(releaseTime) }),
    ...(refusalReason && { refusalReason: numberOf(refusalReasons, refusalReason) }),
    ...(party === undefined
      ? {}
      : { party: { case: `${party.kind}MobileNumber` as const, value: party.mobileNumber } }),
  }
}

/** Ended payments by hour, and open ones by state, counted up to `maxOpen` each; amounts in minor units. */
export function countsMessage(
  { hours, open, now }: PaymentCounts,
  maxOpen: number,
): MessageInitShape<typeof GetPaymentSummaryResponseSchema> {
  const counted = new Map<string, bigint>()
  for (const { state, count } of open) counted.set(state, (counted.get(state) ?? 0n) + count)
  return {
    hours: hours.map(({ startTime, ...ended }) => ({
      startTime: timestampOf(startTime),
      ended: countMessage(ended),
    })),
    open: open.map(countMessage),
    openIsCut: [...counted.values()].some((count) => count >= maxOpen),
    readTime: timestampOf(now),
  }
}

function countMessage({
  state,
  ...same
}: PaymentCount): MessageInitShape<typeof PaymentCountSchema> {
  return { ...same, state: numberOf(paymentStates, state) }
}
