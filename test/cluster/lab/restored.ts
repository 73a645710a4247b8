// A backup of the cluster of PostgreSQL with its archived log, and a server that is restored from both.
import fs from 'node:fs'
import path from 'node:path'
import { type Authority, issueCertificate } from '../../../deploy/local/certificates.ts'
import type { Host } from './network.ts'
import type { Machines } from './processes.ts'
import { postgresUser } from './programs.ts'

const programs = '/usr/lib/postgresql/17/bin'
const stopWithinMs = 60_000

/** The folder of the archived log, as the servers see it, and the command by which the primary fills it. */
export const archive = {
  folder: (insideFolder: string) => `${insideFolder}/archive`,
  command: (insideFolder: string) => `cp %p ${archive.folder(insideFolder)}/%f`,
}

/** What a server is restored from. */
export type Source = { authority: Authority; member: Host; replicatorPassword: string }

/** A server that is restored on a host of its own. */
export type Restored = {
  host: Host
  /** Replays the log to its end and takes writes afterwards; does not wait for that. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Copies a member's data to a new host, while the member serves. Rejects when the copy fails. */
export async function backUp(
  machines: Machines,
  { authority, member, replicatorPassword }: Source,
  name: string,
): Promise<Restored> {
  const host = await machines.network.add(name)
  const outside = path.join(machines.folder, name)
  const inside = `${machines.insideFolder}/${name}`
  await issueCertificate(authority, path.join(outside, 'tls'), { names: [`DNS:${name}`] })
  for (const file of [outside, ...fs.globSync(`${outside}/**`)]) {
    fs.chownSync(file, postgresUser.uid, postgresUser.gid)
  }
  const from = `host=${member.name} user=replicator sslmode=verify-full sslrootcert=${inside}/tls/ca.crt`
  const copy = await machines.start({
    host,
    command: [
      `${programs}/pg_basebackup`,
      `--dbname=${from}`,
      `--pgdata=${inside}/data`,
      '--checkpoint=fast',
      // The log comes from the archive.
      '--wal-method=none',
    ],
    env: { PGPASSWORD: replicatorPassword },
    inside: 'postgres',
  })
  const { code } = await copy.exited
  if (code !== 0) throw new Error(`pg_basebackup ended with ${code}: logs/${name}.log says why`)
  // The member may be a standby.
  fs.rmSync(path.join(outside, 'data', 'standby.signal'), { force: true })
  fs.writeFileSync(path.join(outside, 'data', 'recovery.signal'), '')

  const settings = {
    listen_addresses: host.address,
    unix_socket_directories: inside,
    ssl_cert_file: `${inside}/tls/tls.crt`,
    ssl_key_file: `${inside}/tls/tls.key`,
    restore_command: `cp ${archive.folder(machines.insideFolder)}/%f %p`,
    recovery_target_timeline: 'latest',
    // It follows nobody, and nobody follows it.
    archive_mode: 'off',
    primary_conninfo: '',
    primary_slot_name: '',
    synchronous_standby_names: '',
  }
  const options = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  let end = async (): Promise<void> => undefined
  return {
    host,
    async start() {
      const command = [`${programs}/postgres`, '-D', `${inside}/data`, ...options]
      const server = await machines.start({ host, command, inside: 'postgres' })
      end = async () => void (await server.end('SIGINT', stopWithinMs))
    },
    stop: () => end(),
  }
}
