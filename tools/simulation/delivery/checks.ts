// What must hold after every run of the delivery simulation.
import type { Plan } from '../plan.ts'
import type { Server } from '../postgres/server.ts'
import { type Change, changesText } from '../postgres/simulation-store.ts'
import { nameOf, type Ordered } from './producer.ts'
import type { Received, Receivers } from './receivers.ts'

/** What a run has left. */
export type Left = {
  plan: Plan
  ordered: readonly Ordered[]
  receivers: Receivers
  hasEnded: boolean
}

type DeliveryRow = {
  delivery_id: string
  event_id: string
  kind: string
  state: string
  attempts: number
  subject_id: string
}

const deliveriesText = `select delivery_id, event_id, kind, state, attempts, subject_id from delivery.delivery`

/** The rules that the run broke, in words; none when all hold. */
export async function findBroken(server: Server, left: Left): Promise<string[]> {
  const deliveries = await server.read<DeliveryRow>(deliveriesText)
  const outbox = await server.read<{ event_id: string; confirmed: boolean }>(
    'select event_id, confirmed_at is not null as confirmed from payments.outbox',
  )
  const inbox = await server.read<{ event_id: string }>('select event_id from delivery.inbox')
  const changes = await server.read<Change>(changesText)
  const { received } = left.receivers
  return [
    ...(left.hasEnded ? [] : ['work is left long after the last fault']),
    ...brokenEvents(left.ordered, new Map(outbox.map((row) => [row.event_id, row.confirmed]))),
    ...brokenIntake(left.ordered, deliveries, new Set(inbox.map((row) => row.event_id))),
    ...brokenPosts(received, deliveries),
    ...brokenCallbacks(received),
    ...brokenLeases(changes),
    ...(left.plan.isCalm ? brokenOrder(changes) : []),
  ]
}

/** No event that was committed is lost, and each is confirmed in the end. */
function brokenEvents(ordered: readonly Ordered[], outbox: Map<string, boolean>): string[] {
  return ordered.flatMap((one) => {
    const isConfirmed = outbox.get(one.event.eventId)
    if (!one.isCommitted || isConfirmed === true) return []
    return [`${nameOf(one)} is ${isConfirmed === undefined ? 'lost' : 'not confirmed'}`]
  })
}

/** Each event is taken in once: exactly its push is there. */
function brokenIntake(
  ordered: readonly Ordered[],
  deliveries: readonly DeliveryRow[],
  inbox: ReadonlySet<string>,
): string[] {
  const byEvent = Map.groupBy(deliveries, (row) => row.event_id)
  return ordered.flatMap((one) => {
    const { eventId } = one.event
    const rows = byEvent.get(eventId) ?? []
    const kind = one.step === 0 ? 'notify' : 'callback'
    const isRight = rows.length === 1 && rows[0]?.kind === kind
    if (inbox.has(eventId) ? isRight : rows.length === 0 && !one.isCommitted) return []
    return [`${nameOf(one)} has ${rows.length} pushes, in the inbox: ${inbox.has(eventId)}`]
  })
}

/** Each attempt was recorded before its POST, has the same bytes, and a push that counts as delivered was accepted. */
function brokenPosts(received: readonly Received[], deliveries: readonly DeliveryRow[]): string[] {
  const byDelivery = Map.groupBy(received, ({ deliveryId }) => deliveryId)
  const unrecorded = received
    .filter(({ number, recorded }) => recorded === undefined || recorded < number)
    .map(
      ({ deliveryId, number, recorded }) =>
        `attempt ${number} of ${deliveryId} was posted while ${recorded ?? 'none'} were recorded`,
    )
  const ended = deliveries.flatMap(({ delivery_id: id, state }) => {
    const posts = byDelivery.get(id) ?? []
    if (new Set(posts.map(({ body }) => body)).size > 1) return [`the bytes of ${id} have changed`]
    if (state !== 'delivered') return [`${id} is ${state}`]
    return posts.some(({ isAccepted }) => isAccepted) ? [] : [`nobody accepted ${id}`]
  })
  return [...unrecorded, ...ended]
}

/** The callbacks of a payment have one number each. */
function brokenCallbacks(received: readonly Received[]): string[] {
  const numbers = new Map<string, string>()
  return received.flatMap(({ body, deliveryId }) => {
    const { sequence, payment_details } = JSON.parse(body) as {
      sequence?: number
      payment_details?: { id: string }
    }
    if (sequence === undefined) return []
    const key = `callback ${sequence} of ${payment_details?.id}`
    const other = numbers.get(key) ?? deliveryId
    numbers.set(key, other)
    return other === deliveryId ? [] : [`${key} is two deliveries`]
  })
}

type Leased = {
  delivery_id: string
  endpoint_id: string
  url: string
  state: string
  attempts: number
  lease_token: string | null
  created_at: string
}

/** A lease is taken of a free push only, and ends by its holder, by its time, or with its holder. */
function brokenLeases(changes: readonly Change[]): string[] {
  const holders = new Map<string, string>()
  return changes.flatMap(({ before, after, by, statement }) => {
    const old = before as Leased | null
    const now = after as Leased | null
    if (now === null) return [`${statement} of ${by} deleted ${old?.delivery_id}`]
    const what = `${statement} of ${by} on ${now.delivery_id}`
    const broken: string[] = []
    if (old !== null && endedStates.has(old.state))
      broken.push(`${what} changed a push that had ended`)
    const isTaken = now.lease_token !== null && now.lease_token !== old?.lease_token
    if (isTaken) {
      holders.set(now.lease_token as string, by)
      if (old?.lease_token)
        broken.push(`${what} took a lease that ${holders.get(old.lease_token)} has`)
      if (now.attempts !== (old?.attempts ?? 0) + 1)
        broken.push(`${what} did not count its attempt`)
    }
    const holder = old?.lease_token ? holders.get(old.lease_token) : undefined
    const hasLost = now.lease_token === null && holder !== undefined && holder !== by
    if (hasLost && ownStatements.has(statement) && now.state !== 'delivered') {
      broken.push(`${what} ended the lease of ${holder}`)
    }
    return broken
  })
}

/** Without faults the pushes of a lane to a URL are posted in the order in which they were stored. */
function brokenOrder(changes: readonly Change[]): string[] {
  const latest = new Map<string, string>()
  return changes.flatMap(({ after, statement }) => {
    const push = after as Leased
    if (push.lease_token === null) return []
    const key = `${push.endpoint_id} ${push.url}`
    const before = latest.get(key) ?? ''
    const { created_at: storedAt, delivery_id: id } = push
    if (before > storedAt) {
      return [`${statement} takes ${id}, stored at ${storedAt}, after one stored at ${before}`]
    }
    latest.set(key, storedAt)
    return []
  })
}

const endedStates = new Set(['delivered', 'exhausted', 'gone', 'blocked', 'cancelled'])
/** Statements that may end their process's own leases only. */
const ownStatements = new Set(['delivery_complete', 'delivery_put_back'])
