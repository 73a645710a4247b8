// The result of one of doctor's checks.

export type CheckResult = {
  name: string
  result: 'ok' | 'warning' | 'failed'
  /** What was found. */
  says: string
  /** What to do about it. */
  advice?: string
}

/** A result that is in order. */
export function ok(name: string, says: string): CheckResult {
  return { name, result: 'ok', says }
}

/** A result about something that works and may not for long; `advice` says what to do. */
export function warning(name: string, says: string, advice: string): CheckResult {
  return { name, result: 'warning', says, advice }
}

/** A result that keeps the system from starting; `advice` says what to do. */
export function failed(name: string, says: string, advice: string): CheckResult {
  return { name, result: 'failed', says, advice }
}
