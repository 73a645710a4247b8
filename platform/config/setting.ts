// The type of a row of the settings table, and the defaults that rows share.
import type { Reader } from './values.ts'

export const environments = ['local', 'sandbox', 'production'] as const
export type Environment = (typeof environments)[number]

/**
 * Port offsets of servers in the local block: RPC at PORT_BASE + n, admin at PORT_BASE + 10 + n. The simulator's
 * public port has an offset of its own, PostgreSQL has 20, NATS 21 and the pages of the console 22.
 */
export const portOffsets = {
  gateway: 0,
  payments: 1,
  accounts: 2,
  institution: 3,
  quotes: 4,
  billing: 5,
  delivery: 6,
  simulator: 7,
  console: 9,
} as const

/** Port offset of the simulator's pages and receivers. */
export const simulatorPublicOffset = 8

/** Port offset of the console's pages, the last of the block. */
const consoleOffset = 22

export type ServingProcess = keyof typeof portOffsets
/**
 * A process that reads settings: a server, the stream controller, the migration job or the launcher of the local start.
 */
export type ProcessName = ServingProcess | 'stream-controller' | 'migrate' | 'launcher'

/** Facts from which a default may be computed. */
export type Facts = {
  process: ProcessName
  portBase: number
  gatewayPort: number
  dataDir: string
  /** By RPC_TLS. */
  rpcScheme: 'http' | 'https'
}

type Default = string | undefined | ((facts: Facts) => string)

/** A default per environment; undefined means that the setting must be given. */
export type Defaults = { local: Default; sandbox: Default; production: Default }

export type Setting<T = unknown, P extends string = string, Q extends string = string> = {
  /** The processes that require it. */
  for: readonly P[]
  /** The processes for which it is optional. */
  optionalFor: readonly Q[]
  reader: Reader<T>
  defaults: Defaults
  meaning: string
  secret: boolean
  /** Its old name, which is read for one version more. */
  formerly: string | undefined
}

type SettingRow<T, P extends ProcessName, Q extends ProcessName> = {
  for: readonly P[]
  optionalFor?: readonly Q[]
  reader: Reader<T>
  /** One text for all environments, or one each. */
  default: string | Defaults
  meaning: string
  secret?: true
  formerly?: string
}

/** Declares a row of the table. */
export function setting<T, const P extends ProcessName, const Q extends ProcessName = never>(
  row: SettingRow<T, P, Q>,
): Setting<T, P, Q> {
  const { default: given, optionalFor = [], secret = false, formerly } = row
  const defaults =
    typeof given === 'string' ? { local: given, sandbox: given, production: given } : given
  const { reader, meaning } = row
  return { for: row.for, optionalFor, reader, defaults, meaning, secret, formerly }
}

/** The text of a setting in the environment, by its old name when it has none by its name; an empty one is not given. */
export function givenText(
  name: string,
  { formerly = '' }: Pick<Setting, 'formerly'>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  return env[name] || env[formerly] || undefined
}

/** Every server. */
export const serving = Object.keys(portOffsets) as ServingProcess[]
/** Processes with RPCs and a database. */
export const servingRpcs = [
  'payments',
  'accounts',
  'institution',
  'quotes',
  'billing',
  'delivery',
  'simulator',
] as const
/** Processes with a database. */
export const storing = [...servingRpcs, 'console'] as const
/** Processes that publish, consume or subscribe to events. */
const withEvents = [
  'gateway',
  'payments',
  'accounts',
  'institution',
  'billing',
  'delivery',
] as const
/** Processes with a user at the broker. */
export const brokerUsers = [...withEvents, 'stream-controller'] as const
/** All users of the broker: those of processes, and the one of people who operate it. */
export const natsUsers = [...brokerUsers, 'operator'] as const
export const allProcesses: ProcessName[] = [...serving, 'stream-controller', 'migrate', 'launcher']

/** Defaults of a setting that must be given in every environment. */
export const required: Defaults = { local: undefined, sandbox: undefined, production: undefined }

/** Ports for operators of all parts: locally those of the block of ports, elsewhere 8081 of each but the simulator. */
export const metricsUrls: Defaults = {
  local: ({ portBase }) =>
    serving.map((part) => `${part}=http://127.0.0.1:${adminPort(part, portBase)}`).join(),
  sandbox: hostedMetricsUrls(),
  production: hostedMetricsUrls(),
}

function hostedMetricsUrls(): string {
  const parts = serving.filter((part) => part !== 'simulator')
  return parts.map((part) => `${part}=http://${part}:8081`).join()
}

/** Local port for operators of a process: its offset in the block that begins at `portBase`. */
export function adminPort(process: ProcessName, portBase: number): number {
  return portBase + 10 + offsetOf(process)
}

/** The default URL of a service: locally its port of the block, elsewhere the service's own name. */
export function serviceUrl(service: ServingProcess): Defaults {
  const hosted = ({ rpcScheme }: Facts) => `${rpcScheme}://${service}:8080`
  return {
    local: ({ portBase, rpcScheme }) =>
      `${rpcScheme}://127.0.0.1:${portBase + portOffsets[service]}`,
    sandbox: hosted,
    production: hosted,
  }
}

/** Default local port of the API (gateway, launcher) or of the RPCs (services), as the text of a setting. */
export function portOf(facts: Facts): string {
  if (facts.process === 'gateway' || facts.process === 'launcher') return String(facts.gatewayPort)
  if (facts.process === 'console') return String(consolePort(facts))
  return String(facts.portBase + offsetOf(facts.process))
}

/**
 * Default local port of the console. Starts that gave its port to the API, before there was a console, keep working:
 * it then serves where its RPCs would be, if it had any.
 */
export function consolePort({ portBase, gatewayPort }: Pick<Facts, 'portBase' | 'gatewayPort'>) {
  const port = portBase + consoleOffset
  return port === gatewayPort ? portBase + portOffsets.console : port
}

/** Port offset of a process; 0 for the processes that serve nothing. */
function offsetOf(process: ProcessName): number {
  if (process === 'stream-controller') return simulatorPublicOffset
  return process === 'migrate' || process === 'launcher' ? 0 : portOffsets[process]
}
