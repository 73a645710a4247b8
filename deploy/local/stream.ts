// Keeps the stream of a local start at its NATS, and says in one line why that cannot be done.
import { setTimeout as sleep } from 'node:timers/promises'
import { connectNats, ensureOnce, type NatsOptions } from '#runtime/events/nats.ts'
import { startStreamController } from '#runtime/events/stream-controller.ts'
import { consumedSubjects, durablesOf } from '#runtime/events/topology.ts'
import type { Logger } from '#runtime/log.ts'
import { LaunchError } from './launch-error.ts'

/** The NATS of a local start, and how the launcher logs in. */
export type StreamAt = Pick<NatsOptions, 'url' | 'access'> & { replicas: number; journal: Logger }

/** With one attempt that takes its full time after it, within ten seconds. */
const patienceMs = 6_000
const againMs = 250
/** A server that is only starting says these; every other answer stays what it is. */
const passing = new Set(['CONNECTION_REFUSED', 'CONNECTION_TIMEOUT', 'TIMEOUT', '503'])

/** How a start waits for the stream. `ownLog` is the log of a server of ours. */
export type StreamWait = { log: (line: string) => void; stopping: AbortSignal; ownLog?: string }

/**
 * Makes the stream and its consumers. Throws a LaunchError within ten seconds when nothing answers, the login is refused, or
 * there is no JetStream.
 */
export async function makeStream(at: StreamAt & StreamWait): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ensureOnce(optionsOf(at), durablesOf(consumedSubjects))
    } catch (error) {
      at.stopping.throwIfAborted()
      const code = String((error as { code?: unknown }).code)
      if (!passing.has(code) || performance.now() >= untilMs)
        throw new LaunchError(problemOf(code, at))
      if (attempt === 1) at.log(`waiting for NATS at ${serversOf(at.url)}`)
      await sleep(againMs)
    }
  }
}

/** Keeps the stream and its consumers until it is closed. */
export function keepStream(at: StreamAt): { close(): Promise<void> } {
  const nats = connectNats(optionsOf(at))
  const controller = startStreamController({ nats, log: at.journal })
  return {
    async close() {
      await controller.close()
      await nats.close()
    },
  }
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
function problemOf(code: string, { url, ownLog }: StreamAt & StreamWait): string {
  if (ownLog !== undefined)
    return `nats-server does not make the stream (${code}); its log is ${ownLog}`
  const [problem, remedy] = problems[code] ?? [`the stream cannot be made (${code})`, 'see its log']
  return `NATS_URL: ${problem} at ${serversOf(url)}; ${remedy}, or unset NATS_URL: then a server is started here`
}

function serversOf(url: string): string {
  return url
    .split(',')
    .map((one) => new URL(one).host)
    .join(', ')
}
