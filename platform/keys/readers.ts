// Records for the other replicas of a service which keys this process has loaded, for as long as it runs.
import { hostname } from 'node:os'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { forgetReader, recordReader } from './reader-store.ts'

/** Seconds without a heartbeat after which a process counts as dead. */
export const readerLifeS = 60

const lookMs = 1_000
const repeatMs = 20_000

/** Keys of a process by the name of their file. */
export type KeyFiles = Readonly<Record<string, KeySource>>

/** This process among the readers of its keys. */
export type KeyReaders = {
  /** Records now what this process has read. Rejects as a Queryable does. */
  record(): Promise<void>
  /** Takes this process off the list. Never rejects. */
  close(): Promise<void>
}

/**
 * Records what this process has read: within a second of a change of its files, and every 20 s. The list is in the
 * service's database because only processes that reach it can use what is stored there, so the list misses none of
 * them.
 */
export function startKeyReaders(options: {
  db: Database
  files: KeyFiles
  log: Logger
  /** Name of this replica; by default host name and process id. */
  instance?: string
}): KeyReaders {
  const { db, files, log, instance = `${hostname()}/${process.pid}` } = options
  let recorded = ''
  let recordedMs: number | undefined

  function read(): Map<string, string[]> {
    return new Map(
      Object.entries(files).map(([file, keys]) => [file, keys().keys.map(({ keyId }) => keyId)]),
    )
  }

  async function write(): Promise<void> {
    const now = read()
    await recordReader(db, instance, now)
    recorded = JSON.stringify([...now])
    recordedMs = performance.now()
  }

  // One at a time: a slow statement with an earlier reading must not overwrite a later one.
  let writing: Promise<void> = Promise.resolve()
  function record(): Promise<void> {
    writing = writing.then(write, write)
    return writing
  }

  const loop = startLoop({
    kind: 'key readers',
    log,
    pauseMs: lookMs,
    async round() {
      const isDue = recordedMs === undefined || performance.now() - recordedMs >= repeatMs
      if (isDue || JSON.stringify([...read()]) !== recorded) await record()
      return false
    },
  })
  return {
    record,
    async close() {
      await loop.close()
      await forgetReader(db, instance).catch((error: unknown) => {
        // It is taken for dead a minute later.
        log.warn({ err: error, kind: 'key readers' }, 'process stays on the list of key readers')
      })
    },
  }
}
