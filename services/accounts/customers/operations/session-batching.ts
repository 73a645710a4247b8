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

/** Creates a session opener that runs one statement for each session. */
export function openingSession(db: Database): OpenRow {
  return async (request) => {
    const [rows = []] = await openSessionRows(db, [request])
    return rows
  }
}

/** Creates a session opener that batches concurrent requests into one statement. A refused request does not fail the others. */
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

/** Creates a session reader that runs one statement for each session. */
export function findingSession(db: Database): FindSession {
  return async (key) => {
    const [rows = []] = await readSessions(db, [key])
    return rows
  }
}

/** Creates a session reader that batches concurrent reads. A batch starts after its requests arrived, so it sees all commits before them. */
export function batchingSessions(db: Database): FindSession {
  return batched<SessionKey, ResolvedRow[]>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: findingSession(db),
    together: (keys) => readSessions(db, keys),
    isOfOne: isRefused,
  })
}
