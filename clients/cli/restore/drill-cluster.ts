// What the database of a drill has in common with the one whose backups it restores.

/** The fields of a Cluster of postgresql.cnpg.io/v1 that a drill reads; others are for the operator of PostgreSQL alone. */
export type DatabaseCluster = {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: {
    imageName?: string
    imagePullSecrets?: object[]
    storage?: object
    walStorage?: object
    postgresql?: { parameters?: Record<string, string> }
    plugins?: Plugin[]
    bootstrap?: { recovery?: { source?: string } }
    [field: string]: unknown
  }
  status?: { conditions?: { type: string; status: string }[] }
}

type Plugin = { name: string; isWALArchiver?: boolean; parameters?: Record<string, string> }

/** A server that replays a log stops, if one of these is lower than it was at the server that wrote the log. */
const replayed = new Set([
  'max_connections',
  'max_worker_processes',
  'max_wal_senders',
  'max_prepared_transactions',
  'max_locks_per_transaction',
])

/** The name of the cluster whose backups a drill restores. Throws an Error if it names none. */
export function sourceOf({ metadata, spec }: DatabaseCluster): string {
  const source = spec.bootstrap?.recovery?.source
  if (source === undefined) throw new Error(`${metadata.name} has no bootstrap.recovery.source`)
  return source
}

/**
 * The cluster to create: `wanted` with the release, the volumes and the archive of the live one, so that a change there needs
 * none here. Throws an Error if the live one has no archive.
 */
export function drillCluster(wanted: DatabaseCluster, live: DatabaseCluster): DatabaseCluster {
  const { imageName, imagePullSecrets, storage, walStorage, postgresql, plugins } = live.spec
  const archiver = plugins?.find(({ isWALArchiver }) => isWALArchiver === true)
  if (archiver === undefined) throw new Error(`${live.metadata.name} does not archive its log`)
  const { name, parameters: archive = {} } = archiver
  const given = Object.entries(postgresql?.parameters ?? {})
  const parameters = Object.fromEntries(given.filter(([key]) => replayed.has(key)))
  return {
    ...wanted,
    spec: {
      ...wanted.spec,
      ...(imageName !== undefined && { imageName }),
      ...(imagePullSecrets !== undefined && { imagePullSecrets }),
      ...(storage !== undefined && { storage }),
      ...(walStorage !== undefined && { walStorage }),
      postgresql: { parameters },
      externalClusters: [
        {
          name: sourceOf(wanted),
          plugin: { name, parameters: { serverName: live.metadata.name, ...archive } },
        },
      ],
    },
  }
}
