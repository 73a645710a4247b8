// Opens connections to public addresses only.
import { Resolver } from 'node:dns/promises'
import { performance } from 'node:perf_hooks'
import { buildConnector } from 'undici'
import { isAddress, isLoopback, isPublicAddress } from '#core/text/address.ts'

/** Every address of a name. Throws when it has none. */
export type Resolve = (hostname: string) => Promise<string[]>

/** Which receivers may be reached, and how. */
export interface EgressRule {
  /** Also this machine itself, by literal address or as `localhost`. Never in production. */
  allowLoopback: boolean
  /** Replaces DNS. */
  resolve?: Resolve
  /** Certificates (PEM) to trust instead of the public authorities. */
  trustedCertificates?: string
}

/** Thrown when a receiver's address may not be called. */
export class EgressBlocked extends Error {
  readonly code = 'EGRESS_BLOCKED'
  /** One word for the attempt's row. */
  override readonly cause: 'literal' | 'resolved' | 'peer' | 'url'

  constructor(cause: EgressBlocked['cause']) {
    super(`egress blocked: ${cause}`)
    this.cause = cause
  }
}

/** Facts about a connection, filled in while it is made. */
export interface ConnectionFacts {
  peerAddress?: string
  resolveMs?: number
  /** With the TLS handshake. */
  connectMs?: number
}

const connectTimeoutMs = 10_000

/** A connector for one connection that notes its facts in `facts`. */
export function guardedConnector(
  rule: EgressRule,
  facts: ConnectionFacts,
): buildConnector.connector {
  const base = buildConnector({
    timeout: connectTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 250,
    maxCachedSessions: 0,
    allowH2: false,
    lookup: vettedLookup(rule, facts),
    ...(rule.trustedCertificates === undefined ? {} : { ca: rule.trustedCertificates }),
  })
  return (options, callback) => {
    const host = bareHost(options.hostname)
    // Node never looks a literal up, so the lookup below does not see it.
    if (isAddress(host) && !isAllowed(host, host, rule)) {
      callback(new EgressBlocked('literal'), null)
      return
    }
    const startedAt = performance.now()
    base(options, (error, socket) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      const peer = socket.remoteAddress ?? ''
      if (!isAllowed(peer, host, rule)) {
        socket.destroy()
        callback(new EgressBlocked('peer'), null)
        return
      }
      facts.peerAddress = peer
      facts.connectMs = Math.round(performance.now() - startedAt - (facts.resolveMs ?? 0))
      callback(null, socket)
    })
  }
}

type LookupAnswer = (
  error: Error | null,
  address: string | { address: string; family: number }[],
  family?: number,
) => void

function vettedLookup(rule: EgressRule, facts: ConnectionFacts) {
  return (hostname: string, options: { all?: boolean }, answer: LookupAnswer): void => {
    vettedAddresses(hostname, rule, facts).then(
      ([first, ...others]) =>
        options.all === true
          ? answer(null, [first, ...others])
          : answer(null, first.address, first.family),
      (error: unknown) => answer(error instanceof Error ? error : new Error('not resolved'), []),
    )
  }
}

type Vetted = { address: string; family: 4 | 6 }

/** Resolves a name. If one of its addresses is not public, the name is blocked: a mix of both is a sign of an attack (DNS rebinding). */
async function vettedAddresses(
  hostname: string,
  rule: EgressRule,
  facts: ConnectionFacts,
): Promise<[Vetted, ...Vetted[]]> {
  const host = bareHost(hostname)
  const resolve = rule.resolve ?? resolveByDns
  const startedAt = performance.now()
  const itself = rule.allowLoopback && host === 'localhost'
  const addresses = itself ? ['127.0.0.1', '::1'] : await resolve(hostname)
  facts.resolveMs = Math.round(performance.now() - startedAt)
  const [first, ...others] = addresses.map((address) => {
    if (!isAllowed(address, host, rule)) throw new EgressBlocked('resolved')
    return { address, family: address.includes(':') ? (6 as const) : (4 as const) }
  })
  if (first === undefined) throw new EgressBlocked('resolved')
  return [first, ...others]
}

/** Loopback counts only where the URL itself names it, so that no other name can lead there. */
function isAllowed(ip: string, host: string, rule: EgressRule): boolean {
  if (isPublicAddress(ip)) return true
  return rule.allowLoopback && isLoopback(ip) && (host === 'localhost' || isLoopback(host))
}

function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

const dns = new Resolver({ timeout: 1_500, tries: 2 })

/** Asks DNS only: clients cannot use names from the hosts file of this machine. */
async function resolveByDns(hostname: string): Promise<string[]> {
  const answers = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const [v4] = answers
  if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
  return addresses
}
