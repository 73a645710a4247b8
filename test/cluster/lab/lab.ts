// Builds the whole cluster: the stores, the schema and its rows, the processes, the load balancer.
import path from 'node:path'
import { schemaOwners } from '#platform/db/schemas.ts'
import { openAuthority, prepareCertificates } from '../../../deploy/local/certificates.ts'
import { makeDatabase } from '../../../deploy/local/postgres/database.ts'
import { ownLogin } from '../../../deploy/local/postgres/logins.ts'
import { processNames } from '../../../deploy/local/process/parts.ts'
import {
  prepareSandboxFile,
  type SandboxFile,
  sandboxAddresses,
} from '../../../deploy/local/sandbox-file.ts'
import { consoleKey, prepareSecrets } from '../../../deploy/local/secrets.ts'
import { silentLog } from '../../support/database.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type NatsCluster, startNats } from './nats.ts'
import { type Network, openNetwork } from './network.ts'
import { addHosts, type Parts, startParts } from './parts.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { openMachines } from './processes.ts'
import type { LabPrograms } from './programs.ts'
import { migrate, preparationOf, thisVersion } from './version.ts'

/** The cluster, as the one who breaks it sees it. */
export type Lab = {
  sandbox: SandboxFile
  network: Network
  postgres: Postgres
  nats: NatsCluster
  parts: Parts
  balancer: Balancer
  /** The superuser's URL of the product's database. Secret. */
  databaseUrl: string
  /** Resolves when everything runs and is ready. */
  healthy(): Promise<void>
}

const databaseName = 'payweave'

/** Builds it in a folder, with the product of a version, which is a folder too. Calls `note` at each step. */
export async function buildLab(
  folder: string,
  version: string,
  programs: LabPrograms,
  note: (line: string) => void,
): Promise<Lab> {
  const network = await openNetwork(folder, programs)
  const machines = openMachines(network, programs, folder)
  const proxy = await network.add('balancer')
  const publicUrl = `http://${proxy.address}`
  const sandbox = prepareSandboxFile(
    folder,
    sandboxAddresses(publicUrl, () => 8080, 8082, 'https'),
  )
  prepareSecrets(folder, processNames, sandbox.grpc_token)
  consoleKey(folder)
  await prepareCertificates(folder, processNames)
  const authority = await openAuthority(path.join(folder, 'tls', 'authority'))

  note('PostgreSQL under Patroni and NATS start')
  const [postgres, nats] = await Promise.all([
    startPostgres(machines, authority),
    startNats(machines, authority),
  ])
  await Promise.all([postgres.healthy(), nats.healthy()])
  const databaseUrl = await makeDatabase(postgres.url('postgres'), databaseName)
  note('the schema is migrated')
  await migrate(version, databaseUrl, 'expand')
  // That of an earlier version runs with ours: operators run it days after an upgrade.
  if (version === thisVersion) await migrate(version, databaseUrl, 'contract')
  const { prepareLogins, seed } = await preparationOf(version)
  await prepareLogins(databaseUrl, folder, ownLogin)
  await seed({ databaseUrl, dataDir: folder, sandbox, environment: 'sandbox', log: silentLog })

  note(`two replicas each of ${schemaOwners.join(', ')} and the gateway start`)
  const hosts = await addHosts(network)
  const parts = await startParts(machines, hosts, {
    version,
    publicUrl,
    proxy,
    databaseUrl,
    natsUrl: nats.url,
  })
  const balancer = await startBalancer(machines, proxy, hosts.get('gateway') ?? [])
  const healthy = async () => {
    await Promise.all([postgres.healthy(), nats.healthy(), parts.ready()])
  }
  return { sandbox, network, postgres, nats, parts, balancer, databaseUrl, healthy }
}
