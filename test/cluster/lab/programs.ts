// The servers that the cluster tests need, as a small Debian system.
import { debianSystem } from '../../image/debian.ts'

/** The user in the system below that PostgreSQL runs as. */
export const postgresUser = { uid: 65_534, gid: 65_534 }

/** The root folder of a system with PostgreSQL, Patroni, etcd, HAProxy, nats-server and iproute2. */
export type LabPrograms = { root: string }

/** Takes the system from the cache, or makes it there. */
export async function labPrograms(note: (line: string) => void): Promise<LabPrograms> {
  const root = await debianSystem(
    {
      name: 'cluster-trixie',
      // It has PostgreSQL 17, which the product supports; the release of this machine may be older.
      release: 'trixie',
      // nats-server 2.10 of that release forgets a server now and then when all three start at once.
      others: ['sid'],
      variant: 'extract',
      packages: [
        'postgresql-17',
        'patroni',
        'python3-etcd',
        'etcd-server',
        'haproxy',
        'nats-server/sid',
        'iproute2',
        'dash',
        'coreutils',
      ],
      // PostgreSQL refuses to run as root or without a name.
      configuration: {
        passwd: 'root:x:0:0::/root:/bin/sh\npostgres:x:65534:65534::/tmp:/bin/sh\n',
        group: 'root:x:0:\npostgres:x:65534:\n',
        hosts: '',
        'nsswitch.conf': 'hosts: files\n',
      },
      folders: ['lab'],
    },
    note,
  )
  return { root }
}
