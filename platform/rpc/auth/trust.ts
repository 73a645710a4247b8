// Reads and writes the trust file: which processes and bearers a process trusts.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isUuid } from '#core/identity/id.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { keyIdOf } from './jwt.ts'

/** An opaque credential of an internal team as the trust file has it, known by its digest only. */
export interface Bearer {
  name: string
  /** SHA-256 of the credential, 64 hex digits. */
  sha256: string
  /** `*`, `pkg.Service/*` or `pkg.Service/Method`. */
  rpcs: string[]
  /** Expiry in ISO 8601 with seconds and zone; absent: never, which production does not trust. */
  expires?: string
  /** The only project that it may act for, a UUID; absent: all. */
  project_id?: string
}

/** A bearer in the form that calls are checked against. */
export type TrustedBearer = Pick<Bearer, 'name' | 'rpcs'> & {
  /** In milliseconds since the epoch. */
  expiresMs?: number
  projectId?: string
}

/** The public keys of every process by name and key id, and the bearers by the digest of their credential. */
export interface Trust {
  issuers: Map<string, Map<string, KeyObject>>
  bearers: Map<string, TrustedBearer>
}

const digestPattern = /^[0-9a-f]{64}$/
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** Names of the files in a process's folder of secrets. */
export const identityFile = 'identity.key'
export const trustFile = 'trust.json'

/**
 * Reads `trust.json`. Throws a ConfigurationError, which does not quote the content, for another form; a SyntaxError
 * when it is not JSON; and the system's error when it is absent.
 */
export function readTrust(dir: string): Trust {
  const parsed: unknown = JSON.parse(readFileSync(join(dir, trustFile), 'utf8'))
  const { issuers, bearers } = (parsed ?? {}) as { issuers?: unknown; bearers?: unknown }
  if (typeof issuers !== 'object' || issuers === null)
    throw new ConfigurationError('trust.json has no issuers')
  return {
    issuers: new Map(Object.entries(issuers).map(([name, pems]) => [name, publicKeys(name, pems)])),
    bearers: new Map(readBearers(bearers ?? [])),
  }
}

function publicKeys(name: string, pems: unknown): Map<string, KeyObject> {
  if (!isTexts(pems))
    throw new ConfigurationError(`trust.json: the keys of ${name} are not a list of texts`)
  const keys = pems.map((pem) => {
    const key = createPublicKey(pem)
    if (key.asymmetricKeyType !== 'ed25519')
      throw new ConfigurationError(`trust.json: ${name} has a foreign key`)
    return key
  })
  return new Map(keys.map((key) => [keyIdOf(key), key]))
}

type Raw = Partial<Record<keyof Bearer, unknown>>

function readBearers(list: unknown): Array<[sha256: string, bearer: TrustedBearer]> {
  if (!Array.isArray(list)) throw new ConfigurationError('trust.json: bearers is not a list')
  return list.map((entry: Raw) => {
    const { name, sha256, rpcs } = entry
    if (typeof name !== 'string' || typeof sha256 !== 'string' || !isTexts(rpcs)) {
      throw new ConfigurationError('trust.json: a bearer lacks name, sha256 or rpcs')
    }
    if (!digestPattern.test(sha256))
      throw new ConfigurationError(`trust.json: sha256 of ${name} is not a digest`)
    return [sha256, { name, rpcs, ...boundsOf(name, entry) }]
  })
}

/**
 * The bounds of a bearer. A bound that cannot be read is an error: without it the bearer could do more than was meant.
 */
function boundsOf(
  name: string,
  { expires, project_id: projectId }: Raw,
): Pick<TrustedBearer, 'expiresMs' | 'projectId'> {
  const expiresMs = expires === undefined ? undefined : readTime(expires)
  if (expiresMs !== undefined && Number.isNaN(expiresMs)) {
    throw new ConfigurationError(
      `trust.json: expires of ${name} is not a time of ISO 8601 with a zone`,
    )
  }
  if (projectId !== undefined && (typeof projectId !== 'string' || !isUuid(projectId))) {
    throw new ConfigurationError(`trust.json: project_id of ${name} is not a UUID`)
  }
  return {
    ...(expiresMs === undefined ? {} : { expiresMs }),
    ...(projectId === undefined ? {} : { projectId: projectId.toLowerCase() }),
  }
}

/** Parses ISO 8601 with seconds and zone into milliseconds since the epoch; NaN for anything else. */
export function readTime(text: unknown): number {
  return typeof text === 'string' && timePattern.test(text) ? Date.parse(text) : Number.NaN
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/**
 * Reads the private key of a process. Throws a ConfigurationError when it is not Ed25519, and the system's or the
 * parser's error when it is absent or malformed.
 */
export function readIdentityKey(dir: string): KeyObject {
  const key = createPrivateKey(readFileSync(join(dir, identityFile)))
  if (key.asymmetricKeyType !== 'ed25519')
    throw new ConfigurationError('identity.key is not an Ed25519 key')
  return key
}

/**
 * Gives each process a new key and a trust file with the keys of all, in `dir/<process>`, readable by the owner only.
 * Replaces what exists. Throws the system's error.
 */
export function writeIdentities(dir: string, processes: string[], bearers: Bearer[] = []): void {
  const issuers: Record<string, string[]> = {}
  for (const name of processes) {
    const key = newIdentityKey()
    issuers[name] = [publicPem(key)]
    mkdirSync(join(dir, name), { recursive: true, mode: 0o700 })
    writePrivate(join(dir, name, identityFile), key)
  }
  for (const name of processes) {
    writePrivate(join(dir, name, trustFile), renderTrust(issuers, bearers))
  }
}

/** A new Ed25519 private key, as PKCS #8 PEM. */
export function newIdentityKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The public key of a private one (PEM), as SPKI PEM. */
export function publicPem(privatePem: string): string {
  return createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString()
}

/** The content of a trust file. */
export function renderTrust(issuers: Record<string, string[]>, bearers: Bearer[]): string {
  return JSON.stringify({ issuers, bearers }, null, 2)
}

function writePrivate(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600 })
  chmodSync(path, 0o600)
}
