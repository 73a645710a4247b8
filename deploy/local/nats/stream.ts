// Makes the stream of a local start at its NATS, or says in one line why that failed.
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { connectNats, ensureOnce, type NatsOptions } from '#platform/events/nats/nats.ts'
import { isAtLeast, minVersions } from '#platform/events/nats/version.ts'
import { startStreamController } from '#platform/events/stream-controller.ts'
import { consumedSubjects, durablesOf } from '#platform/events/topology.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { LaunchError } from '../preflight/launch-error.ts'
import { knownProblem } from '../preflight/problems.ts'
import { tailOf } from '../process/log-file.ts'
import { type Check, watchHealth } from '../process/watch-health.ts'

/** The NATS of a local start, and how the launcher logs in. */
export type StreamAt = Pick<NatsOptions, 'url' | 'access'> & { replicas: number; journal: Logger }

/** With one attempt that takes its full time after it, within ten seconds. */
const patienceMs = 6_000
const againMs = 250
/** A server that takes connections answers within milliseconds, and the controller makes a lost stream within two seconds. */
const unansweredMs = 8_000
/** A server that accepts none may be recovering its streams, or be paused by a debugger. */
const unreachedMs = 30_000
const reportEveryMs = 1_000
/** A server that is only starting says these; every other answer stays what it is. */
const passing = new Set(['CONNECTION_REFUSED', 'CONNECTION_TIMEOUT', 'TIMEOUT', '503'])

/** A server that this launcher started: where it keeps its files, and its log. */
export type OwnServer = { dataDir: string; logFile: string }

/** How a start waits for the stream. `own` is given for a server of ours. */
export type StreamWait = { log: (line: string) => void; stopping: AbortSignal; own?: OwnServer }

/**
 * Makes the stream and its consumers, and warns of a server that production would not use. Throws a LaunchError within ten
 * seconds when nothing answers, the login is refused, there is no JetStream, or the server is too old for a local start.
 */
export async function makeStream(at: StreamAt & StreamWait): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (let attempt = 1; ; attempt += 1) {
    try {
      const version = await ensureOnce(optionsOf(at), durablesOf(consumedSubjects))
      noticeOldVersion(version, at)
      return
    } catch (error) {
      at.stopping.throwIfAborted()
      if (error instanceof Failure)
        throw new LaunchError(remedied([error.message, 'use a newer one'], at))
      const code = String((error as { code?: unknown }).code)
      if (!passing.has(code) || performance.now() >= untilMs)
        throw new LaunchError(problemOf(code, at))
      if (attempt === 1) at.log(`waiting for NATS at ${serversOf(at.url)}`)
      await sleep(againMs)
    }
  }
}

function noticeOldVersion(version: string | undefined, { log }: StreamWait): void {
  const { production } = minVersions
  if (isAtLeast(version, production)) return
  log(`warning: nats-server ${version} is older than ${production}, which production needs`)
}

/** The stream as it is kept, and whether JetStream can store events. */
export type KeptStream = { check: Check; close(): Promise<void> }

/** Keeps the stream and its consumers until it is closed. */
export function keepStream(at: StreamAt): KeptStream {
  const nats = connectNats(optionsOf(at))
  const controller = startStreamController({ nats, log: at.journal })
  let workedMs = Number.NEGATIVE_INFINITY
  return {
    async check(startedMs) {
      try {
        await nats.checkStream()
        workedMs = performance.now()
        return undefined
      } catch (error) {
        const failedMs = performance.now() - Math.max(startedMs, workedMs)
        if (nats.ready()) return failedMs < unansweredMs ? undefined : checkProblemOf(error)
        return failedMs < unreachedMs ? undefined : 'it takes no connections'
      }
    },
    async close() {
      await controller.close()
      await nats.close()
    },
  }
}

/** Says once in the log when JetStream does not answer and when it does again; for a server that is not ours to restart. */
export function reportStream(
  { check, close }: KeptStream,
  { url, log }: { url: string; log: (line: string) => void },
): KeptStream {
  const stopping = new AbortController()
  const where = `NATS_URL: ${serversOf(url)}`
  void watchHealth(check, {
    everyMs: reportEveryMs,
    signal: stopping.signal,
    onFailing: (problem) => log(`${where}: ${problem}; events wait until it works again`),
    onWorking: () => log(`${where}: JetStream answers again`),
  })
  return {
    check,
    close() {
      stopping.abort()
      return close()
    },
  }
}

function checkProblemOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const code = String((cause as { code?: unknown } | undefined)?.code)
  return code === '404' ? 'the stream is missing' : `JetStream does not answer (${code})`
}

function optionsOf({ url, access, replicas, journal }: StreamAt): NatsOptions {
  return {
    url,
    ...(access !== undefined && { access }),
    name: 'stream-controller',
    log: journal,
    stream: { replicas },
  }
}

/** What is wrong at the servers, and the remedy, by the code of the client library. */
const problems: Record<string, [problem: string, remedy: string]> = {
  CONNECTION_REFUSED: ['nothing listens', 'start NATS there'],
  CONNECTION_TIMEOUT: ['no NATS server answers', 'start one there'],
  TIMEOUT: ['no NATS server answers', 'start one there'],
  ENOTFOUND: ['the name is not known', 'correct it'],
  AUTHORIZATION_VIOLATION: ['the login is refused', 'correct user and password'],
  PERMISSIONS_VIOLATION: ['the login may not make the stream', 'use one that may'],
  SERVER_OPT_NA: ['the server speaks no TLS', 'use nats:// in place of tls://'],
  '503': ['the server has no JetStream', 'start it with "nats-server -js"'],
}

/** Names the servers and never the login. */
function problemOf(code: string, { url, own }: StreamAt & StreamWait): string {
  if (own !== undefined) {
    const known = knownProblem(tailOf(own.logFile), own.dataDir)
    if (known !== undefined) return `nats-server did not start: ${known}`
    return `nats-server does not make the stream (${code}); its log is ${own.logFile}`
  }
  return remedied(problems[code] ?? [`the stream cannot be made (${code})`, 'see its log'], { url })
}

function remedied([problem, remedy]: [string, string], { url }: Pick<StreamAt, 'url'>): string {
  return `NATS_URL: ${problem} at ${serversOf(url)}; ${remedy}, or unset NATS_URL: then a server is started here`
}

function serversOf(url: string): string {
  return url
    .split(',')
    .map((one) => new URL(one).host)
    .join(', ')
}
