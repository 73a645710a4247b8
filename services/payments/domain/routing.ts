// Decides which connector a charge or a payout goes to. Pure.
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency } from '#core/money/money.ts'
import { channelMethods, type PaymentChannel, type PaymentMethod } from '#core/payment/words.ts'
import type { DraftPayment } from './new-payment.ts'
import type { Transition } from './transition.ts'

/** A route is for charges or for payouts: money that comes in and money that goes out use different rails. */
export type RouteKind = 'charge' | 'payout'

/** What a route is for. The empty text stands for any; a payout has neither channel nor method. */
export type RouteKey = {
  kind: RouteKind
  projectId: string
  currency: string
  channel: PaymentChannel | ''
  method: PaymentMethod | ''
}

/** A connector, and the one that is tried when it certainly received nothing. */
export type Choice = { connector: string; fallback: string | undefined }

/** Where the charges or payouts of a key go. */
export type Route = RouteKey & Choice

/** The routes as they are at one time. */
export type Routing = {
  /** The connector for what no route fits, and of rows without a connector. */
  defaultConnector: string
  /** The choice for one charge or payout, whose key has no "any". */
  choose(subject: RouteKey): Choice
}

/** The parts of a key, most significant first. */
const parts = ['projectId', 'currency', 'channel', 'method'] as const

/** The routes of one shape: those whose keys name the same parts. */
type Shape = { named: readonly (typeof parts)[number][]; routes: Map<string, Route> }

/**
 * Makes the function that chooses. The most specific route counts: one that names the project before any that does not, then one that
 * names the currency, then the channel, then the method. Two routes that name the same parts and fit the same payment have
 * the same key, of which there is one, so there is no tie.
 */
export function routingOf(routes: readonly Route[], defaultConnector: string): Routing {
  const shapes = shapesOf(routes)
  const otherwise: Choice = { connector: defaultConnector, fallback: undefined }
  return {
    defaultConnector,
    choose(subject) {
      for (const { named, routes } of shapes) {
        const route = routes.get(nameOf(subject, named))
        if (route !== undefined) return route
      }
      return otherwise
    },
  }
}

function shapesOf(routes: readonly Route[]): Shape[] {
  const bySpecificity = Map.groupBy(routes, specificityOf)
  return [...bySpecificity.entries()]
    .toSorted(([a], [b]) => b - a)
    .map(([, some]) => {
      const named = parts.filter((part) => some[0]?.[part] !== '')
      return { named, routes: new Map(some.map((route) => [nameOf(route, named), route])) }
    })
}

/** A binary number with one digit for each part, so that each part counts more than all after it together. */
function specificityOf(route: Route): number {
  return parts.reduce((sum, part) => sum * 2 + (route[part] === '' ? 0 : 1), 0)
}

function nameOf(key: RouteKey, named: Shape['named']): string {
  return named.reduce<string>((name, part) => `${name} ${key[part]}`, key.kind)
}

/** Routes, most specific first; routes of the same shape by their keys. */
export function sortRoutes<R extends Route>(routes: readonly R[]): R[] {
  const nameOfAll = (route: Route) => nameOf(route, parts)
  return routes.toSorted(
    (a, b) => specificityOf(b) - specificityOf(a) || (nameOfAll(a) < nameOfAll(b) ? -1 : 1),
  )
}

/**
 * The next connector for a call that certainly reached none so far: the route's connector unless it was just tried, else its
 * fallback. Undefined when this process knows no other one.
 */
export function nextConnector(
  { choose }: Routing,
  subject: RouteKey,
  tried: string,
  known: readonly string[],
): string | undefined {
  const { connector, fallback } = choose(subject)
  return [connector, fallback].find(
    (one) => one !== undefined && one !== tried && known.includes(one),
  )
}

/** Throws INVALID_PARAMETER for a route that could never apply or names a connector that this process does not know. */
export function checkRoute(route: Route, known: readonly string[]): void {
  const { connector, fallback } = route
  checkKey(route)
  checkConnector('connector', connector, known)
  if (fallback === undefined) return
  checkConnector('fallback_connector', fallback, known)
  if (fallback === connector) throw invalid('fallback_connector', 'must be another connector')
}

/** Throws INVALID_PARAMETER for a key that fits no charge or payout. */
export function checkKey({ kind, projectId, currency, channel, method }: RouteKey): void {
  if (projectId !== '' && !isUuid(projectId)) throw invalid('key.project_id', 'must be a UUID')
  if (currency !== '' && !isCurrency(currency)) {
    throw invalid('key.currency', 'must be an ISO 4217 code')
  }
  if (kind === 'payout') {
    if (channel !== '') throw invalid('key.channel', 'must be unset for payouts')
    if (method !== '') throw invalid('key.method', 'must be unset for payouts')
    return
  }
  if (channel !== '' && method !== '' && !channelMethods[channel].includes(method)) {
    throw invalid('key.method', `is not offered by channel ${channel}`)
  }
}

function checkConnector(field: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return
  throw invalid(field, 'must be a connector of BACKEND_NAME or CONNECTORS')
}

/** The draft with the connector of each charge. */
export function routeCharges(draft: DraftPayment, { choose }: Routing): DraftPayment {
  const { currency } = draft
  const projectId = draft.projectId.toLowerCase()
  return {
    ...draft,
    payers: draft.payers.map((payer) => {
      const { paymentChannel: channel, paymentMethod: method } = payer
      const { connector } = choose({ kind: 'charge', projectId, currency, channel, method })
      return { ...payer, connector }
    }),
  }
}

/** Sets the connectors of the payouts that a transition sends. */
export function routePayouts({ payment, tasks }: Transition, routing: () => Routing): void {
  for (const { kind, subjectId } of tasks) {
    if (kind !== 'payout') continue
    const payee = payment.payees.find(({ payeeId }) => payeeId === subjectId)
    if (payee === undefined) throw new Error('a payout has no payee')
    const { projectId, currency } = payment
    payee.connector = routing().choose(payoutKey({ projectId, currency })).connector
  }
}

/** The key of a payout. */
export function payoutKey(of: { projectId: string; currency: string }): RouteKey {
  return { kind: 'payout', ...of, channel: '', method: '' }
}
