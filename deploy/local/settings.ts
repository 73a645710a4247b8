// The launcher's own settings, the data folder and the block of ports.
import path from 'node:path'
import { type Env, readSettings } from '#platform/config/config.ts'
import {
  portOffsets,
  type ServingProcess,
  simulatorPublicOffset,
} from '#platform/config/setting.ts'
import type { ForwardTarget } from './forward.ts'
import { LaunchError } from './preflight/launch-error.ts'

/** What `npm start` reads from the environment. */
export type LaunchSettings = {
  environment: 'local' | 'sandbox'
  /** The gateway's public port. */
  port: number
  /** Where people reach the console. */
  consolePort: number
  /** The address of the console that its identity provider leads back to. */
  consoleUrl: string
  /** Whether people sign in with an identity provider, and not as people of the sandbox. */
  hasIdentityProvider: boolean
  /** Where our processes listen. */
  listenAddress: '127.0.0.1' | '0.0.0.0'
  /** Ports of loopback that lead to other machines. */
  forwardTo: readonly ForwardTarget[]
  /** First of the block of ports for everything internal. */
  portBase: number
  /** Absolute. Holds all that outlives a start. */
  dataDir: string
  /** What payers and clients reach the gateway by. */
  publicBaseUrl: string
  /** Undefined: we start a PostgreSQL of our own. */
  databaseUrl: string | undefined
  /** Undefined: we start a nats-server of our own. */
  natsUrl: string | undefined
  /** Whether the services log in to the given database as roles of their own; they always do to ours. */
  databaseRoleLogins: boolean
  /** How the launcher proves itself to the given NATS, beside the user of its URL. */
  natsPasswordFile: string | undefined
  natsCredsFile: string | undefined
  natsCaFile: string | undefined
  /** Copies of the stream of events. */
  natsReplicas: number
  /** Whether the parts speak mutual TLS, by certificates that we make. */
  rpcTls: 'off' | 'required'
}

/** The console has the port after them, unless the API has it. */
const portBlock = 22

/** Reads and checks the settings; reports all wrong ones at once, before anything is made. */
export function readLaunchSettings(env: Env): LaunchSettings {
  // A default of the hosted environments would be a name that this machine does not know.
  const port = env['PORT'] || '8080'
  const ownUrl = /^\d{1,5}$/.test(port) ? `http://127.0.0.1:${port}` : undefined
  const publicBaseUrl = env['PUBLIC_BASE_URL'] || ownUrl
  const given = { ...env, PORT: port, PUBLIC_BASE_URL: publicBaseUrl }
  const read = orLaunchError(() => readSettings('launcher', given))
  if (read.payweaveEnv === 'production') {
    throw new LaunchError('PAYWEAVE_ENV: npm start runs local or sandbox, never production')
  }
  if (read.port === 0) throw new LaunchError('PORT: npm start wants a port of its own, not 0')
  if (read.port >= read.portBase && read.port < read.portBase + portBlock) {
    throw new LaunchError(
      `PORT: ${read.port} lies in the block of ${portBlock} ports from PORT_BASE (${read.portBase}) on`,
    )
  }
  return {
    environment: read.payweaveEnv,
    port: read.port,
    consolePort: read.consolePort,
    consoleUrl: env['CONSOLE_URL'] || `http://127.0.0.1:${read.consolePort}`,
    hasIdentityProvider: Boolean(env['OIDC_ISSUER']),
    listenAddress: read.listenAddress,
    forwardTo: read.forwardTo,
    portBase: read.portBase,
    dataDir: path.resolve(read.payweaveDataDir),
    publicBaseUrl: read.publicBaseUrl,
    databaseUrl: read.databaseUrl,
    natsUrl: read.natsUrl,
    databaseRoleLogins: read.databaseRoleLogins,
    natsPasswordFile: read.natsPasswordFile,
    natsCredsFile: read.natsCredsFile,
    natsCaFile: read.natsCaFile,
    natsReplicas: read.natsReplicas,
    rpcTls: read.rpcTls,
  }
}

/** Runs a check of settings; its errors are shown to the person who starts. */
export function orLaunchError<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw new LaunchError(error instanceof Error ? error.message : String(error))
  }
}

type Ports = Pick<LaunchSettings, 'port' | 'consolePort' | 'portBase'>

/** Where a process serves: the gateway its API, the console its pages, the others their RPCs. */
export function servingPort(ports: Ports, name: ServingProcess): number {
  if (name === 'gateway') return ports.port
  return name === 'console' ? ports.consolePort : ports.portBase + portOffsets[name]
}

/** Where the simulator serves its pages and receivers. */
export function simulatorPublicPort({ portBase }: Pick<Ports, 'portBase'>): number {
  return portBase + simulatorPublicOffset
}

/** All ports of a process of ours: first the one for clients, last the one for operators. */
export function portsOf(ports: Ports, name: ServingProcess): number[] {
  const between = name === 'simulator' ? [simulatorPublicPort(ports)] : []
  return [servingPort(ports, name), ...between, adminPort(ports, name)]
}

/** Where a process serves its health and metrics. */
export function adminPort({ portBase }: Pick<Ports, 'portBase'>, name: ServingProcess): number {
  return portBase + 10 + portOffsets[name]
}

/** The port of our own PostgreSQL. */
export function postgresPort({ portBase }: Ports): number {
  return portBase + 20
}

/** The port of our own nats-server. */
export function natsPort({ portBase }: Ports): number {
  return portBase + 21
}
