// The keys of a local sandbox that /docs/try-it fills in, so that the first request of a reader succeeds.
import fs from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '#core/text/address.ts'
import type { Environment } from '#platform/config/setting.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'

/** Test keys of the project `demo`. */
export type ViewerKeys = { subscriptionKey: string; apiKey: string }

/** Headers that a proxy adds: a proxy on this machine may forward requests of others. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']
const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/

/** Reads them from a file `sandbox.json`. Throws a ConfigurationError in production, without the file, and for a key that is no test key. */
export function readViewerKeys(
  file: string | undefined,
  environment: Environment,
): ViewerKeys | undefined {
  if (file === undefined) return undefined
  if (environment === 'production') {
    throw new ConfigurationError('DOCS_SANDBOX_FILE must not be set in production')
  }
  try {
    const { demo } = JSON.parse(fs.readFileSync(file, 'utf8')).projects
    const { subscription_key: subscriptionKey, api_key: apiKey } = demo
    if (subscriptionKey.startsWith('pwk_test_')) return { subscriptionKey, apiKey }
  } catch {
    // Reported below, without the content.
  }
  throw new ConfigurationError(`DOCS_SANDBOX_FILE: no test keys of a project demo in ${file}`)
}

/**
 * Whether the connection comes from this machine (`peer`, its remote address), not through a proxy, and the `Host` header names this
 * machine. The header check prevents DNS rebinding: a site whose name resolves to 127.0.0.1 could otherwise read the keys.
 */
export function isFromThisMachine(peer = '', headers: IncomingHttpHeaders = {}): boolean {
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  return isLoopback(peer) && loopbackHost.test(headers.host ?? '')
}
