// The institution transactions of a project: a list, the same as a CSV file, one with its parties, fees and receipt.
import type { FastifyInstance } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import {
  type Party,
  type Transaction,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, pathId, type Worker } from '../../http/work.ts'
import { type Cell, chosen, code, moneyCell, row, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../../pages/words.ts'
import { transferCell } from '../ledger-links.ts'
import { nextPageUrl, sendCsv, timeFields, timesIn, withFilters } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

/** Registers the pages below `/projects/<id>/transfers`. */
export function registerTransfers(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/transfers'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'transfers', csvHead, async (pageToken) => {
        const page = await clients.institution.listProjectTransactions({ ...filter, pageToken })
        return { rows: page.transactions.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:movementId`,
    worker.projectPage((work) => sendTransfer(work, clients)),
  )
}

function filterOf({ query, project: { projectId } }: ProjectWork) {
  const status = valueOf(TransactionStatus, query.get('state')) ?? TransactionStatus.UNSPECIFIED
  return { projectId, status, ...timesIn(query) }
}

async function sendList(work: ProjectWork, { institution }: Clients) {
  const { request, reply, project, query } = work
  const base = `/projects/${project.projectId}/transfers`
  const pageToken = query.get('page') ?? ''
  const listed = await institution.listProjectTransactions({ ...filterOf(work), pageToken })
  return sendSections(reply, {
    title: `Transfers of ${project.name}`,
    sections: [
      {
        filters: {
          fields: [chosen('State', 'state', TransactionStatus, query), ...timeFields(query)],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Your id', 'Amount', 'State', 'Type', 'From', 'To', 'Institution', 'Created'],
          empty:
            'No transfer matches. POST /institution/transaction makes one; another filter may show more.',
          rows: listed.transactions.map((one) => [
            row(one.transactionId, `${base}/${one.movementId}`),
            moneyCell(one.amount),
            stateOf(one),
            text(wordOf(TransactionType, one.type)),
            text(nameOf(one.debitParty)),
            text(nameOf(one.creditParty)),
            text(one.institutionName),
            { at: one.createTime },
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.institution.v1.InstitutionService/ListProjectTransactions',
      },
    ],
  })
}

function stateOf({ status }: Transaction): Cell {
  return { state: wordOf(TransactionStatus, status) }
}

/** What names a party first: its account, its number or its organisation. */
function nameOf(party: Party | undefined): string {
  return party?.accountNumber || party?.mobileNumber || party?.organizationId || ''
}

async function sendTransfer(work: ProjectWork, { institution }: Clients) {
  const { projectId } = work.project
  const { movementId } = pathId(work, 'movementId')
  const { transaction: one } = await institution.getTransaction({ projectId, movementId })
  if (one === undefined) throw new Error('an answer without its transaction')
  const { fees, debitParty, creditParty } = one
  const facts: [string, Cell][] = [
    ['State', stateOf(one)],
    ['Type', text(wordOf(TransactionType, one.type))],
    ['Amount', moneyCell(one.amount)],
    ['Paid by the sender', moneyCell(one.senderAmount)],
    ['Fee of the sender', moneyCell(fees?.senderPays)],
    ['Fee of the recipient', moneyCell(fees?.recipientPays)],
    ['Convenience fee', moneyCell(fees?.convenience)],
    ['Fees in total', moneyCell(fees?.total)],
    ['Description', text(one.description)],
    ['Institution', text(one.institutionName)],
    ['Receipt', code(one.institutionReceiptId)],
    ['Quote', code(one.quoteId)],
    ['Transaction id', transferCell(work.may, projectId, one.movementId)],
    ['Created', { at: one.createTime }],
    ['Ended', { at: one.endTime }],
  ]
  return sendSections(work.reply, {
    title: `Transfer ${one.transactionId}`,
    sections: [
      { facts, rpc: 'payweave.institution.v1.InstitutionService/GetTransaction' },
      partySection('From', debitParty),
      partySection('To', creditParty),
    ],
  })
}

function partySection(heading: string, party: Party | undefined): Section {
  const facts: [string, string | undefined][] = [
    ['Number', party?.mobileNumber],
    ['Account', party?.accountNumber],
    ['Kind of account', party?.accountType],
    ['Organisation', party?.organizationId],
    ['Currency', party?.currency],
    ['Metadata', party?.metadata],
  ]
  return {
    heading,
    facts: facts.flatMap(([name, value]): [string, Cell][] => (value ? [[name, text(value)]] : [])),
  }
}

const csvHead = [
  'id',
  'transaction_id',
  'amount',
  'currency',
  'sender_amount',
  'sender_currency',
  'state',
  'type',
  'from',
  'to',
  'institution',
  'receipt_id',
  'created',
  'ended',
]

function csvCells(one: Transaction): string[] {
  const cells = ({
    minorUnits = 0n,
    currency = '',
  }: Partial<NonNullable<typeof one.amount>> = {}) => [formatAmount(minorUnits, currency), currency]
  return [
    one.movementId,
    one.transactionId,
    ...cells(one.amount),
    ...cells(one.senderAmount),
    wordOf(TransactionStatus, one.status),
    wordOf(TransactionType, one.type),
    nameOf(one.debitParty),
    nameOf(one.creditParty),
    one.institutionName,
    one.institutionReceiptId,
    timeOf(one.createTime)?.iso ?? '',
    timeOf(one.endTime)?.iso ?? '',
  ]
}
