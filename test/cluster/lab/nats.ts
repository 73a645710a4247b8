// Three NATS servers with the configuration of the manifests, TLS and users included.
import fs from 'node:fs'
import path from 'node:path'
import { natsUsers } from '#platform/config/setting.ts'
import { natsPasswordLine } from '../../../deploy/bootstrap/nats-passwords.ts'
import { type Authority, issueCertificate } from '../../../deploy/local/certificates.ts'
import { natsPasswordFile } from '../../../deploy/local/nats/users.ts'
import { newPassword, readOrMakeFile } from '../../../deploy/local/private-file.ts'
import type { TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { eventually } from '../../support/eventually.ts'
import type { Host } from './network.ts'
import type { Machines } from './processes.ts'

const memberNames = ['nats-0', 'nats-1', 'nats-2']
const manifests = path.resolve(import.meta.dirname, '../../../deploy/k8s')
const stream = 'PAYWEAVE'
const startWithinMs = 60_000
const stopWithinMs = 40_000
const probeMs = 1_000

/** The three servers. */
export type NatsCluster = {
  /** NATS_URL, without a user. */
  url: string
  members: Host[]
  /** The server that leads the stream of events. */
  streamLeader(): Promise<Host>
  /** The machine of a member is lost: its processes and its packets. */
  lose(member: Host): Promise<void>
  bringBack(member: Host): Promise<void>
  /** Ends a server by SIGTERM, as a rolling update does. */
  stop(member: Host): Promise<void>
  start(member: Host): Promise<void>
  /** Resolves when all three have recovered, and the stream and its consumers, once they exist, have a leader. */
  healthy(): Promise<void>
}

/** Starts the servers. Passwords of the processes are made in the secrets of `folder`. */
export async function startNats(machines: Machines, authority: Authority): Promise<NatsCluster> {
  const { network, folder } = machines
  const members: Host[] = []
  for (const name of memberNames) members.push(await network.add(name))
  const passwords = natsUsers.map((user) => {
    const file = natsPasswordFile(folder, user)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    return natsPasswordLine(user, readOrMakeFile(file, newPassword))
  })
  const route = newPassword()
  const routes = members.map(({ name }) => `"nats://route:${route}@${name}:6222"`)
  const included = {
    'passwords.conf': passwords.join(''),
    'routes.conf': `authorization { user: route, password: "${route}", timeout: 2 }\nroutes: [${routes.join(', ')}]\n`,
  }
  for (const { name } of members) {
    const at = path.join(folder, name)
    fs.mkdirSync(at, { recursive: true })
    await issueCertificate(authority, path.join(at, 'tls'), { names: [`DNS:${name}`] })
    for (const [file, text] of Object.entries({ ...included, ...shipped(machines, name) })) {
      fs.writeFileSync(path.join(at, file), text)
    }
  }
  const running = new Map<string, TiedProcess>()
  const start = async (host: Host): Promise<void> => {
    const process = await machines.start({
      host,
      command: ['/usr/sbin/nats-server', '-c', `${machines.insideFolder}/${host.name}/nats.conf`],
      env: { SERVER_NAME: host.name, ROUTE_ADDRESS: `${host.name}:6222` },
      inside: 'root',
    })
    running.set(host.name, process)
  }
  await Promise.all(members.map(start))
  return {
    url: members.map(({ name }) => `tls://${name}:4222`).join(','),
    members,
    streamLeader: () =>
      eventually(async () => {
        const details = await Promise.all(members.map(streamOf))
        const name = details.find((detail) => detail?.cluster?.leader)?.cluster?.leader
        return members.find((member) => member.name === name) ?? false
      }, startWithinMs),
    async lose(member) {
      await network.cut(member)
      await machines.killAll(member)
    },
    async bringBack(member) {
      await network.join(member)
      await start(member)
    },
    async stop(member) {
      await running.get(member.name)?.end('SIGTERM', stopWithinMs)
    },
    start,
    healthy: () =>
      eventually(async () => {
        const states = await Promise.all(members.map(isHealthy))
        return states.every(Boolean)
      }, startWithinMs).then(() => undefined),
  }
}

/** The files of the manifests with the paths of a pod in the folder of a member. */
function shipped({ insideFolder }: Machines, name: string): Record<string, string> {
  const at = `${insideFolder}/${name}`
  const read = (file: string) =>
    fs
      .readFileSync(path.join(manifests, file), 'utf8')
      .replaceAll('/etc/nats-tls', `${at}/tls`)
      .replaceAll('/run/nats', at)
      .replaceAll('"/data"', `"${at}/data"`)
  return {
    'nats.conf': read('nats/nats.conf'),
    'users.conf': read('nats/users.conf'),
    'tls.conf': read('components/mesh-tls/tls.conf'),
    'cluster-tls.conf': read('components/mesh-tls/cluster-tls.conf'),
  }
}

/** What a server says at its monitoring port; undefined while it does not answer. */
async function monitor<T>({ address }: Host, query: string): Promise<T | undefined> {
  try {
    const response = await fetch(`http://${address}:8222/${query}`, {
      signal: AbortSignal.timeout(probeMs),
    })
    return (await response.json()) as T
  } catch {
    return undefined
  }
}

type Led = { cluster?: { leader?: string } }
type StreamDetail = Led & { name: string; consumer_detail?: Led[] }
type JetStream = { account_details?: { stream_detail?: StreamDetail[] }[] }

async function streamOf(host: Host): Promise<StreamDetail | undefined> {
  const answer = await monitor<JetStream>(host, 'jsz?streams=true&consumers=true&accounts=true')
  const all = answer?.account_details?.flatMap(({ stream_detail = [] }) => stream_detail) ?? []
  return all.find(({ name }) => name === stream)
}

/** The server has recovered, and the stream and its consumers, once they exist, have a leader. */
async function isHealthy(host: Host): Promise<boolean> {
  const [health, stream] = await Promise.all([
    monitor<{ status?: string }>(host, 'healthz'),
    streamOf(host),
  ])
  const led = stream === undefined ? [] : [stream, ...(stream.consumer_detail ?? [])]
  return health?.status === 'ok' && led.every(({ cluster }) => Boolean(cluster?.leader))
}
