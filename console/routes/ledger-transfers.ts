// The ledger transfers of a project, as a page and as a CSV file.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import {
  InternalAccount,
  type Posting,
  type Transfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, type Cell, type Field, row, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { choices, money, timeOf, valueOf } from '../pages/words.ts'
import { aboutCell, accountWord, ledgerPath } from './ledger-links.ts'
import { nextPageUrl, noneMatches, sendCsv, timeFields, timesIn, withFilters } from './list.ts'

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

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid account or time. */
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
              ? noneMatches('transfer')
              : 'No transfer on this page matches. The next page may have some.',
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
