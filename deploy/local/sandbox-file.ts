// Writes and reads sandbox.json and sandbox.env: the addresses and credentials of a sandbox.
import fs from 'node:fs'
import path from 'node:path'
import { newKey } from '#core/identity/id.ts'
import { LaunchError } from './preflight/launch-error.ts'
import { writePrivateFile } from './private-file.ts'
import {
  newSandboxCredentials,
  type SandboxCredentials,
  sandboxProjects,
} from './seed/credentials.ts'

const services = ['payments', 'accounts', 'institution', 'quotes', 'billing', 'delivery'] as const
const withAuthorisationToken = new Set(['demo', 'other'])
const tokenLength = 32

/** Where the parts are reached. */
export type SandboxAddresses = {
  base_url: string
  grpc: Record<(typeof services)[number], string>
  /** Pages and receivers of the simulator. */
  simulator_url: string
}

type SandboxProject = {
  subscription_key: string
  api_key: string
  authorisation_token?: string
  account_access: boolean
}

/** The content of sandbox.json. */
export type SandboxFile = SandboxAddresses & {
  grpc_token: string
  projects: Record<keyof SandboxCredentials['projects'], SandboxProject>
  institutions: {
    'Demo Wallet': { key_id: string; shared_key: string; signing_secret: string; permitted: true }
    'Restricted Bank': { permitted: false }
  }
  production_key: string
}

/** Addresses on this machine, for a block of ports. */
export function sandboxAddresses(
  baseUrl: string,
  portOf: (name: (typeof services)[number]) => number,
  simulatorPublicPort: number,
  rpcScheme: 'http' | 'https' = 'http',
): SandboxAddresses {
  const rpcUrl = (port: number) => `${rpcScheme}://127.0.0.1:${port}`
  const grpc = Object.fromEntries(services.map((name) => [name, rpcUrl(portOf(name))]))
  return {
    base_url: baseUrl,
    grpc: grpc as SandboxAddresses['grpc'],
    simulator_url: `http://127.0.0.1:${simulatorPublicPort}`,
  }
}

/**
 * The sandbox of a data folder. Its credentials are made once, on the first start, and kept; the
 * addresses are those of this start. Both files are written before any row is, so that a crash in
 * between loses nothing.
 */
export function prepareSandboxFile(dataDir: string, addresses: SandboxAddresses): SandboxFile {
  const file = path.join(dataDir, 'sandbox.json')
  const before = readSandboxFile(file) ?? newSandbox()
  const { projects, institutions, production_key, grpc_token } = before
  const { base_url, grpc, simulator_url } = addresses
  const sandbox = {
    base_url,
    grpc,
    grpc_token,
    simulator_url,
    projects,
    institutions,
    production_key,
  }
  writePrivateFile(file, `${JSON.stringify(sandbox, null, 2)}\n`)
  writePrivateFile(path.join(dataDir, 'sandbox.env'), shellLines(sandbox))
  return sandbox
}

/** The credentials in the form in which accounts inserts them. */
export function credentialsOf(sandbox: SandboxFile): SandboxCredentials {
  const wallet = sandbox.institutions['Demo Wallet']
  const pairs = Object.entries(sandbox.projects).map(([name, project]) => [
    name,
    { subscriptionKey: project.subscription_key, apiKey: project.api_key },
  ])
  return {
    projects: Object.fromEntries(pairs) as SandboxCredentials['projects'],
    institution: {
      keyId: wallet.key_id,
      sharedKey: wallet.shared_key,
      signingSecret: wallet.signing_secret,
    },
    productionKey: sandbox.production_key,
  }
}

type Secrets = Omit<SandboxFile, keyof SandboxAddresses>

function readSandboxFile(file: string): Secrets | undefined {
  if (!fs.existsSync(file)) return undefined
  try {
    const found = JSON.parse(fs.readFileSync(file, 'utf8')) as SandboxFile
    const keys = Object.values(credentialsOf(found).projects).flatMap(Object.values)
    if ([...keys, found.grpc_token, found.production_key].every(isKey)) return found
  } catch {
    // Reported below, without the content.
  }
  throw new LaunchError(`${file} is damaged; remove it, and the next start makes new credentials`)
}

function isKey(value: unknown): boolean {
  return typeof value === 'string' && value.length >= tokenLength
}

function newSandbox(): Secrets {
  const { projects, institution, productionKey } = newSandboxCredentials()
  const facts = sandboxProjects
  const rows = Object.entries(projects).map(([name, { subscriptionKey, apiKey }]) => [
    name,
    {
      subscription_key: subscriptionKey,
      api_key: apiKey,
      ...(withAuthorisationToken.has(name) && {
        authorisation_token: newKey('', tokenLength),
      }),
      account_access: facts[name as keyof typeof facts].accountAccess,
    },
  ])
  const { keyId, sharedKey, signingSecret } = institution
  return {
    grpc_token: newKey('', 43),
    projects: Object.fromEntries(rows) as SandboxFile['projects'],
    institutions: {
      'Demo Wallet': {
        key_id: keyId,
        shared_key: sharedKey,
        signing_secret: signingSecret,
        permitted: true,
      },
      'Restricted Bank': { permitted: false },
    },
    production_key: productionKey,
  }
}

/** No value holds a character that a shell reads. */
function shellLines(sandbox: SandboxFile): string {
  return shellVariables(sandbox)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The shell variables of sandbox.env with their values: `projects.demo.api_key` is `PROJECTS_DEMO_API_KEY`. */
export function shellVariables(sandbox: SandboxFile): [string, string][] {
  const entriesOf = (names: string[], value: unknown): [string, string][] => {
    if (typeof value === 'object' && value !== null) {
      return Object.entries(value).flatMap(([name, inner]) => entriesOf([...names, name], inner))
    }
    const name = names
      .join('_')
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]/g, '_')
    return [[name, String(value)]]
  }
  return entriesOf([], sandbox)
}
