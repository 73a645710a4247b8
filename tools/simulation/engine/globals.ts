// Replaces the clocks, timers and random numbers of Node.js by those of the simulated process that runs. Code that runs outside
// of one, such as the driver of PostgreSQL, keeps the real ones.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import promises from 'node:timers/promises'
import type { Process, Scheduler } from './scheduler.ts'
import { realSetImmediate } from './turn.ts'

/** The wall clock of a process that is neither ahead nor behind, when a run begins. */
export const epochMs = Date.UTC(2026, 2, 1, 12)

/** A timer never ends at its time exactly. */
const maxLateMs = 0.4
/** A timer of this length is a pause between two looks for work, not a deadline. */
const pauseMs = { min: 100, max: 1_500 }

let scheduler: Scheduler | undefined

/** The process that runs now, with its scheduler. */
function current(): { process: Process; scheduler: Scheduler } | undefined {
  const process = scheduler?.running()
  return scheduler === undefined || process === undefined ? undefined : { process, scheduler }
}

/** Runs by this scheduler from now on. */
export function simulate(by: Scheduler): void {
  scheduler = by
}

/** A timer as Node.js has them. */
class SimulatedTimer {
  cancel: () => void = () => undefined
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

type Work = (...values: unknown[]) => void

function startTimer(
  { process, scheduler }: NonNullable<ReturnType<typeof current>>,
  ms: number,
  work: () => void,
  repeats = false,
): SimulatedTimer {
  const timer = new SimulatedTimer()
  const isPause = ms >= pauseMs.min && ms <= pauseMs.max
  const start = (): void => {
    const lateMs = scheduler.random.next() * maxLateMs
    timer.cancel = scheduler.after(
      Math.max(0, ms) * (isPause ? scheduler.pauseFactor() : 1) + lateMs,
      () => {
        work()
        if (repeats) start()
      },
      process,
    )
  }
  start()
  return timer
}

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: realSetImmediate,
  clearTimeout: globalThis.clearTimeout,
  delay: promises.setTimeout,
  now: performance.now.bind(performance),
  random: Math.random,
  randomUUID: crypto.randomUUID,
  randomBytes: crypto.randomBytes,
  randomFillSync: crypto.randomFillSync,
}

const RealDate = Date

function wallMs(): number {
  const now = current()
  return now === undefined
    ? RealDate.now()
    : Math.floor(epochMs + now.scheduler.nowMs() + now.process.skewMs)
}

class SimulatedDate extends RealDate {
  constructor(...values: [] | [number | string | Date]) {
    if (values.length === 0) super(wallMs())
    else super(...values)
  }
  static override now(): number {
    return wallMs()
  }
}

function bytes(random: Scheduler['random'], length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.whole(0, 255)))
}

/** `setTimeout` or, if it repeats, `setInterval`. */
const timersBy =
  (original: unknown, repeats: boolean) =>
  (work: Work, ms = 0, ...values: unknown[]): unknown => {
    const now = current()
    if (now === undefined) return (original as typeof setTimeout)(work, ms, ...values)
    return startTimer(now, ms, () => work(...values), repeats)
  }

/** Puts the replacements in place, once in a process and before the code that is simulated is loaded. */
export function replaceGlobals(): void {
  const clear = (timer: unknown): void => {
    if (timer instanceof SimulatedTimer) timer.cancel()
    else real.clearTimeout(timer as NodeJS.Timeout)
  }
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: timersBy(real.setTimeout, false),
    setInterval: timersBy(real.setInterval, true),
    setImmediate(work: Work, ...values: unknown[]): unknown {
      const now = current()
      if (now === undefined) return real.setImmediate(work, ...values)
      return startTimer(now, 0, () => work(...values))
    },
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  })
  performance.now = () => {
    const now = current()
    return now === undefined ? real.now() : now.process.originMs + now.scheduler.nowMs()
  }
  Math.random = () => current()?.scheduler.random.next() ?? real.random()
  Object.assign(promises, { setTimeout: simulatedDelay })
  Object.assign(crypto, {
    randomUUID: () => {
      const now = current()
      return now === undefined ? real.randomUUID() : uuid(bytes(now.scheduler.random, 16))
    },
    randomBytes: (length: number) => {
      const now = current()
      return now === undefined ? real.randomBytes(length) : bytes(now.scheduler.random, length)
    },
    randomFillSync: (buffer: Buffer) => {
      const now = current()
      if (now === undefined) return real.randomFillSync(buffer)
      buffer.set(bytes(now.scheduler.random, buffer.length))
      return buffer
    },
  })
  syncBuiltinESMExports()
}

/** A random UUID (version 4) of 16 bytes. */
export function uuid(from: Uint8Array): string {
  const hex = Buffer.from(from).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

function simulatedDelay<T>(ms = 0, value?: T, options: { signal?: AbortSignal } = {}): Promise<T> {
  const now = current()
  if (now === undefined) return real.delay(ms, value, options)
  return new Promise((resolve, reject) => {
    const { signal } = options
    const abort = (): void => {
      timer.cancel()
      reject(new DOMException('The operation was aborted', 'AbortError'))
    }
    const timer = startTimer(now, ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve(value as T)
    })
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
