// The simulated time, its processes, and the events of a run: one at a time, in an order that the seed decides.
import { type Random, seededRandom } from '../../campaign/random.ts'
import { endOfTurn } from './turn.ts'

/** One incarnation of a simulated process. */
export type Process = {
  readonly name: string
  /** False from its crash on: its timers, requests and answers are gone. */
  isAlive: boolean
  /** Nothing of it runs before this time. */
  pausedUntilMs: number
  /** By how much its wall clock is ahead of that of the database. */
  readonly skewMs: number
  /** What its monotonic clock showed at time zero. */
  readonly originMs: number
}

export type Scheduler = {
  /** All draws of a run come from here. */
  random: Random
  /** Milliseconds since the run began. */
  nowMs(): number
  /** The process that runs now; undefined while the network, a server or the simulation itself acts. */
  running(): Process | undefined
  /** By how much the pauses of processes are longer than they ask for: 1 until `stretchPauses`. */
  pauseFactor(): number
  stretchPauses(factor: number): void
  /** Makes the first incarnation of a process, or the next one. */
  start(name: string, skewMs: number): Process
  /** Runs `work` after `ms`, in `process` if it is given and still alive. The returned function cancels it. */
  after(ms: number, work: () => unknown, process?: Process): () => void
  /** Adds a line to the history. */
  record(actor: string, what: string): void
  history(): readonly string[]
  /** Runs events until `isOver`, asked after each event, or until `limitMs`; returns whether it was over. */
  run(isOver: () => boolean, limitMs: number): Promise<boolean>
}

type Event = { atMs: number; order: number; work: () => unknown; process: Process | undefined }

/** Keeps the events in their order, the next one last. */
function insertInto(events: Event[], event: Event): void {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = events[middle] as Event
    if (other.atMs > event.atMs || (other.atMs === event.atMs && other.order > event.order)) {
      low = middle + 1
    } else high = middle
  }
  events.splice(low, 0, event)
}

/** A run of a seed that has not begun. */
export function createScheduler(seed: number): Scheduler {
  const random = seededRandom(seed)
  const events: Event[] = []
  const lines: string[] = []
  const incarnations = new Map<string, number>()
  let nowMs = 0
  let order = 0
  let running: Process | undefined
  let pauseFactor = 1

  /** Everything that follows from an event without waiting for another one has run when this resolves. */
  async function runEvent({ work, process }: Event): Promise<void> {
    running = process
    try {
      const pending = work()
      // Of a process nothing is awaited: what it waits for comes by later events.
      if (process === undefined) await pending
      else await endOfTurn()
    } finally {
      running = undefined
    }
  }

  return {
    random,
    nowMs: () => nowMs,
    running: () => running,
    pauseFactor: () => pauseFactor,
    stretchPauses(factor) {
      pauseFactor = factor
    },
    start(name, skewMs) {
      const incarnation = (incarnations.get(name) ?? 0) + 1
      incarnations.set(name, incarnation)
      const process = { isAlive: true, pausedUntilMs: 0, skewMs, originMs: random.whole(0, 1e6) }
      return { name: `${name}.${incarnation}`, ...process }
    },
    after(ms, work, process) {
      const event = { atMs: nowMs + Math.max(0, ms), order: order++, work, process }
      insertInto(events, event)
      return () => {
        event.work = () => undefined
        event.process = undefined
      }
    },
    record(actor, what) {
      lines.push(`${nowMs.toFixed(3).padStart(11)} ${actor.padEnd(13)} ${what}`)
    },
    history: () => lines,
    async run(isOver, limitMs) {
      while (!isOver()) {
        const event = events.pop()
        if (event === undefined || event.atMs > limitMs) return false
        const { process } = event
        if (process?.isAlive === false) continue
        if (process !== undefined && process.pausedUntilMs > event.atMs) {
          event.atMs = process.pausedUntilMs
          insertInto(events, event)
          continue
        }
        nowMs = event.atMs
        await runEvent(event)
      }
      return true
    },
  }
}
