// The quotes of a project: a list, the same as a CSV file, and one with its rate and the transaction that executed it.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import {
  type Quote,
  QuoteKind,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, pathId, type Worker } from '../../http/work.ts'
import { type Cell, chosen, code, moneyCell, row, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../../pages/words.ts'
import { nextPageUrl, sendCsv, withFilters } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

/** Registers the pages below `/projects/<id>/quotes`. */
export function registerQuotes(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/quotes'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'quotes', csvHead, async (pageToken) => {
        const page = await clients.quotes.listQuotes({ ...filter, pageToken })
        return { rows: page.quotes.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:quoteId`,
    worker.projectPage((work) => sendQuote(work, clients)),
  )
}

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid id. */
function filterOf({ query, project: { projectId } }: ProjectWork) {
  const quoteId = query.get('quote') ?? ''
  if (quoteId !== '' && !isUuid(quoteId)) throw invalid('quote', 'must be an id')
  const status = valueOf(QuoteStatus, query.get('state')) ?? QuoteStatus.UNSPECIFIED
  return { projectId, quoteId, status }
}

async function sendList(work: ProjectWork, { quotes }: Clients) {
  const { request, reply, project, query } = work
  const base = `/projects/${project.projectId}/quotes`
  const pageToken = query.get('page') ?? ''
  const listed = await quotes.listQuotes({ ...filterOf(work), pageToken })
  return sendSections(reply, {
    title: `Quotes of ${project.name}`,
    sections: [
      {
        note: 'A quote that nobody used is deleted 30 days after its expiry.',
        filters: {
          fields: [
            chosen('State', 'state', QuoteStatus, query),
            { label: 'Quote id', name: 'quote', value: query.get('quote') ?? '', maxlength: 36 },
          ],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Quote', 'Amount', 'Quoted', 'Rate', 'State', 'Institution', 'Created'],
          empty:
            'No quote matches. POST /quote and POST /institution/quote make one; another filter may show more.',
          rows: listed.quotes.map((one) => [
            row(one.quoteId, quotePath(one)),
            moneyCell(one.requested),
            moneyCell(one.quoted),
            text(one.rate),
            stateOf(one),
            text(one.institutionName),
            { at: one.quoteTime },
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.quotes.v1.QuotesService/ListQuotes',
      },
    ],
  })
}

const csvHead = [
  'quote_id',
  'amount',
  'currency',
  'quoted',
  'quoted_currency',
  'rate',
  'state',
  'institution',
  'transaction_id',
  'created',
  'expires',
]

function csvCells(one: Quote): string[] {
  return [
    one.quoteId,
    ...moneyCells(one.requested),
    ...moneyCells(one.quoted),
    one.rate,
    wordOf(QuoteStatus, one.status),
    one.institutionName,
    one.transactionId,
    timeOf(one.quoteTime)?.iso ?? '',
    timeOf(one.expireTime)?.iso ?? '',
  ]
}

function moneyCells({ minorUnits = 0n, currency = '' }: Partial<Money> = {}): string[] {
  return [formatAmount(minorUnits, currency), currency]
}

/** The page of a quote, which is found by its institution too. */
export function quotePath({ projectId, quoteId, institutionName }: Quote): string {
  const query = new URLSearchParams({ institution: institutionName })
  return `/projects/${projectId}/quotes/${quoteId}?${query.toString()}`
}

function stateOf({ status }: Quote): Cell {
  return { state: wordOf(QuoteStatus, status) }
}

async function sendQuote(work: ProjectWork, { quotes }: Clients) {
  const { projectId } = work.project
  const { quote: one } = await quotes.getQuote({
    projectId,
    ...pathId(work, 'quoteId'),
    institutionName: work.query.get('institution') ?? '',
  })
  if (one === undefined) throw new Error('an answer without its quote')
  const used: [string, Cell][] = [
    ['Transaction', text(one.transactionId)],
    ['State of the transaction', { state: wordOf(QuoteTransactionStatus, one.transactionStatus) }],
    ['Receipt', code(one.institutionReceiptId)],
  ]
  return sendSections(work.reply, {
    title: `Quote ${one.quoteId}`,
    sections: [
      {
        facts: [
          ['State', stateOf(one)],
          ['Amount', moneyCell(one.requested)],
          ['Quoted', moneyCell(one.quoted)],
          ['Rate', text(one.rate)],
          ['Time of the rate', { at: one.rateTime }],
          ['Rounding', moneyCell(one.rounding)],
          ['For', text(wordOf(QuoteKind, one.kind))],
          ['Institution', text(one.institutionName)],
          ['Account', code(one.accountId)],
          ...(one.status === QuoteStatus.USED ? used : []),
          ['Created', { at: one.quoteTime }],
          ['Expires', { at: one.expireTime }],
        ],
        rpc: 'payweave.quotes.v1.QuotesService/GetQuote',
      },
    ],
  })
}
