// Proves who calls: signs this process's tokens and reads those of others; it must not decide what a caller may do.

import { createHash, type KeyObject, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from '#runtime/log.ts'
import { watched } from '#runtime/watched.ts'
import type { Caller } from './context.ts'
import type { MeshTls } from './tls.ts'
import { identityFile, readIdentityKey, readTrust, type Trust, trustFile } from './trust.ts'

/** Signs for one process and recognises everybody whom it trusts. */
export interface Identity {
  /** Name of this process, the issuer of its tokens and the audience of those it accepts. */
  name: string
  /** The `authorization` value for calls to `audience`, for one project or for none. */
  authorization(audience: string, projectId?: string): string
  /** Who sent this `authorization` value; undefined when it is absent, malformed, expired or unknown. */
  recognise(authorization: string | undefined): Caller | undefined
  /** What it serves and connects with when mutual TLS is required. */
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
const cacheSize = 10_000
const maxTokenLength = 2_048
const bearerScheme = /^bearer +(\S+)$/i

interface Options {
  name: string
  /** Folder with `identity.key` and `trust.json`; both are read again when they change. */
  dir: string
  log: Pick<Logger, 'warn'>
  /** Trusts no bearer that never expires. */
  bearersExpire?: boolean
  now?: () => number
}

/** Opens the identity of a process; throws at boot when a file is absent or malformed. */
export function openIdentity(options: Options): Identity {
  const { name, dir, log, bearersExpire = false, now = Date.now } = options
  const watch = <T>(kind: string, read: () => T) =>
    watched({ kind, paths: [join(dir, kind)], read, log, now })
  const key = watch(identityFile, () => readIdentityKey(dir))
  const trust = watch(trustFile, () => {
    const read = readTrust(dir)
    if (bearersExpire) dropUnending(read, log)
    return read
  })
  const issued = new Map<string, { value: string; reuseUntilMs: number }>()
  const recognised = new Map<string, { caller: Caller; untilMs: number }>()
  let issuedWith = key()
  let recognisedWith = trust()

  return {
    name,
    authorization(audience, projectId) {
      const current = key()
      if (current !== issuedWith) {
        issued.clear()
        issuedWith = current
      }
      const scope = projectId === undefined ? audience : `${audience} ${projectId}`
      const cached = issued.get(scope)
      const nowMs = now()
      if (cached !== undefined && nowMs < cached.reuseUntilMs) return cached.value
      const value = `Bearer ${issue(name, audience, projectId, current, nowMs)}`
      remember(issued, scope, { value, reuseUntilMs: nowMs + reuseMs })
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
  }
}

function dropUnending({ bearers }: Trust, log: Pick<Logger, 'warn'>): void {
  for (const [digest, { name, expiresMs }] of bearers) {
    if (expiresMs !== undefined) continue
    bearers.delete(digest)
    log.warn({ caller: name }, 'bearer without expiry is not trusted')
  }
}

/** Calls with a bearer that an operator holds, instead of a process's own tokens. */
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
  nowMs: number,
): string {
  const claims: Claims = {
    iss: issuer,
    aud: audience,
    ...(projectId === undefined ? {} : { prj: projectId }),
    exp: Math.floor(nowMs / 1_000) + lifetimeS,
  }
  const signed = `${tokenPrefix}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}

function verifyAuthorization(
  authorization: string,
  audience: string,
  trust: Trust,
  nowMs: number,
): { caller: Caller; untilMs: number } | undefined {
  if (authorization.length > maxTokenLength) return undefined
  const credential = bearerScheme.exec(authorization)?.[1]
  if (credential === undefined) return undefined
  if (credential.startsWith(`${tokenPrefix}.`)) {
    return verifyToken(credential, audience, trust, nowMs)
  }
  // Looked up by digest: how long that takes tells nothing about the credential.
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
  const [prefix, payload, signature, ...rest] = token.split('.')
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  const claims = readClaims(payload)
  if (claims === undefined || claims.aud !== audience) return undefined
  const nowS = nowMs / 1_000
  if (claims.exp <= nowS || claims.exp > nowS + lifetimeS + clockSkewS) return undefined
  const signed = Buffer.from(`${prefix}.${payload}`)
  const bytes = Buffer.from(signature, 'base64url')
  const keys = trust.issuers.get(claims.iss) ?? []
  if (!keys.some((key) => verify(null, signed, key, bytes))) return undefined
  const caller: Caller = { kind: 'service', name: claims.iss }
  if (claims.prj !== undefined) caller.projectId = claims.prj
  return { caller, untilMs: claims.exp * 1_000 }
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
