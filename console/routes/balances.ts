// The balances of a project and the statement of its float, as a page and as a CSV file.
import type { FastifyInstance } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import type { FloatPosting, ProjectBalance } from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, wordOf } from '../pages/words.ts'
import { transferCell } from './ledger-links.ts'
import { nextPageUrl, sendCsv, timeFields, timesIn, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

/** Registers `/projects/<id>/balances` and the statement below it. */
export function registerBalances(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/balances'
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const { projectId } = work.project
      return sendCsv(work, 'balances', balancesHead, async () => {
        const { balances } = await clients.balances.listProjectBalances({ projectId })
        return { rows: balances.map(balanceCells), nextPageToken: '' }
      })
    }, asFile),
  )
  app.get(
    `${path}/statement.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'statement', csvHead, async (pageToken) => {
        const page = await clients.balances.listFloatPostings({ ...filter, pageToken })
        return { rows: page.postings.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

function filterOf({ query, project: { projectId } }: ProjectWork) {
  return { projectId, ...timesIn(query) }
}

async function show(work: ProjectWork, { balances }: Clients) {
  const { request, reply, project, query } = work
  const { projectId } = project
  const pageToken = query.get('page') ?? ''
  const [own, statement] = await Promise.all([
    balances.listProjectBalances({ projectId }),
    balances.listFloatPostings({ ...filterOf(work), pageToken }),
  ])
  const file = `/projects/${projectId}/balances/statement.csv`
  return sendSections(reply, {
    title: `Balances of ${project.name}`,
    sections: [
      balancesSection(own.balances, `/projects/${projectId}/balances.csv`),
      {
        heading: 'Statement of the float',
        filters: {
          fields: timeFields(query),
          links: [
            { label: 'CSV', href: withFilters(file, request.url) },
            {
              label: 'Settlements of payments',
              href: `/projects/${projectId}/balances/settlements`,
            },
          ],
        },
        table: {
          head: ['Time', 'Amount', 'State', 'Type', 'Reference', 'Description', 'Transfer'],
          empty: 'Nothing was posted in this time. A longer one may show more.',
          rows: statement.postings.map((one) => lineOf(work, one)),
        },
        ...nextPageUrl(request.url, statement.nextPageToken),
        rpc: 'payweave.accounts.v1.BalanceService/ListFloatPostings',
      },
    ],
  })
}

const meanings: Partial<Record<InternalAccount, string>> = {
  [InternalAccount.UNSPECIFIED]: 'float: bill payments are paid from it',
  [InternalAccount.HELD]: 'held for the parties of payments',
  [InternalAccount.SUSPENSE]: 'received without a claim on it, on its way back',
  [InternalAccount.FEE_INCOME]: 'fees',
  [InternalAccount.MERCHANT_RECEIVABLE]: 'what the merchants owe us',
  [InternalAccount.REFUNDS_UNPAID]: 'refunds that the back end refused',
  [InternalAccount.BILLER_CLEARING]: 'owed to billers',
  [InternalAccount.CLEARING]: 'at the back ends',
  [InternalAccount.FX_POSITION]: 'position from exchanges',
  [InternalAccount.FX_ROUNDING]: 'rounding of exchanges',
  [InternalAccount.OPENING]: 'opening balances',
}

function balancesSection(balances: ProjectBalance[], file: string): Section {
  return {
    facts: [['File', { text: 'CSV', href: file }]],
    table: {
      head: ['Account', 'Balance', 'On hold'],
      empty: 'Nothing was posted for this project yet. Its first payment that is paid will be.',
      rows: balances.map(({ internal, posted, held }) => [
        text(meanings[internal] ?? 'another account'),
        amount(money(posted?.minorUnits ?? 0n, posted?.currency ?? '')),
        amount(
          internal === InternalAccount.UNSPECIFIED
            ? money(held?.minorUnits ?? 0n, held?.currency ?? '')
            : '',
        ),
      ]),
    },
    rpc: 'payweave.accounts.v1.BalanceService/ListProjectBalances',
  }
}

const balancesHead = ['account', 'balance', 'on_hold', 'currency']

function balanceCells({ internal, posted, held }: ProjectBalance): string[] {
  const { minorUnits = 0n, currency = '' } = posted ?? {}
  const isFloat = internal === InternalAccount.UNSPECIFIED
  return [
    isFloat ? 'float' : wordOf(InternalAccount, internal),
    formatAmount(minorUnits, currency),
    isFloat ? formatAmount(held?.minorUnits ?? 0n, currency) : '',
    currency,
  ]
}

function lineOf({ may, project }: ProjectWork, posting: FloatPosting) {
  const { time, amount: moved, cleared, details, transferId } = posting
  return [
    { at: time },
    amount(money(moved?.minorUnits ?? 0n, moved?.currency ?? '')),
    { state: cleared ? 'posted' : 'pending' },
    text(details?.method ?? ''),
    text(details?.reference ?? ''),
    text(details?.description ?? ''),
    transferCell(may, project.projectId, transferId),
  ]
}

const csvHead = ['time', 'amount', 'currency', 'state', 'type', 'reference', 'description', 'id']

function csvCells({ time, amount: moved, cleared, details, transferId }: FloatPosting): string[] {
  const { minorUnits = 0n, currency = '' } = moved ?? {}
  return [
    timeOf(time)?.iso ?? '',
    formatAmount(minorUnits, currency),
    currency,
    cleared ? 'posted' : 'pending',
    details?.method ?? '',
    details?.reference ?? '',
    details?.description ?? '',
    transferId,
  ]
}
