// The ledger transfers of a project, as a page and as a CSV file, and how pages link a transfer with its accounts and with what it was for.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import {
  InternalAccount,
  type LedgerAddress,
  type Posting,
  type Transfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, type Cell, code, type Field, row, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { choices, money, timeOf, valueOf, wordOf } from '../pages/words.ts'
import { nextPageUrl, sendCsv, timeFields, timesIn, withFilters } from './list.ts'
import { billPattern, ledgerPath } from './look-up.ts'

type Options = { worker: Worker; clients: Clients }

const pageSize = 30
const csvPageSize = 200

/** Registers `/projects/<id>/ledger` and its file. */
export function registerLedgerTransfers(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/ledger'
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'ledger', csvHead, async (pageToken) => {
        const page = await clients.ledger.listTransfers({ ...filter, pageToken })
        return { rows: page.transfers.flatMap(csvRows), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

/** The id of a transfer, which leads to its T-account for those who may open it. */
export function transferCell(may: May, projectId: string, id: string): Cell {
  const mayOpen = may('payweave.accounts.v1.LedgerService/GetTransfer')
  return code(id, mayOpen ? ledgerPath(projectId, id) : undefined)
}

/** A fact that leads to the transfers of one reference, for those who may list them. */
export function ledgerFact(may: May, projectId: string, reference: string): [string, Cell][] {
  if (!may('payweave.accounts.v1.LedgerService/ListTransfers')) return []
  const href = `/projects/${projectId}/ledger?${new URLSearchParams({ reference }).toString()}`
  return [['Ledger', { text: 'transfers', href }]]
}

/** The name of an account, which leads to the transfers of a project with a line on it. */
export function accountCell(projectId: string, address: LedgerAddress | undefined): Cell {
  const { holder } = address ?? {}
  const path = (parameter: string, value: string) =>
    `/projects/${projectId}/ledger?${parameter}=${value}`
  if (holder?.case === 'accountId') return code(holder.value, path('customer', holder.value))
  const word = accountWord(address)
  return { text: word, href: path('account', word.replaceAll(' ', '_')) }
}

function accountWord(address: LedgerAddress | undefined): string {
  const { holder } = address ?? {}
  if (holder?.case === 'accountId') return holder.value
  return holder?.case === 'internal' ? wordOf(InternalAccount, holder.value) : 'float'
}

const institutionTypes: ReadonlySet<string> = new Set(['p2p', 'inttransfer', 'deposit', 'cashout'])

/** What a transfer was for, as a link to its page; a reversal has that of the transfer which it reverses. */
export function aboutCell({ projectId, transferId, reversesId, details }: Transfer): Cell {
  const { method = '', reference = '', metadata = {} } = details ?? {}
  const base = `/projects/${projectId}`
  const paymentId = metadata['payment_id'] ?? ''
  if (method === 'payment' && isUuid(paymentId)) {
    return { text: 'payment', href: `${base}/payments/${paymentId}` }
  }
  if (method === 'bill_payment' && billPattern.test(reference)) {
    return { text: 'bill payment', href: `${base}/bills/${reference}` }
  }
  if (institutionTypes.has(method)) {
    return { text: 'transfer', href: `${base}/transfers/${reversesId || transferId}` }
  }
  return text('')
}

/** What the query asks for. Throws INVALID_PARAMETER for an account or a time that is none. */
function filterOf({ query, project: { projectId } }: ProjectWork) {
  return {
    projectId,
    account: accountIn(query),
    method: query.get('type') ?? '',
    reference: query.get('reference') ?? '',
    ...timesIn(query),
  }
}

function accountIn(query: URLSearchParams) {
  const customer = query.get('customer')
  if (customer !== null) {
    if (!isUuid(customer)) throw invalid('customer', 'must be the id of an account')
    return { case: 'accountId' as const, value: customer }
  }
  const word = query.get('account')
  if (word === null) return { case: undefined }
  if (word === 'float') return { case: 'projectFloat' as const, value: true }
  const value = valueOf(InternalAccount, word)
  if (value === undefined) throw invalid('account', 'must be an account of the ledger')
  return { case: 'internal' as const, value }
}

function filterFields(query: URLSearchParams): Field[] {
  const field = (label: string, name: string, maxlength: number): Field => ({
    label,
    name,
    maxlength,
    value: query.get(name) ?? '',
  })
  const accounts = [
    { value: '', label: 'any' },
    { value: 'float', label: 'float' },
    ...choices(InternalAccount),
  ]
  return [
    {
      label: 'Account',
      name: 'account',
      type: 'select',
      options: accounts,
      value: query.get('account') ?? '',
    },
    field('Customer’s account id', 'customer', 36),
    field('Type, such as payment', 'type', 64),
    field('Reference', 'reference', 255),
    ...timeFields(query),
  ]
}

async function show(work: ProjectWork, { ledger }: Clients) {
  const { request, reply, project, query } = work
  const base = `/projects/${project.projectId}`
  const pageToken = query.get('page') ?? ''
  const listed = await ledger.listTransfers({ ...filterOf(work), pageSize, pageToken })
  return sendSections(reply, {
    title: `Ledger of ${project.name}`,
    sections: [
      {
        note: 'Every transfer of the project’s money. A transfer leads to its T-account.',
        filters: {
          fields: filterFields(query),
          links: [
            { label: 'CSV', href: withFilters(`${base}/ledger.csv`, request.url) },
            { label: 'Balances', href: `${base}/balances` },
          ],
        },
        table: {
          head: ['Posted', 'Reference', 'Type', 'Amount', 'Debited', 'Credited', 'About'],
          empty:
            listed.nextPageToken === ''
              ? 'No transfer matches. Another filter may show some.'
              : 'No transfer of this part of the list matches. Older ones may.',
          rows: listed.transfers.map(rowOf),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.accounts.v1.LedgerService/ListTransfers',
        commands: ['ledger list'],
      },
    ],
  })
}

function minorOf({ amount: moved }: Posting): bigint {
  return moved?.minorUnits ?? 0n
}

function accountWords(lines: Posting[]): Cell {
  return text([...new Set(lines.map(({ address }) => accountWord(address)))].join(', '))
}

function rowOf(transfer: Transfer): Cell[] {
  const { postings, projectId, transferId, details, postTime } = transfer
  return [
    { at: postTime },
    row(details?.reference || transferId, ledgerPath(projectId, transferId)),
    text(details?.method ?? ''),
    amount(creditsOf(postings)),
    accountWords(postings.filter((line) => minorOf(line) < 0n)),
    accountWords(postings.filter((line) => minorOf(line) > 0n)),
    aboutCell(transfer),
  ]
}

/** What a transfer credits, in each of its currencies. */
function creditsOf(postings: Posting[]): string {
  const sums = new Map<string, bigint>()
  for (const { amount: moved } of postings) {
    const { minorUnits = 0n, currency = '' } = moved ?? {}
    if (minorUnits > 0n) sums.set(currency, (sums.get(currency) ?? 0n) + minorUnits)
  }
  return [...sums].map(([currency, minor]) => money(minor, currency)).join(', ')
}

const csvHead = [
  'transfer_id',
  'time',
  'type',
  'reference',
  'description',
  'account',
  'amount',
  'currency',
  'reverses',
]

/** A line of the file for each line of a transfer; credits are above zero. */
function csvRows({ transferId, postTime, details, postings, reversesId }: Transfer): string[][] {
  return postings.map(({ address, amount: moved }) => [
    transferId,
    timeOf(postTime)?.iso ?? '',
    details?.method ?? '',
    details?.reference ?? '',
    details?.description ?? '',
    accountWord(address),
    formatAmount(moved?.minorUnits ?? 0n, moved?.currency ?? ''),
    moved?.currency ?? '',
    reversesId,
  ])
}
