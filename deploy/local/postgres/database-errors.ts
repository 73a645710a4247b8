// Explains why an external PostgreSQL cannot be used; never shows a password.
import { Client } from 'pg'
import { LaunchError } from '../preflight/launch-error.ts'

/** The oldest that serves many changes of one payment at once: on 15 their statements wait for each other until they time out. */
const minVersion = 16
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

type Facts = { number: string; version: string; may: boolean }
const nothing: Facts = { number: '0', version: '', may: false }

/** That a login may not make the roles of the services. */
export function noRoles(username: string): LaunchError {
  return new LaunchError(
    'DATABASE_URL: the login may not make roles for the services; let it ' +
      `(alter role ${decodeURIComponent(username)} createrole), or make the roles as docs/operate.md says and set ` +
      'DATABASE_ROLE_LOGINS=0',
  )
}

/**
 * Throws a LaunchError unless a PostgreSQL that is new enough answers at the URL within five seconds and, if it is to
 * `makeRoles`, its login may. It names server, database and user, and never the password.
 */
export async function requireDatabase(databaseUrl: string, makeRoles: boolean): Promise<void> {
  const { host, pathname, username } = new URL(databaseUrl)
  const at = `${host}${pathname} as ${username || 'nobody'}`
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<Facts>(
      `select current_setting('server_version_num') as number, current_setting('server_version') as version,
         (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may`,
    )
    const [{ number, version, may } = nothing] = rows
    if (Number(number) < minVersion * 10_000) {
      throw new LaunchError(
        `DATABASE_URL: PostgreSQL ${version} at ${host} is too old; use ${minVersion} or newer, or unset ` +
          'DATABASE_URL: then a server is started here',
      )
    }
    if (makeRoles && !may) throw noRoles(username)
  } catch (error) {
    if (error instanceof LaunchError) throw error
    const [problem, remedy] = problemOf(error)
    throw new LaunchError(
      `DATABASE_URL: ${problem} (${at}); ${remedy}, or unset DATABASE_URL: then a server is started here`,
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
