// Which versions of nats-server are used. Only nats.ts and open.ts import the client library.
import { Failure } from '#core/errors/errors.ts'
import type { Environment } from '#platform/config/setting.ts'

/**
 * The oldest nats-server by environment. Debian 12 ships 2.9.10, whose JetStream stays silent after a full disk until
 * the server is restarted; production therefore needs a version that is maintained.
 */
export const minVersions: Record<Environment, string> = {
  local: '2.9.10',
  sandbox: '2.9.10',
  production: '2.12.0',
}

/**
 * Throws SERVICE_UNAVAILABLE, with both versions in its message, when a server is older than the minimum or reports no
 * version.
 */
export function requireVersion(version: string | undefined, minVersion: string): void {
  if (isAtLeast(version, minVersion)) return
  throw new Failure(
    'SERVICE_UNAVAILABLE',
    `nats-server ${version ?? 'of unknown version'} is older than ${minVersion}`,
  )
}

/**
 * Compares release numbers such as "2.12.15"; a pre-release such as "2.12.0-RC.1" counts as its release. False for a
 * text that is no version.
 */
export function isAtLeast(version: string | undefined, minVersion: string): boolean {
  const found = numbersOf(version ?? '')
  const wanted = numbersOf(minVersion)
  if (found === undefined || wanted === undefined) return false
  const at = wanted.findIndex((number, index) => number !== found[index])
  return at < 0 || (found[at] ?? 0) > (wanted[at] ?? 0)
}

function numbersOf(version: string): number[] | undefined {
  return /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number)
}
