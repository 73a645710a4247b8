// Authenticates callers: signs this process's tokens and verifies those of others.

import { createHash, type KeyObject, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import { reloadOnChange } from '#platform/process/reload.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Caller } from '../context.ts'
import { maxTimeoutMs } from '../limits/limits.ts'
import type { MeshTls } from './tls.ts'
import { identityFile, readIdentityKey, readTrust, type Trust, trustFile } from './trust.ts'

/** Signs the tokens of one process and recognises the callers that it trusts. */
export interface Identity {
  /** Name of this process, the issuer of its tokens and the audience of those it accepts. */
  name: string
  /**
   * The `authorization` value for calls to `audience`, for one project or for none. It stays valid for a call of
   * `timeoutMs` that arrives near the end of its time, also where the clock of the other side is 5 s ahead.
   */
  authorization(audience: string, projectId?: string, timeoutMs?: number): string
  /**
   * The caller of this `authorization` value; undefined when it is absent, malformed, expired or unknown. Never throws.
   */
  recognise(authorization: string | undefined): Caller | undefined
  /** Whether this is a valid token of a process except that it expired in the last ten minutes. */
  hasExpired(authorization: string | undefined): boolean
  /** Certificates to serve and connect with, when mutual TLS is required. */
  tls?: MeshTls
}

interface Claims {
  iss: string
  aud: string
  prj?: string
  /** Seconds since the epoch. */
  exp: number
}

const tokenPrefix = 'pwi1'
const lifetimeS = 60
const reuseMs = 30_000
const clockSkewS = 5
/** Lifetime for the longest call, in whole seconds rounded up. */
const maxLifetimeS = maxTimeoutMs / 1_000 + clockSkewS + 1
const expiredLatelyS = 600
const cacheSize = 10_000
const maxTokenLength = 2_048
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
  const key = watch(identityFile, () => readIdentityKey(dir))
  const trust = watch(trustFile, () => {
    const read = readTrust(dir)
    if (bearersExpire) dropUnending(read, log)
    return read
  })
  const issued = new Map<string, IssuedToken>()
  const recognised = new Map<string, { caller: Caller; untilMs: number }>()
  let issuedWith = key()
  let recognisedWith = trust()

  return {
    name,
    authorization(audience, projectId, timeoutMs = 0) {
      const current = key()
      if (current !== issuedWith) {
        issued.clear()
        issuedWith = current
      }
      const scope = projectId === undefined ? audience : `${audience} ${projectId}`
      const cached = issued.get(scope)
      const nowMs = now()
      const neededMs = Math.min(timeoutMs, maxTimeoutMs) + clockSkewS * 1_000
      if (cached !== undefined && nowMs < cached.reuseUntilMs) {
        if (nowMs + neededMs <= cached.expiresMs) return cached.value
      }
      const expS = Math.ceil((nowMs + Math.max(lifetimeS * 1_000, neededMs)) / 1_000)
      const value = `Bearer ${issue(name, audience, projectId, current, expS)}`
      remember(issued, scope, {
        value,
        reuseUntilMs: nowMs + reuseMs,
        expiresMs: expS * 1_000,
      })
      return value
    },
    recognise(authorization) {
      if (authorization === undefined) return undefined
      const current = trust()
      if (current !== recognisedWith) {
        recognised.clear()
        recognisedWith = current
      }
      const nowMs = now()
      const cached = recognised.get(authorization)
      if (cached !== undefined) {
        if (nowMs < cached.untilMs) return cached.caller
        recognised.delete(authorization)
        return undefined
      }
      const found = verifyAuthorization(authorization, name, current, nowMs)
      if (found !== undefined) remember(recognised, authorization, found)
      return found?.caller
    },
    hasExpired(authorization) {
      const token = credentialOf(authorization)
      const claims = token === undefined ? undefined : claimsOf(token, name)
      if (token === undefined || claims === undefined) return false
      const expiredS = now() / 1_000 - claims.exp
      return expiredS >= 0 && expiredS < expiredLatelyS && isSigned(token, claims.iss, trust())
    },
  }
}

interface IssuedToken {
  value: string
  reuseUntilMs: number
  expiresMs: number
}

function dropUnending({ bearers }: Trust, log: Pick<Logger, 'warn'>): void {
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

function issue(
  issuer: string,
  audience: string,
  projectId: string | undefined,
  key: KeyObject,
  expS: number,
): string {
  const claims: Claims = {
    iss: issuer,
    aud: audience,
    ...(projectId === undefined ? {} : { prj: projectId }),
    exp: expS,
  }
  const signed = `${tokenPrefix}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
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
): { caller: Caller; untilMs: number } | undefined {
  const credential = credentialOf(authorization)
  if (credential === undefined) return undefined
  if (credential.startsWith(`${tokenPrefix}.`)) {
    return verifyToken(credential, audience, trust, nowMs)
  }
  // Looked up by digest: the timing reveals nothing about the credential.
  const bearer = trust.bearers.get(createHash('sha256').update(credential).digest('hex'))
  const untilMs = bearer?.expiresMs ?? Number.POSITIVE_INFINITY
  if (bearer === undefined || nowMs >= untilMs) return undefined
  return { caller: { kind: 'bearer', ...bearer }, untilMs }
}

function verifyToken(
  token: string,
  audience: string,
  trust: Trust,
  nowMs: number,
): { caller: Caller; untilMs: number } | undefined {
  const claims = claimsOf(token, audience)
  if (claims === undefined) return undefined
  const nowS = nowMs / 1_000
  if (claims.exp <= nowS || claims.exp > nowS + maxLifetimeS + clockSkewS) return undefined
  if (!isSigned(token, claims.iss, trust)) return undefined
  const caller: Caller = { kind: 'service', name: claims.iss }
  if (claims.prj !== undefined) caller.projectId = claims.prj
  return { caller, untilMs: claims.exp * 1_000 }
}

/** What a token for `audience` claims, before its signature is verified. */
function claimsOf(token: string, audience: string): Claims | undefined {
  const [prefix, payload, signature, ...rest] = token.split('.')
  if (prefix !== tokenPrefix || payload === undefined) return undefined
  if (signature === undefined || rest.length > 0) return undefined
  const claims = readClaims(payload)
  return claims?.aud === audience ? claims : undefined
}

/** Whether a process that is trusted under this name has signed the token. */
function isSigned(token: string, issuer: string, trust: Trust): boolean {
  const end = token.lastIndexOf('.')
  const signed = Buffer.from(token.slice(0, end))
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  const keys = trust.issuers.get(issuer) ?? []
  return keys.some((key) => verify(null, signed, key, signature))
}

function readClaims(payload: string): Claims | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(payload, 'base64url').toString())
  } catch {
    return undefined
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined
  const { iss, aud, prj, exp } = parsed as Record<string, unknown>
  if (typeof iss !== 'string' || typeof aud !== 'string' || typeof exp !== 'number')
    return undefined
  if (prj === undefined) return { iss, aud, exp }
  return typeof prj === 'string' && prj !== '' ? { iss, aud, exp, prj } : undefined
}
