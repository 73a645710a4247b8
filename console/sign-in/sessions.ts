// Sessions of people: a random token in the cookie, its hash in the database.
import { randomBytes } from 'node:crypto'
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
  /** Whether its token should be replaced. */
  isDue: boolean
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
      const token = newToken()
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
      return stored && sessionOf(stored)
    },
    /**
     * Replaces the token of a session that is due, so that one which leaked opens the session for a limited time. The one before stays
     * valid for a minute, for requests under way; of two requests at once, one replaces it.
     */
    async rotate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = tokenOf(request)
      const next = newToken()
      if (token === undefined) return
      if (await rotateSession(db, hashToken(token), hashToken(next))) cookie.set(reply, next)
    },
    /** Ends the session of a request. */
    async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = tokenOf(request)
      if (token !== undefined) await deleteSession(db, hashToken(token))
      cookie.remove(reply)
    },
  }
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function sessionOf({ roles, formKey, ...stored }: FoundSession): Session {
  return {
    ...stored,
    // Roles that a later release no longer knows give nothing.
    memberships: roles.map(parseMembership).filter((one) => one !== undefined),
    csrfToken: formKey.toString('base64url'),
  }
}

/** Whether a form comes from a page of this session. */
export function isOwnForm({ csrfToken }: Session, body: unknown): boolean {
  const { form_token: offered } = (body ?? {}) as Record<string, unknown>
  return typeof offered === 'string' && digestsEqual(Buffer.from(offered), Buffer.from(csrfToken))
}
