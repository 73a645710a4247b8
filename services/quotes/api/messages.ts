// Maps quotes to the messages of payweave.quotes.v1 and back.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { invalid, missing } from '#core/errors/errors.ts'
import { isCurrency } from '#core/money/money.ts'
import {
  QuoteKind as KindNumber,
  type QuoteSchema,
  QuoteTransactionStatus,
  QuoteStatus as StatusNumber,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import {
  type Amount,
  type Quote,
  type QuoteKind,
  type QuoteStatus,
  statusOf,
  type TransactionStatus,
} from '../domain/quote.ts'

const kinds = {
  transfer: KindNumber.TRANSFER,
  institution: KindNumber.INSTITUTION,
} as const satisfies Record<QuoteKind, KindNumber>

const statuses = {
  active: StatusNumber.ACTIVE,
  used: StatusNumber.USED,
  expired: StatusNumber.EXPIRED,
} as const satisfies Record<QuoteStatus, StatusNumber>

const transactionStatuses = {
  pending: QuoteTransactionStatus.PENDING,
  completed: QuoteTransactionStatus.COMPLETED,
  failed: QuoteTransactionStatus.FAILED,
  cancelled: QuoteTransactionStatus.CANCELLED,
} as const satisfies Record<TransactionStatus, QuoteTransactionStatus>

/** The word of a state; undefined for UNSPECIFIED. Throws INVALID_PARAMETER for an unknown one. */
export function statusWord(status: StatusNumber): QuoteStatus | undefined {
  if (status === StatusNumber.UNSPECIFIED) return undefined
  const word = (Object.keys(statuses) as QuoteStatus[]).find((one) => statuses[one] === status)
  if (word === undefined) throw invalid('status', 'has an unknown value')
  return word
}

/** A quote as a message, amounts in minor units. */
export function quoteMessage(quote: Quote): MessageInitShape<typeof QuoteSchema> {
  const { requested, quoted, rate, use } = quote
  return {
    quoteId: quote.quoteId,
    projectId: quote.projectId,
    institutionId: quote.institutionId,
    institutionName: quote.institutionName,
    accountId: quote.accountId,
    kind: kinds[quote.kind],
    requested: moneyOf(requested),
    quoted: moneyOf(quoted),
    rate: rate.text,
    rateTime: timestampFromDate(rate.sourceTime),
    residual: quote.residual,
    rounding: moneyOf({ amountMinor: quote.roundingMinor, currency: quoted.currency }),
    fees: feesMessage(quote),
    quoteTime: timestampFromDate(quote.quoteTime),
    expireTime: timestampFromDate(quote.expireTime),
    status: statuses[statusOf(quote)],
    transactionId: use?.transactionId ?? '',
    institutionReceiptId: use?.institutionReceiptId ?? '',
    transactionStatus:
      use === undefined
        ? QuoteTransactionStatus.UNSPECIFIED
        : transactionStatuses[use.transactionStatus],
  }
}

function moneyOf({ amountMinor, currency }: Amount) {
  return { currency, minorUnits: amountMinor }
}

function feesMessage({ requested: { currency }, fees }: Quote) {
  const fee = (amountMinor: bigint) => moneyOf({ amountMinor, currency })
  return {
    total: fee(fees.totalMinor),
    convenience: fee(fees.convenienceMinor),
    senderPays: fee(fees.senderPaysMinor),
    recipientPays: fee(fees.recipientPaysMinor),
  }
}

/**
 * The amount of a request in minor units. Throws MISSING_PARAMETER when it is not set, INVALID_PARAMETER for an unknown
 * currency; both name `field`.
 */
export function amountOf(money: Money | undefined, field: string): Amount {
  if (money === undefined) {
    throw missing(field)
  }
  if (!isCurrency(money.currency)) throw invalid(field, 'must be in an ISO 4217 currency')
  return { amountMinor: money.minorUnits, currency: money.currency }
}

/** The kind of an enum number. Throws INVALID_PARAMETER for UNSPECIFIED and unknown numbers. */
export function kindOf(number: KindNumber): QuoteKind {
  return wordOf(kinds, number, 'kind')
}

/** The status of an enum number. Throws INVALID_PARAMETER for UNSPECIFIED and unknown numbers. */
export function transactionStatusOf(number: QuoteTransactionStatus): TransactionStatus {
  return wordOf(transactionStatuses, number, 'transaction_status')
}

function wordOf<W extends string, N extends number>(
  words: Readonly<Record<W, N>>,
  number: number,
  field: string,
): W {
  for (const word of Object.keys(words) as W[]) if (words[word] === number) return word
  throw invalid(field, 'must be set')
}
