// Finds the services, a bearer and the project for the command line; never prints a credential.
import fs from 'node:fs'
import path from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { bearerIdentity } from '#platform/rpc/auth/identity.ts'
import { type MeshTls, openTls } from '#platform/rpc/auth/tls.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import type { SandboxFile } from '../../deploy/local/sandbox-file.ts'
import { UsageError } from './usage-error.ts'

/** Options for the addresses of the services and the caller's credential. */
export interface ConnectionOptions {
  url?: string | undefined
  token?: string | undefined
  'data-dir'?: string | undefined
  project?: string | undefined
}

/** A way to the services. */
export interface Connection {
  /** Makes a client of an RPC service; its calls reject with a Failure. */
  client<S extends DescService>(service: S): Client<S>
  /**
   * UUID of the project that is meant. Rejects with a UsageError for an unknown name, and with the Failure of the RPC.
   */
  projectId(): Promise<string>
  /** Closes the connections after the calls in flight. */
  close(): Promise<void>
}

const defaultProject = 'demo'

/**
 * Reads options, environment and sandbox.json; connects to a service with the first call. Throws a UsageError without
 * an address, a bearer or a sandbox, and the system's error for bad certificates.
 */
export function connect(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  audience: keyof SandboxFile['grpc'] = 'delivery',
): Connection {
  const sandbox = readSandbox(options, env)
  const url = httpUrl(options.url ?? sandbox?.grpc[audience] ?? missing('--url'))
  const token = options.token ?? env['PAYWEAVE_TOKEN'] ?? sandbox?.grpc_token ?? missing('--token')
  const identity = { ...bearerIdentity(token), ...certificateOf(url, options, env) }
  const pools = [createRpcPool(url, { lasting: true, audience, identity })]
  const [pool] = pools

  async function projectId(): Promise<string> {
    const name = options.project ?? (sandbox === undefined ? missing('--project') : defaultProject)
    if (isUuid(name)) return name
    const known = sandbox?.projects[name as keyof SandboxFile['projects']]
    if (sandbox === undefined || known === undefined) {
      throw new UsageError(`--project must be a UUID or a name in sandbox.json, not ${name}`)
    }
    const accounts = createRpcPool(sandbox.grpc.accounts, { audience: 'accounts', identity })
    pools.push(accounts)
    const access = createRpcClient(AccessService, {
      url: sandbox.grpc.accounts,
      audience: 'accounts',
      identity,
      pool: accounts,
    })
    const { project } = await access.authenticateSubscriptionKey({
      subscriptionKey: known.subscription_key,
      environment: Environment.SANDBOX,
    })
    return project?.projectId ?? ''
  }

  return {
    client: (service) =>
      createRpcClient(service, {
        url,
        audience,
        identity,
        ...(pool === undefined ? {} : { pool }),
      }),
    projectId,
    async close() {
      await Promise.all(pools.map((one) => one.close()))
    },
  }
}

/** The sandbox of the data folder; undefined when options and environment already say all. */
function readSandbox(options: ConnectionOptions, env: NodeJS.ProcessEnv): SandboxFile | undefined {
  const asked = options['data-dir'] ?? env['PAYWEAVE_DATA_DIR']
  const file = path.resolve(asked ?? '.payweave', 'sandbox.json')
  if (!fs.existsSync(file)) {
    if (options.url !== undefined && asked === undefined) return undefined
    throw new UsageError(
      `${file} does not exist: run "npm start" first, or pass --data-dir, or --url and --token`,
    )
  }
  // Another address never gets the credentials of this machine's sandbox.
  if (options.url !== undefined && asked === undefined) return undefined
  return JSON.parse(fs.readFileSync(file, 'utf8')) as SandboxFile
}

/** The certificate to show: of PAYWEAVE_TLS_DIR, or the one that a local start with mutual TLS has made. */
function certificateOf(
  url: string,
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
): { tls?: MeshTls } {
  const dataDir = options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave'
  const given = env['PAYWEAVE_TLS_DIR']
  const folder = path.resolve(given ?? path.join(dataDir, 'tls', 'operator'))
  if (!url.startsWith('https:') || (given === undefined && !fs.existsSync(folder))) return {}
  return { tls: openTls(folder, { warn: () => undefined }) }
}

function httpUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new UsageError('--url must be an http or https URL')
}

function missing(option: string): never {
  throw new UsageError(`${option} is missing`)
}

/** Whether the service does not accept the bearer. The reason of such a Failure is SERVICE_UNAVAILABLE, as it is between processes. */
export function isUnauthenticated(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : undefined
  return cause instanceof ConnectError && cause.code === Code.Unauthenticated
}

/** Whether the same call may succeed later: the service could not be reached, or was too slow. */
export function isPassing(error: unknown): error is Failure {
  if (!(error instanceof Failure) || isUnauthenticated(error)) return false
  return error.reason === 'SERVICE_UNAVAILABLE' || error.reason === 'TIMEOUT'
}
