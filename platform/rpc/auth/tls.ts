// The certificates of a process, and those of its peers, against which callers are checked.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls'
import { Failure } from '#core/errors/errors.ts'
import { reloadOnChange } from '#platform/process/reload.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { ConnectBy } from '../client/dispatcher.ts'
import type { ServedCall } from '../server/served-call.ts'

/** What new handshakes are made with. Another object means that the files have changed. */
export interface TlsMaterial {
  /** Options for a server, which makes its own context. */
  options: SecureContextOptions
  /** Context for outgoing connections. */
  context: SecureContext
}

/** The certificates of a process, as new as its files. */
export interface MeshTls {
  /** The certificates as the files are now; the same object until they change. */
  current(): TlsMaterial
}

/** The peer of a connection. */
export interface Peer {
  /** Names of processes that its certificate gives it. */
  names: readonly string[]
  validUntilMs: number
}

const files = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const
const connectTimeoutMs = 2_000
const noTicket = 0x4000

/**
 * Opens `tls.crt`, `tls.key` and `ca.crt` in a folder; they are read again when they change. Throws the system's or
 * OpenSSL's error at boot when they are absent or do not belong together.
 */
export function openTls(dir: string, log: Pick<Logger, 'warn'>, now?: () => number): MeshTls {
  const paths = Object.values(files).map((file) => join(dir, file))
  const read = (): TlsMaterial => {
    const options: SecureContextOptions = {
      cert: readFileSync(join(dir, files.cert)),
      key: readFileSync(join(dir, files.key)),
      ca: readFileSync(join(dir, files.ca)),
      minVersion: 'TLSv1.3',
      // No session tickets: a resumed session would skip the check against a changed authority.
      secureOptions: noTicket,
    }
    return { options, context: createSecureContext(options) }
  }
  const timed = now === undefined ? {} : { now }
  return { current: reloadOnChange({ kind: 'certificate', paths, read, log, ...timed }) }
}

/**
 * Makes the TLS options to connect to a process with our certificate and accept only its own. A connection to another
 * process fails with an Error.
 */
export function connectByTls(tls: MeshTls, audience: string): ConnectBy {
  let from: TlsMaterial | undefined
  let made: ReturnType<ConnectBy>
  return () => {
    const material = tls.current()
    if (material === from) return made
    from = material
    made = {
      timeout: connectTimeoutMs,
      secureContext: material.context,
      servername: `payweave-${audience}`,
      maxCachedSessions: 0,
      checkServerIdentity: (_: string, { subjectaltname }: PeerCertificate) => {
        const isIt = namesOf(subjectaltname).includes(audience)
        return isIt ? undefined : new Error(`the other side is not ${audience}`)
      },
    }
    return made
  }
}

const processName = /^(?:DNS:|URI:spiffe:\/\/[^\s"]+\/)payweave-([a-z][a-z0-9-]{0,31})$/

/** The processes that a certificate's subject alternative names stand for. */
export function namesOf(alternativeNames: string | undefined): string[] {
  // A quoted name may contain the separator, so such a list is refused as a whole; our names need no quotes.
  if (alternativeNames === undefined || alternativeNames.includes('"')) return []
  return alternativeNames.split(', ').flatMap((name) => processName.exec(name)?.[1] ?? [])
}

const peerKey = Symbol('peer')

/** Stores the peer's names and expiry with its connection, so that calls need not parse the certificate. */
export function recordPeer(socket: TLSSocket): void {
  const { raw } = socket.getPeerCertificate()
  const certificate = new X509Certificate(raw)
  const peer: Peer = {
    names: namesOf(certificate.subjectAltName),
    validUntilMs: certificate.validToDate.getTime(),
  }
  Object.assign(socket, { [peerKey]: peer })
}

/** The authenticated peer; undefined for a connection without TLS. */
export function peerOf(socket: object): Peer | undefined {
  return (socket as { [peerKey]?: Peer })[peerKey]
}

/**
 * Makes (does not throw) the UNAUTHENTICATED for a call whose connection has no valid certificate of its caller;
 * undefined when it may pass. A stolen token is then of no use without the key of its process.
 */
export function peerRefusal(
  { rpc, caller }: ServedCall,
  peer: Peer | undefined,
  nowMs = Date.now(),
): Failure | undefined {
  if (peer === undefined) return rpc.open ? undefined : refusal('a client certificate is needed')
  if (nowMs > peer.validUntilMs) return refusal('the client certificate has expired')
  if (!rpc.open && caller?.kind === 'service' && !peer.names.includes(caller.name)) {
    return refusal('the client certificate is that of another process')
  }
  return undefined
}

function refusal(message: string): Failure {
  return new Failure('UNAUTHENTICATED', message)
}
