// The drill of a restore: the commands against a restored database, and what they ask of the Kubernetes API of a cluster.
import fs from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { issueCertificate, openAuthority } from '../../deploy/local/certificates.ts'
import { newCustomer } from '../ledger/harness.ts'
import { runHere } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/servers.ts'
import { type Manifest, manifestsRoot, ofKind, render } from './kustomize.ts'

const folder = temporaryFolder('restore-drill')
const cluster = path.join(manifestsRoot, 'components', 'restore-drill', 'cluster.json')
const clustersPath = '/apis/postgresql.cnpg.io/v1/namespaces/payweave/clusters'
let database: TestDatabase
let api: https.Server
/** What the API was asked, in order, and the cluster that exists there. */
const asked: string[] = []
let existing: object | undefined
/** What the drill last created. */
let created = ''
const manifests = render('production')
/** The database of production, which exists there always. */
const [live] = ofKind(manifests, 'Cluster')

/** Stands for the API server of a cluster, whose operator restores a database at once. */
async function startApi(): Promise<number> {
  const authority = await openAuthority(path.join(folder, 'authority'))
  await issueCertificate(authority, folder, { names: ['IP:127.0.0.1'] })
  const read = (name: string) => fs.readFileSync(path.join(folder, name))
  api = https.createServer({ key: read('tls.key'), cert: read('tls.crt') }, (request, response) => {
    const { method = '', url = '', headers } = request
    const isLive = url.endsWith('/postgres')
    asked.push(`${method} ${url.replace(clustersPath, '')}`)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const isAllowed = headers.authorization === 'Bearer of-the-job'
      const status = isAllowed ? answer(isLive ? 'READ' : method, chunks) : 401
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isLive ? live : (existing ?? {})))
    })
  })
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  return (api.address() as AddressInfo).port
}

function answer(method: string, chunks: Buffer[]): number {
  if (method === 'POST') {
    created = Buffer.concat(chunks).toString()
    const wanted = JSON.parse(created) as object
    existing = { ...wanted, status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    return 201
  }
  if (method !== 'READ' && existing === undefined) return 404
  if (method === 'DELETE') existing = undefined
  return 200
}

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const port = await startApi()
  fs.writeFileSync(path.join(folder, 'token'), 'of-the-job\n')
  fs.writeFileSync(path.join(folder, 'namespace'), 'payweave')
  Object.assign(process.env, {
    DATABASE_URL: database.url,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(port),
    SERVICE_ACCOUNT_DIR: folder,
  })
})
beforeEach(() => {
  asked.length = 0
})
afterAll(async () => {
  api.closeAllConnections()
  api.close()
  await database.drop()
  fs.rmSync(folder, { recursive: true })
})

const run = (...words: string[]) => runHere(folder, 'restore', ...words)

it('a restored database without a transfer is no success', async () => {
  expect(await run('check')).toMatchObject({ code: 1, err: expect.stringContaining('is empty') })
})

it('restore check counts the transfers of a sound ledger and says how new it is', async () => {
  await newCustomer(database.open(), { projectId: randomId(), amountMinor: 10_000n })
  const { code, out } = await run('check')
  expect(out).toMatch(/^checked 1 transfers {2}newest 20\d\d-\S+Z {2}found 0\n$/)
  expect(code).toBe(0)
})

it('restore check fails when the newest transfer is older than it may be', async () => {
  const { code, err } = await run('check', '--newest-within', '0s')
  expect([code, err]).toEqual([1, expect.stringContaining('is older than 0s')])
  expect(await run('check', '--newest-within', '48h')).toMatchObject({ code: 0 })
})

it('restore drill removes an old database, restores a new one, checks it and removes it', async () => {
  existing = { metadata: { name: 'postgres-drill' } }
  const { code, out, err } = await run('drill', '--cluster', cluster, '--newest-within', '48h')
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('found 0')
  expect(asked).toEqual([
    'GET /postgres',
    'DELETE /postgres-drill',
    'GET /postgres-drill',
    'POST ',
    'GET /postgres-drill',
    'DELETE /postgres-drill',
    'GET /postgres-drill',
  ])
  const { spec } = JSON.parse(created) as Manifest
  const archived = live?.spec.plugins[0]
  expect(spec).toMatchObject({
    instances: 1,
    imageName: live?.spec.imageName,
    storage: live?.spec.storage,
    walStorage: live?.spec.walStorage,
    // A server that replays a log with fewer connections than the one that wrote it stops.
    postgresql: {
      parameters: { max_connections: live?.spec.postgresql.parameters.max_connections },
    },
    externalClusters: [
      {
        name: spec.bootstrap.recovery.source,
        plugin: {
          name: archived.name,
          parameters: { serverName: 'postgres', ...archived.parameters },
        },
      },
    ],
  })
  expect(Object.keys(spec.postgresql.parameters)).toEqual(['max_connections'])
  // It has no archive of its own: that would go where production's is.
  expect(spec.plugins).toBeUndefined()
})

it('restore drill fails and removes the database when a rule of the ledger is broken', async () => {
  const db = database.open()
  await db.run(
    { name: 'break_balance', text: 'update ledger_account set posted_minor = posted_minor + 1' },
    [],
  )
  const { code, out, err } = await run('drill', '--cluster', cluster)
  expect(code).toBe(1)
  expect(out).toMatch(/^L3 {2}/m)
  expect(err).toContain('the restored ledger breaks its rules')
  expect(existing).toBeUndefined()
})

it('restore drill removes the database when it is stopped while the ledger is checked', async () => {
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('begin; lock table accounts.transfer in access exclusive mode')
  const ended = run('drill', '--cluster', cluster)
  await eventually(async () => {
    const { rows } = await holder.query(
      'select from pg_locks join pg_database on oid = database where datname = current_database() and not granted',
    )
    return rows.length > 0
  })
  process.listeners('SIGTERM').at(-1)?.('SIGTERM')
  expect(await ended).toMatchObject({ code: 1, err: expect.stringContaining('was stopped') })
  expect(existing).toBeUndefined()
  await holder.end()
})

it('the job of the drill leaves its command the time for two attempts and their removals', () => {
  const source = fs.readFileSync('clients/cli/restore/command.ts', 'utf8')
  const secondsOf = (name: string) =>
    Number(new RegExp(`${name} = ([\\d_]+)`).exec(source)?.[1]?.replaceAll('_', '')) / 1_000
  const attemptS = secondsOf('drillWithinMs') + secondsOf('removeWithinMs')
  const [job] = ofKind(manifests, 'CronJob')
  const { backoffLimit, activeDeadlineSeconds } = job?.spec.jobTemplate.spec ?? {}
  expect(attemptS).toBeGreaterThan(3_600)
  expect(activeDeadlineSeconds).toBeGreaterThan((backoffLimit + 1) * attemptS)
})

it('the job of the drill may read the database of production, and remove that of the drill alone', () => {
  const role = ofKind(manifests, 'Role').find(({ metadata }) => metadata.name === 'restore-drill')
  const allowed = role?.['rules'].map(
    ({ resourceNames, verbs }: { resourceNames?: string[]; verbs: string[] }) =>
      [resourceNames?.join(), verbs.join()] as const,
  )
  expect(allowed).toEqual([
    [undefined, 'create'],
    ['postgres-drill', 'get,delete'],
    [live?.metadata.name, 'get'],
  ])
})
