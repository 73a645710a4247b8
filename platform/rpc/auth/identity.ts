// Authenticates callers: signs this process's tokens and verifies those of others.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { reloadOnChange } from '#platform/process/reload.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Caller, Person } from '../context.ts'
import { maxTimeoutMs } from '../limits/limits.ts'
import { keyIdOf, readJwt, type SigningKey, signJwt, type UnverifiedJwt } from './jwt.ts'
import { formatMembership, parseMembership } from './roles.ts'
import type { MeshTls } from './tls.ts'
import { identityFile, readIdentityKey, readTrust, type Trust, trustFile } from './trust.ts'

/** Signs the tokens of one process and recognises the callers that it trusts. */
export interface Identity {
  /** Name of this process, the issuer of its tokens and the audience of those it accepts. */
  name: string
  /**
   * The `authorization` value for calls to `audience`, for one project or for none, by a person or by none. It stays valid for a call of
   * `timeoutMs` that arrives near the end of its time, also where the clock of the other side is 5 s ahead.
   */
  authorization(audience: string, projectId?: string, timeoutMs?: number, person?: Person): string
  /**
   * The caller of this `authorization` value; undefined when it is absent, malformed, expired or unknown. Never throws.
   */
  recognise(authorization: string | undefined): Caller | undefined
  /** Whether this is a valid token of a process except that it expired in the last ten minutes. */
  hasExpired(authorization: string | undefined): boolean
  /** Certificates to serve and connect with, when mutual TLS is required. */
  tls?: MeshTls
}

/** What a token of a process claims, beside `sub` (the issuer too) and `iat`. */
interface Claims {
  iss: string
  aud: string
  /** The only project that its calls may act for; absent: all. */
  project_id?: string | undefined
  /** The person for whom the console calls; `roles` in the form of `parseMembership`. */
  person?: { id: string; roles: string[] } | undefined
  /** Seconds since the epoch. */
  exp: number
}

/** The only process whose tokens may name a person. */
const consoleName = 'console'
const lifetimeS = 60
const reuseMs = 30_000
const clockSkewS = 5
/** Lifetime for the longest call, in whole seconds rounded up. */
const maxLifetimeS = maxTimeoutMs / 1_000 + clockSkewS + 1
const expiredLatelyS = 600
const cacheSize = 10_000
const maxTokenLength = 2_048
/** The cache finds a token by its signature: to hash the whole of it takes longer than to compare it. */
const signatureLength = 86
const bearerScheme = /^bearer +(\S+)$/i

interface Options {
  name: string
  /** Folder with `identity.key` and `trust.json`; both are read again when they change. */
  dir: string
  log: Pick<Logger, 'warn'>
  /** Drops bearers without an expiry from the trust file, as production requires. */
  bearersExpire?: boolean
  now?: () => number
}

/**
 * Opens the identity of a process; its files are read again when they change. Throws at boot when a file is absent (the
 * system's error) or malformed (a ConfigurationError, or the parser's error).
 */
export function openIdentity(options: Options): Identity {
  const { name, dir, log, bearersExpire = false, now = Date.now } = options
  const watch = <T>(kind: string, read: () => T) =>
    reloadOnChange({ kind, paths: [join(dir, kind)], read, log, now })
  const key = watch(identityFile, () => {
    const read = readIdentityKey(dir)
    return { key: read, keyId: keyIdOf(read) }
  })
  const trust = watch(trustFile, () => {
    const read = readTrust(dir)
    if (bearersExpire) dropWithoutExpiry(read, log)
    return read
  })
  const recognised = new Map<string, Recognised & { authorization: string }>()
  let recognisedWith = trust()

  return {
    name,
    authorization: issuer(name, key, now),
    recognise(authorization) {
      if (authorization === undefined) return undefined
      const current = trust()
      if (current !== recognisedWith) {
        recognised.clear()
        recognisedWith = current
      }
      const nowMs = now()
      const end = authorization.slice(-signatureLength)
      const cached = recognised.get(end)
      if (cached?.authorization === authorization) {
        if (nowMs < cached.untilMs) return cached.caller
        recognised.delete(end)
        return undefined
      }
      const found = verifyAuthorization(authorization, name, current, nowMs)
      if (found !== undefined) remember(recognised, end, { ...found, authorization })
      return found?.caller
    },
    hasExpired(authorization) {
      const token = tokenIn(credentialOf(authorization), name)
      if (token === undefined) return false
      const expiredS = now() / 1_000 - token.claims.exp
      return expiredS >= 0 && expiredS < expiredLatelyS && isTrusted(token, trust())
    },
  }
}

/** Issues the tokens of a process; one is used again while it lasts. */
function issuer(name: string, key: () => SigningKey, now: () => number): Identity['authorization'] {
  const issued = new Map<string, IssuedToken>()
  let issuedWith = key()
  return (audience, projectId, timeoutMs = 0, person) => {
    const current = key()
    if (current !== issuedWith) {
      issued.clear()
      issuedWith = current
    }
    const scope = scopeOf(audience, projectId, person)
    const cached = issued.get(scope)
    const nowMs = now()
    const neededMs = Math.min(timeoutMs, maxTimeoutMs) + clockSkewS * 1_000
    // A token from before the clock was set back would be refused for lasting too long.
    const isFresh = cached !== undefined && cached.issuedMs <= nowMs && nowMs < cached.reuseUntilMs
    if (isFresh) {
      if (nowMs + neededMs <= cached.expiresMs) return cached.value
    }
    const expS = Math.ceil((nowMs + Math.max(lifetimeS * 1_000, neededMs)) / 1_000)
    const claims = {
      iss: name,
      aud: audience,
      exp: expS,
      project_id: projectId,
      person: claimOf(person),
    }
    const value = `Bearer ${issue(current, claims, nowMs)}`
    remember(issued, scope, {
      value,
      issuedMs: nowMs,
      reuseUntilMs: nowMs + reuseMs,
      expiresMs: expS * 1_000,
    })
    return value
  }
}

