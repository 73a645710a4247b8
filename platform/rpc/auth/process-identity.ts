// Loads the identity of a process as its settings say.

import type { Environment } from '#platform/config/setting.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Identity, openIdentity } from './identity.ts'
import { openTls } from './tls.ts'

/** The settings of an identity. */
export interface IdentitySettings {
  payweaveEnv: Environment
  secretsDir: string
  rpcTls: 'off' | 'required'
  tlsDir: string
}

/**
 * Opens what the process signs with and, when mutual TLS is required, its certificates. Throws as `openIdentity` and
 * `openTls` do.
 */
export function processIdentity(name: string, settings: IdentitySettings, log: Logger): Identity {
  const { secretsDir: dir, payweaveEnv } = settings
  const identity = openIdentity({ name, dir, log, bearersExpire: payweaveEnv === 'production' })
  if (settings.rpcTls === 'off') return identity
  return { ...identity, tls: openTls(settings.tlsDir, log) }
}
