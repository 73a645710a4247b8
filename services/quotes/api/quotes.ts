// Maps payweave.quotes.v1.QuotesService to the domain and back.

import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency } from '#core/money/money.ts'
import type {
  CreateQuoteRequest,
  QuotesService,
  ReserveQuoteRequest,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import type { Execution, NewQuote } from '../domain/quote.ts'
import {
  confirm,
  createQuote,
  getQuote,
  listAllHeld,
  listProject,
  type Quotes,
  release,
  reserve,
  updateStatus,
} from '../operations/quotes.ts'
import { amountOf, kindOf, quoteMessage, statusWord, transactionStatusOf } from './messages.ts'

/**
 * The handlers of QuotesService. All but `getRate` and `listHeldQuotes` reject as `projectOf` does, and all refuse bad fields with
 * INVALID_PARAMETER or MISSING_PARAMETER.
 *
 * `createQuote`: SESSION_INVALID, SESSION_EXPIRED, ACCOUNT_UNAVAILABLE, AMBIGUOUS_MATCH, CURRENCY_NOT_SUPPORTED,
 * LIMIT_EXCEEDED. `getQuote`, `confirmQuote`, `updateQuoteTransaction`: QUOTE_NOT_FOUND. `reserveQuote`:
 * QUOTE_NOT_FOUND, PARTY_NOT_ALLOWED, QUOTE_ALREADY_USED, QUOTE_EXPIRED, QUOTE_MISMATCH. `releaseQuote`:
 * QUOTE_ALREADY_USED. `getRate`: CURRENCY_NOT_SUPPORTED. Without a fresh rate `createQuote` and `getRate` reject with
 * SERVICE_UNAVAILABLE.
 */
export function quotesService(quotes: Quotes): ServiceImpl<typeof QuotesService> {
  return {
    async createQuote(request, context) {
      const asked = newQuoteOf(request, projectOf(context, request.projectId))
      return { quote: quoteMessage(await createQuote(quotes, asked)) }
    },
    async getQuote({ quoteId, institutionName, projectId: named }, context) {
      const projectId = projectOf(context, named)
      return {
        quote: quoteMessage(await getQuote(quotes, { projectId, quoteId, institutionName })),
      }
    },
    async listQuotes({ projectId, quoteId, status, pageSize, pageToken }, context) {
      const page = await listProject(quotes, {
        projectId: projectOf(context, projectId),
        quoteId: quoteId === '' ? undefined : quoteId,
        status: statusWord(status),
        pageSize,
        pageToken,
      })
      return { ...page, quotes: page.quotes.map(quoteMessage) }
    },
    async listHeldQuotes(request) {
      const page = await listAllHeld(quotes, request)
      return {
        ...page,
        quotes: page.quotes.map(({ quote, reserveTime }) => ({
          quote: quoteMessage(quote),
          movementId: quote.movementId ?? '',
          reserveTime: timestampFromDate(reserveTime),
        })),
      }
    },
    async reserveQuote(request, context) {
      const { quoteId, institutionId } = request
      const projectId = projectOf(context, request.projectId)
      checkUuid(institutionId, 'institution_id')
      const key = { projectId, quoteId, institutionId }
      return { quote: quoteMessage(await reserve(quotes, key, executionOf(request))) }
    },
    async confirmQuote(request, context) {
      const claim = claimOf(request, projectOf(context, request.projectId))
      const { transactionId, institutionReceiptId } = request
      const transactionStatus = transactionStatusOf(request.transactionStatus)
      await confirm(quotes, claim, { transactionId, institutionReceiptId, transactionStatus })
      return {}
    },
    async releaseQuote(request, context) {
      await release(quotes, claimOf(request, projectOf(context, request.projectId)))
      return {}
    },
    async updateQuoteTransaction(request, context) {
      const claim = claimOf(request, projectOf(context, request.projectId))
      await updateStatus(quotes, claim, transactionStatusOf(request.transactionStatus))
      return {}
    },
    async getRate({ baseCurrency, quotedCurrency }) {
      checkCurrency(baseCurrency, 'base_currency')
      checkCurrency(quotedCurrency, 'quoted_currency')
      const { text, sourceTime } = await quotes.findRate(baseCurrency, quotedCurrency)
      return { rate: text, sourceTime: timestampFromDate(sourceTime) }
    },
  }
}

function newQuoteOf(request: CreateQuoteRequest, projectId: string): NewQuote {
  const { sessionToken, institutionName, creditParty } = request
  const kind = kindOf(request.kind)
  if (kind === 'institution' && creditParty !== undefined) {
    throw invalid('credit_party', 'must be unset in a quote of an institution')
  }
  const requested = amountOf(request.requested, 'request_amount')
  const currency = creditParty?.currency ?? ''
  if (currency !== '') checkCurrency(currency, 'credit_party.currency')
  return { projectId, sessionToken, institutionName, kind, requested, creditParty }
}

function executionOf({ movementId, accountId, debit, credit }: ReserveQuoteRequest): Execution {
  checkUuid(movementId, 'movement_id')
  if (accountId !== '') checkUuid(accountId, 'account_id')
  return {
    movementId,
    debit: amountOf(debit, 'debit'),
    credit: amountOf(credit, 'credit'),
    accountId: accountId === '' ? undefined : accountId,
  }
}

function claimOf(
  { quoteId, movementId }: { quoteId: string; movementId: string },
  projectId: string,
) {
  return { projectId, quoteId, movementId }
}

function checkUuid(text: string, field: string): void {
  if (!isUuid(text)) throw invalid(field, 'must be a UUID')
}

function checkCurrency(code: string, field: string): void {
  if (!isCurrency(code)) throw invalid(field, 'must be an ISO 4217 currency code')
}
