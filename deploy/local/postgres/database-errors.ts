// Explains why an external PostgreSQL cannot be used; never shows a password.
import type { Client } from 'pg'
import { connectClient, VersionError } from '#platform/db/client.ts'
import { firstOf, hostsOf } from '#platform/db/server-urls.ts'
import { LaunchError } from '../preflight/launch-error.ts'

const connectTimeoutMs = 5_000

/** What is wrong and the remedy, by SQLSTATE or the code of the network. */
const problems: Record<string, [problem: string, remedy: string]> = {
  ECONNREFUSED: ['nothing listens there', 'start PostgreSQL there'],
  ENOTFOUND: ['the name of the host is not known', 'correct it'],
  EAI_AGAIN: ['the name of the host cannot be looked up', 'correct it'],
  ETIMEDOUT: ['no answer', 'correct the address'],
  ECONNRESET: ['the connection was closed', 'correct the address'],
  '28P01': ['the password is refused', 'correct user and password'],
  '28000': ['the login is refused', 'correct user and password, or allow it in pg_hba.conf'],
  '3D000': ['there is no such database', 'make it with createdb'],
  '57P03': ['the server is starting or stopping', 'start again in a moment'],
  '25006': ['the server is a standby', 'name the primary too'],
  '53300': ['the server has too many connections', 'raise its max_connections'],
}

/** Why a connection failed, in a few words. */
export function databaseProblem(error: unknown): string {
  return problemOf(error)[0]
}

function problemOf(error: unknown): [problem: string, remedy: string] {
  const first = error instanceof AggregateError ? error.errors[0] : error
  const { code, message } = first as { code?: unknown; message?: unknown }
  const known = problems[String(code)]
  if (known !== undefined) return known
  if (message === 'timeout expired') return ['no answer', 'correct the address']
  if (String(message).startsWith('Connection terminated'))
    return ['no PostgreSQL answers', 'correct the address']
  return [String(message), 'correct DATABASE_URL']
}

/** That a login may not make the roles of the services. */
export function noRoles(username: string): LaunchError {
  return new LaunchError(
    'DATABASE_URL: the login may not make roles for the services; let it ' +
      `(alter role ${decodeURIComponent(username)} createrole), or make the roles as docs/operate/README.md says and set ` +
      'DATABASE_ROLE_LOGINS=0',
  )
}

/**
 * Throws a LaunchError unless a PostgreSQL that is new enough answers at the URL and, if it is to `makeRoles`, its login may. Each server
 * has 1.5 s to complete a TCP connection and five to answer. It names server, database and user, and never the password.
 */
export async function requireDatabase(databaseUrl: string, makeRoles: boolean): Promise<void> {
  const { pathname, username } = firstOf(databaseUrl)
  const at = `${hostsOf(databaseUrl)}${pathname} as ${username || 'nobody'}`
  const limits = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: connectTimeoutMs }
  let client: Client | undefined
  try {
    client = await connectClient({ url: databaseUrl }, limits)
    client.on('error', () => undefined)
    const { rows } = await client.query<{ may: boolean }>(
      'select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user',
    )
    if (makeRoles && rows[0]?.may !== true) throw noRoles(username)
  } catch (error) {
    if (error instanceof LaunchError) throw error
    const [problem, remedy] =
      error instanceof VersionError ? [error.message, 'upgrade it'] : problemOf(error)
    throw new LaunchError(
      `DATABASE_URL: ${problem} (${at}); ${remedy}, or unset DATABASE_URL: then a server is started here`,
    )
  } finally {
    await client?.end().catch(() => undefined)
  }
}
