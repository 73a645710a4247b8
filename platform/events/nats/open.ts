// Opens a connection to one of the broker's servers: authentication, time limits, the minimum version.
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  usernamePasswordAuthenticator,
} from 'nats'
import { Failure } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { StreamOptions } from '../topology.ts'
import { type NatsAccess, readProof } from './access.ts'
import { BrokerError, inOrderOfChoice, nameOnCertificate } from './servers.ts'
import { minVersions, requireVersion } from './version.ts'

export type NatsOptions = {
  /** One or more URLs, separated by commas; the first one's user and password go for all. */
  url: string
  /** Process name, shown by the broker. */
  name: string
  log: Logger
  access?: NatsAccess
  stream?: Partial<StreamOptions>
  /** The oldest nats-server to be used; `minVersions.local`, if not given. */
  minVersion?: string
}

const dialTimeoutMs = 2_000
/** A frozen server is given up after three pings, before the other servers have elected another leader. */
const pingMs = 1_300

/**
 * Connects to the first server that accepts us and is new enough; each is tried once. Rejects with a BrokerError, whose
 * `code` is that of the last server, with SERVICE_UNAVAILABLE when all servers are older than the minimum version, or
 * with a ConfigurationError when a file cannot be read.
 */
export async function open(
  options: NatsOptions,
  leftMs: ReadonlyMap<string, number>,
): Promise<NatsConnection> {
  const addresses = options.url.split(',').map((address) => new URL(address))
  const proof = proofOf(options, addresses[0])
  const failures: [server: string, error: unknown][] = []
  for (const server of inOrderOfChoice(addresses, leftMs)) {
    try {
      return await openServer(options, proof, addresses, server)
    } catch (error) {
      failures.push([server, error])
    }
  }
  const errors = failures.map(([, error]) => error)
  throw errors.every((error) => error instanceof Failure)
    ? errors.at(-1)
    : new BrokerError(failures)
}

async function openServer(
  options: NatsOptions,
  proof: Partial<ConnectionOptions>,
  addresses: URL[],
  server: string,
): Promise<NatsConnection> {
  const connection = await dial(options, proof, addresses, server)
  try {
    requireVersion(connection.info?.version, options.minVersion ?? minVersions.local)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

function dial(
  options: NatsOptions,
  proof: Partial<ConnectionOptions>,
  addresses: URL[],
  server: string,
): Promise<NatsConnection> {
  const { name, access: { caFile } = {} } = options
  const isSecured = addresses.some(({ protocol }) => protocol === 'tls:')
  return connect({
    servers: [server],
    // Uses the system's resolver. The library's own queries ignore the hosts file and the search domains, so that
    // `nats-0.nats` goes to name servers outside the cluster, which may take seconds.
    resolve: false,
    ...proof,
    ...((isSecured || caFile !== undefined) && {
      tls: { ...nameOnCertificate(server), ...(caFile !== undefined && { caFile }) },
    }),
    inboxPrefix: inboxPrefixOf(name),
    name,
    reconnect: false,
    timeout: dialTimeoutMs,
    pingInterval: pingMs,
    maxPingOut: 2,
    // Keeping a stack trace for every request would cost more than the request.
    noAsyncTraces: true,
  })
}

/** How we authenticate. The user of the URL is passed on because the client library ignores it. */
function proofOf(
  { name, access }: NatsOptions,
  first: URL | undefined,
): Partial<ConnectionOptions> {
  const proof = readProof(access ?? {})
  const user = decodeURIComponent(first?.username ?? '')
  if (proof !== undefined && 'creds' in proof) {
    return { authenticator: credsAuthenticator(proof.creds) }
  }
  if (proof !== undefined) {
    const own = user === '' ? name : user
    return { authenticator: usernamePasswordAuthenticator(own, proof.password) }
  }
  return user === '' ? {} : { user, pass: decodeURIComponent(first?.password ?? '') }
}

/** The prefix of a process's reply subjects, which no other user of the broker may read. */
export function inboxPrefixOf(name: string): string {
  return `_INBOX_${name}`
}
