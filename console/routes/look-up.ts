// What has an id in a project: asks each service for it, and answers with the path of its page.
import { isUuid } from '#core/identity/id.ts'
import type { LoggedRequest } from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Clients } from '../clients.ts'
import { answered } from '../http/answered.ts'
import type { May } from '../http/shell.ts'
import type { Work } from '../http/work.ts'
import { orUndefined } from './found.ts'
import { approvalPath, listsOf } from './inbox/approvals.ts'
import { quotePath } from './institution/quotes.ts'
import { ledgerPath } from './ledger-links.ts'
import { billPattern } from './list.ts'

/** Who looks, with what they may do in the project, and what the search could not look at. */
export type Looker = Pick<Work, 'may' | 'within'> & { missing: string[] }

/** The path of what has this id in a project. */
export async function find(
  looker: Looker,
  clients: Clients,
  projectId: string,
  id: string,
): Promise<string | undefined> {
  const { payments, deliveries, replays, institution, apiLog, customers, bills } = clients
  const { access, ledger, quotes } = clients
  const { may } = looker
  const base = `/projects/${projectId}`
  if (billPattern.test(id)) {
    const look = () => bills.getBillPayment({ projectId, transactionId: id })
    return (await orUndefined(look)) && `${base}/bills/${id}`
  }
  if (!isUuid(id)) return undefined
  const inLedger = ledgerPath(projectId, id)
  const looks: [path: string, look: () => Promise<unknown>][] = [
    [`${base}/payments/${id}`, () => payments.getPayment({ projectId, paymentId: id })],
    [`${base}/pushes/${id}`, () => deliveries.getDelivery({ projectId, deliveryId: id })],
    [`${base}/transfers/${id}`, () => institution.getTransaction({ projectId, movementId: id })],
    [`${base}/pushes/replays/${id}`, () => replays.getReplayJob({ projectId, jobId: id })],
    [`${base}/customers/${id}`, () => customers.getCustomer({ projectId, accountId: id })],
    [`${base}/payments?merchant=${id}`, () => access.getMerchant({ projectId, merchantId: id })],
  ]
  if (may('payweave.accounts.v1.LedgerService/GetTransfer')) {
    looks.push(
      [inLedger, () => ledger.getTransfer({ projectId, transferId: id })],
      [inLedger, () => ledger.getHold({ projectId, holdId: id })],
    )
  }
  const [ofQuote, ofApproval, ofKey, ...found] = await Promise.all([
    findQuote(quotes, projectId, id),
    findApproval(looker, clients, projectId, id),
    findKey(may, access, projectId, id),
    ...looks.map(([, look]) => orUndefined(look)),
  ])
  return (
    ofQuote ??
    ofApproval ??
    ofKey ??
    looks.find((_, index) => found[index] !== undefined)?.[0] ??
    (await findRequest(apiLog, projectId, id))
  )
}

/** The page of a quote, which names its institution too. */
async function findQuote(quotes: Clients['quotes'], projectId: string, quoteId: string) {
  const found = await orUndefined(() => quotes.listQuotes({ projectId, quoteId }))
  const [quote] = found?.quotes ?? []
  return quote && quotePath(quote)
}

/** Well below the deadline of a page, which waits so long for each few of its projects. */
const billsMs = 1_000

/** The page of an approval, for those who may list its kind; while billing is down, those of bills are missing. */
async function findApproval(
  looker: Looker,
  clients: Clients,
  projectId: string,
  approvalId: string,
): Promise<string | undefined> {
  if (!looker.may('payweave.approvals.v1.ApprovalService/ListApprovals')) return undefined
  const wanted = { projectId, approvalId, pageSize: 1 }
  const { refunds, bills } = listsOf(looker, clients)
  const lists = await Promise.all([
    orUndefined(() => refunds(wanted)),
    bills &&
      answered(
        looker.missing,
        'approvals of bills',
        () => orUndefined(() => bills(wanted)),
        billsMs,
      ),
  ])
  const isThere = lists.some((list) => list?.approvals.some((one) => one.approvalId === approvalId))
  return isThere ? approvalPath(projectId, approvalId) : undefined
}

/** The page of the developers with this key alone, for those who may list keys. */
async function findKey(may: May, access: Clients['access'], projectId: string, keyId: string) {
  if (!may('payweave.accounts.v1.AccessService/ListApiKeys')) return undefined
  const key = { projectId, keyId }
  const lists = await Promise.all([
    orUndefined(() => access.listSubscriptionKeys(key)),
    orUndefined(() => access.listApiKeys(key)),
  ])
  const isThere = lists.some((list) => list?.keys.some((one) => one.keyId === keyId))
  return isThere ? `/projects/${projectId}/developers?key=${keyId}` : undefined
}

async function findRequest(apiLog: Clients['apiLog'], projectId: string, requestId: string) {
  const found = await orUndefined(() => apiLog.listRequests({ projectId, requestId, pageSize: 2 }))
  return pathOfRequests(found?.requests ?? [])
}

/** The page of the request with one `PW-request-id` or, where the client sent it several times, of them all. */
export function pathOfRequests(requests: LoggedRequest[]): string | undefined {
  const [first, second] = requests
  if (first === undefined) return undefined
  const { projectId, entryId, requestId } = first
  const base = `/projects/${projectId}/api-log`
  return second === undefined ? `${base}/${entryId}` : `${base}?request=${requestId}`
}
