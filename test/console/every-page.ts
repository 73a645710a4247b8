// The paths of all pages of the console, with things of the peers.
import type { Peers } from './peers.ts'
import { evil } from './rows.ts'

type PathOf = (peers: Peers) => string

const ofDemo =
  (place: (things: Peers['projects']['demo']) => string): PathOf =>
  ({ projects: { demo } }) =>
    `/projects/${demo.projectId}${place(demo)}`

const evilParameter = encodeURIComponent(evil)

/** One page of each kind, by its name. A browser looks at all of them. */
export const pages = {
  'the projects': () => '/',
  'the day': ofDemo(() => ''),
  'the payments': ofDemo(() => '/payments'),
  'a payment': ofDemo(({ payment }) => `/payments/${payment.paymentId}`),
  'the approvals of a project': ofDemo(() => '/approvals'),
  'the receivers': ofDemo(() => '/receivers'),
  'the developers': ofDemo(() => '/developers'),
  'the triggers': ofDemo(() => '/developers/triggers'),
  'the balances': ofDemo(() => '/balances'),
  'the settlements': ofDemo(() => '/balances/settlements'),
  'the ledger of a project': ofDemo(() => '/ledger'),
  'the branding': ofDemo(() => '/branding'),
  'the access': ofDemo(() => '/access'),
  'the customers': ofDemo(() => '/customers?by=mobile&value=%2B12025550101'),
  'a customer': ofDemo(({ customer }) => `/customers/${customer.accountId}`),
  'personal data': ofDemo(({ customer }) => `/customers/${customer.accountId}/personal`),
  'the bills': ofDemo(() => '/bills'),
  'a bill payment': ofDemo(({ bill }) => `/bills/${bill.transactionId}`),
  'the quotes': ofDemo(() => '/quotes'),
  'a quote': ofDemo(({ quote }) => `/quotes/${quote.quoteId}?institution=${encoded(quote)}`),
  'the transfers': ofDemo(() => '/transfers'),
  'a transfer': ofDemo(({ transfer }) => `/transfers/${transfer.movementId}`),
  'the pushes': ofDemo(() => '/pushes'),
  'one push': ofDemo(({ delivery }) => `/pushes/${delivery.deliveryId}`),
  'the replays': ofDemo(() => '/pushes/replays'),
  'a replay': ofDemo(({ job }) => `/pushes/replays/${job.jobId}`),
  'the live tail': ofDemo(() => '/pushes/tail'),
  'the API log': ofDemo(() => '/api-log'),
  'a request': ofDemo(({ request }) => `/api-log/${request.entryId}`),
  'a search in a project': ofDemo(() => `/search?q=${evilParameter}`),
  'a search': () => `/search?q=${evilParameter}`,
  now: () => '/now',
  'a runbook': () => '/now/runbooks/jetstream-down',
  'the inbox': () => '/inbox',
  'a new customer': ({ staff }) => `/inbox/onboardings/${staff.reviewId}`,
  'the approvals': () => '/approvals',
  'what is stuck': () => '/stuck',
  'the receivers of all projects': () => '/receivers?breaker=open',
  'the dead letters': () => '/dead-letters?state=exhausted',
  'the dead letters of events': () => '/dead-letters/events',
  'the decisions about events': () => '/dead-letters/events/decisions',
  'the API log of all projects': () => '/api-log',
  'the ledger': ({ staff }) => `/ledger?project=${staff.projectId}&id=${staff.transferId}`,
  'the catalogue': () => '/catalogue',
  'the routing': () => '/routing',
  'the audit': () => '/audit',
  'the audit of the catalogue': () => '/audit/catalogue',
  'the audit of actions': () => '/audit/actions',
  'the calls of people': () => '/audit/calls',
  'the end of a session': () => '/signed-out',
  'a page that does not exist': () => '/nowhere',
} satisfies Record<string, PathOf>

/** The same pages with what an address can ask for. */
const variants: PathOf[] = [
  ofDemo(
    () => `/payments?mobile=%2B12025550101&transaction=${encodeURIComponent(evil.slice(0, 64))}`,
  ),
  ofDemo(() => '/payments?amount=25.00&currency=USD'),
  ofDemo(() => `/developers/triggers?subject=${evilParameter}`),
  ofDemo(() => `/approvals?state=all&subject=${evilParameter}`),
  ofDemo(() => '/customers'),
  ofDemo(() => `/customers?by=email&value=${evilParameter}`),
  ofDemo(() => '/bills?state=success'),
  ofDemo(({ quote }) => `/quotes?state=used&quote=${quote.quoteId}`),
  ofDemo(() => '/transfers?state=completed'),
  ofDemo(
    () =>
      `/ledger?account=fee_income&type=${encodeURIComponent(evil.slice(0, 64))}&from=2026-01-01T00%3A00`,
  ),
  ofDemo(() => '/pushes?from=2026-01-01T00%3A00&to=2027-01-01T00%3A00'),
  ofDemo(() => `/pushes?subject=${encodeURIComponent(evil.slice(0, 64))}&state=exhausted`),
  () => '/inbox?kind=dead_letter',
  ({ staff }) => `/ledger?project=${staff.projectId}&id=${staff.holdId}`,
  () => `/audit?person=${evilParameter}&target=${evilParameter}`,
  ({ projects: { demo } }) => `/audit/calls?target=${demo.quote.quoteId}&from=2026-01-01T00%3A00`,
]

function encoded({ institutionName }: { institutionName: string }): string {
  return encodeURIComponent(institutionName)
}

/** Every page of the console. */
export function pagesOf(peers: Peers): string[] {
  return [...Object.values<PathOf>(pages), ...variants].map((pathOf) => pathOf(peers))
}
