// How long a request may take, from its arrival to its answer. The RPCs made for it inherit what is left of that time.
import type { EdgeSettings } from '../options.ts'
import { requestTimeoutMs } from './server.ts'

/** Times in milliseconds. */
export type RouteTimeouts = {
  /** A request of any route but those that wait for a biller. */
  usualMs: number
  /** What a bill payment may take besides BILLER_TIMEOUT_S. */
  besideBillerMs: number
  /** Of these times, what is kept for writing the answer: RPCs end that much sooner. */
  answerMs: number
}

export const routeTimeouts: RouteTimeouts = {
  usualMs: 15_000,
  besideBillerMs: 5_000,
  answerMs: 500,
}

type Settings = Pick<EdgeSettings, 'billerTimeoutMs' | 'requestTimeoutMs' | 'routeTimeouts'>

/**
 * When the RPCs for a request that has arrived now must have ended, in milliseconds since the epoch. A form is still arriving, and its files
 * are passed on meanwhile: the time for sending it is added.
 */
export function deadlineOf(
  row: { waitsForBiller?: true },
  settings: Settings,
  isArriving = false,
): number {
  const { usualMs, besideBillerMs, answerMs } = settings.routeTimeouts ?? routeTimeouts
  const isBill = row.waitsForBiller === true
  const routeMs = isBill ? settings.billerTimeoutMs + besideBillerMs : usualMs
  const arrivalMs = isArriving ? (settings.requestTimeoutMs ?? requestTimeoutMs) : 0
  return Date.now() + arrivalMs + routeMs - answerMs
}
