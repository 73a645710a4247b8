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
  /** The CSRF token of its forms; null until the first rotation, when it is the one of the session's token. */
  formKey: Buffer | null
  /** Whether its token is at least 15 minutes old, so that the next page replaces it. */
  isRotationDue: boolean
}

/** What replaces the token of a session. */
export type Rotation = {
  nextHash: Buffer
  /** The key with which the next token is derived from the previous one. */
  rotationKey: Buffer
  /** The CSRF token of the forms so far. */
  formKey: Buffer
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

/** Lifetime of a token before it is rotated, in seconds. */
const rotateS = 900
/** Validity of the previous token after the first request with the new one, in seconds: for requests in flight. */
const overlapS = 60

// A row has one previous token, so the overlap of that one ends before the next rotation.
const isOld = `rotate_time <= clock_now() - make_interval(secs => ${rotateS})
   and coalesce(previous_until <= clock_now(), previous_hash is null)`
// While previous_until is null, no request has come with the new token: the response with it may be lost.
const hasToken = `(token_hash = $1
   or previous_hash = $1 and (previous_until is null or previous_until > clock_now()))`
const columns = `session_id as "sessionId", person, email, display_name as "displayName", roles,
   form_key as "formKey",
   case when token_hash = $1 then ${isOld} else previous_until is null end as "isRotationDue"`
// A session of the previous release names its person by an address, which another could have.
const isLive = `email is not null and seen_time > clock_now() - make_interval(secs => $2)
   and sign_in_time > clock_now() - make_interval(secs => $3)`

const touchStatement = sql(
  'touch_session',
  `update session set seen_time = clock_now(), previous_until = case
     when token_hash = $1 and previous_hash is not null and previous_until is null
     then clock_now() + make_interval(secs => ${overlapS}) else previous_until end
   where ${hasToken} and ${isLive}
   returning ${columns}`,
)
/** Finds a live session and records that it was used now, and its new token. Locks its row. */
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
  `update session set token_hash = $2, previous_hash = token_hash, previous_until = null,
     rotation_key = $3, form_key = coalesce(form_key, $4), rotate_time = clock_now()
   where token_hash = $1 and ${isOld}
   returning rotation_key as "rotationKey"`,
)
const findRotationStatement = sql(
  'find_rotation',
  `select rotation_key as "rotationKey" from session
   where previous_hash = $1 and previous_until is null`,
)
/**
 * Replaces a token that is due. Returns the rotation key that counts: that of the request which replaced the token first.
 * Undefined when a request has come with the next token already.
 */
export async function rotateSession(
  db: Queryable,
  tokenHash: Buffer,
  { nextHash, rotationKey, formKey }: Rotation,
): Promise<Buffer | undefined> {
  type Row = { rotationKey: Buffer }
  const values = [tokenHash, nextHash, rotationKey, formKey]
  const rotated = await db.row<Row>(rotateStatement, values)
  const found = rotated ?? (await db.row<Row>(findRotationStatement, [tokenHash]))
  return found?.rotationKey
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
/** Deletes up to `limit` sessions that have been idle for `unusedS` seconds; returns how many. Skips locked rows. */
export function deleteOldSessions(db: Queryable, unusedS: number, limit: number): Promise<number> {
  return db.run(deleteOldStatement, [unusedS, limit])
}
