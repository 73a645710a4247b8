// Supervises parts: restarts those that die or fail their health check, with back-off, and stops all in order.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit } from './tied-process.ts'
import { type Check, watchHealth } from './watch-health.ts'

/** A started part. */
export type RunningPart = { pid: number; exited: Promise<Exit>; stop(): Promise<unknown> }

/** Something to keep running. `start` may be called again after each end. */
export type Part = {
  name: string
  ports: number[]
  start(): Promise<RunningPart>
  /** Asked while the part runs. One with a problem is ended, and so started again. */
  check?: Check
}

/** The processes that run at this moment, by part. */
export type ProcessTable = Record<string, { pid: number; ports: number[] }>

/** Callbacks, back-off and health checks. */
export type SuperviseOptions = {
  log: (line: string) => void
  /** Called with the whole table after every start and every end. */
  onChange: (processes: ProcessTable) => void
  firstDelayMs?: number
  maxDelayMs?: number
  /** Uptime after which a part counts as healthy and its restart delay is reset. */
  healthyAfterMs?: number
  checkEveryMs?: number
}

/** The supervisor of some parts. */
export type Supervisor = {
  /** Starts parts side by side and keeps them. Rejects when one does not even start. */
  start(parts: Part[]): Promise<void>
  /** How often a part has ended by itself. */
  endings(name: string): number
  /** Stops the named parts side by side, group after group, and all others first of all. */
  stop(groups: string[][]): Promise<void>
}

type Kept = {
  part: Part
  running: RunningPart | undefined
  endings: number
  stopping: AbortController
  done: Promise<void>
}

/** Makes a supervisor; it starts nothing by itself. */
export function supervise(options: SuperviseOptions): Supervisor {
  const kept = new Map<string, Kept>()
  let stopped = false
  const report = () => {
    const running = [...kept.values()].filter((entry) => entry.running !== undefined)
    const rows = running.map(({ part, running }) => [
      part.name,
      { pid: running?.pid, ports: part.ports },
    ])
    options.onChange(Object.fromEntries(rows) as ProcessTable)
  }
  const startFirst = (part: Part): Promise<void> => {
    if (stopped) return Promise.reject(new Error(`${part.name} was not started: we are stopping`))
    const stopping = new AbortController()
    const entry: Kept = { part, running: undefined, endings: 0, stopping, done: Promise.resolve() }
    kept.set(part.name, entry)
    return new Promise((resolve, reject) => {
      entry.done = part.start().then((running) => {
        resolve()
        return keep(entry, running, options, report)
      }, reject)
    })
  }
  return {
    start: async (parts) => {
      const results = await Promise.allSettled(parts.map(startFirst))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed) throw failed.reason
    },
    endings: (name) => kept.get(name)?.endings ?? 0,
    stop: async (groups) => {
      const named = new Set(groups.flat())
      const others = [...kept.keys()].filter((name) => !named.has(name))
      // From here on no part of any group is restarted.
      stopped = true
      for (const { stopping } of kept.values()) stopping.abort()
      for (const group of [others, ...groups]) {
        const entries = group.flatMap((name) => kept.get(name) ?? [])
        await Promise.all(entries.map(stopOne))
      }
      report()
    },
  }
}

/** A part that is just being started ends itself as soon as it has started. */
async function stopOne(entry: Kept): Promise<void> {
  await entry.running?.stop()
  await entry.done
}

/** One part's life: wait for its end, wait a little, start it again. */
async function keep(
  entry: Kept,
  first: RunningPart,
  options: SuperviseOptions,
  report: () => void,
): Promise<void> {
  const { part, stopping } = entry
  const { log, firstDelayMs = 100, maxDelayMs = 5_000, healthyAfterMs = 10_000 } = options
  let delayMs = firstDelayMs
  let running: RunningPart | undefined = first
  for (;;) {
    const startedMs = Date.now()
    let wasHealthy = false
    let ending = 'did not start'
    if (running) {
      entry.running = running
      report()
      if (stopping.signal.aborted) await running.stop()
      const failed = await endOf(part, running, options)
      const { signal, code } = await running.exited
      ending = `ended (${signal ?? `exit code ${code}`})`
      wasHealthy = !failed && Date.now() - startedMs >= healthyAfterMs
      entry.running = undefined
      report()
    }
    if (stopping.signal.aborted) return
    entry.endings += 1
    if (wasHealthy) delayMs = firstDelayMs
    log(`${part.name} ${ending}; starting it again in ${delayMs} ms`)
    await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => {})
    if (stopping.signal.aborted) return
    delayMs = Math.min(delayMs * 2, maxDelayMs)
    running = await restart(part, log)
  }
}

/** Waits for the end of a running part, and brings it about when its check finds a problem. Answers whether it did. */
async function endOf(
  { name, check }: Part,
  running: RunningPart,
  { log, checkEveryMs = 1_000 }: SuperviseOptions,
): Promise<boolean> {
  const ended = new AbortController()
  let failed = false
  if (check !== undefined) {
    void watchHealth(check, {
      everyMs: checkEveryMs,
      signal: ended.signal,
      onFailing: (problem) => {
        failed = true
        log(`${name} runs and does not work: ${problem}; ending it`)
        ended.abort()
        void running.stop()
      },
    })
  }
  await running.exited
  ended.abort()
  return failed
}

async function restart(part: Part, log: (line: string) => void): Promise<RunningPart | undefined> {
  try {
    return await part.start()
  } catch (error) {
    log(`${part.name} did not start: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}
