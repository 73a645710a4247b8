// Keeps the stream of a local start at its NATS, and says in one line why that cannot be done.
import { setTimeout as sleep } from 'node:timers/promises'
import { connectNats, ensureOnce, type NatsOptions } from '#runtime/events/nats.ts'
import { startStreamController } from '#runtime/events/stream-controller.ts'
import { consumedSubjects, durablesOf } from '#runtime/events/topology.ts'
import type { Logger } from '#runtime/log.ts'
import { LaunchError } from './launch-error.ts'

/** The NATS of a local start, and how the launcher logs in. */
export type StreamAt = Pick<NatsOptions, 'url' | 'access'> & {
  replicas: number
  log: Logger
  /** Aborted when the start is given up. */
  stopping: AbortSignal
}

/** With one attempt that takes its full time after it, within ten seconds. */
const patienceMs = 6_000
const againMs = 250
/** A server that is only starting says these; every other answer stays what it is. */
const passing = new Set(['CONNECTION_REFUSED', 'CONNECTION_TIMEOUT', 'TIMEOUT', '503'])

/**
 * Makes the stream and its consumers, and keeps them until it is closed. Throws a LaunchError within ten seconds when
 * nothing answers, the login is refused, or there is no JetStream.
 */
export async function keepStream(at: StreamAt): Promise<{ close(): Promise<void> }> {
  const { url, access, log } = at
  const options: NatsOptions = {
    url,
    ...(access !== undefined && { access }),
    name: 'stream-controller',
    log,
    stream: { replicas: at.replicas },
  }
  await makeStream(options, at.stopping)
  const nats = connectNats(options)
  const controller = startStreamController({ nats, log })
  return {
    async close() {
      await controller.close()
      await nats.close()
    },
  }
}

async function makeStream(options: NatsOptions, stopping: AbortSignal): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (;;) {
    try {
      return await ensureOnce(options, durablesOf(consumedSubjects))
    } catch (error) {
      stopping.throwIfAborted()
      const code = String((error as { code?: unknown }).code)
      if (passing.has(code) && performance.now() < untilMs) await sleep(againMs)
      else throw new LaunchError(problemOf(code, options.url))
    }
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
function problemOf(code: string, url: string): string {
  const servers = url.split(',').map((one) => new URL(one).host)
  const [problem, remedy] = problems[code] ?? [`the stream cannot be made (${code})`, 'see its log']
  return `NATS_URL: ${problem} at ${servers.join(', ')}; ${remedy}, or unset NATS_URL: then a server is started here`
}
