// A push, its state machine, and when it is retried. Pure.
import { namedUuid } from '#core/identity/id.ts'
import type { Machine } from '#core/machine.ts'
import { hostOf } from '#core/text/push-url.ts'

/** What is pushed. */
export const deliveryKinds = ['notify', 'callback', 'onboarding'] as const
export type DeliveryKind = (typeof deliveryKinds)[number]

/** State of a push. */
export type DeliveryState =
  | 'pending'
  | 'sending'
  | 'delivered'
  | 'exhausted'
  | 'gone'
  | 'blocked'
  | 'cancelled'

/** Events of the state machine. */
type DeliveryEvent = 'claim' | 'accept' | 'retry' | 'exhaust' | 'end' | 'block' | 'cancel' | 'lose'

/**
 * The states of one round; a replay begins the next one. `accept` leads out of `pending` too: a 2xx may come
 * after its lease was lost.
 */
export const deliveryMachine = {
  pending: { claim: 'sending', accept: 'delivered', end: 'gone', cancel: 'cancelled' },
  sending: {
    accept: 'delivered',
    retry: 'pending',
    lose: 'pending',
    exhaust: 'exhausted',
    end: 'gone',
    block: 'blocked',
    cancel: 'cancelled',
  },
  delivered: {},
  exhausted: {},
  gone: {},
  blocked: {},
  cancelled: {},
} satisfies Machine<DeliveryState, DeliveryEvent>

/** States in which a round has ended, so that another one may begin. */
export const endedStates = [
  'delivered',
  'exhausted',
  'gone',
  'blocked',
  'cancelled',
] as const satisfies DeliveryState[]

/** Outcome of one POST. */
export type AttemptOutcome =
  | 'started'
  | 'delivered'
  | 'refused'
  | 'timed_out'
  | 'connection_failed'
  | 'blocked'
  | 'unknown'
  | 'unsigned'

/** The outcome of an attempt, as far as the next state depends on it. */
export interface AttemptEnd {
  outcome: AttemptOutcome
  /** HTTP status, when there was an answer. */
  status?: number | undefined
  /** What Retry-After asked for. */
  retryAfterS?: number | undefined
  /** Unsigned, and no later attempt can be signed. */
  unsignable?: true
}

/** The state that a delivery goes to, with the pause before its next attempt when it is `pending`. */
export interface Verdict {
  state: DeliveryState
  delayMs?: number
}

/** What a verdict depends on beside the outcome. */
export interface RetryTerms {
  /** Pause after the first, second, … failure. One more failure than there are pauses exhausts. */
  scheduleS: readonly number[]
  /** Failures before this one. */
  failures: number
  /** Attempts of this round before this one that cost none of the schedule; none when unset. */
  uncounted?: number
  /** Between 0 and 1: draws the jitter. */
  random: number
}

const jitter = 0.2
const maxHonouredRetryAfterS = 3_600
const maxUnsignedPauseS = 60
/** Maximum of `Retry-After` that is stored: a date of the year 9999 would not fit its column. */
const maxRetryAfterS = 999_999_999

/** Decides the state after an attempt. */
export function judge(end: AttemptEnd, terms: RetryTerms): Verdict {
  if (end.outcome === 'delivered') return { state: 'delivered' }
  if (end.outcome === 'blocked' || end.unsignable === true) return { state: 'blocked' }
  // It may or may not have arrived: due at once, without using up the schedule.
  if (end.outcome === 'unknown') return { state: 'pending', delayMs: 0 }
  // Nothing was sent, so the schedule is not used up. Retried with exponential backoff while the secrets cannot be fetched.
  if (end.outcome === 'unsigned') {
    const pauseS = Math.min(maxUnsignedPauseS, 2 ** Math.min((terms.uncounted ?? 0) + 1, 10))
    return { state: 'pending', delayMs: retryDelayMs(pauseS, undefined, terms.random) }
  }
  if (end.status === 410) return { state: 'gone' }
  const baseS = terms.scheduleS[terms.failures]
  if (baseS === undefined) return { state: 'exhausted' }
  return { state: 'pending', delayMs: retryDelayMs(baseS, end.retryAfterS, terms.random) }
}

/** The base delay with ±20 %, or what Retry-After asks for up to max(2 × base, 1 h) when that is longer. */
function retryDelayMs(baseS: number, retryAfterS: number | undefined, random: number): number {
  const jittered = baseS * (1 - jitter + 2 * jitter * random)
  if (retryAfterS === undefined || retryAfterS <= baseS) return Math.round(jittered * 1_000)
  const asked = Math.min(retryAfterS, Math.max(2 * baseS, maxHonouredRetryAfterS))
  return Math.round(Math.max(asked, jittered) * 1_000)
}

/** Seconds that a Retry-After header asks for, as number or HTTP date; undefined for anything else. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs)) return undefined
  const waitS = Math.ceil((atMs - now.getTime()) / 1_000)
  return Math.min(maxRetryAfterS, Math.max(0, waitS))
}

/** The part of a UUID v7 that holds its time. */
const timeDigits = 'xxxxxxxx-xxxx'.length

/**
 * Id of the push of one kind about one party (by index) of an event: the same event, the same ids. It begins as the
 * event's id does, with the time, so that new rows land side by side in the indexes.
 */
export function deliveryId(eventId: string, kind: string, party: string): string {
  const named = namedUuid('delivery', eventId, kind, party)
  return eventId.slice(0, timeDigits) + named.slice(timeDigits)
}

/** Id of the lane of a project's pushes of one kind to an origin: they share limits and a circuit breaker. */
export function endpointId(projectId: string, origin: string, kind: DeliveryKind): string {
  return namedUuid('endpoint', projectId, origin, kind)
}

/** As many characters as the table takes. */
const maxUrl = 2_048

/** Where a project's push of that kind goes. Throws a RangeError for a text that is no URL or too long. */
export function receiverOf(projectId: string, url: string, kind: DeliveryKind) {
  const target = URL.parse(url)
  if (target === null || url.includes('\0')) {
    throw new RangeError('the event has an invalid URL')
  }
  if (url.length > maxUrl) throw new RangeError('the event has a URL that is too long')
  const { origin } = target
  return { endpointId: endpointId(projectId, origin, kind), url, origin, hostname: hostOf(target) }
}

/** Result of a POST. */
export interface PostEnd {
  outcome: AttemptOutcome
  /** Unsigned, and no later attempt can be signed. */
  unsignable?: true
  status?: number
  retryAfterS?: number | undefined
  /** First 4 KiB of the answer. */
  answer?: Buffer
  /** What went wrong, in a word. */
  error?: string
  peerAddress?: string | undefined
  resolveMs?: number | undefined
  connectMs?: number | undefined
  firstByteMs?: number
  totalMs: number
}

/** A claimed delivery: its attempt is recorded and its lease runs. */
export interface Claimed {
  deliveryId: string
  endpointId: string
  projectId: string
  eventId: string
  subjectId: string
  kind: DeliveryKind
  url: string
  body: Buffer
  failures: number
  /** Number of the attempt, from 1. */
  number: number
  /** Attempts of the rounds before this one. */
  earlierAttempts: number
  startedAt: Date
  occurredAt: Date
  leaseToken: string
  /** Round of the delivery, from 1: each replay begins one. */
  round: number
  hostname: string
  /** The trace that the POST belongs to, while traces are recorded. */
  traceparent: string | null
}
