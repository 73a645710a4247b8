// Which deployment of the public API is called, and with which credentials.
import fs from 'node:fs'
import path from 'node:path'
import { type SandboxFile, shellVariables } from '../../../deploy/local/sandbox-file.ts'
import { UsageError } from '../usage-error.ts'

/** Names of the projects of a sandbox. */
export type ProjectName = keyof SandboxFile['projects']

/** Credentials of one project. Without an `apiKey` no payment can be made. */
export type ProjectKeys = {
  subscriptionKey: string
  apiKey?: string | undefined
  authorisationToken?: string | undefined
}

/** A deployment with the credentials and keys that are known for it. */
export type Target = {
  baseUrl: string
  projects: { demo: ProjectKeys } & Partial<Record<ProjectName, ProjectKeys>>
  /** Keys of "Demo Wallet", and with them the people, billers and amounts of the sandbox. */
  institution?: { keyId: string; sharedKey: string; signingSecret: string } | undefined
  simulatorUrl?: string | undefined
  /** A key that the deployment must refuse because it is one of the other environment. */
  foreignKey?: string | undefined
  /** True for a production key, with which nothing may be made. */
  readOnly: boolean
  /** Names of the shell variables that hold these keys; none when unset. */
  variables?: ReadonlyMap<string, string>
  /** The file that sets these variables, if there is one. */
  variablesFile?: string | undefined
}

/** Options of every command that calls the public API. */
export const targetOptions = {
  'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
  sandbox: 'sandbox.json to read instead',
  'base-url':
    'address of another deployment, instead of the one in sandbox.json (PAYWEAVE_BASE_URL)',
  'simulator-url': 'address of its simulator, if it has one',
} as const

/** Options that stand for a sandbox file where there is none. */
export const keyOptions = {
  'subscription-key': 'with --base-url (better: PAYWEAVE_SUBSCRIPTION_KEY)',
  'api-key': 'for it (better: set PAYWEAVE_API_KEY)',
} as const

type Given = Readonly<Record<string, string | undefined>>

/**
 * The subscription key that is meant instead of a sandbox file: the given one, or that of the environment unless an option names a
 * sandbox. Throws a UsageError for both a key and a sandbox.
 */
export function givenSubscriptionKey(options: Given, env: NodeJS.ProcessEnv): string | undefined {
  const { sandbox, 'data-dir': dataDir } = options
  if (sandbox === undefined && dataDir === undefined) {
    return options['subscription-key'] ?? env['PAYWEAVE_SUBSCRIPTION_KEY']
  }
  const key = Object.keys(keyOptions).find((name) => options[name] !== undefined)
  if (key === undefined) return undefined
  const other = sandbox === undefined ? '--data-dir' : '--sandbox'
  throw new UsageError(`--${key} cannot be combined with ${other}, which has its own keys`)
}

/** Reads options, environment and sandbox file. Throws a UsageError when they name no deployment, and for a bad URL. */
export function readTarget(options: Given, env: NodeJS.ProcessEnv): Target {
  const subscriptionKey = givenSubscriptionKey(options, env)
  const target =
    subscriptionKey === undefined
      ? targetOfFile(options, env)
      : targetOfKeys(options, env, subscriptionKey)
  const isProduction = target.projects.demo.subscriptionKey.startsWith('pwk_live_')
  return { ...target, readOnly: isProduction }
}

function targetOfKeys(options: Given, env: NodeJS.ProcessEnv, subscriptionKey: string): Target {
  const baseUrl = options['base-url'] ?? env['PAYWEAVE_BASE_URL']
  if (baseUrl === undefined) {
    throw new UsageError('--base-url or PAYWEAVE_BASE_URL is missing: a key needs an address')
  }
  const simulator = options['simulator-url']
  const apiKey = options['api-key'] ?? env['PAYWEAVE_API_KEY']
  return {
    baseUrl: httpUrl(baseUrl, 'base-url'),
    projects: { demo: { subscriptionKey, apiKey } },
    ...(simulator !== undefined && { simulatorUrl: httpUrl(simulator, 'simulator-url') }),
    readOnly: false,
    variables: new Map([
      [subscriptionKey, 'PAYWEAVE_SUBSCRIPTION_KEY'],
      ...(apiKey === undefined ? [] : [[apiKey, 'PAYWEAVE_API_KEY'] as const]),
    ]),
  }
}

function targetOfFile(options: Given, env: NodeJS.ProcessEnv): Target {
  const asked = options['sandbox'] ?? options['data-dir']
  // Credentials of this machine's sandbox are not for another address.
  if (options['base-url'] !== undefined && asked === undefined) {
    throw new UsageError('--base-url needs --subscription-key, or --sandbox with its sandbox.json')
  }
  const folder = options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave'
  const file = path.resolve(options['sandbox'] ?? path.join(folder, 'sandbox.json'))
  if (!fs.existsSync(file)) {
    throw new UsageError(
      `${file} does not exist: run "npm start" first, or pass --data-dir or --base-url`,
    )
  }
  const sandbox = JSON.parse(fs.readFileSync(file, 'utf8')) as SandboxFile
  const wallet = sandbox.institutions['Demo Wallet']
  const variablesFile = path.join(path.dirname(file), 'sandbox.env')
  const projects = Object.entries(sandbox.projects).map(([name, project]) => [
    name,
    {
      subscriptionKey: project.subscription_key,
      apiKey: project.api_key,
      authorisationToken: project.authorisation_token,
    },
  ])
  return {
    baseUrl: httpUrl(options['base-url'] ?? sandbox.base_url, 'base-url'),
    projects: Object.fromEntries(projects) as Target['projects'],
    institution: {
      keyId: wallet.key_id,
      sharedKey: wallet.shared_key,
      signingSecret: wallet.signing_secret,
    },
    simulatorUrl: httpUrl(options['simulator-url'] ?? sandbox.simulator_url, 'simulator-url'),
    foreignKey: sandbox.production_key,
    readOnly: false,
    variables: new Map(shellVariables(sandbox).map(([name, value]) => [value, name])),
    variablesFile: fs.existsSync(variablesFile) ? variablesFile : undefined,
  }
}

function httpUrl(text: string, option: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '')
  throw new UsageError(`--${option} must be an http or https URL`)
}
