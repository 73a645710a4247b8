// Chooses among the servers of the broker: in which order to try them, and when to leave one.
import { isIP } from 'node:net'
import type { Logger } from '#platform/telemetry/log.ts'
import type { BrokerConnection, Link } from './connection.ts'

/** A server that was left is the last choice for so long; after that, clients spread over all again. */
const leftLatelyMs = 30_000
/** A cluster that elects or is down does no better elsewhere; a server that says so itself may be the only one. */
const leaveEveryMs = { silent: 5_000, refusing: 2_000 }
const usualPort = 4_222

/** Any of them, and those that were left lately at the end, the last one last. */
export function inOrderOfChoice(addresses: URL[], leftMs: ReadonlyMap<string, number>): string[] {
  const nowMs = performance.now()
  return addresses
    .map(({ hostname, port }) => {
      const server = `${hostname}:${port || usualPort}`
      const atMs = leftMs.get(server) ?? Number.NEGATIVE_INFINITY
      return { server, rank: nowMs - atMs < leftLatelyMs ? atMs : -Math.random() }
    })
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ server }) => server)
}

/**
 * Options of `tls.connect` by which the certificate is checked. The library knows no name for a server that it did not look
 * up, and Node.js would then check an address as `localhost`.
 */
export function nameOnCertificate(server: string): { host: string; servername?: string } {
  const host = new URL(`tls://${server}`).hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? { host, servername: host } : { host }
}

/** No server took the connection. Its `errors` say why, one for each server, with `address` as its host and port. */
export class BrokerError extends AggregateError {
  /** What the client library said of the last. */
  readonly code: string

  constructor(failures: readonly [server: string, error: unknown][]) {
    super(
      failures.map(([address, cause]) => {
        const { code } = cause as { code?: unknown }
        return Object.assign(new Error('not connected', { cause }), { address, code })
      }),
      'no server of the broker took the connection',
    )
    const [, last] = failures.at(-1) ?? []
    this.code = String((last as { code?: unknown } | undefined)?.code)
  }
}

export interface Leaving<L extends Link> {
  /** It gave no answer. Goes elsewhere, if there is another and this was not done lately. */
  asSilent(link: L): void
  /** It said that it cannot. */
  asRefusing(link: L): void
}

/** A server that is cut off from its cluster keeps our connection, and can do nothing with the stream. */
export function leaving<L extends Link>(
  broker: BrokerConnection<L>,
  { url, log }: { url: string; log: Logger },
): Leaving<L> {
  let leftMs = Number.NEGATIVE_INFINITY

  function leave(link: L, everyMs: number): void {
    if (!url.includes(',') || link.isClosed()) return
    if (performance.now() - leftMs < everyMs) return
    leftMs = performance.now()
    log.warn('broker left for another of its servers')
    broker.leave(link)
  }

  return {
    asSilent: (link) => leave(link, leaveEveryMs.silent),
    asRefusing: (link) => leave(link, leaveEveryMs.refusing),
  }
}
