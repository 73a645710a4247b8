// Chooses among the servers of the broker: in which order to try them, and when to leave one.
import { isIP } from 'node:net'
import type { Logger } from '#platform/telemetry/log.ts'
import type { BrokerConnection, Connection } from './connection.ts'

/** For this long a server that was left is the last choice; after that, clients spread over all servers again. */
const leftLatelyMs = 30_000
/**
 * Time between two changes of server. During an election no other server does better; one that refuses may be the only
 * such one.
 */
const leaveEveryMs = { silent: 5_000, refusing: 2_000 }
const defaultPort = 4_222

/**
 * Orders the servers to try: at random, and those that were left in the last 30 s at the end, the last one last.
 * `leftMs` has the times by the clock of `performance`.
 */
export function inOrderOfChoice(addresses: URL[], leftMs: ReadonlyMap<string, number>): string[] {
  const nowMs = performance.now()
  return addresses
    .map(({ hostname, port }) => {
      const server = `${hostname}:${port || defaultPort}`
      const atMs = leftMs.get(server) ?? Number.NEGATIVE_INFINITY
      return { server, rank: nowMs - atMs < leftLatelyMs ? atMs : -Math.random() }
    })
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ server }) => server)
}

/**
 * Options of `tls.connect` by which the server's certificate is checked. The library passes no name for a server that
 * it did not look up, and Node.js would then check the address as `localhost`.
 */
export function nameOnCertificate(server: string): { host: string; servername?: string } {
  const host = new URL(`tls://${server}`).hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? { host, servername: host } : { host }
}

/** No server took the connection. Its `errors` say why, one for each server, with `address` as its host and port. */
export class BrokerError extends AggregateError {
  /** The client library's code for the last server. */
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

export interface ServerSwitch<C extends Connection> {
  /**
   * Reports that a server gave no answer. Connects to another, if there is one and this was not done in the last 5 s.
   */
  asSilent(connection: C): void
  /**
   * Reports that a server said that it cannot answer. Connects to another, if there is one and this was not done in the
   * last 2 s.
   */
  asRefusing(connection: C): void
}

/**
 * Decides when to leave a server: one that is cut off from its cluster keeps our connection and can do nothing with the
 * stream.
 */
export function serverSwitch<C extends Connection>(
  broker: BrokerConnection<C>,
  { url, log }: { url: string; log: Logger },
): ServerSwitch<C> {
  let leftMs = Number.NEGATIVE_INFINITY

  function leave(connection: C, everyMs: number): void {
    if (!url.includes(',') || connection.isClosed()) return
    if (performance.now() - leftMs < everyMs) return
    leftMs = performance.now()
    log.warn('broker server abandoned for another')
    broker.leave(connection)
  }

  return {
    asSilent: (connection) => leave(connection, leaveEveryMs.silent),
    asRefusing: (connection) => leave(connection, leaveEveryMs.refusing),
  }
}
