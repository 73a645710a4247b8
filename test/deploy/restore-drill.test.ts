// The drill of a restore: the commands against a restored database, and what they ask of the Kubernetes API of a cluster.
import fs from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { issueCertificate, openAuthority } from '../../deploy/local/certificates.ts'
import { newCustomer } from '../ledger/harness.ts'
import { runHere } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
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

/** Stands for the API server of a cluster, whose operator restores a database at once. */
async function startApi(): Promise<number> {
  const authority = await openAuthority(path.join(folder, 'authority'))
  await issueCertificate(authority, folder, { names: ['IP:127.0.0.1'] })
  const read = (name: string) => fs.readFileSync(path.join(folder, name))
  api = https.createServer({ key: read('tls.key'), cert: read('tls.crt') }, (request, response) => {
    const { method = '', url = '', headers } = request
    asked.push(`${method} ${url.replace(clustersPath, '')}`)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const status = headers.authorization === 'Bearer of-the-job' ? answer(method, chunks) : 401
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(existing ?? {}))
    })
  })
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  return (api.address() as AddressInfo).port
}

function answer(method: string, chunks: Buffer[]): number {
  if (method === 'POST') {
    const wanted = JSON.parse(Buffer.concat(chunks).toString()) as object
    existing = { ...wanted, status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    return 201
  }
  if (existing === undefined) return 404
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

it('restore drill removes an old database, restores a new one, checks it and removes it', async () => {
  existing = { metadata: { name: 'postgres-drill' } }
  const { code, out, err } = await run('drill', '--cluster', cluster)
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('found 0')
  expect(asked).toEqual([
    'DELETE /postgres-drill',
    'GET /postgres-drill',
    'POST ',
    'GET /postgres-drill',
    'DELETE /postgres-drill',
    'GET /postgres-drill',
  ])
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

it('the database of the drill is one of the release of production, restored from its backups', () => {
  const wanted = JSON.parse(fs.readFileSync(cluster, 'utf8'))
  const manifests = render('production')
  const [production] = ofKind(manifests, 'Cluster')
  const [store] = ofKind(manifests, 'ObjectStore')
  expect(wanted.spec.imageName).toBe(production?.spec.imageName)
  expect(wanted.spec.storage).toEqual(production?.spec.storage)
  expect(wanted.spec.walStorage).toEqual(production?.spec.walStorage)
  // A server that replays a log with fewer connections than the one that wrote it stops.
  const connections = ({ spec }: Manifest) => spec.postgresql.parameters.max_connections
  expect(connections(wanted)).toBe(production && connections(production))
  const [source] = wanted.spec.externalClusters
  expect(source.plugin.parameters).toEqual({
    barmanObjectName: store?.metadata.name,
    serverName: production?.metadata.name,
  })
  const role = ofKind(manifests, 'Role').find(({ metadata }) => metadata.name === 'restore-drill')
  const named = role?.['rules'].flatMap((rule: { resourceNames?: string[] }) => rule.resourceNames)
  expect(named).toEqual([undefined, wanted.metadata.name])
})
