// The result of one of doctor's checks.

export type Finding = {
  name: string
  result: 'ok' | 'warning' | 'failed'
  /** What was found. */
  says: string
  /** What to do about it. */
  advice?: string
}

/** Finds it in order. */
export function ok(name: string, says: string): Finding {
  return { name, result: 'ok', says }
}

/** Finds something that works and may not for long. */
export function warning(name: string, says: string, advice: string): Finding {
  return { name, result: 'warning', says, advice }
}

/** Finds what keeps the system from starting. */
export function failed(name: string, says: string, advice: string): Finding {
  return { name, result: 'failed', says, advice }
}
