// Maps transactions to the messages of payweave.institution.v1, payweave.backend.v1 and payweave.quotes.v1.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type CreateTransferRequestSchema,
  TransferType,
} from '#gen/payweave/backend/v1/transfers_pb.js'
import {
  type PartySchema,
  type TransactionSchema,
  TransactionStatus,
  TransactionType as WireType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { QuoteTransactionStatus } from '#gen/payweave/quotes/v1/quotes_pb.js'
import {
  creditMinor,
  debitMinor,
  type Party,
  type ShownState,
  type Transaction,
  type TransactionType,
} from '../domain/transaction.ts'

/** A transaction that its client may see. */
export type Shown = Transaction & { state: ShownState }

const types = {
  p2p: WireType.P2P,
  inttransfer: WireType.INTTRANSFER,
  deposit: WireType.DEPOSIT,
  cashout: WireType.CASHOUT,
} as const satisfies Record<TransactionType, WireType>

const statuses = {
  pending: TransactionStatus.PENDING,
  completed: TransactionStatus.COMPLETED,
  failed: TransactionStatus.FAILED,
  cancelled: TransactionStatus.CANCELLED,
} as const satisfies Record<ShownState, TransactionStatus>

/** A transaction's state as it is sent to the quotes service. */
export const quoteStatuses = {
  pending: QuoteTransactionStatus.PENDING,
  completed: QuoteTransactionStatus.COMPLETED,
  failed: QuoteTransactionStatus.FAILED,
  cancelled: QuoteTransactionStatus.CANCELLED,
} as const satisfies Record<ShownState, QuoteTransactionStatus>

/** The type of a request; undefined for UNSPECIFIED and for numbers of a later contract. */
export function typeOf(wire: WireType): TransactionType | undefined {
  return (Object.keys(types) as TransactionType[]).find((type) => types[type] === wire)
}

/** A transaction as a message, amounts in minor units of their own currencies. */
export function transactionMessage(row: Shown): MessageInitShape<typeof TransactionSchema> {
  const { senderCurrency, currency, fees, createTime, endTime } = row
  const sent = (minorUnits: bigint) => ({ currency: senderCurrency, minorUnits })
  return {
    movementId: row.movementId,
    projectId: row.projectId,
    institutionId: row.institutionId,
    institutionName: row.institutionName,
    transactionId: row.transactionId,
    institutionReceiptId: row.receiptId,
    type: types[row.type],
    status: statuses[row.state],
    amount: { currency, minorUnits: row.amountMinor },
    senderAmount: sent(row.senderAmountMinor),
    fees: {
      total: sent(fees.totalMinor),
      convenience: sent(fees.convenienceMinor),
      senderPays: sent(fees.senderPaysMinor),
      recipientPays: { currency, minorUnits: fees.recipientPaysMinor },
    },
    quoteId: row.quoteId ?? '',
    description: row.description,
    debitParty: partyMessage(row.described.debitParty, senderCurrency),
    creditParty: partyMessage(row.described.creditParty, currency),
    ...(createTime === undefined ? {} : { createTime: timestampFromDate(createTime) }),
    ...(endTime === undefined ? {} : { endTime: timestampFromDate(endTime) }),
  }
}

function partyMessage(party: Party, currency: string): MessageInitShape<typeof PartySchema> {
  return { ...party, currency }
}

const transferTypes = {
  inttransfer: TransferType.INTTRANSFER,
  deposit: TransferType.DEPOSIT,
  cashout: TransferType.CASHOUT,
} as const

/**
 * The transfer that the back end is asked to execute, amounts in minor units. Throws an Error for a p2p transaction,
 * which involves no back end.
 */
export function transferMessage(
  row: Transaction,
): MessageInitShape<typeof CreateTransferRequestSchema> {
  const { described, type } = row
  if (type === 'p2p') throw new Error('a p2p transaction is no transfer')
  return {
    transferId: row.movementId,
    type: transferTypes[type],
    institutionName: row.institutionName,
    debitAmount: { currency: row.senderCurrency, minorUnits: debitMinor(row) },
    creditAmount: { currency: row.currency, minorUnits: creditMinor(row) },
    debitParty: { ...partyFacts(described.debitParty), kyc: described.senderKyc },
    creditParty: { ...partyFacts(described.creditParty), kyc: described.recipientKyc },
    transferInformation: described.transferInformation,
  }
}

function partyFacts({ mobileNumber, organizationId, accountNumber, accountType, metadata }: Party) {
  return { mobileNumber, organizationId, accountNumber, accountType, metadata }
}
