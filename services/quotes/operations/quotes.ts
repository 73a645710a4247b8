// Creates, reads, reserves and ends quotes, with the order of the checks.
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { convertUp } from '#core/money/exchange.ts'
import { parseDecimal } from '#core/money/money.ts'
import { cursorIn, idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import type { Database } from '#platform/db/db.ts'
import {
  type Amount,
  debitOf,
  type Execution,
  type NewQuote,
  priceQuote,
  type Quote,
  type QuoteStatus,
  statusOf,
  type TransactionStatus,
  type Use,
  whyNotReserved,
} from '../domain/quote.ts'
import type { QuoteMetrics } from '../metrics.ts'
import type { Accounts, SessionAccount } from '../ports/accounts.ts'
import type { FindRate } from '../ports/rates.ts'
import {
  type Claim,
  confirmQuote,
  findQuote,
  type HeldQuote,
  listHeld,
  listQuotes,
  readForMovement,
  readQuote,
  releaseQuote,
  reserveQuote,
  updateTransaction,
} from '../store/quote-store.ts'
import type { StoreQuote } from './batching.ts'

/** Dependencies of quotes. */
export type Quotes = {
  db: Database
  accounts: Accounts
  findRate: FindRate
  metrics: QuoteMetrics
  storeQuote: StoreQuote
}

/** Makes a quote: the session, then the rate, then the limits; a refusal stores nothing. */
export async function createQuote(quotes: Quotes, request: NewQuote): Promise<Quote> {
  const { accounts, findRate, metrics } = quotes
  const { projectId, requested, kind } = request
  const session = await accounts.openSession(request)
  const rate = await rateFor(
    findRate,
    requested.currency,
    session.targetCurrency,
    targetField(request),
  )
  const terms = priceQuote(requested, session.targetCurrency, rate)
  await checkLimits(quotes, projectId, session, debitOf(terms))
  const { institutionId, institutionName, accountId } = session
  const draft = {
    ...terms,
    quoteId: newId(),
    projectId,
    institutionId,
    institutionName,
    accountId,
    kind,
  }
  const quote = await quotes.storeQuote(draft)
  metrics.made(kind)
  return quote
}

/** The field to which the refusal of a currency without a rate refers. */
function targetField({ creditParty }: NewQuote): string {
  return creditParty === undefined || creditParty.currency === ''
    ? 'request_currency'
    : 'credit_party.currency'
}

async function rateFor(findRate: FindRate, base: string, quoted: string, field: string) {
  try {
    return await findRate(base, quoted)
  } catch (error) {
    if (!(error instanceof Failure) || error.reason !== 'CURRENCY_NOT_SUPPORTED') throw error
    const message = `${field} has no exchange rate between ${base} and ${quoted}`
    throw new Failure('CURRENCY_NOT_SUPPORTED', message, { details: { field }, cause: error })
  }
}

/** All that would leave the account counts, in the currency of the limits and rounded up. */
async function checkLimits(
  { accounts, findRate }: Quotes,
  projectId: string,
  session: SessionAccount,
  { amountMinor, currency }: Amount,
): Promise<void> {
  const { limitCurrency } = session
  const rate = await rateFor(findRate, currency, limitCurrency, 'request_currency')
  const decimal = parseDecimal(rate.text)
  if (decimal === undefined) throw new Error('the rate was not checked')
  const counted = convertUp(amountMinor, currency, limitCurrency, decimal)
  // More than any amount can be is more than any limit allows.
  if (counted === undefined) throw new Failure('LIMIT_EXCEEDED', 'the amount exceeds the limits')
  await accounts.checkLimits(projectId, session, counted)
}

/** Reads a quote of an institution. */
export async function getQuote(
  { db }: Quotes,
  key: { projectId: string; quoteId: string; institutionName: string },
): Promise<Quote> {
  const quote = await readQuote(db, key)
  if (quote === undefined) throw notFound()
  return quote
}

/** Which quotes of a project to list; undefined takes any. */
export type QuoteListing = {
  projectId: string
  quoteId: string | undefined
  status: QuoteStatus | undefined
  pageSize: number
  pageToken: string
}

/** A page of a project's quotes, newest first. INVALID_PARAMETER for a page token that is not ours. */
export async function listProject(
  { db }: Quotes,
  { projectId, quoteId, status, pageSize, pageToken }: QuoteListing,
): Promise<{ quotes: Quote[]; nextPageToken: string }> {
  const afterId = idIn(pageToken)
  if (quoteId !== undefined) {
    const quote = await findQuote(db, projectId, quoteId)
    const isWanted = quote !== undefined && (status ?? statusOf(quote)) === statusOf(quote)
    return { quotes: isWanted ? [quote] : [], nextPageToken: '' }
  }
  const size = pageSizeOf(pageSize)
  const found = await listQuotes(db, { projectId, status, afterId, limit: size + 1 })
  const { rows: quotes, nextPageToken } = pageOf(found, size, ({ quoteId }) => tokenOf(quoteId))
  return { quotes, nextPageToken }
}

const defaultMinAgeS = 600

/** A page of the quotes of all projects that are held, the longest first. INVALID_PARAMETER for a page token that is not ours. */
export async function listAllHeld(
  { db }: Quotes,
  { minAgeS, pageSize, pageToken }: { minAgeS: number; pageSize: number; pageToken: string },
): Promise<{ quotes: HeldQuote[]; nextPageToken: string }> {
  const size = pageSizeOf(pageSize)
  const cursor = cursorIn(pageToken)
  const after = cursor && { reservedUs: cursor.at, quoteId: cursor.id }
  const found = await listHeld(db, minAgeS || defaultMinAgeS, after, size + 1)
  const page = pageOf(found, size, ({ reservedUs, quote }) => tokenOf(reservedUs, quote.quoteId))
  return { quotes: page.rows, nextPageToken: page.nextPageToken }
}

/** Which quote a movement wants. */
export type ReserveKey = { projectId: string; quoteId: string; institutionId: string }

const maxTries = 3

/** Reserves a quote for a movement; the same one gets it again until the quote expires. */
export async function reserve(
  { db, metrics }: Quotes,
  key: ReserveKey,
  execution: Execution,
): Promise<Quote> {
  // Between the two statements the quote may have been given back: then it is tried once more.
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const reserved = await reserveQuote(db, key, execution)
    if (reserved !== undefined) {
      metrics.ended('reserved')
      return reserved
    }
    const found = await readForMovement(db, { ...key, movementId: execution.movementId })
    if (found?.quote.institutionId !== key.institutionId) throw notFound()
    const { quote, givenBack } = found
    const refusal = whyNotReserved(quote, givenBack, execution)
    if (refusal !== undefined) throw refusal
    if (quote.state !== 'open') return quote
  }
  throw new Failure('SERVICE_UNAVAILABLE', 'the quote was changed concurrently; retry')
}

