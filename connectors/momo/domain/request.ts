// When a request is sent to MTN, when it is enquired about, and when it has ended. Pure.

import type { Moved } from './moved.ts'

/** What is asked of MTN: money from a payer, or to a receiver. */
export type Product = 'collection' | 'disbursement'

/** What MTN says of a request. Any status but the two ends counts as pending: an unknown one proves nothing. */
export type RequestStatus =
  | { status: 'pending' }
  | { status: 'successful'; moved: Moved }
  | { status: 'failed'; code: string }

/** A request to pay or a transfer, as far as it has come. Ages are in milliseconds. */
export type RequestProgress = {
  /** Of the attempt or credit that it is for. */
  ageMs: number
  /** Since it was last sent; null when it never was. */
  sentAgeMs: number | null
  /** MTN has confirmed it. */
  isAccepted: boolean
  /** The code with which MTN has refused a call, after another that had no answer and may have been accepted; null otherwise. */
  refusal: string | null
  /** Sent as long as it is neither accepted nor refused; a payer who has left, or may no longer pay, must not be asked. */
  isWanted: boolean
}

/** Once this time has passed since the last call, NOT_FOUND proves that MTN never received the request; earlier it proves nothing. */
const silentMs = 120_000
/** Waits for the payer: sent no later, so that nobody is asked who has left. */
export const sendWithinMs = 30_000
const minPauseMs = 500
const maxPauseMs = 3_600_000

/** What to do next. `lost`: it never reached MTN, and is not sent again. */
export type Step = 'send' | 'enquire' | 'lost'

/** Decides by what is stored. */
export function nextStep(progress: RequestProgress): Step {
  if (isSendable(progress)) return 'send'
  return progress.isAccepted || progress.sentAgeMs !== null ? 'enquire' : 'lost'
}

/** Whether a request that MTN does not know never arrived. One that MTN has confirmed is never given up. */
export function isLost(progress: RequestProgress): boolean {
  const { sentAgeMs, isAccepted } = progress
  return !isAccepted && !isSendable(progress) && (sentAgeMs === null || sentAgeMs > silentMs)
}

function isSendable({ isAccepted, isWanted, refusal }: RequestProgress): boolean {
  return isWanted && !isAccepted && refusal === null
}

/** How long to wait for the next enquiry, or for our account: a quarter of the request's age, from half a second to an hour. */
export function pauseMs({ ageMs }: Pick<RequestProgress, 'ageMs'>): number {
  return Math.round(Math.min(maxPauseMs, Math.max(minPauseMs, ageMs / 4)))
}
