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
export type ShownProject = { projectId: string; name: string }

/** What the layout is rendered from. */
export type Shell = {
  nonce: string
  environment: 'local' | 'sandbox' | 'production'
  path: string
  session?: Session | undefined
  project?: ShownProject | undefined
}

/** Asks what a person may do here; pages show nothing else. */
export type May = (rpc: PersonsRpc) => boolean

/** The questions of a page about its reader, for a project or for none. */
export function mayOf({ memberships }: Session, projectId: string | undefined): May {
  return (rpc) => mayCall(memberships, rpc, projectId)
}

/** One link of the navigation. */
export type NavigationLink = { label: string; href: string; isCurrent: boolean }

/** A page, and the RPC whose callers it is for; `staff`: what it shows is no RPC. */
type Place = { label: string; path: string; needs: PersonsRpc | 'staff' }

/** Pages of one project, below `/projects/<id>`. */
const projectPlaces: Place[] = [
  {
    label: 'Payments',
    path: 'payments',
    needs: 'payweave.payments.v1.PaymentsService/ListPayments',
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
const staffPlaces: Place[] = [
  { label: 'Now', path: 'now', needs: 'staff' },
  { label: 'Inbox', path: 'inbox', needs: 'payweave.billing.v1.CatalogueService/ListReviews' },
  {
    label: 'Stuck',
    path: 'stuck',
    needs: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
  },
  {
    label: 'Dead letters',
    path: 'dead-letters',
    needs: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
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

/** Where the navigation leads. */
export function navigationOf({ session, project, path }: Shell): NavigationLink[] {
  if (session === undefined) return []
  const link = (base: string, projectId: string | undefined) => {
    const may = mayOf(session, projectId)
    return ({ label, path: below, needs }: Place) => {
      const href = `${base}/${below}`
      const isFor = needs === 'staff' ? isOfStaff(session.memberships) : may(needs)
      return isFor ? [{ label, href, isCurrent: path.startsWith(href) }] : []
    }
  }
  const ofProject =
    project === undefined
      ? []
      : projectPlaces.flatMap(link(`/projects/${project.projectId}`, project.projectId))
  const home = { label: 'Home', href: '/', isCurrent: path === '/' }
  return [home, ...ofProject, ...staffPlaces.flatMap(link('', undefined))]
}

/** Roles as people read them: `merchant viewer`. Each once. */
export function roleWords(memberships: readonly Membership[]): string {
  const words = memberships.map(({ role }) => formatMembership({ role }).replaceAll('_', ' '))
  return [...new Set(words)].join(', ')
}
