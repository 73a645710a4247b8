// Two replicas of each process of ours, each on a host of its own, started as the manifests start them, with mutual TLS.
import path from 'node:path'
import type { ServingProcess } from '#platform/config/setting.ts'
import { type SchemaOwner, schemaOwners } from '#platform/db/schemas.ts'
import { natsPasswordFile } from '../../../deploy/local/nats/users.ts'
import { databasePasswordFile, ownLogin, urlOfRole } from '../../../deploy/local/postgres/logins.ts'
import { processNames } from '../../../deploy/local/process/parts.ts'
import type { TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { secretsFolder } from '../../../deploy/local/secrets.ts'
import { eventually } from '../../support/eventually.ts'
import type { Host, Network } from './network.ts'
import type { Machines } from './processes.ts'

const replicasOf = 2
const startWithinMs = 120_000
/** As in the manifests: terminationGracePeriodSeconds. */
const stopWithinMs = 35_000
const probeMs = 2_000

/** A running process of ours. */
export type Replica = {
  part: string
  host: Host
  pid(): number
  isReady(): Promise<boolean>
  /** SIGTERM, and the end. Resolves to the seconds that it took, and whether it ended by itself with 0. */
  stop(): Promise<{ seconds: number; isClean: boolean }>
  /** Starts it as the version that is in a folder; as the one that it was without that. */
  start(version?: string): Promise<void>
}

/** All of them. */
export type Parts = {
  all: Replica[]
  /** One replica of a part. */
  one(part: ServingProcess, index?: number): Replica
  ready(): Promise<void>
}

/** Where the processes find what they need. */
export type LabAddresses = {
  /** The folder of the version that is started first. */
  version: string
  publicUrl: string
  proxy: Host
  databaseUrl: string
  natsUrl: string
}

/** Adds the hosts. Their addresses must be known before a process starts that calls them. */
export async function addHosts(network: Network): Promise<Map<string, Host[]>> {
  const hosts = new Map<string, Host[]>()
  for (const part of processNames) {
    const own: Host[] = []
    for (let index = 0; index < replicasOf; index += 1) {
      own.push(await network.add(`${part}-${index}`, part))
    }
    hosts.set(part, own)
  }
  hosts.set('stream-controller', [await network.add('stream-controller')])
  return hosts
}

/** Starts all processes and waits until they are ready. */
export async function startParts(
  machines: Machines,
  hosts: Map<string, Host[]>,
  around: LabAddresses,
): Promise<Parts> {
  const all = [...hosts].flatMap(([part, own]) =>
    own.map((host) => replica(machines, part, host, around)),
  )
  await Promise.all(all.map((one) => one.start()))
  const parts: Parts = {
    all,
    one(part, index = 0) {
      const found = all.filter((one) => one.part === part)[index]
      if (found === undefined) throw new Error(`there is no ${part} ${index}`)
      return found
    },
    ready: () =>
      eventually(async () => {
        const states = await Promise.all(all.map((one) => one.isReady()))
        const waiting = all.filter((_, index) => !states[index]).map(({ host }) => host.name)
        if (waiting.length > 0) throw new Error(`not ready: ${waiting.join(', ')}`)
      }, startWithinMs).then(() => undefined),
  }
  await parts.ready()
  return parts
}

function scriptOf(part: string): string {
  if (part === 'gateway' || part === 'console') return `${part}/main.ts`
  if (part === 'stream-controller') return 'deploy/streams/main.ts'
  return part === 'simulator' ? 'connectors/simulator/main.ts' : `services/${part}/main.ts`
}

function replica(machines: Machines, part: string, host: Host, around: LabAddresses): Replica {
  const env = environmentOf(machines, part, host, around)
  let { version } = around
  let running: TiedProcess | undefined
  const isReady = async (): Promise<boolean> => {
    try {
      const url = `http://${host.address}:8081/readyz`
      return (await fetch(url, { signal: AbortSignal.timeout(probeMs) })).ok
    } catch {
      return false
    }
  }
  return {
    part,
    host,
    isReady,
    pid() {
      if (running === undefined) throw new Error(`${host.name} does not run`)
      return running.pid
    },
    async start(next = version) {
      version = next
      running = await machines.start({
        host,
        command: [process.execPath, path.join(version, scriptOf(part))],
        env,
      })
    },
    async stop() {
      const beganMs = performance.now()
      const exit = await running?.end('SIGTERM', stopWithinMs)
      return { seconds: (performance.now() - beganMs) / 1_000, isClean: exit?.code === 0 }
    },
  }
}

/** The settings of a process: those of the sandbox's overlay with mutual TLS, without limits on the rate. */
function environmentOf(
  { folder }: Machines,
  part: string,
  host: Host,
  around: LabAddresses,
): Record<string, string> {
  const owner = schemaOwners.find((service): service is SchemaOwner => service === part)
  return {
    PAYWEAVE_ENV: 'sandbox',
    LOG_LEVEL: 'info',
    PUBLIC_BASE_URL: around.publicUrl,
    CONSOLE_URL: 'https://console.example.com',
    OIDC_ISSUER: 'https://identity.example.com',
    TRUSTED_PROXIES: `${around.proxy.address}/32`,
    GATEWAY_REPLICAS: String(replicasOf),
    RPC_TLS: 'required',
    TLS_DIR: path.join(folder, 'tls', part),
    SECRETS_DIR: secretsFolder(folder, part),
    SIMULATOR_URL: 'https://simulator:8080',
    CONNECTOR_PUBLIC_URL: `http://${host.address}:8082`,
    NATS_URL: around.natsUrl,
    NATS_REPLICAS: '3',
    NATS_CA_FILE: path.join(folder, 'tls', 'authority', 'ca.crt'),
    NATS_PASSWORD_FILE: natsPasswordFile(folder, part),
    ...(owner !== undefined && {
      DATABASE_URL: urlOfRole(around.databaseUrl, ownLogin(owner)),
      DATABASE_PASSWORD_FILE: databasePasswordFile(folder, owner),
    }),
    // The load comes from one client, for one payer, to a receiver without TLS.
    RATE_LIMIT_RPS: '0',
    SESSION_LOOKUPS_PER_MIN: '0',
    FRAUD_RULES: JSON.stringify({
      velocity_per_min: 100_000,
      ceilings: {},
      blocked_mobile_numbers: [],
    }),
    DELIVERY_ALLOW_LOOPBACK: '1',
    // With the usual ones an unknown outcome of a bill would wait for minutes.
    ENQUIRY_SCHEDULE_S: '2,5,10,10,10,10,10',
    NODE_OPTIONS: '--max-semi-space-size=16',
    NODE_COMPILE_CACHE: path.join(folder, 'compiled', host.name),
    MALLOC_ARENA_MAX: '2',
  }
}
