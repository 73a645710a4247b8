// Streams the progress of payments to the pages that show them (server-sent events), fed by the events of payments.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Logger } from '#platform/telemetry/log.ts'
import type { CheckoutView } from './checkout-view.ts'

/** What a page is sent: what it is about, and a stamp that changes with its content. */
export type Progress = Pick<CheckoutView, 'phase' | 'stamp'>

/** Where changes of payments are heard of. */
export type PaymentChanges = {
  /** False while changes may be missed, because there is no broker. */
  isLive: () => boolean
  /** Calls `onChange` for each payment that changes, `onGap` when some may have been missed. Returns what ends that. */
  subscribe: (onChange: (paymentId: string) => void, onGap: () => void) => () => void
}

/** Bounds of the streams of one process. */
export type StreamLimits = {
  perLink: number
  perProcess: number
  /** A stream ends after this time; the browser opens the next, which begins with the present progress. */
  maxAgeMs: number
  /** Between two signs of life on a stream; a page that has none for twice as long polls. */
  heartbeatMs: number
  /** Unread messages after which a slow reader is cut off. */
  maxUnreadBytes: number
}

const defaultLimits: StreamLimits = {
  perLink: 6,
  perProcess: 1_000,
  maxAgeMs: 90_000,
  heartbeatMs: 20_000,
  maxUnreadBytes: 2_048,
}
/** The broker does not acknowledge subscriptions; assume that one is active after this delay. */
const subscribedAfterMs = 1_000
const retryMs = 2_000
/** An event of its own: a browser does not show comments to its page. */
const signOfLife = 'event: alive\ndata: 1\n\n'

/** One page that watches. */
type Watcher = { stream: Readable; sent: string }

/** One link, whose pages share each reading of its payment. */
type Link = {
  paymentId: string
  read: () => Promise<Progress>
  watchers: Set<Watcher>
  isReading: boolean
  isStale: boolean
}

/** The streams of one process. */
export type LiveStreams = {
  /**
   * Answers with a stream that begins with `now`. False, without an answer, when there may be no more streams or changes
   * cannot be heard of: then the page polls.
   */
  open(
    reply: FastifyReply,
    link: { token: string; paymentId: string; now: Progress; read: () => Promise<Progress> },
  ): boolean
  /** Ends all streams, and opens no more. */
  close(): void
}

/** The state of one process. */
type Held = {
  changes: PaymentChanges
  log: Logger
  limits: StreamLimits
  links: Map<string, Link>
  byPayment: Map<string, Set<Link>>
  count: number
  isClosed: boolean
  unsubscribe: (() => void) | undefined
}

/** Makes the streams. */
export function createLiveStreams(
  changes: PaymentChanges,
  log: Logger,
  limits: StreamLimits = defaultLimits,
): LiveStreams {
  const maps = { links: new Map<string, Link>(), byPayment: new Map<string, Set<Link>>() }
  const held: Held = {
    changes,
    log,
    limits,
    ...maps,
    count: 0,
    isClosed: false,
    unsubscribe: undefined,
  }
  return {
    open(reply, { token, paymentId, now, read }) {
      const known = held.links.get(token)
      const isFull =
        held.count >= limits.perProcess || (known?.watchers.size ?? 0) >= limits.perLink
      if (held.isClosed || isFull || !changes.isLive()) return false
      const link = known ?? newLink(held, { token, paymentId, read })
      const watcher: Watcher = { stream: new Readable({ read() {} }), sent: '' }
      link.watchers.add(watcher)
      held.count += 1
      subscribe(held)
      keepAlive(held, watcher, () => forget(held, token, link, watcher))
      watcher.stream.push(`retry: ${retryMs}\n\n`)
      send(held, watcher, now)
      void reply
        .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
        .type('text/event-stream; charset=utf-8')
        .send(watcher.stream)
      return true
    },
    close() {
      held.isClosed = true
      for (const { watchers } of held.links.values()) {
        for (const { stream } of watchers) stream.push(null)
      }
    },
  }
}

function newLink(
  { links, byPayment }: Held,
  { token, paymentId, read }: Pick<Link, 'paymentId' | 'read'> & { token: string },
): Link {
  const link = { paymentId, read, watchers: new Set<Watcher>(), isReading: false, isStale: false }
  links.set(token, link)
  byPayment.set(paymentId, (byPayment.get(paymentId) ?? new Set()).add(link))
  return link
}

/** Shows signs of life until the stream closes, by its age at the latest. */
function keepAlive({ limits }: Held, { stream }: Watcher, onClose: () => void): void {
  const heartbeat = setInterval(() => push(limits, stream, signOfLife), limits.heartbeatMs)
  const ageMs = limits.maxAgeMs * (0.8 + Math.random() * 0.2)
  const end = setTimeout(() => stream.push(null), ageMs)
  stream.once('close', () => {
    clearInterval(heartbeat)
    clearTimeout(end)
    onClose()
  })
}

function forget(held: Held, token: string, link: Link, watcher: Watcher): void {
  const { links, byPayment } = held
  held.count -= 1
  link.watchers.delete(watcher)
  if (link.watchers.size > 0) return
  links.delete(token)
  const siblings = byPayment.get(link.paymentId)
  siblings?.delete(link)
  if (siblings?.size === 0) byPayment.delete(link.paymentId)
  if (held.count > 0) return
  held.unsubscribe?.()
  held.unsubscribe = undefined
}

/** Listens to changes as long as there is a stream. */
function subscribe(held: Held): void {
  if (held.unsubscribe !== undefined) return
  const onChange = (paymentId: string) => {
    for (const link of held.byPayment.get(paymentId) ?? []) void refresh(held, link)
  }
  const end = held.changes.subscribe(onChange, () => void refreshAll(held))
  const settled = setTimeout(() => void refreshAll(held), subscribedAfterMs)
  held.unsubscribe = () => {
    clearTimeout(settled)
    end()
  }
}

/** Reads one link after the other: a gap must not become a burst of calls. */
async function refreshAll(held: Held): Promise<void> {
  for (const link of held.links.values()) await refresh(held, link)
}

/** Reads a link once for all its pages, and again when it changed meanwhile. */
async function refresh(held: Held, link: Link): Promise<void> {
  link.isStale = true
  if (link.isReading) return
  link.isReading = true
  try {
    while (link.isStale && link.watchers.size > 0) {
      link.isStale = false
      const progress = await link.read()
      for (const watcher of link.watchers) send(held, watcher, progress)
    }
  } catch (error) {
    held.log.warn({ err: error }, 'change of a page not read')
  } finally {
    link.isReading = false
  }
}

function send({ limits }: Held, watcher: Watcher, progress: Progress): void {
  const text = JSON.stringify(progress)
  if (text === watcher.sent || watcher.stream.destroyed) return
  watcher.sent = text
  push(limits, watcher.stream, `data: ${text}\n\n`)
}

function push({ maxUnreadBytes }: StreamLimits, stream: Readable, text: string): void {
  if (stream.readableLength > maxUnreadBytes) stream.destroy()
  else stream.push(text)
}