/** A caller, until its credential expires. */
interface Recognised {
  caller: Caller
  untilMs: number
}

/** What a token is for. */
function scopeOf(audience: string, projectId = '', person?: Person): string {
  const scope = `${audience} ${projectId}`
  return person === undefined ? scope : `${scope} ${JSON.stringify(claimOf(person))}`
}

function claimOf(person: Person | undefined): Claims['person'] {
  if (person === undefined) return undefined
  return { id: person.id, roles: person.memberships.map(formatMembership) }
}

interface IssuedToken {
  value: string
  issuedMs: number
  reuseUntilMs: number
  expiresMs: number
}

function dropWithoutExpiry({ bearers }: Trust, log: Pick<Logger, 'warn'>): void {
  for (const [digest, { name, expiresMs }] of bearers) {
    if (expiresMs !== undefined) continue
    bearers.delete(digest)
    log.warn({ caller: name }, 'bearer without expiry is not trusted')
  }
}

/** The identity of an operator: calls carry this bearer instead of a process's own tokens. */
export function bearerIdentity(credential: string): Pick<Identity, 'authorization'> {
  return { authorization: () => `Bearer ${credential}` }
}

// A Map keeps the order of insertion, so the oldest entry goes first.
function remember<V>(cache: Map<string, V>, key: string, value: V): void {
  cache.delete(key)
  cache.set(key, value)
  if (cache.size <= cacheSize) return
  const oldest = cache.keys().next()
  if (oldest.done !== true) cache.delete(oldest.value)
}

function issue(key: SigningKey, claims: Claims, nowMs: number): string {
  return signJwt(key, { ...claims, sub: claims.iss, iat: Math.floor(nowMs / 1_000) })
}

/** The credential of an `authorization` value; undefined for none. */
function credentialOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > maxTokenLength) return undefined
  return bearerScheme.exec(authorization)?.[1]
}

function verifyAuthorization(
  authorization: string,
  audience: string,
  trust: Trust,
  nowMs: number,
): Recognised | undefined {
  const credential = credentialOf(authorization)
  if (credential === undefined) return undefined
  // Looked up by digest: the timing reveals nothing about the credential.
  const bearer = trust.bearers.get(createHash('sha256').update(credential).digest('hex'))
  if (bearer === undefined) return verifyToken(credential, audience, trust, nowMs)
  const untilMs = bearer.expiresMs ?? Number.POSITIVE_INFINITY
  return nowMs < untilMs ? { caller: { kind: 'bearer', ...bearer }, untilMs } : undefined
}

function verifyToken(
  credential: string,
  audience: string,
  trust: Trust,
  nowMs: number,
): Recognised | undefined {
  const token = tokenIn(credential, audience)
  if (token === undefined) return undefined
  const { iss, project_id: projectId, exp, person } = token.claims
  const nowS = nowMs / 1_000
  if (exp <= nowS || exp > nowS + maxLifetimeS + clockSkewS) return undefined
  if (!isTrusted(token, trust)) return undefined
  const caller: Caller = { kind: 'service', name: iss }
  if (projectId !== undefined) caller.projectId = projectId
  if (person !== undefined) {
    // A role of a newer release gives nothing here.
    const memberships = person.roles.map(parseMembership).filter((one) => one !== undefined)
    caller.person = { id: person.id, memberships }
  }
  return { caller, untilMs: exp * 1_000 }
}

/** A token of a process for `audience`, before its signature is verified. */
type Token = UnverifiedJwt & { claims: Claims }

function tokenIn(credential: string | undefined, audience: string): Token | undefined {
  const token = credential === undefined ? undefined : readJwt(credential)
  return token !== undefined && isToken(token) && token.claims.aud === audience ? token : undefined
}

function isToken(token: UnverifiedJwt): token is Token {
  const { iss, sub, aud, project_id: projectId, exp, person } = token.claims
  return (
    typeof iss === 'string' &&
    sub === iss &&
    typeof aud === 'string' &&
    typeof exp === 'number' &&
    (projectId === undefined || (typeof projectId === 'string' && projectId !== '')) &&
    (person === undefined || (iss === consoleName && isPerson(person)))
  )
}

function isPerson(claim: unknown): boolean {
  const { id, roles } = (claim ?? {}) as Record<string, unknown>
  const isList = Array.isArray(roles) && roles.every((role) => typeof role === 'string')
  return typeof id === 'string' && id !== '' && isList
}

/** Whether the key that the token names is trusted for its issuer and has signed it. */
function isTrusted({ keyId, claims, isSignedBy }: Token, trust: Trust): boolean {
  const key = trust.issuers.get(claims.iss)?.get(keyId)
  return key !== undefined && isSignedBy(key)
}
