// Search: from an id, an amount or a phone number to the page of the thing, in the project that is shown or in all of the person's.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { Clients } from '../clients.ts'
import { projectsOf } from '../http/projects.ts'
import { mayOf } from '../http/shell.ts'
import type { Work, Worker } from '../http/work.ts'
import { row, text } from '../pages/blocks.ts'
import { sendPage, sendSections } from '../pages/render.ts'
import { valueOf, wordOf } from '../pages/words.ts'
import { findEvent } from './administration/event-dead-letters.ts'
import { sought } from './found.ts'
import { findItem } from './inbox/inbox.ts'
import { billPattern, readAmount, readNumber } from './list.ts'
import { find, type Looker, pathOfAnyRequest, type Thing } from './look-up.ts'
import { merchantsIn } from './merchants.ts'

/** How many projects one search looks in, and for how long. */
export type SearchLimits = { maxProjects: number; maxMs: number }

/** Registers `/search` and `/projects/<id>/search`. */
export function registerSearch(
  app: FastifyInstance,
  { worker, clients, limits }: { worker: Worker; clients: Clients; limits: SearchLimits },
): void {
  app.get(
    '/projects/:projectId/search',
    worker.projectPage(async (work) => {
      const q = work.query.get('q') ?? ''
      const { project, may, within } = work
      const missing: string[] = []
      const looker = { may, within, missing }
      const look = () =>
        Promise.all([findOfStaff(looker, clients, q, project), findIn(looker, clients, project, q)])
      const hits = (await written(clients, q, look)).flat()
      return answer(work, q, { hits, isCut: false, missing })
    }),
  )
  app.get(
    '/search',
    worker.page(async (work) => {
      const q = work.query.get('q') ?? ''
      const look = () => findInAll(work, clients, q, limits)
      return answer(work, q, await written(clients, q, look))
    }),
  )
}

/** One line stands for all calls of a search. It names an id, but no number of a person. */
function written<T>(clients: Clients, q: string, calls: () => Promise<T>): Promise<T> {
  return clients.summedUp('search', isId(q) ? idOf(q) : '', calls)
}

function isId(q: string): boolean {
  return isUuid(q) || billPattern.test(q)
}

/** A text as services write it where it is an id: UUIDs in lower case. */
function idOf(q: string): string {
  return isUuid(q) ? q.toLowerCase() : q
}

/** What a search leads to: one thing or, with `isList`, a list of what has an amount or a number. */
type Hit = Thing & { project: string; merchant?: string; isList?: boolean; rpc?: string }
type Found = { hits: Hit[]; isCut: boolean; searched?: number; missing: string[] }
type ShownProject = { projectId: string; name: string }

const listPayments = 'payweave.payments.v1.PaymentsService/ListPayments'
/** What is missing where no list of payments was answered, or no payment by its id. */
const eachPayment = 'each payment'
/** A list of payments is read for each merchant. */
const merchantsMs = 3_000
const maxTransactionIdLength = 64
const maxMerchants = 20

/**
 * What a text leads to in a project: what has it as its id; else the payment to which a merchant gave it as their own; else,
 * by merchant, the payments of this amount or of this number.
 */
async function findIn(
  work: Looker,
  clients: Clients,
  project: ShownProject,
  q: string,
): Promise<Hit[]> {
  if (q === '') return []
  const { projectId, name } = project
  const thing = await find(work, clients, projectId, idOf(q))
  if (thing !== undefined) return [{ ...thing, project: name }]
  if (q.length > maxTransactionIdLength) return []
  const number = numberIn(q)
  const look = () => findPayments(clients, project, q, amountIn(q) ?? number)
  const hits = (await sought(work.missing, eachPayment, look, merchantsMs)) ?? []
  if (hits.length > 0 || number === undefined) return hits
  return await customersWith(work, clients, project, number)
}

type Filter = { query: Record<string, string>; wanted: object }

/** The payment that has a text as its own id; else, by merchant, those that a filter matches. */
async function findPayments(
  clients: Clients,
  { projectId, name: project }: ShownProject,
  transactionId: string,
  filter: Filter | undefined,
): Promise<Hit[]> {
  const merchants = (await merchantsIn(clients, projectId)).slice(0, maxMerchants)
  const base = `/projects/${projectId}/payments`
  const rpc = listPayments
  for (const { merchantId } of merchants) {
    const wanted = { projectId, merchantId, transactionId, pageSize: 1 }
    const [payment] = (await clients.payments.listPayments(wanted)).payments
    if (payment !== undefined)
      return [{ path: `${base}/${payment.paymentId}`, label: 'payment', project, rpc }]
  }
  if (filter === undefined) return []
  const hits: Hit[] = []
  for (const { merchantId, businessName: merchant } of merchants) {
    const wanted = { projectId, merchantId, ...filter.wanted, pageSize: 1 }
    const { payments } = await clients.payments.listPayments(wanted)
    if (payments.length === 0) continue
    const chosen = merchants.length === 1 ? undefined : { merchant: merchantId }
    const path = `${base}?${new URLSearchParams({ ...chosen, ...filter.query }).toString()}`
    hits.push({ path, label: 'payments', project, merchant, isList: true, rpc })
  }
  return hits
}

