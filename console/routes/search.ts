// Search: from an id, an amount or a phone number to the page of the thing, in the project that is shown or in all of the person's.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Project } from '#gen/payweave/accounts/v1/access_pb.js'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { Clients } from '../clients.ts'
import { projectsOf } from '../http/projects.ts'
import { mayOf } from '../http/shell.ts'
import type { Work, Worker } from '../http/work.ts'
import { row, text } from '../pages/blocks.ts'
import { sendPage, sendSections } from '../pages/render.ts'
import { orUndefined } from './found.ts'
import { itemPath } from './inbox/inbox.ts'
import { billPattern, readAmount, readNumber } from './list.ts'
import { find, type Looker, pathOfRequests } from './look-up.ts'
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
      const hits = await written(clients, q, async () => {
        const looker = { may, within, missing }
        const found = await findIn(looker, clients, project, q)
        return found.length > 0 ? found : await findOfStaff(looker, clients, q, project.projectId)
      })
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
  return clients.summedUp('search', isId(q) ? q : '', calls)
}

function isId(q: string): boolean {
  return isUuid(q) || billPattern.test(q)
}

/** A place that a search leads to: one thing or, with `list`, a list of what has an amount or a number, of a merchant or of the project. */
type Hit = { path: string; project: string; list?: { label: string; merchant: string } }
type Found = { hits: Hit[]; isCut: boolean; searched?: number; missing?: string[] }
type ShownProject = Pick<Project, 'projectId' | 'name'>

const maxTransactionIdLength = 64
const maxMerchants = 20

/**
 * What a text leads to in a project: what has it as its id; else the payment to which a merchant gave it as their own; else,
 * by merchant, the payments of this amount or of this number.
 */
async function findIn(
  work: Looker,
  clients: Clients,
  { projectId, name: project }: ShownProject,
  q: string,
): Promise<Hit[]> {
  if (q === '') return []
  const path = await find(work, clients, projectId, q)
  if (path !== undefined) return [{ path, project }]
  if (q.length > maxTransactionIdLength) return []
  const merchants = (await merchantsIn(clients, projectId)).slice(0, maxMerchants)
  const base = `/projects/${projectId}/payments`
  for (const { merchantId } of merchants) {
    const wanted = { projectId, merchantId, transactionId: q, pageSize: 1 }
    const [payment] = (await clients.payments.listPayments(wanted)).payments
    if (payment !== undefined) return [{ path: `${base}/${payment.paymentId}`, project }]
  }
  const number = numberIn(q)
  const filter = amountIn(q) ?? number
  if (filter === undefined) return []
  const hits: Hit[] = []
  for (const { merchantId, businessName: merchant } of merchants) {
    const wanted = { projectId, merchantId, ...filter.wanted, pageSize: 1 }
    const { payments } = await clients.payments.listPayments(wanted)
    if (payments.length === 0) continue
    const chosen = merchants.length === 1 ? undefined : { merchant: merchantId }
    const query = new URLSearchParams({ ...chosen, ...filter.query })
    const list = { label: 'Its payments', merchant }
    hits.push({ path: `${base}?${query.toString()}`, project, list })
  }
  if (hits.length > 0 || number === undefined) return hits
  return await customersWith(clients, { projectId, name: project }, number)
}

/** The customers with a number, whom their page shows masked. */
async function customersWith(
  { customers }: Clients,
  { projectId, name: project }: ShownProject,
  { query, wanted }: NonNullable<ReturnType<typeof numberIn>>,
): Promise<Hit[]> {
  const lookup = { lookupType: LookupType.MOBILE, lookupValue: wanted.mobileNumberE164 }
  const found = await orUndefined(() => customers.listCustomers({ projectId, ...lookup }))
  if (found === undefined || found.customers.length === 0) return []
  const value = new URLSearchParams({ by: 'mobile', value: query.mobile }).toString()
  const list = { label: 'The customers', merchant: '' }
  return [{ path: `/projects/${projectId}/customers?${value}`, project, list }]
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

/** Services look in so many projects at a time. */
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
  if (q === '') return { hits: [], isCut: false }
  const path =
    (await projectPath(work, clients, q)) ??
    (await reviewPath(work, clients, q)) ??
    (await pathOfAnyRequest(work, clients.apiLog, q))
  if (path !== undefined) return { hits: [{ path, project: '' }], isCut: false }
  const missing: string[] = []
  const { may: mayHere, within } = work
  const hits = await findOfStaff({ may: mayHere, within, missing }, clients, q)
  if (hits.length > 0) return { hits, isCut: false, missing }
  let searched = 0
  let pageToken = ''
  do {
    const page = await projectsOf(work, clients, { pageToken, pageSize: projectPageSize })
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
      if (hits.length > 0 && isId(q)) return { hits: hits.slice(0, 1), isCut: false }
      if (hits.length > maxHits)
        return { hits: hits.slice(0, maxHits), isCut: true, searched, missing }
    }
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return { hits, isCut: false, missing }
}

