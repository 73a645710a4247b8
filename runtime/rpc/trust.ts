// The trust file: which processes and bearers a process believes; it reads and writes the files and must not decide on calls.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** An opaque credential of an internal team, known by its digest only. */
export interface Bearer {
  name: string
  /** SHA-256 of the credential, 64 hex digits. */
  sha256: string
  /** `*`, `pkg.Service/*` or `pkg.Service/Method`. */
  rpcs: string[]
}

/** The public keys of every process by name, and the bearers by the digest of their credential. */
export interface Trust {
  issuers: Map<string, KeyObject[]>
  bearers: Map<string, Bearer>
}

const digestPattern = /^[0-9a-f]{64}$/

/** Names of the files in a process's folder of secrets. */
export const identityFile = 'identity.key'
export const trustFile = 'trust.json'

/** Reads `trust.json`; throws without quoting the content when it has another form. */
export function readTrust(dir: string): Trust {
  const parsed: unknown = JSON.parse(readFileSync(join(dir, trustFile), 'utf8'))
  const { issuers, bearers } = (parsed ?? {}) as { issuers?: unknown; bearers?: unknown }
  if (typeof issuers !== 'object' || issuers === null) throw new Error('trust.json has no issuers')
  return {
    issuers: new Map(Object.entries(issuers).map(([name, pems]) => [name, publicKeys(name, pems)])),
    bearers: new Map(readBearers(bearers ?? []).map((bearer) => [bearer.sha256, bearer])),
  }
}

function publicKeys(name: string, pems: unknown): KeyObject[] {
  if (!isTexts(pems)) throw new Error(`trust.json: the keys of ${name} are not a list of texts`)
  return pems.map((pem) => {
    const key = createPublicKey(pem)
    if (key.asymmetricKeyType !== 'ed25519')
      throw new Error(`trust.json: ${name} has a foreign key`)
    return key
  })
}

function readBearers(list: unknown): Bearer[] {
  if (!Array.isArray(list)) throw new Error('trust.json: bearers is not a list')
  return list.map((entry: Partial<Record<keyof Bearer, unknown>>) => {
    const { name, sha256, rpcs } = entry
    if (typeof name !== 'string' || typeof sha256 !== 'string' || !isTexts(rpcs)) {
      throw new Error('trust.json: a bearer lacks name, sha256 or rpcs')
    }
    if (!digestPattern.test(sha256))
      throw new Error(`trust.json: sha256 of ${name} is not a digest`)
    return { name, sha256, rpcs }
  })
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** Reads the private key of a process. */
export function readIdentityKey(dir: string): KeyObject {
  const key = createPrivateKey(readFileSync(join(dir, identityFile)))
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('identity.key is not an Ed25519 key')
  return key
}

/**
 * Gives each process a new key and a trust file with the keys of all, in `dir/<process>`, readable by
 * the owner only. What was there is replaced.
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

/** A new private key of a process, PKCS #8 PEM. */
export function newIdentityKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The public key of a private one, SPKI PEM. */
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
