// Reads the secrets of a process from its folder and reloads them on change; never logs or prints a value.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Gauge, type Registry } from 'prom-client'
import {
  type KeyRing,
  KeyRingError,
  type KeySource,
  parseKeyRing,
} from '#core/identity/key-ring.ts'
import type { Logger } from '../telemetry/log.ts'
import { ConfigurationError } from './configuration-error.ts'
import { reloadOnChange } from './reload.ts'

/**
 * Reads the keys in the file `name` of a folder. Throws a ConfigurationError that names the file and never its content,
 * when it cannot be read or has another form.
 */
export function readKeys(dir: string, name: string): KeyRing {
  const path = join(dir, name)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigurationError(`secret file ${path} cannot be read`, { cause })
  }
  try {
    return parseKeyRing(text)
  } catch (error) {
    if (!(error instanceof KeyRingError)) throw error
    throw new ConfigurationError(`secret file ${path} ${error.message}`, { cause: error })
  }
}

/** Which lists of keys a process opens. */
export type KeysOptions<N extends string> = {
  /** Folder of the process's secrets. */
  dir: string
  /** Files in it. */
  names: readonly N[]
  log: Pick<Logger, 'warn'>
  /** Shows each key by id, state and time. */
  metrics?: Registry
  /** Milliseconds since the epoch; a test passes its own clock. */
  now?: () => number
}

/**
 * Opens lists of keys, which are read again within a second of a change of their files. Throws a ConfigurationError at
 * boot when one cannot be read; after boot that is logged and keeps the last good list.
 */
export function openKeys<const N extends string>(options: KeysOptions<N>): Record<N, KeySource> {
  const { dir, names, log, metrics, now } = options
  const sources = Object.fromEntries(
    names.map((name) => [
      name,
      reloadOnChange({
        kind: name,
        paths: [join(dir, name)],
        read: () => readKeys(dir, name),
        log,
        ...(now === undefined ? {} : { now }),
      }),
    ]),
  ) as Record<N, KeySource>
  if (metrics !== undefined) keyMetrics(metrics, sources)
  return sources
}

function keyMetrics(registry: Registry, sources: Record<string, KeySource>): void {
  void new Gauge({
    name: 'payweave_key_made_time_seconds',
    help: 'Unix time at which a key was made, by file, id and state; 0 for a key from before key lists.',
    labelNames: ['file', 'key_id', 'state'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const [file, source] of Object.entries(sources)) {
        for (const { keyId, state, makeTime } of source().keys) {
          this.set({ file, key_id: keyId, state }, (makeTime?.getTime() ?? 0) / 1_000)
        }
      }
    },
  })
}
