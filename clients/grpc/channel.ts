// Connections to one address through grpc-js: load balancing, keep-alive and TLS.
import { type ChannelCredentials, type ChannelOptions, Client, credentials } from '@grpc/grpc-js'

/** Certificates, PEM. */
export interface TlsOptions {
  /** Trusted certificate authorities; those of Node.js when not given. */
  ca?: string | Buffer
  /** The client's own certificate with its key. */
  cert?: string | Buffer
  key?: string | Buffer
  /** Name in the certificate of the service, or of each part, when it is not that of the address. */
  serverName?: string | ((part: string) => string)
}

/** How connections are made. */
export interface ChannelSettings {
  /** Set for TLS, which an address that begins with https has in any case. */
  tls?: TlsOptions | true
  /** An idle connection is pinged after `timeMs` and given up when no answer comes within `timeoutMs`. */
  keepAlive?: { timeMs: number; timeoutMs: number } | false
  /** Further options of grpc-js. */
  channelOptions?: ChannelOptions
}

const serviceConfig = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] })
const defaultKeepAlive = { timeMs: 30_000, timeoutMs: 10_000 }

/**
 * Makes a channel, which connects with the first call. Calls are spread over all addresses of a name (round robin).
 * Throws a TypeError for a bad URL and an Error for bad certificates.
 */
export function openChannel(address: string, part: string, settings: ChannelSettings): Client {
  const { target, isSecure } = targetOf(address)
  const { keepAlive = defaultKeepAlive } = settings
  const tls = settings.tls ?? isSecure
  const serverName = serverNameOf(part, tls)
  return new Client(target, tls === false ? credentials.createInsecure() : secured(tls), {
    'grpc.primary_user_agent': 'payweave-client',
    'grpc.service_config': serviceConfig,
    // No TXT record of a name server may change how we call.
    'grpc.service_config_disable_resolution': 1,
    // Short back-off, so that a service that restarts is found again within seconds.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 5_000,
    'grpc.dns_min_time_between_resolutions_ms': 5_000,
    ...(keepAlive !== false && {
      'grpc.keepalive_time_ms': keepAlive.timeMs,
      'grpc.keepalive_timeout_ms': keepAlive.timeoutMs,
      // Pings idle connections too, so that one that a NAT has dropped is noticed before the next call needs it.
      'grpc.keepalive_permit_without_calls': 1,
    }),
    ...(serverName !== undefined && {
      'grpc.ssl_target_name_override': serverName,
      'grpc.default_authority': serverName,
    }),
    ...settings.channelOptions,
  })
}

function serverNameOf(part: string, tls: TlsOptions | boolean): string | undefined {
  if (typeof tls === 'boolean') return undefined
  return typeof tls.serverName === 'function' ? tls.serverName(part) : tls.serverName
}

function secured(tls: TlsOptions | true): ChannelCredentials {
  if (tls === true) return credentials.createSsl()
  return credentials.createSsl(bytes(tls.ca), bytes(tls.key), bytes(tls.cert))
}

function bytes(pem: string | Buffer | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem)
}

/** The target of an address: a URL names host and port; any other text is a target in gRPC's own syntax. */
function targetOf(address: string): { target: string; isSecure: boolean } {
  if (!/^https?:/.test(address)) return { target: address, isSecure: false }
  const { protocol, hostname, port } = new URL(address)
  const isSecure = protocol === 'https:'
  return { target: `dns:///${hostname}:${port || (isSecure ? '443' : '80')}`, isSecure }
}
