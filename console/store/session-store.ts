// Statements on sessions of people.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { StoredPerson } from './person-store.ts'

/** Someone at work. */
export type StoredSession = StoredPerson & {
  sessionId: string
  roles: string[]
}

/** A session as it is found. */
export type FoundSession = StoredSession & {
  /** What its forms have to send. */
  formKey: Buffer
  /** Whether its token is as old as tokens get. */
  isDue: boolean
}

/** How long a session lasts. */
export type SessionLimits = { idleS: number; lifetimeS: number }

const insertStatement = sql(
  'insert_session',
  `insert into session (token_hash, session_id, person, email, display_name, roles)
   values ($1, $2, $3, $4, $5, $6)`,
)
/** Inserts a session under the hash of its token. */
export async function insertSession(
  db: Queryable,
  tokenHash: Buffer,
  { sessionId, person, email, displayName, roles }: StoredSession,
): Promise<void> {
  await db.run(insertStatement, [tokenHash, sessionId, person, email, displayName, roles])
}

/** A token is replaced after so long, seconds. */
const rotateS = 900
/** Requests under way have the token before, seconds. */
const overlapS = 60

const isOld = `rotate_time <= clock_now() - make_interval(secs => ${rotateS})`
const hasToken = `(token_hash = $1
   or previous_hash = $1 and rotate_time > clock_now() - make_interval(secs => ${overlapS}))`
const columns = `session_id as "sessionId", person, email, display_name as "displayName", roles,
   form_key as "formKey", token_hash = $1 and ${isOld} as "isDue"`
// A session of the version before names its person by an address, which another could have.
const isLive = `email is not null and seen_time > clock_now() - make_interval(secs => $2)
   and sign_in_time > clock_now() - make_interval(secs => $3)`

const touchStatement = sql(
  'touch_session',
  `update session set seen_time = clock_now() where ${hasToken} and ${isLive}
   returning ${columns}`,
)
/** Finds a live session and notes that it was used now. Locks its row. */
export function touchSession(
  db: Queryable,
  tokenHash: Buffer,
  { idleS, lifetimeS }: SessionLimits,
): Promise<FoundSession | undefined> {
  return db.row(touchStatement, [tokenHash, idleS, lifetimeS])
}

const findStatement = sql(
  'find_session',
  `select ${columns} from session where ${hasToken} and ${isLive}`,
)
/** Finds a live session without prolonging it: an open page is no sign of a person. Locks nothing. */
export function findSession(
  db: Queryable,
  tokenHash: Buffer,
  { idleS, lifetimeS }: SessionLimits,
): Promise<FoundSession | undefined> {
  return db.row(findStatement, [tokenHash, idleS, lifetimeS])
}

const rotateStatement = sql(
  'rotate_session',
  `update session set token_hash = $2, previous_hash = token_hash, rotate_time = clock_now()
   where token_hash = $1 and ${isOld}`,
)
/** Replaces the token of a session that is due; false when another request has. */
export async function rotateSession(
  db: Queryable,
  tokenHash: Buffer,
  nextHash: Buffer,
): Promise<boolean> {
  return (await db.run(rotateStatement, [tokenHash, nextHash])) > 0
}

const deleteStatement = sql(
  'delete_session',
  'delete from session where token_hash = $1 or previous_hash = $1',
)
/** Ends a session; ending it again changes nothing. */
export async function deleteSession(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db.run(deleteStatement, [tokenHash])
}

const deleteOldStatement = sql(
  'delete_old_sessions',
  `delete from session where token_hash = any (array(
     select token_hash from session
     where seen_time < clock_now() - make_interval(secs => $1)
     order by seen_time limit $2 for update skip locked))`,
)
/** Deletes sessions that nobody used for so long; returns how many. Skips rows that others hold. */
export function deleteOldSessions(db: Queryable, unusedS: number, limit: number): Promise<number> {
  return db.run(deleteOldStatement, [unusedS, limit])
}
