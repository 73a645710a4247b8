// Batches sessions of one event-loop turn: one statement opens many, and one resolves many.

import { batched, leftOut } from '#platform/db/batcher.ts'
import { type Database, isOfOneItem, isRefused } from '#platform/db/db.ts'
import { type ResolvedRow, readSessions, type SessionKey } from '../store/resolve-store.ts'
import {
  type MatchedAccount,
  openSessionRows,
  type SessionRequest,
} from '../store/session-store.ts'

/** Looks an account up and opens a session for it, alone or with others. */
export type OpenRow = (request: SessionRequest) => Promise<MatchedAccount[]>

/** Makes what opens each session by itself. */
export function openingSession(db: Database): OpenRow {
  return async (request) => {
    const [rows = []] = await openSessionRows(db, [request])
    return rows
  }
}

/** Makes what opens sessions together. One that is refused is refused alone. */
export function batchingOpenings(db: Database): OpenRow {
  return batched<SessionRequest, MatchedAccount[]>({
    maxInFlight: 2,
    maxBatchSize: 64,
    alone: openingSession(db),
    async together(requests) {
      const [first] = requests
      const fitting = new Map(
        requests
          .filter((one) => one.lookupType === first?.lookupType && one.keyId === first.keyId)
          .toReversed()
          .map((one) => [one.requestId ?? one.sessionId, one]),
      )
      const batch = [...fitting.values()]
      const rows = await openSessionRows(db, batch)
      const opened = new Map(batch.map((request, index) => [request, rows[index]]))
      return requests.map((request) => opened.get(request) ?? leftOut)
    },
    isOfOne: isOfOneItem,
  })
}

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
