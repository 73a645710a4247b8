// Logs requests: one line for each request of a known project, samples of all others, so that floods do not fill the log.
import type { LogFields, Logger } from '#platform/telemetry/log.ts'

/** The request log of the edge. */
export type RequestLog = {
  /** One line. */
  each(fields: LogFields, message: string): void
  /**
   * Logs the first request of a kind at once, then at most one line a second with the count of those left out. Kinds are
   * reasons and routes: each takes memory.
   */
  sample(kind: string, fields: LogFields, message: string): void
  /** Logs what was left out since the last line of each kind. */
  flush(): void
}

type Line = { fields: LogFields; message: string }
/** Requests since the last line of a kind. */
type Kind = { leftOut: number; last: Line | undefined; timer: NodeJS.Timeout | undefined }

const everyMs = 1_000

/** Logs through `log`. */
export function requestLog(log: Logger): RequestLog {
  const kinds = new Map<string, Kind>()

  /** Logs how many of a kind were left out. False when none were: the next one is then logged at once. */
  function report(name: string, kind: Kind): boolean {
    const { last, leftOut } = kind
    if (last === undefined) {
      kinds.delete(name)
      return false
    }
    // The line itself is one of them.
    const more = leftOut > 1 ? { leftOut: leftOut - 1 } : {}
    log.info({ ...last.fields, ...more }, last.message)
    kind.leftOut = 0
    kind.last = undefined
    return true
  }

  function wait(name: string, kind: Kind): void {
    kind.timer = setTimeout(() => {
      if (report(name, kind)) wait(name, kind)
    }, everyMs).unref()
  }

  return {
    each: (fields, message) => log.info(fields, message),
    sample(name, fields, message) {
      const kind = kinds.get(name)
      if (kind !== undefined) {
        kind.leftOut += 1
        kind.last = { fields, message }
        return
      }
      log.info(fields, message)
      const first: Kind = { leftOut: 0, last: undefined, timer: undefined }
      kinds.set(name, first)
      wait(name, first)
    },
    flush() {
      for (const [name, kind] of kinds) {
        clearTimeout(kind.timer)
        report(name, kind)
      }
      kinds.clear()
    },
  }
}
