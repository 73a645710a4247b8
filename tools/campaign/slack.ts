// Measures how much slower than alone on a machine a process runs here: limits of recovery are multiplied by it.
import { readFileSync } from 'node:fs'

/** On Linux: nanoseconds for which the main thread of this process ran, and for which it waited for a processor. */
const file = '/proc/self/schedstat'
const lookEveryMs = 500

type Look = { atMs: number; ranNs: number; waitedNs: number }

/** Watches until it is stopped. */
export type Slack = {
  /**
   * What limits of that time are multiplied by: the time for which this process ran and waited for a processor, divided by
   * the time for which it ran. At least 1; 1 where the system does not say it.
   */
  between(fromMs: number, toMs: number): number
  stop(): void
}

/** Starts it; every result is multiplied by `factor`. */
export function watchSlack(factor = 1): Slack {
  const looks: Look[] = []
  const look = (): void => {
    const one = readLook()
    if (one !== undefined) looks.push(one)
  }
  look()
  const looking = setInterval(look, lookEveryMs)
  return {
    between(fromMs, toMs) {
      look()
      return factor * slackOf(looks, fromMs, toMs)
    },
    stop: () => clearInterval(looking),
  }
}

/** As `between`, from the looks around that time. */
export function slackOf(looks: readonly Look[], fromMs: number, toMs: number): number {
  const first = looks.findLast(({ atMs }) => atMs <= fromMs) ?? looks[0]
  const last = looks.find(({ atMs }) => atMs >= toMs) ?? looks.at(-1)
  if (first === undefined || last === undefined || last.ranNs <= first.ranNs) return 1
  return 1 + Math.max(0, last.waitedNs - first.waitedNs) / (last.ranNs - first.ranNs)
}

function readLook(): Look | undefined {
  try {
    const [ranNs = 0, waitedNs = 0] = readFileSync(file, 'utf8').split(' ').map(Number)
    return { atMs: Date.now(), ranNs, waitedNs }
  } catch {
    return undefined
  }
}
