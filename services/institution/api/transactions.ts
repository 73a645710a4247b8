// Maps payweave.institution.v1.InstitutionService to the domain and back.
import { toJson } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { missing } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import {
  type CreateTransactionRequest,
  CreateTransactionRequestSchema,
  type InstitutionService,
  TransactionStatus,
  type Party as WireParty,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { microsOfTimestamp } from '#platform/rpc/timestamps.ts'
import type { NewTransaction, Party } from '../domain/transaction.ts'
import { listAllWaiting, listHistory, listProject } from '../operations/history.ts'
import type { Institution } from '../operations/institution.ts'
import { createTransaction, getTransaction, resumeTransaction } from '../operations/transactions.ts'
import type { Token } from '../ports/sessions.ts'
import type { TransactionList } from '../store/project-list-store.ts'
import { transactionMessage, typeOf } from './messages.ts'

const lists = {
  [TransactionStatus.UNSPECIFIED]: 'all',
  [TransactionStatus.PENDING]: 'pending',
  [TransactionStatus.COMPLETED]: 'completed',
  [TransactionStatus.FAILED]: 'failed',
  [TransactionStatus.CANCELLED]: 'cancelled',
} as const satisfies Record<TransactionStatus, TransactionList>

/**
 * The handlers of InstitutionService. All reject as `projectOf` and a Queryable do.
 *
 * `createTransaction` refuses in the order that the contract gives: SESSION_INVALID, DUPLICATE_TRANSACTION_ID,
 * SESSION_EXPIRED, the parties (PARTY_NOT_ALLOWED, ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, ACCOUNT_UNAVAILABLE,
 * SAME_PARTIES, MISSING_PARAMETER), amounts and fees (INVALID_PARAMETER, MISSING_PARAMETER, QUOTE_MISMATCH), the rate
 * (CURRENCY_NOT_SUPPORTED, SERVICE_UNAVAILABLE), the quote (QUOTE_NOT_FOUND, PARTY_NOT_ALLOWED, QUOTE_EXPIRED,
 * QUOTE_ALREADY_USED, QUOTE_MISMATCH), LIMIT_EXCEEDED, INSUFFICIENT_FUNDS, AMOUNT_OUT_OF_RANGE.
 * `getTransaction` and `resumeTransaction` refuse with TRANSACTION_NOT_FOUND, `listTransactions` a bad window, and all lists a bad page
 * token, with INVALID_PARAMETER. The first two reject with SERVICE_UNAVAILABLE while it is undecided whether there is a
 * transaction.
 */
export function institutionService(
  institution: Institution,
): ServiceImpl<typeof InstitutionService> {
  return {
    async createTransaction(request, context) {
      const projectId = projectOf(context, request.projectId)
      const made = await createTransaction(
        institution,
        newTransaction(request, projectId),
        tokenOf(request),
      )
      return { transaction: transactionMessage(made.transaction), replayed: made.replayed }
    },
    async getTransaction({ institutionName, transactionId, movementId, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const key = { projectId, institutionName, transactionId, movementId }
      return { transaction: transactionMessage(await getTransaction(institution, key)) }
    },
    async listTransactions(request, context) {
      const { mobileNumber, startTime, endTime, pageSize, pageToken } = request
      const { transactions, nextPageToken } = await listHistory(institution, {
        projectId: projectOf(context, request.projectId),
        mobileNumber,
        startUs: startTime === undefined ? undefined : microsOfTimestamp(startTime),
        endUs: endTime === undefined ? undefined : microsOfTimestamp(endTime),
        pageSize,
        pageToken,
      })
      return { transactions: transactions.map(transactionMessage), nextPageToken }
    },
    async listProjectTransactions(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { pageSize, pageToken, startTime, endTime } = request
      const wanted = {
        projectId,
        pageSize,
        pageToken,
        from: startTime && timestampDate(startTime),
        to: endTime && timestampDate(endTime),
      }
      const page = await listProject(institution, lists[request.status], wanted)
      return { ...page, transactions: page.transactions.map(transactionMessage) }
    },
    async listWaitingTransactions(request) {
      const page = await listAllWaiting(institution, request)
      return { ...page, transactions: page.transactions.map(transactionMessage) }
    },
    async resumeTransaction({ movementId }) {
      await resumeTransaction(institution, movementId)
      return {}
    },
  }
}

function tokenOf({ token }: CreateTransactionRequest): Token {
  if (token.case !== undefined && token.value !== '') return token
  throw missing('session_token')
}

function newTransaction(request: CreateTransactionRequest, projectId: string): NewTransaction {
  const { debitParty, creditParty, transactionTime } = request
  const type = typeOf(request.type)
  if (type === undefined) throw missing('type')
  return {
    projectId,
    institutionName: request.institutionName,
    transactionId: request.transactionId,
    type,
    amount: request.amount,
    senderAmount: request.senderAmount,
    senderCurrency: request.senderCurrency,
    description: request.description,
    fees: request.fees,
    described: {
      debitParty: partyOf(debitParty),
      creditParty: partyOf(creditParty),
      senderKyc: request.senderKyc,
      recipientKyc: request.recipientKyc,
      transferInformation: request.transferInformation,
      ...(transactionTime && { transactionTime: timestampDate(transactionTime).toISOString() }),
    },
    quoteId: request.quoteId,
    fingerprint: fingerprintOf(request),
  }
}

function fingerprintOf(request: CreateTransactionRequest): Buffer {
  if (request.requestFingerprint.length > 0) return Buffer.from(request.requestFingerprint)
  const fields: Record<string, unknown> = Object.fromEntries(
    Object.entries(toJson(CreateTransactionRequestSchema, request) as object),
  )
  // Without the token: a repeat may seal it anew. The operation adds the hash of the token itself.
  const { sessionToken: _plain, sessionTokenSealed: _sealed, ...kept } = fields
  return fingerprint(kept)
}

function partyOf(party: WireParty | undefined): Party {
  return {
    mobileNumber: party?.mobileNumber ?? '',
    organizationId: party?.organizationId ?? '',
    accountNumber: party?.accountNumber ?? '',
    accountType: party?.accountType ?? '',
    currency: party?.currency ?? '',
    metadata: party?.metadata ?? '',
  }
}
