// Sessions of people: a random token in the cookie, its hash in the database.
import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestsEqual, hashToken } from '#core/identity/digest.ts'
import { randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { formatMembership, type Membership, parseMembership } from '#platform/rpc/auth/roles.ts'
import { type StoredPerson, upsertPerson } from '../store/person-store.ts'
import {
  deleteSession,
  type FoundSession,
  findSession,
  insertSession,
  rotateSession,
  type SessionLimits,
  touchSession,
} from '../store/session-store.ts'
import { ownCookie } from './cookies.ts'

/** A person as the identity provider names them. */
export type SignedIn = StoredPerson & { memberships: Membership[] }

/** Someone at work in the console. */
export type Session = SignedIn & {
  sessionId: string
  /** What every form that changes something has to send. */
  csrfToken: string
  /** Whether its token is at least 15 minutes old, so that the next page replaces it. */
  isRotationDue: boolean
}

/** Begins, finds and ends sessions. */
export type Sessions = ReturnType<typeof openSessions>

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Sessions in a database, by a cookie of the console's origin. */
export function openSessions(db: Database, consoleUrl: string, limits: SessionLimits) {
  const cookie = ownCookie('console', consoleUrl)

  function tokenOf(request: FastifyRequest): string | undefined {
    const token = cookie.read(request)
    return token !== undefined && tokenPattern.test(token) ? token : undefined
  }

  return {
    /** Begins a session under a new token. One that the browser had before ends: nobody else may know the new one. */
    async begin(request: FastifyRequest, reply: FastifyReply, who: SignedIn): Promise<void> {
      const before = tokenOf(request)
      if (before !== undefined) await deleteSession(db, hashToken(before))
      const token = randomBytes(32).toString('base64url')
      const { person, email, displayName } = who
      await upsertPerson(db, { person, email, displayName })
      await insertSession(db, hashToken(token), {
        sessionId: randomId(),
        person,
        email,
        displayName,
        roles: who.memberships.map(formatMembership),
      })
      cookie.set(reply, token)
    },
    /** The live session of a request; undefined for none. `quietly`: its idle time goes on. */
    async find(request: FastifyRequest, quietly = false): Promise<Session | undefined> {
      const token = tokenOf(request)
      if (token === undefined) return undefined
      const look = quietly ? findSession : touchSession
      const stored = await look(db, hashToken(token), limits)
      return stored && sessionOf(stored, token)
    },
    /**
     * Replaces a token that is due, so that one which leaked opens the session for a limited time. The previous one stays valid until a
     * minute after the first request with the new one, for requests in flight. Until that request, each page that is requested with the
     * previous token sets the same new cookie, since the browser may have lost a response.
     */
    async rotate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = tokenOf(request)
      if (token === undefined) return
      const rotationKey = randomBytes(32)
      const key = await rotateSession(db, hashToken(token), {
        nextHash: hashToken(nextToken(rotationKey, token)),
        rotationKey,
        formKey: formKeyOf(token),
      })
      if (key !== undefined) cookie.set(reply, nextToken(key, token))
    },
    /** Ends the session of a request. */
    async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = tokenOf(request)
      if (token !== undefined) await deleteSession(db, hashToken(token))
      cookie.remove(reply)
    },
  }
}

/** The token after one. It takes both the key, which only the database has, and the token, of which that has only the hash. */
function nextToken(rotationKey: Buffer, token: string): string {
  return createHmac('sha256', rotationKey).update(token).digest('base64url')
}

/** The CSRF token until the first rotation, as replicas of the previous release compute it. */
function formKeyOf(token: string): Buffer {
  return createHmac('sha256', token).update('form').digest()
}

function sessionOf({ roles, formKey, ...stored }: FoundSession, token: string): Session {
  return {
    ...stored,
    // Roles that a later release no longer knows give nothing.
    memberships: roles.map(parseMembership).filter((one) => one !== undefined),
    csrfToken: (formKey ?? formKeyOf(token)).toString('base64url'),
  }
}

/** Whether a form comes from a page of this session. */
export function isOwnForm({ csrfToken }: Session, body: unknown): boolean {
  const { form_token: offered } = (body ?? {}) as Record<string, unknown>
  return typeof offered === 'string' && digestsEqual(Buffer.from(offered), Buffer.from(csrfToken))
}
