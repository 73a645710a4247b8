// The customers of a project: found by number, address or account number and shown masked, also as a CSV file; one, with their payments.
import type { FastifyInstance } from 'fastify'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { Customer } from '#gen/payweave/accounts/v1/customers_pb.js'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, pathId, type Worker } from '../http/work.ts'
import { amount, type Cell, code, moneyCell, row, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { choices, money, timeOf, valueOf, wordOf } from '../pages/words.ts'
import { firstRows, nextPageUrl, readNumber, sendCsv, withFilters } from './list.ts'
import { merchantsOf } from './merchants.ts'

type Options = { worker: Worker; clients: Clients }

/** Payments of each merchant that a page shows of one number, and for how many merchants it asks. */
const shownPayments = 10
const maxMerchants = 5
const csvPageSize = 200

/** Registers the pages below `/projects/<id>/customers`. */
export function registerCustomers(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/customers'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const { projectId } = work.project
      const filter = { projectId, ...lookupOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'customers', csvHead, async (pageToken) => {
        const page = await clients.customers.listCustomers({ ...filter, pageToken })
        return { rows: page.customers.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:accountId`,
    worker.projectPage((work) => sendCustomer(work, clients)),
  )
  app.get(
    `${path}/:accountId/personal`,
    worker.projectPage((work) => sendPersonal(work, clients)),
  )
}

/** Reads the lookup from the query. Throws INVALID_PARAMETER for an invalid number. */
function lookupOf({ query }: ProjectWork) {
  const value = query.get('value') ?? ''
  const lookupType: LookupType = valueOf(LookupType, query.get('by')) ?? LookupType.MOBILE
  if (value === '') return { lookupType: LookupType.UNSPECIFIED, lookupValue: '' }
  const isNumber = lookupType === LookupType.MOBILE
  return { lookupType, lookupValue: isNumber ? readNumber('value', value) : value }
}

async function sendList(work: ProjectWork, clients: Clients) {
  const { request, reply, project, query } = work
  const { projectId } = project
  const base = `/projects/${projectId}/customers`
  const lookup = lookupOf(work)
  const isSearch = lookup.lookupType !== LookupType.UNSPECIFIED
  const isNumber = lookup.lookupType === LookupType.MOBILE
  const pageToken = isSearch ? '' : (query.get('page') ?? '')
  const [listed, payments] = await Promise.all([
    clients.customers.listCustomers({ projectId, ...lookup, pageToken }),
    isNumber ? paymentsOf(work, clients, lookup.lookupValue) : [],
  ])
  return sendSections(reply, {
    title: `Customers of ${project.name}`,
    sections: [
      {
        note: isSearch
          ? 'Accounts of the institutions that this project has a grant on.'
          : 'Profiles that this project created, newest first. Find any other customer by their whole number, address or account number.',
        filters: {
          fields: [
            {
              label: 'Find by',
              name: 'by',
              type: 'select',
              value: query.get('by') ?? 'mobile',
              options: choices(LookupType),
            },
            {
              label: 'Whole value',
              name: 'value',
              value: query.get('value') ?? '',
              maxlength: 254,
            },
          ],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Customer', 'Number', 'Account', 'Institution', 'State', 'Review', 'Created'],
          empty: isSearch
            ? 'No account has this. Check that it is whole.'
            : 'No profile yet. POST /account/personal_account creates one.',
          rows: listed.customers.map((one) => [
            row(one.nameMasked, `${base}/${one.accountId}`),
            text(one.mobileNumberMasked),
            text(one.accountNumberMasked),
            text(one.institutionName),
            { state: wordOf(AccountStatus, one.accountStatus) },
            text(wordOf(OnboardingStatus, one.onboardingStatus)),
            { at: one.createTime },
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.accounts.v1.CustomerService/ListCustomers',
      },
      ...payments,
    ],
  })
}

const csvHead = [
  'account_id',
  'name_masked',
  'number_masked',
  'account_number_masked',
  'institution',
  'state',
  'review',
  'created',
]

function csvCells(one: Customer): string[] {
  return [
    one.accountId,
    one.nameMasked,
    one.mobileNumberMasked,
    one.accountNumberMasked,
    one.institutionName,
    wordOf(AccountStatus, one.accountStatus),
    wordOf(OnboardingStatus, one.onboardingStatus),
    timeOf(one.createTime)?.iso ?? '',
  ]
}

/** Payments of a payer, who needs no account. */
async function paymentsOf(
  work: ProjectWork,
  clients: Clients,
  mobileNumberE164: string,
): Promise<Section[]> {
  const { projectId } = work.project
  const base = `/projects/${projectId}/payments`
  const { rows: merchants, cut } = firstRows(await merchantsOf(work, clients), maxMerchants)
  const note = `Payments to the merchants of the project.${cut} Payments has those to every merchant.`
  const ofAll: Section = { heading: 'Payments of this number', note }
  const sections = await Promise.all(
    merchants.map(async ({ merchantId, businessName }) => {
      const wanted = { projectId, merchantId, mobileNumberE164, pageSize: shownPayments }
      const { payments } = await clients.payments.listPayments(wanted)
      const all = new URLSearchParams({ merchant: merchantId, mobile: mobileNumberE164 })
      return {
        heading: `Payments to ${businessName}`,
        facts: [['', { text: 'All of this number', href: `${base}?${all.toString()}` }]],
        table: {
          head: ['Your id', 'Amount', 'State', 'Created'],
          empty: 'No payment has a payer with this number.',
          rows: payments.map((one) => [
            code(one.transactionId, `${base}/${one.paymentId}`),
            amount(money(one.amountMinor, one.currency)),
            { state: wordOf(PaymentState, one.state) },
            { at: one.createTime },
          ]),
        },
        rpc: 'payweave.payments.v1.PaymentsService/ListPayments',
      } satisfies Section
    }),
  )
  return cut === '' ? sections : [ofAll, ...sections]
}

async function sendCustomer(work: ProjectWork, { customers }: Clients) {
  const { projectId } = work.project
  const { accountId } = pathId(work, 'accountId')
  const { customer } = await customers.getCustomer({ projectId, accountId })
  if (customer === undefined) throw new Error('an answer without its customer')
  const path = `/projects/${projectId}/customers/${accountId}/personal`
  const personal: [string, Cell] = ['Personal data', { text: 'Show', href: path }]
  const mayShow = work.may('payweave.accounts.v1.CustomerService/GetPersonalData')
  return sendSections(work.reply, {
    title: `Customer ${customer.nameMasked}`,
    sections: [
      {
        note: mayShow ? 'Showing personal data is written down with your name.' : undefined,
        facts: [
          ['Number', text(customer.mobileNumberMasked)],
          ['E-mail', text(customer.emailMasked)],
          ['Account number', text(customer.accountNumberMasked)],
          ...accountFacts(customer),
          ...(mayShow ? [personal] : []),
        ],
        rpc: 'payweave.accounts.v1.CustomerService/GetCustomer',
      },
    ],
  })
}

type Shown = Pick<
  Customer,
  | 'accountId'
  | 'institutionName'
  | 'accountType'
  | 'country'
  | 'currency'
  | 'accountStatus'
  | 'accountLevel'
  | 'fundsAccessStatus'
  | 'onboardingStatus'
>

function accountFacts(one: Shown): [string, Cell][] {
  return [
    ['Account id', code(one.accountId)],
    ['Institution', text(one.institutionName)],
    ['Type', text(one.accountType)],
    ['Country', text(one.country)],
    ['Currency', text(one.currency)],
    ['State', { state: wordOf(AccountStatus, one.accountStatus) }],
    ['Review', text(wordOf(OnboardingStatus, one.onboardingStatus))],
    ['Level', text(one.accountLevel)],
    ['Funds access', text(wordOf(FundsAccessStatus, one.fundsAccessStatus))],
  ]
}

async function sendPersonal(work: ProjectWork, clients: Clients) {
  const { projectId } = work.project
  const { accountId } = pathId(work, 'accountId')
  const found = await clients.customers.getPersonalData({ projectId, accountId })
  const { account, posted, held } = found
  if (account === undefined) throw new Error('an answer without its account')
  const balance: [string, Cell][] = [
    ['Balance', moneyCell(posted)],
    ['Held of it', moneyCell(held)],
  ]
  return sendSections(work.reply, {
    title: `Customer ${account.firstName} ${account.lastName}`,
    sections: [
      {
        facts: [
          ['Number', text(account.mobileNumber)],
          ['E-mail', text(account.email)],
          ['Account number', text(account.accountNumber)],
          ...(posted === undefined ? [] : balance),
          ...accountFacts(account),
        ],
        rpc: 'payweave.accounts.v1.CustomerService/GetPersonalData',
      },
      ...(await paymentsOf(work, clients, account.mobileNumber)),
    ],
  })
}
