// Reads and validates a process's settings from the environment, all or none; never prints a secret.

import { isLoopbackHost } from '#core/text/address.ts'
import { serverUrls } from '../db/server-urls.ts'
import {
  allProcesses,
  type Defaults,
  type Environment,
  environments,
  type Facts,
  givenText,
  type ProcessName,
  type Setting,
  serving,
} from './setting.ts'
import { settings } from './settings.ts'

export type { Environment, ProcessName, ServingProcess } from './setting.ts'
export type {
  AmountsByCurrency,
  FeeSchedule,
  FraudRules,
  LevelLimits,
  UserLimits,
} from './values.ts'

export type Env = Readonly<Record<string, string | undefined>>

type Table = typeof settings
type Name = keyof Table

/** `QUOTE_TTL_S` is read as `quoteTtlS`. */
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}`
  : Lowercase<S>

type Value<N extends Name> = Table[N] extends Setting<infer T> ? T : never
type For<N extends Name> = Table[N]['for'][number]
type OptionalFor<N extends Name> = Table[N]['optionalFor'][number]

/** The settings of one process, named in camel case. */
export type SettingsOf<P extends ProcessName> = {
  readonly [N in Name as P extends For<N> ? Camel<N> : never]: Value<N>
} & {
  readonly [N in Name as P extends OptionalFor<N> ? Camel<N> : never]: Value<N> | undefined
}

/** Reports every bad setting at once, by name and rule, never by value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(process: ProcessName, problems: readonly string[]) {
    super(`bad settings of ${process}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/**
 * Reads and checks the settings of a process. Throws one SettingsError that names all bad ones, so that an operator
 * fixes them in one go. The result is frozen.
 */
