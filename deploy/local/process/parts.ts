// The processes of a local start that run our code, with the environment of each.
import path from 'node:path'
import { type Env, readSettings } from '#platform/config/config.ts'
import {
  givenText,
  portOffsets,
  type ServingProcess,
  type Setting,
} from '#platform/config/setting.ts'
import { settings as table } from '#platform/config/settings.ts'
import { schemaOwners } from '#platform/db/schemas.ts'
import { natsPasswordFile } from '../nats/users.ts'
import { databasePasswordFile, type LoginOf, urlOfRole } from '../postgres/logins.ts'
import {
  adminPort,
  type LaunchSettings,
  orLaunchError,
  portsOf,
  servingPort,
  simulatorPublicPort,
} from '../settings.ts'

/** A process that runs one of our scripts. */
export type NodePart = {
  name: string
  /** Absolute. */
  script: string
  /** The one for clients first, the one for operators last. */
  ports: number[]
  env: Record<string, string>
  /** All answer 200 when the part is ready. */
  readyUrls: string[]
  /** Time after the request to stop until the part is killed; its work in flight is recovered later. */
  stopWithinMs: number
}

/** The servers that a part may talk to. */
export type Stores = {
  databaseUrl: string
  natsUrl: string
  /** The roles that services log in as, by the passwords of their files. Without it all log in by the URL. */
  loginOf?: LoginOf
  /** Whether each process is a user of NATS by its own name, with the password of its file. */
  natsUsers?: boolean
}

const root = path.resolve(import.meta.dirname, '../../..')

/** The only variables that pass through besides settings: those that Node and TLS need. */
const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS']

/** Every process of ours, in the order in which people read them. */
export const processNames = Object.keys(portOffsets) as ServingProcess[]

/** Groups that stop one after the other: first the parts that accept requests, last their dependencies. */
export const stopOrder: string[][] = [
  ['gateway', 'console'],
  processNames.filter((name) => !['gateway', 'console', 'simulator'].includes(name)),
  ['simulator'],
  ['nats'],
  ['postgres'],
]

/** With NATS (2 s) and PostgreSQL (7 s) the groups of `stopOrder` end within 28 s. */
const stopWithinMs = { gateway: 5_000, console: 5_000, service: 12_000, simulator: 2_000 }

/** The folder of a process in the tree. */
function folderOf(name: ServingProcess): string {
  if (name === 'gateway' || name === 'console') return name
  return path.join(name === 'simulator' ? 'connectors' : 'services', name)
}

/** The parts for some settings. Throws for a bad setting of any part, before anything starts. */
export function nodeParts(settings: LaunchSettings, stores: Stores, env: Env): NodePart[] {
  return processNames.map((name) => {
    const ownEnv = partEnv(name, settings, stores, env)
    orLaunchError(() => readSettings(name, ownEnv))
    const ports = portsOf(settings, name)
    return {
      name,
      script: path.join(root, folderOf(name), 'main.ts'),
      ports,
      env: ownEnv,
      readyUrls: readyPorts(name, ports).map((port) => `http://127.0.0.1:${port}/readyz`),
      stopWithinMs:
        name === 'gateway' || name === 'console' || name === 'simulator'
          ? stopWithinMs[name]
          : stopWithinMs.service,
    }
  })
}

/** The gateway's public port serves the readiness of every part. */
function readyPorts(name: ServingProcess, ports: number[]): number[] {
  return name === 'gateway' ? ports : ports.slice(-1)
}

/** What we decide, over what the person set, over what follows from the block of ports. */
function partEnv(
  name: ServingProcess,
  settings: LaunchSettings,
  stores: Stores,
  env: Env,
): Record<string, string> {
  const { dataDir, portBase, port: gatewayPort, rpcTls } = settings
  const rpcScheme = rpcTls === 'required' ? 'https' : 'http'
  const facts = { process: name, portBase, gatewayPort, dataDir, rpcScheme } as const
  const found: Record<string, string | undefined> = {}
  for (const variable of inherited) found[variable] = env[variable]
  for (const [variable, row] of Object.entries(table) as [string, Setting][]) {
    if (!row.for.includes(name) && !row.optionalFor.includes(name)) continue
    const { local } = row.defaults
    const derived = typeof local === 'function' ? local(facts) : undefined
    found[variable] = givenText(variable, row, env) ?? derived
  }
  const decided = {
    PAYWEAVE_ENV: settings.environment,
    PAYWEAVE_DATA_DIR: dataDir,
    PORT_BASE: String(settings.portBase),
    // Overrides a HOST of the shell: a local start is on loopback, unless LISTEN_ADDRESS is another.
    HOST: settings.listenAddress,
    PORT: String(servingPort(settings, name)),
    ADMIN_PORT: String(adminPort(settings, name)),
    ...(name === 'console' && { CONSOLE_URL: settings.consoleUrl }),
    ...(name === 'simulator' && { CONNECTOR_PUBLIC_PORT: String(simulatorPublicPort(settings)) }),
    SECRETS_DIR: path.join(dataDir, 'secrets', name),
    RPC_TLS: rpcTls,
    TLS_DIR: path.join(dataDir, 'tls', name),
    // No load balancer has to notice that a part stops, and the launcher has migrated.
    DRAIN_S: '0',
    MIGRATE_AT_START: '0',
    // A cache each: at their first start all would replace each other's files, which takes seconds.
    NODE_COMPILE_CACHE: path.join(
      env['NODE_COMPILE_CACHE'] ?? path.join(dataDir, 'compile-cache'),
      name,
    ),
    // V8's threads would keep a pool of memory each; two for all are enough.
    MALLOC_ARENA_MAX: '2',
    ...('DATABASE_URL' in found && databaseEnv(name, dataDir, stores)),
    ...('NATS_URL' in found && natsEnv(name, dataDir, stores)),
  }
  const all = Object.entries({ ...found, ...decided })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => Boolean(entry[1])))
}

/** A service logs in as its own role, and so can take on no other's rights. */
function databaseEnv(
  name: ServingProcess,
  dataDir: string,
  stores: Stores,
): Record<string, string> {
  const { databaseUrl, loginOf } = stores
  const owner = schemaOwners.find((service) => service === name)
  if (loginOf === undefined || owner === undefined) return { DATABASE_URL: databaseUrl }
  return {
    DATABASE_URL: urlOfRole(databaseUrl, loginOf(owner)),
    DATABASE_PASSWORD_FILE: databasePasswordFile(dataDir, owner),
  }
}

function natsEnv(name: ServingProcess, dataDir: string, stores: Stores): Record<string, string> {
  const { natsUrl, natsUsers = false } = stores
  if (!natsUsers) return { NATS_URL: natsUrl }
  const proof = { NATS_PASSWORD_FILE: natsPasswordFile(dataDir, name), NATS_CREDS_FILE: '' }
  // What the person may have set for another server is not for ours.
  return { NATS_URL: natsUrl, NATS_CA_FILE: '', ...proof }
}