/** Makes a reserved quote used; repeated, it changes nothing. */
export async function confirm({ db, metrics }: Quotes, claim: Claim, use: Use): Promise<void> {
  if (await confirmQuote(db, claim, use)) metrics.ended('confirmed')
  else await whenUsed(db, claim)
}

/** Opens a reserved quote again; repeated, it changes nothing. */
export async function release({ db, metrics }: Quotes, claim: Claim): Promise<void> {
  if (await releaseQuote(db, claim)) {
    metrics.ended('released')
    return
  }
  const quote = (await readForMovement(db, claim))?.quote
  if (quote?.state === 'used' && quote.movementId === claim.movementId) {
    throw new Failure('QUOTE_ALREADY_USED', 'the movement has used the quote')
  }
}

/** Records the outcome of the transaction that used a quote; the first one is kept. */
export async function updateStatus(
  { db }: Quotes,
  claim: Claim,
  status: TransactionStatus,
): Promise<void> {
  const isChanged = status !== 'pending' && (await updateTransaction(db, claim, status))
  if (!isChanged) await whenUsed(db, claim)
}

/** Refuses unless the movement has used the quote. */
async function whenUsed(db: Database, claim: Claim): Promise<void> {
  const found = await readForMovement(db, claim)
  const isUsed = found?.quote.state === 'used' && found.quote.movementId === claim.movementId
  if (!isUsed) throw notFound()
}

/** The one answer for ids that are unknown or foreign. */
function notFound(): Failure {
  return new Failure('QUOTE_NOT_FOUND', 'there is no such quote')
}
