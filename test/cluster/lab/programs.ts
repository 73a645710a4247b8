// Obtains the servers that the cluster tests need as a small Debian system in a cache folder; this machine stays as it is.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../../deploy/local/nats/program.ts'
import { programFromPackage } from '../../../deploy/local/preflight/system-package.ts'
import { findProgram } from '../../../deploy/local/process/tied-process.ts'

const run = promisify(execFile)

/** A Debian release with PostgreSQL 17, which the product supports; the release of this machine may be older. */
const release = 'trixie'
/** Where nats-server comes from: 2.10 of the release forgets a server now and then when all three start at once. */
const newest = 'sid'
const mirror = 'http://deb.debian.org/debian'
const sources = [release, newest].map((suite) => `deb ${mirror} ${suite} main`)
const packages = [
  'postgresql-17',
  'patroni',
  'python3-etcd',
  'etcd-server',
  'haproxy',
  `nats-server/${newest}`,
  'iproute2',
  'dash',
  'coreutils',
]
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'
/** Files of the system that the scripts of packages would write. PostgreSQL refuses to run as root or without a name. */
const configuration = {
  passwd: 'root:x:0:0::/root:/bin/sh\npostgres:x:65534:65534::/tmp:/bin/sh\n',
  group: 'root:x:0:\npostgres:x:65534:\n',
  hosts: '',
  'nsswitch.conf': 'hosts: files\n',
}
const obtainWithinMs = 900_000

/** The user in the system below that PostgreSQL runs as. */
export const postgresUser = { uid: 65_534, gid: 65_534 }

/** The root folder of a system with PostgreSQL, Patroni, etcd, HAProxy, nats-server and iproute2. */
export type LabPrograms = { root: string }

/** Takes the system from the cache, or makes it there with mmdebstrap, whose package is unpacked and not installed. */
export async function labPrograms(note: (line: string) => void): Promise<LabPrograms> {
  const cache = cacheFolder('/var/cache/payweave')
  const root = path.join(cache, `cluster-${release}`)
  if (fs.existsSync(path.join(root, 'complete'))) return { root }
  note(`obtaining ${packages.join(', ')} from Debian ${release} into ${root}`)
  const work = fs.mkdtempSync(path.join(cache, 'obtain-'))
  try {
    const program =
      findProgram('mmdebstrap') ?? (await programFromPackage('mmdebstrap', 'mmdebstrap', work))
    const made = path.join(work, 'root')
    // Programs alone: nothing is configured, so that no server starts and no user is made.
    await run(
      program,
      [
        '--mode=root',
        '--variant=extract',
        `--include=${packages.join(',')}`,
        `--keyring=${keyring}`,
        `--aptopt=APT::Default-Release "${release}"`,
        // A mirror may be a snapshot of some day; the signature is verified all the same.
        '--aptopt=Acquire::Check-Valid-Until "false"',
        release,
        made,
        ...sources,
      ],
      { timeout: obtainWithinMs, maxBuffer: 2 ** 26 },
    )
    for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
      fs.symlinkSync(`usr/${folder}`, path.join(made, folder))
    }
    for (const folder of ['lab', 'proc', 'dev', 'tmp', 'run']) {
      fs.mkdirSync(path.join(made, folder), { recursive: true })
    }
    fs.chmodSync(path.join(made, 'tmp'), 0o1777)
    for (const [file, text] of Object.entries(configuration)) {
      fs.writeFileSync(path.join(made, 'etc', file), text)
    }
    fs.writeFileSync(path.join(made, 'complete'), '')
    fs.rmSync(root, { recursive: true, force: true })
    fs.renameSync(made, root)
    return { root }
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}
