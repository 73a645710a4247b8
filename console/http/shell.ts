// What surrounds each page: who is signed in, where they are, and where they may go.
import {
  formatMembership,
  isOfStaff,
  type Membership,
  mayCall,
  type PersonsRpc,
} from '#platform/rpc/auth/roles.ts'
import type { Session } from '../sign-in/sessions.ts'

/** A project as pages show it. */
export type ShownProject = { projectId: string; name: string; environment: string }

/** What the layout is rendered from. */
export type Shell = {
  nonce: string
  environment: 'local' | 'sandbox' | 'production'
  path: string
  session?: Session | undefined
  project?: ShownProject | undefined
  /** The first projects of the person, to go to; none in answers that are no whole page. */
  projects?: ShownProject[] | undefined
}

/** Asks what a person may do here; pages show nothing else. */
export type May = (rpc: PersonsRpc) => boolean

/** The questions of a page about its reader, for a project or for none. */
export function mayOf({ memberships }: Session, projectId: string | undefined): May {
  return (rpc) => mayCall(memberships, rpc, projectId)
}

/** One link of the navigation. */
type NavigationLink = { label: string; href: string; isCurrent: boolean }

/** Links with a heading; the first group has none. */
export type NavigationGroup = { heading?: string; links: NavigationLink[] }

/** A page, and the RPC whose callers it is for; `staff`: what it shows is no RPC. */
type Page = { label: string; path: string; needs: PersonsRpc | 'staff' }

/** Pages of one project, below `/projects/<id>`. */
const projectPages: Page[] = [
  {
    label: 'Payments',
    path: 'payments',
    needs: 'payweave.payments.v1.PaymentsService/ListPayments',
  },
  {
    label: 'Approvals',
    path: 'approvals',
    needs: 'payweave.approvals.v1.ApprovalService/ListApprovals',
  },
  { label: 'Pushes', path: 'pushes', needs: 'payweave.delivery.v1.DeliveryService/ListDeliveries' },
  {
    label: 'Receivers',
    path: 'receivers',
    needs: 'payweave.delivery.v1.EndpointService/ListEndpoints',
  },
  {
    label: 'Balances',
    path: 'balances',
    needs: 'payweave.accounts.v1.BalanceService/ListProjectBalances',
  },
  {
    label: 'Ledger',
    path: 'ledger',
    needs: 'payweave.accounts.v1.LedgerService/ListTransfers',
  },
  {
    label: 'Customers',
    path: 'customers',
    needs: 'payweave.accounts.v1.CustomerService/ListCustomers',
  },
  {
    label: 'Bills',
    path: 'bills',
    needs: 'payweave.billing.v1.BillingService/ListBillPayments',
  },
  {
    label: 'Transfers',
    path: 'transfers',
    needs: 'payweave.institution.v1.InstitutionService/ListProjectTransactions',
  },
  {
    label: 'Quotes',
    path: 'quotes',
    needs: 'payweave.quotes.v1.QuotesService/ListQuotes',
  },
  {
    label: 'API log',
    path: 'api-log',
    needs: 'payweave.delivery.v1.ApiLogService/ListRequests',
  },
  {
    label: 'Developers',
    path: 'developers',
    needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
  },
  {
    label: 'Branding',
    path: 'branding',
    needs: 'payweave.accounts.v1.AccessService/GetMerchant',
  },
  {
    label: 'Access',
    path: 'access',
    needs: 'payweave.accounts.v1.AccessService/ListInstitutions',
  },
]

/** Pages of the staff. */
const staffPages: Page[] = [
  { label: 'Now', path: 'now', needs: 'staff' },
  { label: 'Inbox', path: 'inbox', needs: 'payweave.billing.v1.CatalogueService/ListReviews' },
  {
    label: 'Approvals',
    path: 'approvals',
    needs: 'payweave.billing.v1.CatalogueService/ListReviews',
  },
  {
    label: 'Stuck',
    path: 'stuck',
    needs: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
  },
  {
    label: 'Receivers',
    path: 'receivers',
    needs: 'payweave.delivery.v1.EndpointService/ListAllEndpoints',
  },
  {
    label: 'Dead letters',
    path: 'dead-letters',
    needs: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
  },
  {
    label: 'API log',
    path: 'api-log',
    needs: 'payweave.delivery.v1.ApiLogService/ListAllRequests',
  },
  { label: 'Ledger', path: 'ledger', needs: 'payweave.accounts.v1.LedgerService/CheckLedger' },
  {
    label: 'Catalogue',
    path: 'catalogue',
    needs: 'payweave.billing.v1.CatalogueService/ListCatalogue',
  },
  {
    label: 'Routing',
    path: 'routing',
    needs: 'payweave.payments.v1.RoutingService/ListRoutes',
  },
  { label: 'Audit', path: 'audit', needs: 'payweave.accounts.v1.AccessService/ListAudit' },
]

/** Where the navigation leads: to the projects, to the pages of this project, to those of the staff. Empty groups are left out. */
export function navigationOf({ session, project, path }: Shell): NavigationGroup[] {
  if (session === undefined) return []
  const link = (base: string, projectId: string | undefined) => {
    const may = mayOf(session, projectId)
    return ({ label, path: below, needs }: Page) => {
      const href = `${base}/${below}`
      const isFor = needs === 'staff' ? isOfStaff(session.memberships) : may(needs)
      return isFor ? [{ label, href, isCurrent: path.startsWith(href) }] : []
    }
  }
  const groups: NavigationGroup[] = [
    { links: [{ label: 'Projects', href: '/', isCurrent: path === '/' }] },
  ]
  if (project !== undefined) {
    const { projectId, name } = project
    const base = `/projects/${projectId}`
    const home = { label: 'Home', href: base, isCurrent: path === base }
    groups.push({ heading: name, links: [home, ...projectPages.flatMap(link(base, projectId))] })
  }
  groups.push({ heading: 'Operations', links: staffPages.flatMap(link('', undefined)) })
  return groups.filter(({ links }) => links.length > 0)
}

/** A link to a project. */
type ProjectLink = ShownProject & { href: string; isCurrent: boolean }

/** Links to the person's projects: to the page of the same name, or to the first page where none of a project is shown. */
export function projectLinksOf({ project, projects = [], path }: Shell): ProjectLink[] {
  const page = project === undefined ? '' : (path.split('/')[3] ?? '')
  return projects.map((one) => ({
    ...one,
    href: page === '' ? `/projects/${one.projectId}` : `/projects/${one.projectId}/${page}`,
    isCurrent: one.projectId === project?.projectId,
  }))
}

/** What the band above a page says: that no real money is here, in this installation or in the project that is shown. */
export function bandOf({ environment, project }: Shell): string | undefined {
  if (environment !== 'production') return environment
  return project?.environment === 'sandbox' ? 'sandbox' : undefined
}

/** Roles as people read them: `merchant viewer`. Each once. */
export function roleWords(memberships: readonly Membership[]): string {
  const words = memberships.map(({ role }) => formatMembership({ role }).replaceAll('_', ' '))
  return [...new Set(words)].join(', ')
}
