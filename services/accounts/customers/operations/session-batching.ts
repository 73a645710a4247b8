// Batches the reads of sessions that arrive together into one statement.

import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused } from '#platform/db/db.ts'
import { type ResolvedRow, readSessions, type SessionKey } from '../store/resolve-store.ts'

/** Reads a session, alone or with others. */
export type FindSession = (key: SessionKey) => Promise<ResolvedRow[]>

/** Makes what reads each session by itself. */
export function findingSession(db: Database): FindSession {
  return async (key) => {
    const [rows = []] = await readSessions(db, [key])
    return rows
  }
}

/** Makes what reads sessions together. Each read begins after it was asked for, so it sees what was committed by then. */
export function batchingSessions(db: Database): FindSession {
  return batched<SessionKey, ResolvedRow[]>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: findingSession(db),
    together: (keys) => readSessions(db, keys),
    isOfOne: isRefused,
  })
}
