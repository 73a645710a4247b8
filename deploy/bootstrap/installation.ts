// The secrets of a whole installation: makes those that are missing, and rotates keys without a gap; never prints one.

import { hashToken } from '#core/identity/digest.ts'
import { newKey } from '#core/identity/id.ts'
import { natsUsers, portOffsets, storing } from '#platform/config/setting.ts'
import { isConnector } from '#platform/rpc/auth/connector-name.ts'
import {
  type Bearer,
  identityFile,
  newIdentityKey,
  publicPem,
  renderTrust,
  trustFile,
} from '#platform/rpc/auth/trust.ts'
import { newPassword } from '../local/private-file.ts'
import { lastingSecrets, newLastingSecret } from './lasting-secrets.ts'
import { natsPasswordLine } from './nats-passwords.ts'
import { type Vault, VaultError } from './vault.ts'

/** Every process of Payweave with a key of its own. */
const processes = Object.keys(portOffsets)

/** The first operator's bearer, which may call everything. */
export const operatorFile = 'operator/credential'
const operatorName = 'operator'
/** The password by which operators look at NATS. */
const operatorNatsFile = 'operator/nats-password'
const namePattern = /^[a-z][a-z0-9-]{0,31}$/

/** What a bearer may do, and until when. */
export type BearerTerms = Pick<Bearer, 'rpcs' | 'project_id'> & { expires: string }

const own = (part: string, file: string) => `${part}-secrets/${file}`

/** The processes, and the connectors that were given a key. */
function partsOf(vault: Vault): string[] {
  const connectors = vault.list().flatMap((file) => {
    const [folder = '', name] = file.split('/')
    const part = folder.replace(/-secrets$/, '')
    return name === identityFile && isConnector(part) ? [part] : []
  })
  return [...processes, ...connectors]
}
const nextKey = (part: string) => `rotation/${part}.next.key`
const oldKey = (part: string) => `rotation/${part}.old.pem`
const credentialOf = (name: string) => `bearers/${name}/credential`

/** Creates the secrets that are missing, and a bearer for a new operator that is valid until `expires`. Existing secrets are kept. */
export function makeMissing(vault: Vault, expires: string): void {
  for (const part of processes) vault.keep(own(part, identityFile), newIdentityKey)
  for (const [part, files] of Object.entries(lastingSecrets)) {
    for (const file of files) vault.keep(own(part, file), newLastingSecret)
  }
  makePasswords(vault)
  if (!vault.has(operatorFile)) newOperator(vault, expires)
  writeTrust(vault)
}

/**
 * Gives a connector a key of its own, which all processes trust, and a password for its database. Throws a VaultError for a
 * name that no connector may have.
 */
export function addConnector(vault: Vault, name: string): void {
  if (!isConnector(name))
    throw new VaultError(
      'a connector is named connector- and up to 22 small letters, digits and hyphens',
    )
  vault.keep(own(name, identityFile), newIdentityKey)
  vault.keep(own(name, 'database-password'), newPassword)
  writeTrust(vault)
}

/** The passwords that are missing, and what repeats a password for another reader. */
function makePasswords(vault: Vault): void {
  for (const part of storing) {
    const password = vault.keep(own(part, 'database-password'), newPassword)
    vault.put(`database-logins/${part}`, password)
  }
  vault.keep('postgres-owner/username', () => 'payweave_owner')
  vault.keep('postgres-owner/password', newPassword)
  makeNatsSecrets(vault)
}

/** The addresses of the servers in `deploy/k8s/nats`. */
const natsServers = ['nats-0.nats:6222', 'nats-1.nats:6222', 'nats-2.nats:6222']

/** A password for each user of NATS, and one by which its servers know each other. */
function makeNatsSecrets(vault: Vault): void {
  const lines = natsUsers.map((user) => {
    const file = user === operatorName ? operatorNatsFile : own(user, 'nats-password')
    const password = vault.keep(file, newPassword)
    return natsPasswordLine(user, password)
  })
  vault.put('nats-passwords/passwords.conf', lines.join(''))
  const password = vault.keep('nats-route/password', newPassword)
  const routes = natsServers.map((server) => `"nats://route:${password}@${server}"`)
  vault.put(
    'nats-passwords/routes.conf',
    `authorization { user: route, password: "${password}", timeout: 2 }\nroutes: [${routes.join(', ')}]\n`,
  )
}