/** The customers with a number, whom their page shows masked. */
async function customersWith(
  { missing }: Looker,
  { customers }: Clients,
  { projectId, name: project }: ShownProject,
  { query, wanted }: NonNullable<ReturnType<typeof numberIn>>,
): Promise<Hit[]> {
  const lookup = { lookupType: LookupType.MOBILE, lookupValue: wanted.mobileNumberE164 }
  const look = () => customers.listCustomers({ projectId, ...lookup })
  const found = await sought(missing, 'each customer', look)
  if (found === undefined || found.customers.length === 0) return []
  const value = new URLSearchParams({ by: 'mobile', value: query.mobile }).toString()
  const path = `/projects/${projectId}/customers?${value}`
  const rpc = 'payweave.accounts.v1.CustomerService/ListCustomers'
  return [{ path, label: 'customers', project, isList: true, rpc }]
}

/** An amount with its currency, such as "25.00 USD"; undefined for another text. */
function amountIn(q: string) {
  const [, amount, currency = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]{3})$/.exec(q) ?? []
  if (amount === undefined) return undefined
  const query = { amount, currency: currency.toUpperCase() }
  const wanted = unlessInvalid(() => readAmount(new URLSearchParams(query)))
  return wanted && { query, wanted }
}

/** A phone number, however it is grouped; undefined for another text. */
function numberIn(q: string) {
  if (!/^\+?[\d\s().-]{7,24}$/.test(q)) return undefined
  const mobileNumberE164 = unlessInvalid(() => readNumber('q', q))
  return mobileNumberE164 === undefined
    ? undefined
    : { query: { mobile: q }, wanted: { mobileNumberE164 } }
}

function unlessInvalid<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

/** Number of projects that are searched at a time. */
const projectsAtOnce = 4
const projectPageSize = 200
const maxHits = 50

