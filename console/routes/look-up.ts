// What has an id in a project: asks each service for it, and answers with the path of its page.
import { isUuid } from '#core/identity/id.ts'
import type { LoggedRequest } from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Clients } from '../clients.ts'
import type { Work } from '../http/work.ts'
import { sought } from './found.ts'
import { approvalPath, listsOf } from './inbox/approvals.ts'
import { quotePath } from './institution/quotes.ts'
import { ledgerPath } from './ledger-links.ts'
import { billPattern } from './list.ts'

/** Who looks, with what they may do in the project, and what the search could not look at. */
export type Looker = Pick<Work, 'may' | 'within'> & { missing: string[] }

/** What has an id: its page, and what it is. */
export type Thing = { path: string; label: string }

/** What has this id in a project. */
export async function find(
  looker: Looker,
  clients: Clients,
  projectId: string,
  id: string,
): Promise<Thing | undefined> {
  const { payments, deliveries, replays, institution, apiLog, customers, bills } = clients
  const { access, ledger, quotes } = clients
  const { may, missing } = looker
  const base = `/projects/${projectId}`
  if (billPattern.test(id)) {
    const look = () => bills.getBillPayment({ projectId, transactionId: id })
    const found = await sought(missing, 'each bill payment', look)
    return found && { path: `${base}/bills/${id}`, label: 'bill payment' }
  }
  if (!isUuid(id)) return undefined
  const inLedger = ledgerPath(projectId, id)
  const merchants = `${base}/payments?merchant=${id}`
  type Look = [label: string, path: string, look: () => Promise<unknown>]
  const looks: Look[] = [
    ['payment', `${base}/payments/${id}`, () => payments.getPayment({ projectId, paymentId: id })],
    ['push', `${base}/pushes/${id}`, () => deliveries.getDelivery({ projectId, deliveryId: id })],
    [
      'transfer',
      `${base}/transfers/${id}`,
      () => institution.getTransaction({ projectId, movementId: id }),
    ],
    [
      'replay',
      `${base}/pushes/replays/${id}`,
      () => replays.getReplayJob({ projectId, jobId: id }),
    ],
    [
      'customer',
      `${base}/customers/${id}`,
      () => customers.getCustomer({ projectId, accountId: id }),
    ],
    ['merchant', merchants, () => access.getMerchant({ projectId, merchantId: id })],
  ]
  if (may('payweave.accounts.v1.LedgerService/GetTransfer')) {
    looks.push(
      ['ledger transfer', inLedger, () => ledger.getTransfer({ projectId, transferId: id })],
      ['hold', inLedger, () => ledger.getHold({ projectId, holdId: id })],
    )
  }
  const found = await Promise.all([
    thing('quote', findQuote(looker, quotes, projectId, id)),
    thing('approval', findApproval(looker, clients, projectId, id)),
    thing('key', findKey(looker, access, projectId, id)),
    ...looks.map(async ([label, path, look]): Promise<Thing | undefined> => {
      const answer = await sought(missing, `each ${label}`, look)
      return answer === undefined ? undefined : { path, label }
    }),
  ])
  return (
    found.find((one) => one !== undefined) ??
    (await thing('request', findRequest(looker, apiLog, projectId, id)))
  )
}

async function thing(
  label: string,
  found: Promise<string | undefined>,
): Promise<Thing | undefined> {
  const path = await found
  return path === undefined ? undefined : { path, label }
}

/** The page of a quote, which names its institution too. */
async function findQuote(
  { missing }: Looker,
  quotes: Clients['quotes'],
  projectId: string,
  quoteId: string,
): Promise<string | undefined> {
  const look = () => quotes.listQuotes({ projectId, quoteId })
  const [quote] = (await sought(missing, 'each quote', look))?.quotes ?? []
  return quote && quotePath(quote)
}

/** The page of an approval, for those who may list its kind. */
async function findApproval(
  looker: Looker,
  clients: Clients,
  projectId: string,
  approvalId: string,
): Promise<string | undefined> {
  const { may, missing } = looker
  if (!may('payweave.approvals.v1.ApprovalService/ListApprovals')) return undefined
  const wanted = { projectId, approvalId, pageSize: 1 }
  const { refunds, bills } = listsOf(looker, clients)
  const lists = await Promise.all([
    sought(missing, 'approvals of refunds', () => refunds(wanted)),
    bills && sought(missing, 'approvals of bills', () => bills(wanted)),
  ])
  const isThere = lists.some((list) => list?.approvals.some((one) => one.approvalId === approvalId))
  return isThere ? approvalPath(projectId, approvalId) : undefined
}

/** The page of the developers with this key alone, for those who may list keys. */
async function findKey(
  { may, missing }: Looker,
  access: Clients['access'],
  projectId: string,
  keyId: string,
): Promise<string | undefined> {
  if (!may('payweave.accounts.v1.AccessService/ListApiKeys')) return undefined
  const key = { projectId, keyId }
  const lists = await Promise.all([
    sought(missing, 'each subscription key', () => access.listSubscriptionKeys(key)),
    sought(missing, 'each API key', () => access.listApiKeys(key)),
  ])
  const isThere = lists.some((list) => list?.keys.some((one) => one.keyId === keyId))
  return isThere ? `/projects/${projectId}/developers?key=${keyId}` : undefined
}

async function findRequest(
  { missing }: Looker,
  apiLog: Clients['apiLog'],
  projectId: string,
  requestId: string,
): Promise<string | undefined> {
  const look = () => apiLog.listRequests({ projectId, requestId, pageSize: 2 })
  return pathOfRequests((await sought(missing, 'each request', look))?.requests ?? [])
}

/** The request with this id in any project, for the staff, whose log is of all. */
export async function pathOfAnyRequest(
  { may, missing }: Looker,
  { apiLog }: Clients,
  requestId: string,
) {
  if (!isUuid(requestId) || !may('payweave.delivery.v1.ApiLogService/ListAllRequests'))
    return undefined
  const look = () => apiLog.listAllRequests({ requestId, pageSize: 2 })
  return pathOfRequests((await sought(missing, 'each request', look))?.requests ?? [])
}

/** The page of the request with one `PW-request-id` or, where the client sent it several times, of them all. */
function pathOfRequests(requests: LoggedRequest[]): string | undefined {
  const [first, second] = requests
  if (first === undefined) return undefined
  const { projectId, entryId, requestId } = first
  const base = `/projects/${projectId}/api-log`
  return second === undefined ? `${base}/${entryId}` : `${base}?request=${requestId}`
}
