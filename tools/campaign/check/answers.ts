// Checks what clients saw: every answer is a documented one, and only a fault or the recovery from it may keep one back.
import type { Operation, Records, Try } from '../load/records.ts'
import { type Finding, findingOf } from './finding.ts'

/**
 * From when on a step disturbed clients, and how long it may after its end; a limit of 0 s: it must not disturb them at all, also
 * not while it lasts. Milliseconds since 1970.
 */
export type Window = { beganMs: number; overMs: number; limitS: number }

/** Lost, or answered that it did not succeed for now. */
export function isBad({ status }: Try): boolean {
  return status === 0 || status >= 500
}

/** Whether a request that was sent then may fail. */
function mayFail(one: Try, windows: readonly Window[]): boolean {
  // A request that was sent before a fault and still runs when it begins meets it too.
  return windows.some(
    ({ beganMs, overMs, limitS }) =>
      limitS > 0 && one.endMs >= beganMs && one.sentMs <= overMs + limitS * 1_000,
  )
}

function words({ route, status, error, sentMs }: Try): string {
  return `${route} ${status} ${error ?? ''} at ${new Date(sentMs).toISOString()}`
}

function meansDefect({ status }: Try): boolean {
  return status >= 500 && status !== 503 && status !== 504
}

export function checkAnswers({ operations }: Records, windows: readonly Window[]): Finding[] {
  const tries = operations.flatMap((operation) => operation.tries)
  return [
    ...findingOf(
      'answers with 500 or another status that means a defect',
      tries.filter(meansDefect).map(words),
    ),
    ...findingOf(
      'answers that the documents do not show',
      tries
        .filter((one) => one.undocumented !== undefined)
        .map((one) => `${words(one)}: ${one.undocumented}`),
    ),
    ...findingOf(
      'requests that failed while no fault was near',
      tries.filter((one) => isBad(one) && !mayFail(one, windows)).map(words),
    ),
    ...findingOf(
      'operations whose outcome is against the contract',
      operations.flatMap((one) => (one.broken === undefined ? [] : [wordsOf(one)])),
    ),
  ]
}

function wordsOf({ kind, id, broken, tries }: Operation): string {
  const last = tries
    .slice(-4)
    .map(({ route, status, error }) => `${route} ${status} ${error ?? ''}`)
  return `${kind} ${id}: ${broken}; last: ${last.join(', ')}`
}