/** What a text leads to in all projects of a person. An id is of one thing, so its first hit ends the search. */
async function findInAll(
  work: Work,
  clients: Clients,
  q: string,
  { maxProjects, maxMs }: SearchLimits,
): Promise<Found> {
  const endMs = Date.now() + maxMs
  const missing: string[] = []
  if (q === '') return { hits: [], isCut: false, missing }
  const { within } = work
  const hits = await findOfNoProject(work, missing, clients, q)
  if (hits.length > 0 && isId(q)) return { hits, isCut: false, missing }
  let searched = 0
  let pageToken = ''
  do {
    const wanted = { pageToken, pageSize: projectPageSize }
    const page = await sought(missing, 'each project', () => projectsOf(work, clients, wanted))
    if (page === undefined) break
    for (let at = 0; at < page.projects.length; at += projectsAtOnce) {
      if (searched >= maxProjects || Date.now() > endMs)
        return { hits, isCut: true, searched, missing }
      const some = page.projects.slice(at, at + projectsAtOnce)
      const found = await Promise.all(
        some.map((one) => {
          const may = mayOf(work.session, one.projectId)
          const looker = { may, within, missing }
          return within(one.projectId, () => findIn(looker, clients, one, q))
        }),
      )
      searched += some.length
      hits.push(...found.flat())
      if (hits.length > 0 && isId(q)) return { hits: hits.slice(0, 1), isCut: false, missing }
      if (hits.length > maxHits)
        return { hits: hits.slice(0, maxHits), isCut: true, searched, missing }
    }
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return { hits, isCut: false, missing }
}

/** What has a text as its id outside of any one project, or as its name: a project, a review, a request, and what the staff looks for. */
async function findOfNoProject(
  work: Work,
  missing: string[],
  clients: Clients,
  q: string,
): Promise<Hit[]> {
  const { may, within } = work
  const looker = { may, within, missing }
  const id = idOf(q)
  const found = await Promise.all([
    projectPath(work, missing, clients, id),
    reviewPath(looker, clients, id),
    pathOfAnyRequest(looker, clients, id),
  ])
  const labels = ['project', 'new customer', 'request']
  const things = found.flatMap((path, at) =>
    path === undefined ? [] : [{ path, label: labels[at] ?? '', project: '' }],
  )
  return [...things, ...(await findOfStaff(looker, clients, q))]
}

/** The page of the project that has this id, if there is one and it is the person's. */
async function projectPath(
  { session, within }: Work,
  missing: string[],
  { access }: Clients,
  q: string,
): Promise<string | undefined> {
  const isHeld = session.memberships.some(({ projectId = q }) => projectId === q)
  if (!isUuid(q) || !isHeld) return undefined
  const look = () => within(q, () => access.getProject({ projectId: q }))
  return (await sought(missing, 'each project', look)) && `/projects/${q}`
}

/** The profile of a new customer with this id of its review, for those who may see it. */
async function reviewPath({ may, missing }: Looker, { onboardings }: Clients, reviewId: string) {
  if (!isUuid(reviewId) || !may('payweave.accounts.v1.OnboardingService/GetOnboarding'))
    return undefined
  const look = () => onboardings.getOnboarding({ reviewId })
  return (await sought(missing, 'each new customer', look)) && `/inbox/onboardings/${reviewId}`
}

/** What the staff looks for that is of no project, or of this one: a rejected event, an item of the Inbox, an institution. */
async function findOfStaff(
  looker: Looker,
  clients: Clients,
  q: string,
  project?: { projectId: string; environment: string },
): Promise<Hit[]> {
  const found = await Promise.all([
    findEvent(looker, clients, idOf(q)),
    findItem(looker, clients, idOf(q), project?.projectId),
    findInstitutions(looker, clients, q, project),
  ])
  return found.flat().map((one) => ({ ...one, project: '' }))
}

/** The institutions with this id or name, for those who may list them: their grants in the project, or what was changed of them. */
async function findInstitutions(
  { may, within, missing }: Looker,
  { access }: Clients,
  q: string,
  project?: { projectId: string; environment: string },
): Promise<(Thing & { rpc: string })[]> {
  const rpc = 'payweave.accounts.v1.AccessService/ListInstitutions'
  const isName = /^\P{Cc}{1,100}$/u.test(q)
  if (!isName || !may(rpc)) return []
  const named = idOf(q)
  const environment = valueOf(Environment, project?.environment ?? '')
  const wanted = {
    ...(isUuid(q) ? { institutionId: named } : { name: named }),
    ...(environment !== undefined && { environment }),
    pageSize: 2,
  }
  const look = () => within(undefined, () => access.listInstitutions(wanted))
  const listed = await sought(missing, 'each institution', look)
  return (listed?.institutions ?? [])
    .filter(({ institutionId, name }) => institutionId === named || name === named)
    .map(({ institutionId, name, environment: its }) => ({
      path:
        project === undefined
          ? `/audit?target=${institutionId}`
          : `/projects/${project.projectId}/access?institution=${institutionId}`,
      label: `institution ${name} (${wordOf(Environment, its)})`,
      rpc,
    }))
}

function answer(
  work: Work,
  q: string,
  { hits: all, isCut, searched = 0, missing }: Found,
): FastifyReply {
  const things = all.filter(({ isList }) => isList !== true)
  // What has the text as its id is meant before payments of an amount or a number.
  const hits = [
    ...new Map((things.length > 0 ? things : all).map((hit) => [hit.path, hit])).values(),
  ]
  const [only] = hits
  const unanswered = [...new Set(missing)].toSorted().join(', ')
  const isWhole = !isCut && (unanswered === '' || isId(q))
  if (only !== undefined && hits.length === 1 && isWhole) return work.reply.redirect(only.path, 303)
  const cut = isCut
    ? ` Only the first ${searched} projects were searched. Open the project of what you look for, and search there.`
    : ''
  const notAsked =
    unanswered === ''
      ? ''
      : ` The search is not complete, since a service does not answer: ${unanswered}.`
  if (only === undefined && unanswered !== '') {
    const title = 'The search is not complete'
    const notThere = `Nothing was found, but parts were not searched, since a service does not answer: ${unanswered}. Search again.${cut}`
    return sendPage(work.reply, 'message', { title, text: notThere, q }, 503)
  }
  if (only === undefined) {
    const nothing = `Nothing of yours has this id, amount or number. Check that it is whole; an amount needs its currency, such as 25.00 USD.${cut}`
    return sendPage(work.reply, 'message', { title: 'Nothing found', text: nothing, q }, 404)
  }
  return sendSections(work.reply, {
    title: 'Found',
    q,
    sections: [
      {
        note: `${hits.length === 1 ? 'One match' : `${hits.length} matches`}.${cut}${notAsked}`,
        table: {
          head: ['Open', 'Project', 'Merchant'],
          empty: 'Nothing.',
          rows: hits.map(({ path, project, label, merchant }) => [
            row(`The ${label}`, path),
            text(project),
            text(merchant ?? ''),
          ]),
        },
        rpc: [...new Set(hits.flatMap(({ rpc }) => rpc ?? []))],
      },
    ],
  })
}
