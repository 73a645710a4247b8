// The quotes of a project: a list, and one with its rate and the transaction that executed it.
import type { FastifyInstance } from 'fastify'
import {
  type Quote,
  QuoteKind,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Clients } from '../../clients.ts'
import { type ProjectWork, pathId, type Worker } from '../../http/work.ts'
import { type Cell, code, moneyCell, row, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { wordOf } from '../../pages/words.ts'
import { nextPageUrl } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

/** Registers the pages below `/projects/<id>/quotes`. */
export function registerQuotes(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/quotes'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}/:quoteId`,
    worker.projectPage((work) => sendQuote(work, clients)),
  )
}

async function sendList({ request, reply, project, query }: ProjectWork, { quotes }: Clients) {
  const { projectId } = project
  const listed = await quotes.listQuotes({ projectId, pageToken: query.get('page') ?? '' })
  return sendSections(reply, {
    title: `Quotes of ${project.name}`,
    sections: [
      {
        note: 'A quote that nobody used is deleted 30 days after its expiry.',
        table: {
          head: ['Quote', 'Amount', 'Quoted', 'Rate', 'State', 'Institution', 'Created'],
          empty: 'No quotes. POST /quote and POST /institution/quote make one.',
          rows: listed.quotes.map((one) => [
            row(one.quoteId, pathOf(one)),
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

/** A quote is found by its institution too. */
function pathOf({ projectId, quoteId, institutionName }: Quote): string {
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
