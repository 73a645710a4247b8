// Reads sessions that are asked for together in one statement: the more there are, the less each costs. It must not judge them.
import { type Database, isRefused } from '#runtime/db.ts'
import { grouped } from '#runtime/grouping.ts'
import { type ResolvedRow, readSessions, type SessionKey } from './resolve-store.ts'

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
export function groupingSessions(db: Database): FindSession {
  return grouped<SessionKey, ResolvedRow[]>({
    mostUnderWay: 2,
    mostInGroup: 32,
    alone: findingSession(db),
    together: (keys) => readSessions(db, keys),
    isOfOne: isRefused,
  })
}
