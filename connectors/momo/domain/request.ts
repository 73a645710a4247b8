// When a request is sent to MTN, when it is enquired about, and when it has ended. Pure.

/** What MTN says of a request. Any status but the two ends counts as pending: an unknown one proves nothing. */
export type RequestStatus =
  | { status: 'pending' | 'successful' }
  | { status: 'failed'; code: string }

/** A request to pay or a transfer, as far as it has come. Ages are in milliseconds. */
export type RequestProgress = {
  /** Of the attempt or credit that it is for. */
  ageMs: number
  /** Since it was last sent; null when it never was. */
  sentAgeMs: number | null
  /** MTN has confirmed it. */
  isAccepted: boolean
  /** Sent as long as it is not accepted; a payer who has left, or may no longer pay, must not be asked. */
  isWanted: boolean
}

/** A request that MTN does not know so long after it was sent did not arrive. */
const silentMs = 120_000
/** Waits for the payer: sent no later, so that nobody is asked who has left. */
export const sendWithinMs = 30_000
const minPauseMs = 500
const maxPauseMs = 3_600_000

/** What to do next. `lost`: it never reached MTN, and is not sent again. */
export type Step = 'send' | 'enquire' | 'lost'

/** Decides by what is stored. */
export function nextStep({ sentAgeMs, isAccepted, isWanted }: RequestProgress): Step {
  if (isAccepted) return 'enquire'
  if (isWanted) return 'send'
  return sentAgeMs === null ? 'lost' : 'enquire'
}

/** Whether a request that MTN does not know never arrived. One that MTN has confirmed is never given up. */
export function isLost({ sentAgeMs, isAccepted, isWanted }: RequestProgress): boolean {
  return !isAccepted && !isWanted && (sentAgeMs === null || sentAgeMs > silentMs)
}

/** How long to wait for the next enquiry: a quarter of the request's age, from half a second to an hour. */
export function pauseMs({ ageMs }: RequestProgress): number {
  return Math.round(Math.min(maxPauseMs, Math.max(minPauseMs, ageMs / 4)))
}
