// How a process authenticates to the broker, by its settings.
import { readFileSync } from 'node:fs'
import type { Environment } from '#platform/config/setting.ts'
import { readPassword } from '#platform/db/login.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { minVersions } from './version.ts'

/** Files that are read at each connection, so that a changed one needs no restart. */
export type NatsAccess = {
  /** Password of the user of the URL, or else of the process's own. */
  passwordFile?: string | undefined
  /** JWT and seed, for a broker in operator mode. */
  credsFile?: string | undefined
  /** Authority of the broker's certificate. */
  caFile?: string | undefined
}

/** The settings of a process that connects to the broker. */
export type NatsSettings = {
  payweaveEnv: Environment
  natsUrl: string
  natsPasswordFile: string | undefined
  natsCredsFile: string | undefined
  natsCaFile: string | undefined
}

/** Picks what `connectNats` needs from the settings. */
export function natsFrom(settings: NatsSettings) {
  return {
    url: settings.natsUrl,
    minVersion: minVersions[settings.payweaveEnv],
    access: {
      passwordFile: settings.natsPasswordFile,
      credsFile: settings.natsCredsFile,
      caFile: settings.natsCaFile,
    },
  }
}

/** How a process authenticates at one connection, as its files are now. */
export type NatsProof = { password: string } | { creds: Uint8Array } | undefined

/** Reads the files. Throws a ConfigurationError that names the one that cannot be read or is empty. */
export function readProof({ credsFile, passwordFile }: NatsAccess): NatsProof {
  if (credsFile === undefined) {
    return passwordFile === undefined ? undefined : { password: readPassword(passwordFile) }
  }
  try {
    return { creds: readFileSync(credsFile) }
  } catch (cause) {
    throw new ConfigurationError(`credentials file ${credsFile} cannot be read`, { cause })
  }
}
