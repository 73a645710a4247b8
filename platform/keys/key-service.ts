// Serves payweave.keys.v1.KeyService for every service whose stored values depend on keys; never returns a key.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ConnectRouter } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import type { Key, KeyState } from '#core/identity/key-ring.ts'
import { KeyService, KeyState as WireState } from '#gen/payweave/keys/v1/keys_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { countPage, type DependantSource } from './dependants.ts'
import { listReaders } from './reader-store.ts'
import { type KeyFiles, type KeyReaders, readerLifeS, startKeyReaders } from './readers.ts'

const states = {
  next: WireState.NEXT,
  current: WireState.CURRENT,
  old: WireState.OLD,
} as const satisfies Record<KeyState, WireState>

/** The keys of a process, and what depends on them. */
export type ProcessKeysOptions = {
  db: Database
  log: Logger
  files: KeyFiles
  /** Stored values by file. */
  dependants: Readonly<Record<string, readonly DependantSource[]>>
  instance?: string
}

/** The keys of a process, for operators. */
export type ProcessKeys = Pick<KeyReaders, 'close'> & {
  /** Adds KeyService. */
  routes(router: ConnectRouter): void
}

/**
 * Begins to record which keys this process has read, and returns the service that shows them and counts what depends on
 * them. The service refuses an unknown file and a bad page token with INVALID_PARAMETER.
 */
export function startProcessKeys(options: ProcessKeysOptions): ProcessKeys {
  const { db, files, dependants } = options
  const readers = startKeyReaders(options)
  return {
    routes(router) {
      router.service(KeyService, {
        async listKeys() {
          await readers.record()
          const all = await listReaders(db, readerLifeS)
          return {
            files: Object.entries(files).map(([name, keys]) => ({
              name,
              keys: keys().keys.map(keyMessage),
              readers: all
                .filter(({ file }) => file === name)
                .map(({ instance, keyIds, seenTime }) => ({
                  instance,
                  keyIds,
                  seenTime: timestampFromDate(seenTime),
                })),
            })),
          }
        },
        async countDependants({ file, pageToken }) {
          const keys = Object.hasOwn(files, file) ? files[file] : undefined
          if (keys === undefined)
            throw invalid('file', `must be of ${Object.keys(files).join(', ')}`)
          return countPage(dependants[file] ?? [], keys(), pageToken)
        },
      })
    },
    close: () => readers.close(),
  }
}

function keyMessage({ keyId, state, makeTime }: Key) {
  return {
    keyId,
    state: states[state],
    ...(makeTime === undefined ? {} : { makeTime: timestampFromDate(makeTime) }),
  }
}
