// Records for the other replicas of a service which keys this process has loaded, for as long as it runs.
import { hostname } from 'node:os'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { forgetReader, noteReader } from './reader-store.ts'

/** A process that is not heard of for so long is taken for dead. */
export const readerLifeS = 60

const lookMs = 1_000
const repeatMs = 20_000

/** Keys of a process by the name of their file. */
export type KeyFiles = Readonly<Record<string, KeySource>>

/** This process among the readers of its keys. */
export type KeyReaders = {
  /** Notes what this process has read by now. */
  note(): Promise<void>
  /** Takes this process off the list. */
  close(): Promise<void>
}

/**
 * Notes what this process reads: at once when a file has changed, which is looked at once a second, and every 20 s. What
 * is stored in a database can be used only by processes that reach it, so that a list in there misses none of them.
 */
export function startKeyReaders(options: {
  db: Database
  files: KeyFiles
  log: Logger
  /** Names one copy of a service. */
  instance?: string
}): KeyReaders {
  const { db, files, log, instance = `${hostname()}/${process.pid}` } = options
  let noted = ''
  let notedMs: number | undefined

  function read(): Map<string, string[]> {
    return new Map(
      Object.entries(files).map(([file, keys]) => [file, keys().keys.map(({ keyId }) => keyId)]),
    )
  }

  async function note(): Promise<void> {
    const now = read()
    await noteReader(db, instance, now)
    noted = JSON.stringify([...now])
    notedMs = performance.now()
  }

  const loop = startLoop({
    kind: 'key readers',
    log,
    pauseMs: lookMs,
    async round() {
      const isDue = notedMs === undefined || performance.now() - notedMs >= repeatMs
      if (isDue || JSON.stringify([...read()]) !== noted) await note()
      return false
    },
  })
  return {
    note,
    async close() {
      await loop.close()
      await forgetReader(db, instance).catch((error: unknown) => {
        // It is taken for dead a minute later.
        log.warn({ err: error, kind: 'key readers' }, 'process stays on the list of key readers')
      })
    },
  }
}
