// Search: from an id, an amount or a phone number to the page of the thing, in the project that is shown; from an id in all of the person's.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency } from '#core/money/money.ts'
import type { Clients } from '../clients.ts'
import { projectsOf } from '../http/projects.ts'
import type { ProjectWork, Work, Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { orUndefined } from './found.ts'
import { quotePath } from './institution/quotes.ts'
import { merchantsOf } from './merchants.ts'

/** Registers `/search` and `/projects/<id>/search`. */
export function registerSearch(
  app: FastifyInstance,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  app.get(
    '/projects/:projectId/search',
    worker.projectPage(async (work) => {
      const { query, project } = work
      const q = query.get('q') ?? ''
      const { projectId } = project
      const path =
        pathOfAmount(projectId, q) ??
        pathOfNumber(projectId, q) ??
        (await find(work, clients, projectId, q)) ??
        (await findTransaction(work, clients, q))
      return answer(work, q, path)
    }),
  )
  app.get(
    '/search',
    worker.page(async (work) => {
      const q = work.query.get('q') ?? ''
      const { projects } = await projectsOf(work, clients)
      const ofProject = projects.find(({ projectId }) => projectId === q)
      if (ofProject !== undefined) return answer(work, q, `/projects/${q}`)
      return answer(work, q, await findInAll(work, clients, q, projects))
    }),
  )
}

/** The payments of an amount with its currency, such as "25.00 USD". */
function pathOfAmount(projectId: string, q: string): string | undefined {
  const [, amount, currency = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]{3})$/.exec(q) ?? []
  if (amount === undefined || !isCurrency(currency.toUpperCase())) return undefined
  const query = new URLSearchParams({ amount, currency: currency.toUpperCase() })
  return `/projects/${projectId}/payments?${query.toString()}`
}

/** The payments of a phone number. */
function pathOfNumber(projectId: string, q: string): string | undefined {
  if (!/^\+?[\d\s().-]{7,24}$/.test(q)) return undefined
  return `/projects/${projectId}/payments?${new URLSearchParams({ mobile: q }).toString()}`
}

const maxMerchants = 20
const maxTransactionIdLength = 64

/** The payment to which a merchant of the project gave this id. */
async function findTransaction(work: ProjectWork, clients: Clients, q: string) {
  if (q === '' || q.length > maxTransactionIdLength) return undefined
  const { projectId } = work.project
  for (const { merchantId } of (await merchantsOf(work, clients)).slice(0, maxMerchants)) {
    const wanted = { projectId, merchantId, transactionId: q, pageSize: 1 }
    const { payments } = await clients.payments.listPayments(wanted)
    const [payment] = payments
    if (payment !== undefined) return `/projects/${projectId}/payments/${payment.paymentId}`
  }
  return undefined
}

/** Services look for one id in so many projects at a time. */
const projectsAtOnce = 4

/** The path of what has this id in the first of these projects that knows it. */
async function findInAll(
  work: Work,
  clients: Clients,
  q: string,
  projects: readonly { projectId: string }[],
): Promise<string | undefined> {
  for (let at = 0; at < projects.length; at += projectsAtOnce) {
    const some = projects.slice(at, at + projectsAtOnce)
    const found = await Promise.all(
      some.map(({ projectId }) => work.within(projectId, () => find(work, clients, projectId, q))),
    )
    const path = found.find((one) => one !== undefined)
    if (path !== undefined) return path
  }
  return undefined
}

function answer({ reply }: Work, q: string, path: string | undefined): FastifyReply {
  if (path !== undefined) return reply.redirect(path, 303)
  const text = isUuid(q)
    ? 'Nothing of yours has this id. Check that it is whole, and that it is of this project.'
    : 'Nothing of yours has this id. Phone numbers, amounts such as 25.00 USD and ids that you gave are found in the project that is open: open it, and search there.'
  return sendPage(reply, 'message', { title: 'Nothing found', text, q }, 404)
}

/** The path of what has this id in a project. */
async function find(
  { may }: Work,
  { payments, deliveries, replays, institution, apiLog, customers, bills, ledger, quotes }: Clients,
  projectId: string,
  id: string,
): Promise<string | undefined> {
  const base = `/projects/${projectId}`
  if (/^bill_\w{1,59}$/.test(id)) {
    const look = () => bills.getBillPayment({ projectId, transactionId: id })
    return (await orUndefined(look)) && `${base}/bills/${id}`
  }
  if (!isUuid(id)) return undefined
  const inLedger = `/ledger?${new URLSearchParams({ project: projectId, id }).toString()}`
  const looks: [path: string, look: () => Promise<unknown>][] = [
    [`${base}/payments/${id}`, () => payments.getPayment({ projectId, paymentId: id })],
    [`${base}/pushes/${id}`, () => deliveries.getDelivery({ projectId, deliveryId: id })],
    [`${base}/transfers/${id}`, () => institution.getTransaction({ projectId, movementId: id })],
    [`${base}/pushes/replays/${id}`, () => replays.getReplayJob({ projectId, jobId: id })],
    [`${base}/customers/${id}`, () => customers.getCustomer({ projectId, accountId: id })],
  ]
  if (may('payweave.accounts.v1.LedgerService/GetTransfer')) {
    looks.push(
      [inLedger, () => ledger.getTransfer({ projectId, transferId: id })],
      [inLedger, () => ledger.getHold({ projectId, holdId: id })],
    )
  }
  const [ofQuote, ...found] = await Promise.all([
    findQuote(quotes, projectId, id),
    ...looks.map(([, look]) => orUndefined(look)),
  ])
  return (
    ofQuote ??
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

/** The page of the request with this `PW-request-id` or, where the client sent it several times, of them all. */
async function findRequest(apiLog: Clients['apiLog'], projectId: string, requestId: string) {
  const found = await orUndefined(() => apiLog.listRequests({ projectId, requestId, pageSize: 2 }))
  const [first, second] = found?.requests ?? []
  if (first === undefined) return undefined
  const base = `/projects/${projectId}/api-log`
  return second === undefined ? `${base}/${first.entryId}` : `${base}?request=${requestId}`
}
