// Reads and validates a process's settings from the environment, all or none; never prints a secret.

import { contradictions } from './contradictions.ts'
import {
  type Defaults,
  type Environment,
  environments,
  everybody,
  type Facts,
  type ProcessName,
  type Setting,
  serving,
} from './setting.ts'
import { settings } from './settings.ts'

export type { FeeSchedule, FraudRules, LevelLimits, UserLimits } from './json-settings.ts'
export type { Environment, ProcessName, ServingProcess } from './setting.ts'

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
    const given = env[name] || undefined
    const text = given ?? defaultOf(row.defaults, environment ?? 'local', facts)
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

/** The settings as a Markdown table, for `docs/settings.md`. */
export function renderSettingsTable(): string {
  const rows = (Object.entries(settings) as [Name, Setting][]).map(([name, row]) => {
    const secret = row.secret ? ' Secret.' : ''
    const cells = [`\`${name}\``, readersOf(row), row.reader.of, ...defaultCells(row.defaults)]
    return `| ${[...cells, `${row.meaning}${secret}`].map(escapeCell).join(' | ')} |`
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
  if (everybody.every((name) => all.includes(name))) return 'all'
  if (!serving.every((name) => all.includes(name))) return all.join(', ')
  return ['all servers', ...all.slice(serving.length)].join(', ')
}

/** Shows defaults that depend on the process or on other settings as they are for the gateway. */
function defaultCells(defaults: Defaults): string[] {
  return environments.map((environment) => {
    const text = defaultOf(defaults, environment, factsOf('gateway', environment, {}))
    if (text === undefined) return 'must be set'
    const isExample = environment === 'local' && typeof defaults.local === 'function'
    const example = isExample ? ' (by process and ports)' : ''
    return text === '' ? 'unset' : `\`${text}\`${example}`
  })
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}
