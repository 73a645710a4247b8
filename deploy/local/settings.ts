// The launcher's own settings; those of the parts are checked by the parts themselves at their boot.
import os from 'node:os'
import path from 'node:path'
import { LaunchError } from './launch-error.ts'

/** What `npm start` reads from the environment. */
export type LaunchSettings = {
  environment: 'local' | 'sandbox'
  /** The gateway's public port. */
  port: number
  /** First of the block of ports for everything internal. */
  portBase: number
  /** Absolute. Holds all that outlives a start. */
  dataDir: string
  /** What payers and receivers reach the gateway by. */
  publicBaseUrl: string
  /** Unset: we start a PostgreSQL of our own. */
  databaseUrl?: string
  /** Unset: we start a nats-server of our own. */
  natsUrl?: string
}

/** How many ports from PORT_BASE on are ours. */
export const portBlock = 30

/** Reads and checks the settings; all wrong ones are told at once, before anything is made. */
export function readLaunchSettings(env: NodeJS.ProcessEnv): LaunchSettings {
  const problems: string[] = []
  const port = readPort(env, 'PORT', 8080, problems)
  const portBase = readPort(env, 'PORT_BASE', 7100, problems)
  if (portBase + portBlock > 65_536) {
    problems.push(`PORT_BASE: the ${portBlock} ports from ${portBase} on do not all exist`)
  }
  if (port >= portBase && port < portBase + portBlock) {
    problems.push(
      `PORT: ${port} lies in the block of ${portBlock} ports from PORT_BASE ${portBase} on`,
    )
  }
  const environment = env.PAYWEAVE_ENV || 'local'
  if (environment !== 'local' && environment !== 'sandbox') {
    problems.push(`PAYWEAVE_ENV: npm start runs local or sandbox, not ${environment}`)
  }
  const databaseUrl = readUrl(env, 'DATABASE_URL', ['postgres:', 'postgresql:'], problems)
  const natsUrl = readUrl(env, 'NATS_URL', ['nats:', 'tls:', 'ws:', 'wss:'], problems)
  const publicBaseUrl = readUrl(env, 'PUBLIC_BASE_URL', ['http:', 'https:'], problems)
  if (problems.length > 0) throw new LaunchError(problems.join('\n'))
  return {
    environment: environment === 'sandbox' ? 'sandbox' : 'local',
    port,
    portBase,
    dataDir: readFolder(env.PAYWEAVE_DATA_DIR || '.payweave'),
    publicBaseUrl: (publicBaseUrl ?? `http://127.0.0.1:${port}`).replace(/\/+$/, ''),
    ...(databaseUrl && { databaseUrl }),
    ...(natsUrl && { natsUrl }),
  }
}

function readPort(
  env: NodeJS.ProcessEnv,
  name: string,
  standard: number,
  problems: string[],
): number {
  const text = env[name] || String(standard)
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  problems.push(`${name}: a port from 1 to 65535 is wanted, not ${text}`)
  return standard
}

/** The value itself is never repeated: it may hold a password. */
function readUrl(
  env: NodeJS.ProcessEnv,
  name: string,
  protocols: string[],
  problems: string[],
): string | undefined {
  const text = env[name]
  if (!text) return undefined
  const urls = name === 'NATS_URL' ? text.split(',') : [text]
  const fine = urls.every((url) => protocols.includes(URL.parse(url.trim())?.protocol ?? ''))
  if (!fine) problems.push(`${name}: a URL that starts with ${protocols.join(' or ')}// is wanted`)
  return text
}

function readFolder(text: string): string {
  return path.resolve(text.replace(/^~(?=\/|$)/, os.homedir()))
}
