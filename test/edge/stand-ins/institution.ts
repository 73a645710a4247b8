// A small server in the place of the institution service that records its requests. No assertions here.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  type CreateTransactionRequest,
  type InstitutionService,
  type ListTransactionsRequest,
  type Transaction,
  TransactionSchema,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'

/** What the stand-in was asked, and how to make it answer otherwise. */
export type SeenTransactions = {
  created: CreateTransactionRequest[]
  listed: ListTransactionsRequest[]
  /** The refusal of the next calls, when set. */
  refuseWith?: Failure | undefined
  nextPageToken: string
  /** Fields that every returned transaction has in addition to its usual ones. */
  more: Exclude<MessageInitShape<typeof TransactionSchema>, Transaction>
}

/** A stand-in that was asked nothing yet. */
export function newSeenTransactions(): SeenTransactions {
  return { created: [], listed: [], nextPageToken: '', more: {} }
}

/** The handlers; every id but "unknown" is a transaction of 10.00 USD. */
export function institutionStandIn(
  seen: SeenTransactions,
): Partial<ServiceImpl<typeof InstitutionService>> {
  const transaction = () => {
    if (seen.refuseWith !== undefined) throw seen.refuseWith
    return create(TransactionSchema, { ...tenDollars(), ...seen.more })
  }
  return {
    createTransaction(request) {
      seen.created.push(request)
      return { transaction: transaction() }
    },
    getTransaction({ transactionId }) {
      if (transactionId === 'unknown') throw new Failure('TRANSACTION_NOT_FOUND', 'no')
      return { transaction: transaction() }
    },
    listTransactions(request) {
      seen.listed.push(request)
      return { transactions: [transaction()], nextPageToken: seen.nextPageToken }
    },
  }
}

function tenDollars() {
  const none = { currency: 'USD', minorUnits: 0n }
  return {
    transactionId: 'transfer-1',
    institutionReceiptId: 'receipt-1',
    institutionName: 'Demo Wallet',
    type: TransactionType.P2P,
    status: TransactionStatus.COMPLETED,
    amount: { currency: 'USD', minorUnits: 1_000n },
    senderAmount: { currency: 'USD', minorUnits: 1_000n },
    fees: { total: none, convenience: none, senderPays: none, recipientPays: none },
    debitParty: { mobileNumber: '+12025550100', accountNumber: '' },
    creditParty: { mobileNumber: '+12025550101', accountNumber: 'ACC-123456' },
    createTime: timestampFromDate(new Date('2026-01-02T23:58:00Z')),
    endTime: timestampFromDate(new Date('2026-01-02T23:58:00Z')),
  }
}
