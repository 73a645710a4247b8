// How a process proves itself to the broker, by its settings; it must not know the client library or connect.
import { readFileSync } from 'node:fs'
import { readPassword } from '#runtime/login.ts'

/** Files that are read at each connection, so that a changed one needs no restart. */
export type NatsAccess = {
  /** Password of the user of the URL, or else of the process's own. */
  passwordFile?: string | undefined
  /** JWT and seed, for a broker in operator mode. */
  credsFile?: string | undefined
  /** Authority of the broker's certificate. */
  caFile?: string | undefined
}

/** The settings of a process that has to do with events. */
export type NatsSettings = {
  natsUrl: string
  natsPasswordFile: string | undefined
  natsCredsFile: string | undefined
  natsCaFile: string | undefined
}

/** What `connectNats` needs of the settings. */
export function natsFrom(settings: NatsSettings) {
  return {
    url: settings.natsUrl,
    access: {
      passwordFile: settings.natsPasswordFile,
      credsFile: settings.natsCredsFile,
      caFile: settings.natsCaFile,
    },
  }
}

/** The password, or none: then the broker refuses and is asked again, by which time the file may be there. */
export function passwordOf(file: string): string {
  try {
    return readPassword(file)
  } catch {
    return ''
  }
}

/** The credentials, or none, as above. */
export function credsOf(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch {
    return new Uint8Array()
  }
}
