// Starts a process, shuts it down in order, and exits when it is broken.
import { once } from 'node:events'
import module from 'node:module'
import v8 from 'node:v8'
import { SettingsError } from '../config/config.ts'
import { loggedContext } from '../rpc/context.ts'
import { createLogger, type Logger, type LogLevel, logLevels } from '../telemetry/log.ts'
import { startTracing } from '../telemetry/tracing.ts'

/** Something to close at the end; `closeWithinMs` is for one whose work in flight takes long. */
export type Part = {
  name: string
  /** What it rejects with is logged and makes the exit unclean. */
  close(): Promise<void> | void
  closeWithinMs?: number
}

/** What is closed in one step: a part, or parts that do not need each other and are closed together. */
export type Closing = Part | readonly Part[]

/**
 * Starts the parts of a process, and returns them in the order in which they are closed: first what accepts work, last
 * the stores. What it rejects with ends the process with exit code 1, unless `stopping` has aborted.
 */
export type Start = (stopping: AbortSignal, log: Logger) => Promise<Closing[]>

/**
 * The argument by which a supervisor has a process load its code, which takes most of a start, and begin at the first
 * message: meanwhile the supervisor brings up what the process needs.
 */
export const waitForStart = '--wait-for-start'

/** Limit for all parts together, below the 30 s after which Kubernetes and the local launcher kill the process. */
const stopWithinMs = 25_000
/** Limit for one part, so that it cannot use up the time of the others. */
const closeWithinMs = 8_000
const flushWithinMs = 2_000
const keepCodeAfterMs = 3_000
/**
 * Growth of the live heap, in percent, at which V8 starts a full collection. By default, V8 collects a heap of 40 MB
 * each time it has grown by a third, which is every 400 payments and a tenth of their CPU.
 */
const heapGrowthPercent = 300

/**
 * Runs a process until SIGTERM, SIGINT or the end of its supervisor, then closes its parts and exits: 0 when all closed
 * in time (25 s together, 8 s each by default), else 1. The same signal again, a failed start and an uncaught error
 * exit 1 at once.
 */
export function runProcess(name: string, start: Start): void {
  v8.setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`)
  const log = createLogger({
    part: name,
    level: levelOf(process.env['LOG_LEVEL']),
    context: loggedContext,
  })
  const stopping = new AbortController()
  const causes = new Set<string>()
  const stop = (cause: string): void => {
    if (causes.has(cause)) {
      log.warn({ signal: cause, forced: true }, 'stopped before all parts were closed')
      process.exit(1)
    }
    causes.add(cause)
    // Ctrl-C reaches us and our supervisor, which then sends SIGTERM: a second signal of another kind does not force
    // the exit.
    if (stopping.signal.aborted) return
    log.info({ signal: cause }, 'stopping')
    stopping.abort()
    void closeAll(started, log).then((clean) => process.exit(clean ? 0 : 1))
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('disconnect', () => stop('disconnect'))

  const broken = (error: unknown): void => {
    log.fatal({ err: error }, 'uncaught exception')
    process.exit(1)
  }
  process.on('uncaughtException', broken)
  process.on('unhandledRejection', broken)

  // Started last, so that a signal during the start finds its listeners.
  const started = afterStart(stopping.signal, () =>
    startTraced(name, log, () => start(stopping.signal, log)),
  )
  void announce(started, stopping.signal, log)
}

/** Starts after the supervisor's message, if asked to wait for it. A process that is stopped before has no parts. */
async function afterStart(
  stopping: AbortSignal,
  start: () => Promise<Closing[]>,
): Promise<Closing[]> {
  if (process.argv.includes(waitForStart)) {
    if (!process.connected) throw new Error('the supervisor went away')
    await once(process, 'message', { signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return []
  }
  return start()
}

/** Adds the export of the last spans as the last part; its failure does not make the exit unclean. */
async function startTraced(
  name: string,
  log: Logger,
  start: () => Promise<Closing[]>,
): Promise<Closing[]> {
  const tracing = await startTracing(name, process.env, log)
  const parts = await start()
  if (tracing === undefined) return parts
  const close = () =>
    within(flushWithinMs, () => tracing.close()).catch(() => log.warn('last traces not exported'))
  return [...parts, { name: 'traces', close }]
}

async function announce(
  started: Promise<Closing[]>,
  stopping: AbortSignal,
  log: Logger,
): Promise<void> {
  try {
    await started
    if (stopping.aborted) return
    log.info('ready')
    process.send?.({ ready: true })
    // Writes the compile cache some seconds after the start: not only at exit, since a killed process has none, and not
    // now, while other processes of the mesh still start. Does nothing without a folder for the cache. Then V8 gives back
    // what loading the code took, where it may be asked to.
    setTimeout(() => {
      module.flushCompileCache()
      globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' })
    }, keepCodeAfterMs).unref()
  } catch (error) {
    if (stopping.aborted) return
    // Printed in full, for a person: the log's line has no messages of errors, and this one quotes no value.
    if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`)
    log.fatal({ err: error }, 'start failed')
    process.exit(1)
  }
}

/** Closes the parts, one step after the other; resolves to whether all closed without error and in time. */
async function closeAll(started: Promise<Closing[]>, log: Logger): Promise<boolean> {
  const deadlineMs = performance.now() + stopWithinMs
  const leftMs = (): number => Math.max(0, deadlineMs - performance.now())
  const parts = await within(leftMs(), () => started).catch((error: unknown) => {
    log.error({ err: error }, 'start not finished before the stop')
    return undefined
  })
  if (parts === undefined) return false
  let isClean = true
  const closeOne = async (part: Part): Promise<void> => {
    try {
      const allowedMs = part.closeWithinMs ?? closeWithinMs
      await within(Math.min(allowedMs, leftMs()), () => part.close())
      log.debug({ step: part.name }, 'closed')
    } catch (error) {
      isClean = false
      log.error({ err: error, step: part.name }, 'not closed')
    }
  }
  for (const step of parts) await Promise.all([step].flat().map(closeOne))
  log.info({ outcome: isClean ? 'clean' : 'unclean' }, 'stopped')
  return isClean
}

async function within<T>(timeoutMs: number, work: () => Promise<T> | T): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('took too long')), timeoutMs)
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The log level until settings are validated; a bad one is reported there with all other bad settings. */
function levelOf(text: string | undefined): LogLevel {
  return logLevels.find((level) => level === text) ?? 'info'
}
