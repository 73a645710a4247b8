// Gives each service of a local start a role of PostgreSQL that it logs in as.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { connectClient } from '#platform/db/client.ts'
import { scramVerifier } from '#platform/db/login.ts'
import { type SchemaOwner, schemaOwners } from '#platform/db/schemas.ts'
import { changeUrl, firstOf } from '#platform/db/server-urls.ts'
import { LaunchError } from '../preflight/launch-error.ts'
import { newPassword, readOrMakeFile } from '../private-file.ts'
import { secretsFolder } from '../secrets.ts'
import { databaseProblem, noRoles } from './database-errors.ts'

/** The role that a service logs in as. */
export type LoginOf = (service: SchemaOwner) => string

/** The file in a service's folder of secrets that holds the password of its role. */
export function databasePasswordFile(dataDir: string, service: string): string {
  return path.join(secretsFolder(dataDir, service), 'database-password')
}

/** On our own server a service's role logs in itself, as in an installation. */
export const ownLogin: LoginOf = (service) => `payweave_${service}`

/**
 * Roles belong to a whole server, which somebody else's may share between installations: there each database has logins of its
 * own, which take on the service's role.
 */
export function loginOnDatabase(databaseUrl: string): LoginOf {
  const name = decodeURIComponent(firstOf(databaseUrl).pathname.slice(1))
  const suffix = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return (service) => `payweave_${service}_${suffix}`
}

/** The URL by which a role reaches a database; its password is in a file. */
export function urlOfRole(databaseUrl: string, role: string): string {
  return changeUrl(databaseUrl, (url) => {
    url.username = role
    url.password = ''
  })
}

/**
 * Makes the passwords and roles that are missing, and lets each role log in by its password. Throws a LaunchError when the
 * login of the URL may not do that.
 */
export async function prepareLogins(
  databaseUrl: string,
  dataDir: string,
  loginOf: LoginOf,
): Promise<void> {
  const client = await connectClient({ url: databaseUrl }, { application_name: 'payweave start' })
  try {
    const logins = schemaOwners.map((service) => ({ service, login: loginOf(service) }))
    const known = await client.query<{ rolname: string }>(
      'select rolname from pg_roles where rolname = any($1)',
      [logins.map(({ login }) => login)],
    )
    const names = new Set(known.rows.map(({ rolname }) => rolname))
    const statements = logins.flatMap(({ service, login }) => {
      const file = databasePasswordFile(dataDir, service)
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
      const verifier = client.escapeLiteral(scramVerifier(readOrMakeFile(file, newPassword)))
      const role = ownLogin(service)
      return [
        ...(names.has(login) ? [] : [`create role ${login}`]),
        `alter role ${login} login password ${verifier}`,
        ...(login === role ? [] : [`grant ${role} to ${login}`]),
      ]
    })
    // One transaction.
    await client.query(statements.join(';\n'))
  } catch (error) {
    if ((error as { code?: unknown }).code !== '42501') throw error
    throw noRoles(firstOf(databaseUrl).username)
  } finally {
    await client.end()
  }
}

/** Throws a LaunchError when a service would not be let in, by the rules of somebody else's server. */
export async function requireLogin(
  databaseUrl: string,
  dataDir: string,
  loginOf: LoginOf,
): Promise<void> {
  const [service] = schemaOwners
  if (service === undefined) return
  const role = loginOf(service)
  const url = urlOfRole(databaseUrl, role)
  const passwordFile = databasePasswordFile(dataDir, service)
  try {
    const client = await connectClient({ url, passwordFile }, {})
    await client.end()
  } catch (error) {
    throw new LaunchError(
      `DATABASE_URL: the server does not let the role ${role} log in (${databaseProblem(error)}); allow it in ` +
        'pg_hba.conf, or set DATABASE_ROLE_LOGINS=0: all services then share the login of DATABASE_URL',
    )
  }
}