/** The page of the project that has this id, if there is one and it is the person's. */
async function projectPath({ session, within }: Work, { access }: Clients, q: string) {
  const isHeld = session.memberships.some(({ projectId = q }) => projectId === q)
  if (!isUuid(q) || !isHeld) return undefined
  const look = () => within(q, () => access.getProject({ projectId: q }))
  return (await orUndefined(look)) && `/projects/${q}`
}

/** The profile of a new customer with this id of its review, for those who may see it. */
async function reviewPath({ may }: Work, { onboardings }: Clients, reviewId: string) {
  if (!isUuid(reviewId) || !may('payweave.accounts.v1.OnboardingService/GetOnboarding'))
    return undefined
  const found = await orUndefined(() => onboardings.getOnboarding({ reviewId }))
  return found && `/inbox/onboardings/${reviewId}`
}

/** What the staff looks for that is of no project, or of this one: a rejected event, an item of the Inbox, an institution. */
async function findOfStaff(
  looker: Looker,
  clients: Clients,
  q: string,
  projectId?: string,
): Promise<Hit[]> {
  const [event, item, institutions] = await Promise.all([
    eventPath(looker, clients, q),
    itemPath(looker, clients, q, projectId),
    findInstitutions(looker, clients, q, projectId),
  ])
  const path = event ?? item
  return path === undefined ? institutions : [{ path, project: '' }]
}

/** The dead letters of the event with this id or, where none is left, who decided about them, for those who may list them. */
async function eventPath({ may, within }: Looker, { eventDeadLetters }: Clients, eventId: string) {
  if (!isUuid(eventId) || !may('payweave.events.v1.EventDeadLetterService/ListEventDeadLetters'))
    return undefined
  const wanted = { eventId, pageSize: 1 }
  const services = Object.values(eventDeadLetters)
  const [lists, decided] = await within(undefined, () =>
    Promise.all([
      Promise.all(services.map((service) => service.listEventDeadLetters(wanted))),
      Promise.all(services.map((service) => service.listEventDeadLetterDecisions(wanted))),
    ]),
  )
  const base = '/dead-letters/events'
  if (lists.some(({ deadLetters }) => deadLetters.length > 0)) return `${base}?event=${eventId}`
  // A replica from before the filter answers with decisions about other events.
  const isDecided = decided.some(({ decisions }) =>
    decisions.some(({ deadLetter }) => deadLetter?.eventId === eventId),
  )
  return isDecided ? `${base}/decisions?event=${eventId}` : undefined
}

/** The institutions with this id or name, for those who may list them: their grants in the project, or what was changed of them. */
async function findInstitutions(
  { may, within }: Looker,
  { access }: Clients,
  q: string,
  projectId?: string,
): Promise<Hit[]> {
  const isName = /^\P{Cc}{1,100}$/u.test(q)
  if (!isName || !may('payweave.accounts.v1.AccessService/ListInstitutions')) return []
  const wanted = isUuid(q) ? { institutionId: q } : { name: q }
  const listed = await within(undefined, () => access.listInstitutions({ ...wanted, pageSize: 2 }))
  return listed.institutions
    .filter(({ institutionId, name }) => institutionId === q || name === q)
    .map(({ institutionId, name }) => ({
      path:
        projectId === undefined
          ? `/audit?target=${institutionId}`
          : `/projects/${projectId}/access?institution=${institutionId}`,
      project: '',
      list: { label: `The institution ${name}`, merchant: '' },
    }))
}

/** The request with this id in any project, for the staff, whose log is of all. */
async function pathOfAnyRequest({ may }: Work, apiLog: Clients['apiLog'], requestId: string) {
  if (!isUuid(requestId) || !may('payweave.delivery.v1.ApiLogService/ListAllRequests'))
    return undefined
  const { requests } = await apiLog.listAllRequests({ requestId, pageSize: 2 })
  return pathOfRequests(requests)
}

function answer(
  work: Work,
  q: string,
  { hits: all, isCut, searched = 0, missing = [] }: Found,
): FastifyReply {
  const things = all.filter(({ list }) => list === undefined)
  // What has the text as its id is meant before payments of an amount or a number.
  const hits = things.length > 0 ? things : all
  const [only] = hits
  if (only !== undefined && hits.length === 1 && !isCut) return work.reply.redirect(only.path, 303)
  const cut = isCut
    ? ` Only the first ${searched} projects were searched. Open the project of what you look for, and search there.`
    : ''
  const unknown = new Set(missing)
  if (only === undefined && unknown.size > 0) {
    const title = 'The search is not complete'
    const notThere = `Nothing was found, but a service does not answer: ${[...unknown].join(', ')}. Search again.${cut}`
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
        note: `Several places have this.${cut}`,
        table: {
          head: ['Open', 'Project', 'Merchant'],
          empty: 'Nothing.',
          rows: hits.map(({ path, project, list }) => [
            row(list?.label ?? 'The payment', path),
            text(project),
            text(list?.merchant ?? ''),
          ]),
        },
        rpc: 'payweave.payments.v1.PaymentsService/ListPayments',
      },
    ],
  })
}
