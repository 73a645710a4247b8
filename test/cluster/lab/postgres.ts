// Three PostgreSQL servers under Patroni with strict synchronous replication, as CloudNativePG runs them in production, and an etcd.
import fs from 'node:fs'
import path from 'node:path'
import { type Authority, issueCertificate } from '../../../deploy/local/certificates.ts'
import { newPassword } from '../../../deploy/local/private-file.ts'
import type { TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { eventually } from '../../support/eventually.ts'
import type { Host } from './network.ts'
import type { Machines } from './processes.ts'
import { postgresUser } from './programs.ts'
import { archive, backUp, type Restored } from './restored.ts'

const memberNames = ['postgres-0', 'postgres-1', 'postgres-2']
const startWithinMs = 120_000
const stopWithinMs = 60_000
/** A member that does not answer in this time is not the primary. */
const probeMs = 500
/** How soon Patroni replaces a primary that is lost: it holds its lease for `ttl` seconds. */
const lease = { ttl: 20, loop_wait: 5, retry_timeout: 5 }
/** As in deploy/k8s/components/cnpg/cluster.yaml, for a smaller machine. */
const parameters = {
  max_connections: 400,
  shared_buffers: '256MB',
  wal_compression: 'on',
  random_page_cost: 1.1,
  autovacuum_naptime: '10s',
  synchronous_commit: 'on',
  fsync: 'on',
  full_page_writes: 'on',
  password_encryption: 'scram-sha-256',
  wal_keep_size: '512MB',
}

/** The three servers. */
export type Postgres = {
  members: readonly Host[]
  /** The superuser's URL on a database: on the primary of the three, or on one member. Secret. */
  url(database: string, member?: Host): string
  primary(): Promise<Host>
  /** The member that is the primary now; undefined while none is. */
  findPrimary(): Promise<Host | undefined>
  standbys(): Promise<Host[]>
  /** Orders a planned switchover to another member. */
  switchover(): Promise<{ from: Host; to: Host }>
  /** Ends a member by SIGTERM, as an update of its image does, and starts it again. */
  restart(member: Host): Promise<void>
  /** The machine of a member is lost: its processes and its packets. */
  lose(member: Host): Promise<void>
  /** The machine comes back, and its server joins as a standby. */
  bringBack(member: Host): Promise<void>
  /** Copies the data of a standby to a new host, from which it is restored with the archived log. */
  backUp(name: string): Promise<Restored>
  /** Resolves when there is a primary, and two standbys that stream from it. */
  healthy(): Promise<void>
}

/** Starts etcd and the three members, and waits until they replicate. */
export async function startPostgres(machines: Machines, authority: Authority): Promise<Postgres> {
  const { network } = machines
  const etcd = await network.add('etcd')
  const passwords = { superuser: newPassword(), replicator: newPassword() }
  await startEtcd(machines, etcd)
  const members: Host[] = []
  const archived = path.join(machines.folder, path.basename(archive.folder('')))
  fs.mkdirSync(archived)
  fs.chownSync(archived, postgresUser.uid, postgresUser.gid)
  for (const name of memberNames) members.push(await network.add(name))
  for (const member of members) await prepare(machines, authority, member, etcd, passwords)
  const running = new Map<string, TiedProcess>()
  const start = async (member: Host): Promise<void> => {
    const patroni = await machines.start({
      host: member,
      command: ['/usr/bin/patroni', `${machines.insideFolder}/${member.name}/patroni.json`],
      inside: 'postgres',
    })
    running.set(member.name, patroni)
  }
  await Promise.all(members.map(start))

  const ca = path.join(machines.folder, members[0]?.name ?? '', 'tls', 'ca.crt')
  const url = (database: string, member?: Host): string => {
    const hosts = (member === undefined ? members : [member]).map(({ name }) => `${name}:5432`)
    const query = `sslmode=verify-full&sslrootcert=${ca}`
    return `postgres://postgres:${passwords.superuser}@${hosts.join(',')}/${database}?${query}`
  }
  const findPrimary = async (): Promise<Host | undefined> => {
    const are = await Promise.all(members.map(isPrimary))
    return members.find((_, index) => are[index])
  }
  const primary = async (): Promise<Host> =>
    await eventually(async () => (await findPrimary()) ?? false, startWithinMs)
  const standbys = async (): Promise<Host[]> => {
    const first = await primary()
    return members.filter(({ name }) => name !== first.name)
  }
  return {
    members,
    url,
    primary,
    findPrimary,
    standbys,
    async switchover() {
      const from = await primary()
      const to = await synchronousStandby(from, members)
      const response = await fetch(`http://${from.address}:8008/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: from.name, candidate: to.name }),
      })
      if (!response.ok) throw new Error(`the switchover was refused: ${await response.text()}`)
      return { from, to }
    },
    async restart(member) {
      await running.get(member.name)?.end('SIGTERM', stopWithinMs)
      await start(member)
    },
    async lose(member) {
      await network.cut(member)
      await machines.killAll(member)
    },
    async bringBack(member) {
      await network.join(member)
      await start(member)
    },
    async backUp(name) {
      const [member = await primary()] = await standbys()
      return await backUp(
        machines,
        { authority, member, replicatorPassword: passwords.replicator },
        name,
      )
    },
    healthy: () =>
      eventually(async () => {
        const first = await primary()
        const states = await statesOf(first)
        return states.filter(({ state }) => state === 'streaming').length === members.length - 1
      }, startWithinMs).then(() => undefined),
  }
}

async function startEtcd(machines: Machines, host: Host): Promise<void> {
  const client = `http://${host.address}:2379`
  const peer = `http://${host.address}:2380`
  await machines.start({
    host,
    command: [
      '/usr/bin/etcd',
      '--name=etcd',
      `--data-dir=${machines.insideFolder}/etcd`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=etcd=${peer}`,
    ],
    inside: 'root',
  })
  await eventually(async () => (await fetch(`${client}/health`)).ok, startWithinMs)
}

type Passwords = { superuser: string; replicator: string }

/** Writes the folder of a member: its certificate, and the configuration of Patroni. JSON is YAML too. */
async function prepare(
  { folder, insideFolder }: Machines,
  authority: Authority,
  member: Host,
  etcd: Host,
  passwords: Passwords,
): Promise<void> {
  const outside = path.join(folder, member.name)
  const inside = `${insideFolder}/${member.name}`
  await issueCertificate(authority, path.join(outside, 'tls'), { names: [`DNS:${member.name}`] })
  const config = {
    scope: 'payweave',
    name: member.name,
    restapi: { listen: `${member.address}:8008`, connect_address: `${member.address}:8008` },
    etcd3: { host: `${etcd.address}:2379` },
    bootstrap: {
      dcs: {
        ...lease,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            ...parameters,
            archive_mode: 'on',
            archive_command: archive.command(insideFolder),
          },
        },
      },
      initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
    },
    postgresql: {
      listen: `${member.address}:5432`,
      connect_address: `${member.address}:5432`,
      data_dir: `${inside}/data`,
      bin_dir: '/usr/lib/postgresql/17/bin',
      pgpass: `${inside}/pgpass`,
      authentication: {
        superuser: { username: 'postgres', password: passwords.superuser },
        replication: { username: 'replicator', password: passwords.replicator },
      },
      parameters: {
        unix_socket_directories: inside,
        ssl: 'on',
        ssl_cert_file: `${inside}/tls/tls.crt`,
        ssl_key_file: `${inside}/tls/tls.key`,
      },
      pg_hba: [
        'local all all trust',
        'hostssl replication replicator 0.0.0.0/0 scram-sha-256',
        'hostssl all all 0.0.0.0/0 scram-sha-256',
      ],
    },
  }
  fs.writeFileSync(path.join(outside, 'patroni.json'), JSON.stringify(config, null, 2))
  for (const file of [outside, ...filesBelow(outside)]) {
    fs.chownSync(file, postgresUser.uid, postgresUser.gid)
  }
}

function filesBelow(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
}

async function isPrimary({ address }: Host): Promise<boolean> {
  try {
    const url = `http://${address}:8008/primary`
    return (await fetch(url, { signal: AbortSignal.timeout(probeMs) })).ok
  } catch {
    return false
  }
}

type MemberState = { name: string; role: string; state: string }

/** What Patroni says of all members. */
async function statesOf({ address }: Host): Promise<MemberState[]> {
  const response = await fetch(`http://${address}:8008/cluster`)
  return ((await response.json()) as { members: MemberState[] }).members
}

async function synchronousStandby(primary: Host, members: Host[]): Promise<Host> {
  return await eventually(async () => {
    const states = await statesOf(primary)
    const name = states.find(({ role }) => role === 'sync_standby')?.name
    return members.find((member) => member.name === name) ?? false
  }, startWithinMs)
}