/** Everybody's trust follows from the keys and bearers that there are. */
function writeTrust(vault: Vault): void {
  const parts = partsOf(vault)
  const issuers: Record<string, string[]> = {}
  for (const part of parts) {
    issuers[part] = [publicPem(vault.read(own(part, identityFile)))]
    if (vault.has(nextKey(part))) issuers[part].push(publicPem(vault.read(nextKey(part))))
    if (vault.has(oldKey(part))) issuers[part].push(vault.read(oldKey(part)))
  }
  for (const part of parts) vault.put(own(part, trustFile), renderTrust(issuers, vault.bearers))
}

function newOperator(vault: Vault, expires: string): void {
  newBearer(vault, operatorName, operatorFile, { rpcs: ['*'], expires })
}

/** The credential goes to its file; trust files have its digest alone. */
function newBearer(vault: Vault, name: string, file: string, terms: BearerTerms): void {
  const token = newKey('pwo_', 48)
  vault.put(file, token)
  vault.bearers.push({ name, sha256: hashToken(token).toString('hex'), ...terms })
}

/** Gives a team a bearer of its own. Throws a VaultError for a name that is taken or none. */
export function addBearer(vault: Vault, name: string, terms: BearerTerms): void {
  if (!namePattern.test(name) || name === operatorName) {
    throw new VaultError('a bearer is named by up to 32 small letters, digits and hyphens')
  }
  if (!vault.has(operatorFile)) throw new VaultError('there is no installation: bootstrap first')
  if (vault.bearers.some((bearer) => bearer.name === name)) {
    throw new VaultError(`there is a bearer ${name}: revoke it, or take another name`)
  }
  newBearer(vault, name, credentialOf(name), terms)
  writeTrust(vault)
}

/** Ends the bearer of a team. Throws a VaultError when there is none. */
export function revokeBearer(vault: Vault, name: string): void {
  const left = vault.bearers.filter((bearer) => bearer.name !== name)
  if (name === operatorName || left.length === vault.bearers.length) {
    throw new VaultError(`there is no bearer ${name}`)
  }
  vault.bearers = left
  vault.remove(credentialOf(name))
  writeTrust(vault)
}

/** The steps from one key to the next; between two of them every process must have read the files. */
export type Step = 'begin' | 'use' | 'retire'

/** Changes the key by which a process signs. Begin: all trust the next one. Use: it signs. Retire: the old one is forgotten. */
export function rotateIdentity(vault: Vault, part: string, step: Step): void {
  if (!partsOf(vault).includes(part)) throw new VaultError(`there is no process ${part}`)
  const current = own(part, identityFile)
  if (step === 'begin') {
    if (vault.has(nextKey(part))) throw new VaultError(`${part} already has a next key: pass --use`)
    if (vault.has(oldKey(part))) throw new VaultError(`the old key of ${part} waits for --retire`)
    vault.keep(nextKey(part), newIdentityKey)
  } else if (step === 'use') {
    if (!vault.has(nextKey(part))) throw new VaultError(`${part} has no next key: begin first`)
    vault.put(oldKey(part), publicPem(vault.read(current)))
    vault.put(current, vault.read(nextKey(part)))
    vault.remove(nextKey(part))
  } else {
    if (!vault.has(oldKey(part))) throw new VaultError(`${part} has no old key`)
    vault.remove(oldKey(part))
  }
  writeTrust(vault)
}

const passwordFile =
  /^([a-z0-9-]+-secrets\/(database|nats)-password|(postgres-owner|nats-route)\/password|operator\/nats-password)$/

/**
 * Replaces the password in a file such as `payments-secrets/database-password`, and wherever else it is. Throws a
 * VaultError for a file that is no password.
 */
export function rotatePassword(vault: Vault, file: string): void {
  if (!passwordFile.test(file) || !vault.has(file)) {
    throw new VaultError(`there is no password ${file}`)
  }
  vault.put(file, newPassword())
  makePasswords(vault)
}

/** Gives the operator a new bearer until `expires`. The old one works until it is retired. */
export function rotateOperator(vault: Vault, step: Step, expires: string): void {
  const known = vault.bearers.filter(({ name }) => name === operatorName)
  const [old] = known
  if (step === 'use') throw new VaultError('a bearer has no step --use: both bearers are valid')
  if (step === 'begin') {
    if (known.length > 1) throw new VaultError('the old bearer waits for --retire')
    newOperator(vault, expires)
  } else {
    if (known.length < 2) throw new VaultError('there is no old bearer')
    vault.bearers = vault.bearers.filter((bearer) => bearer !== old)
  }
  writeTrust(vault)
}