export function readSettings<P extends ProcessName>(
  process: P,
  env: Env = globalThis.process.env,
): SettingsOf<P> {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  for (const { name, row, text } of textsOf(process, env, problems)) {
    try {
      values[camel(name)] = text === undefined ? undefined : row.reader.read(text)
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : 'is bad'}`)
    }
  }
  problems.push(...contradictions(env, values))
  if (problems.length > 0) throw new SettingsError(process, problems)
  return Object.freeze(values) as SettingsOf<P>
}

/**
 * The settings of a process as `NAME=value` lines for the start of its log; a secret is shown as `[set]`. Bad values
 * are shown as they are: `readSettings` reports them.
 */
export function describeSettings(process: ProcessName, env: Env = globalThis.process.env): string {
  return textsOf(process, env, [])
    .map(({ name, row, text }) => `${name}=${row.secret && text ? '[set]' : (text ?? '')}`)
    .join('\n')
}

type Text = { name: Name; row: Setting; text: string | undefined }

/** Each setting of the process with its text: given, or the environment's default. An empty text is not given. */
function textsOf(process: ProcessName, env: Env, problems: string[]): Text[] {
  const environment = environments.find((one) => one === (env['PAYWEAVE_ENV'] || 'local'))
  const facts = factsOf(process, environment ?? 'local', env)
  const found: Text[] = []
  for (const [name, row] of Object.entries(settings) as [Name, Setting][]) {
    const isOptional = row.optionalFor.includes(process)
    if (!isOptional && !row.for.includes(process)) continue
    const text = givenText(name, row, env) ?? defaultOf(row.defaults, environment ?? 'local', facts)
    if (text === undefined && !isOptional) problems.push(`${name} must be set`)
    else found.push({ name, row, text })
  }
  return found
}

function defaultOf(defaults: Defaults, environment: Environment, facts: Facts): string | undefined {
  const found = defaults[environment]
  return typeof found === 'function' ? found(facts) : found
}

/**
 * What defaults follow from. A bad value falls back to a default here, and is reported when its own setting is read.
 */
function factsOf(process: ProcessName, environment: Environment, env: Env): Facts {
  const isGateway = process === 'gateway' || process === 'launcher'
  return {
    process,
    portBase: numberOr(env['PORT_BASE'], 7100),
    gatewayPort: numberOr(isGateway ? env['PORT'] : undefined, 8080),
    dataDir: env['PAYWEAVE_DATA_DIR'] || '.payweave',
    rpcScheme: rpcSchemeOf(env['RPC_TLS'] || settings.RPC_TLS.defaults[environment]),
  }
}

/** The scheme of calls between processes. */
function rpcSchemeOf(tls: unknown): 'http' | 'https' {
  return tls === 'required' ? 'https' : 'http'
}

function numberOr(text: string | undefined, otherwise: number): number {
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : otherwise
}

function camel(name: string): string {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** The settings as a Markdown table, for `docs/operate/settings.md`. */
export function renderSettingsTable(): string {
  const rows = (Object.entries(settings) as [Name, Setting][]).map(([name, row]) => {
    const secret = row.secret ? ' Secret.' : ''
    const former =
      row.formerly === undefined
        ? ''
        : ` Formerly \`${row.formerly}\`, which is read for one version more.`
    const cells = [`\`${name}\``, readersOf(row), row.reader.of, ...defaultCells(row.defaults)]
    return `| ${[...cells, `${row.meaning}${secret}${former}`].map(escapeCell).join(' | ')} |`
  })
  return [
    '| Setting | Read by | Takes | Local | Sandbox | Production | Meaning |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

function readersOf({ for: readers, optionalFor }: Setting): string {
  const all = [...readers, ...optionalFor]
  if (allProcesses.every((name) => all.includes(name))) return 'all'
  if (!serving.every((name) => all.includes(name))) return all.join(', ')
  return ['all servers', ...all.slice(serving.length)].join(', ')
}

/** Shows defaults that depend on the process or on other settings as they are for the gateway. */
function defaultCells(defaults: Defaults): string[] {
  return environments.map((environment) => {
    const text = defaultOf(defaults, environment, factsOf('gateway', environment, {}))
    if (text === undefined) return 'must be set'
    const isExample = environment === 'local' && typeof defaults.local === 'function'
    const example = isExample ? ' (depends on service and ports)' : ''
    return text === '' ? 'unset' : `\`${text}\`${example}`
  })
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}

/**
 * Returns every contradiction between settings by name and rule, never by value. `values` are the settings that could
 * be read: a bad one is missing, and its contradictions show once it is corrected.
 */
function contradictions(env: Env, values: Readonly<Record<string, unknown>>): string[] {
  const problems = [...transportProblems(values)]
  if (env['PAYWEAVE_ENV'] === 'production') problems.push(...productionProblems(env, values))
  if (Number(values['deliveryBreakerMaxS']) < Number(values['deliveryBreakerOpenS'])) {
    problems.push('DELIVERY_BREAKER_MAX_S must not be below DELIVERY_BREAKER_OPEN_S')
  }
  if (values['natsPasswordFile'] !== undefined && values['natsCredsFile'] !== undefined) {
    problems.push('NATS_PASSWORD_FILE and NATS_CREDS_FILE must not both be set')
  }
  if (Object.hasOwn(values['connectors'] ?? {}, textOf(values, 'backendName'))) {
    problems.push('CONNECTORS must not have the connector of BACKEND_NAME')
  }
  return problems
}

/** Settings with addresses of our own processes: all of them use mutual TLS, or none. */
const meshUrls = {
  accountsUrl: 'ACCOUNTS_URL',
  paymentsUrl: 'PAYMENTS_URL',
  institutionUrl: 'INSTITUTION_URL',
  quotesUrl: 'QUOTES_URL',
  billingUrl: 'BILLING_URL',
  deliveryUrl: 'DELIVERY_URL',
  backendUrl: 'BACKEND_URL',
  simulatorUrl: 'SIMULATOR_URL',
}

function transportProblems(values: Readonly<Record<string, unknown>>): string[] {
  const { rpcTls } = values
  if (rpcTls !== 'off' && rpcTls !== 'required') return []
  const scheme = rpcTls === 'required' ? 'https:' : 'http:'
  const addresses = Object.entries(meshUrls).map(([key, name]) => [name, values[key]] as const)
  const connectors = Object.values(values['connectors'] ?? {}).map(
    (url) => ['CONNECTORS', url] as const,
  )
  return [...addresses, ...connectors].flatMap(([name, value]) => {
    if (typeof value !== 'string') return []
    const fits = value.split(',').every((url) => url.startsWith(scheme))
    return fits ? [] : [`${name} must be ${scheme.slice(0, -1)} while RPC_TLS is ${rpcTls}`]
  })
}

function productionProblems(env: Env, values: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = []
  // Refused in every process, also in those that do not read it: the environment is often shared.
  for (const name of ['DELIVERY_ALLOW_LOOPBACK', 'SANDBOX_CLOCK']) {
    if (env[name] === '1') problems.push(`${name} must not be 1 in production`)
  }
  if (textOf(values, 'publicBaseUrl').startsWith('http:')) {
    problems.push('PUBLIC_BASE_URL must be https in production')
  }
  if (values['rpcTls'] === 'off') problems.push('RPC_TLS must be required in production')
  if (textOf(values, 'consoleUrl').startsWith('http:')) {
    problems.push('CONSOLE_URL must be https in production')
  }
  if ('oidcRolesClaim' in values && !textOf(values, 'oidcIssuer').startsWith('https:')) {
    problems.push('OIDC_ISSUER must be set to an https address in production')
  }
  const databaseUrl = textOf(values, 'databaseUrl')
  if (databaseUrl !== '' && !isPrivateDatabase(databaseUrl)) {
    problems.push('DATABASE_URL must say sslmode=verify-full in production')
  }
  const natsUrls = textOf(values, 'natsUrl')
  if (natsUrls !== '' && !natsUrls.split(',').every((url) => isTls(url) || isOnThisMachine(url))) {
    problems.push('NATS_URL must be tls:// in production')
  }
  return problems
}

function textOf(values: Readonly<Record<string, unknown>>, key: string): string {
  const value = values[key]
  return typeof value === 'string' ? value : ''
}

function isTls(url: string): boolean {
  return url.startsWith('tls:')
}

/** Whether the connection is encrypted to a verified server, or stays on this machine, as with a sidecar. */
function isPrivateDatabase(url: string): boolean {
  return serverUrls(url).every(
    (one) => new URL(one).searchParams.get('sslmode') === 'verify-full' || isOnThisMachine(one),
  )
}

function isOnThisMachine(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}
