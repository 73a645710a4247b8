// Two simulators as two connectors: charges are routed by currency, to the fallback while their connector is down.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  identityFile,
  newIdentityKey,
  publicPem,
  renderTrust,
  trustFile,
} from '#platform/rpc/auth/trust.ts'
import { makeDatabase } from '../../../deploy/local/postgres/database.ts'
import type { TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { adminPort } from '../../../deploy/local/settings.ts'
import { runHere } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { startAlike } from '../../support/further-process.ts'
import { type Mesh, queryRows, startMesh } from '../../support/mesh.ts'
import { freePorts } from '../../support/servers.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { type Created, type Merchant, merchant, order, payer } from '../harness.ts'
import { internalTeam } from '../tools/grpc.ts'

const second = 'connector-second'
const euros = { currency: 'EUR', payers: [payer(1)] }

let mesh: Mesh
let shop: Merchant
let ports: string[]
/** Of the second connector. */
let databaseUrl: string
let connector: TiedProcess

beforeAll(async () => {
  ports = (await freePorts(5)).map(String)
  const CONNECTORS = JSON.stringify({ [second]: `http://127.0.0.1:${ports[0]}` })
  mesh = await startMesh({ name: 'routing', settings: { CONNECTORS } })
  shop = merchant(mesh)
  databaseUrl = await makeDatabase(mesh.databaseUrl(), 'connector_second')
  introduce(second)
  connector = await startConnector()
})
afterAll(async () => {
  await connector?.end('SIGTERM', 10_000)
  await mesh?.remove()
})

/** Gives a connector a key of its own, which payments trusts. */
function introduce(name: string): void {
  const fileOf = (part: string, file: string) => path.join(mesh.dataDir, 'secrets', part, file)
  const key = newIdentityKey()
  fs.mkdirSync(path.dirname(fileOf(name, identityFile)), { mode: 0o700 })
  fs.writeFileSync(fileOf(name, identityFile), key, { mode: 0o600 })
  const known = JSON.parse(fs.readFileSync(fileOf('payments', trustFile), 'utf8'))
  const trust = renderTrust({ ...known.issuers, [name]: [publicPem(key)] }, known.bearers)
  for (const part of ['payments', name]) {
    fs.writeFileSync(fileOf(part, trustFile), trust, { mode: 0o600 })
  }
}

function startConnector(): Promise<TiedProcess> {
  const [PORT = '', ADMIN_PORT = '', CONNECTOR_PUBLIC_PORT = ''] = ports
  return startAlike(mesh, 'simulator', {
    script: 'connectors/simulator/main.ts',
    PORT,
    ADMIN_PORT,
    CONNECTOR_PUBLIC_PORT,
    BACKEND_NAME: second,
    SECRETS_DIR: path.join(mesh.dataDir, 'secrets', second),
    DATABASE_URL: databaseUrl,
    DATABASE_PASSWORD_FILE: '',
    MIGRATE_AT_START: '1',
  })
}

async function routes(...words: string[]): Promise<void> {
  const { code, err } = await runHere(mesh.dataDir, 'routes', ...words)
  expect({ code, err }).toEqual({ code: 0, err: '' })
}

/** The connectors of the only payer of a payment: the one that payments names, and those that have rows of the charge. */
async function whereIs({ id }: Created, table: 'charge' | 'refund') {
  const [row] = await mesh.rows<{ payer_id: string; connector: string | null }>(
    'select payer_id, connector from payments.payer where payment_id = $1',
    [id],
  )
  const count = async (url: string) =>
    (await queryRows(url, `select 1 from simulator.${table} where charge_id = $1`, [row?.payer_id]))
      .length
  return {
    connector: row?.connector,
    simulator: await count(mesh.databaseUrl()),
    second: await count(databaseUrl),
  }
}

async function fallbacks(): Promise<string[]> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort(mesh, 'payments')}/metrics`)).text()
  return text.split('\n').filter((line) => line.startsWith('payweave_payments_fallbacks_total{'))
}

it('a route that one replica of payments takes counts in another within a second', async () => {
  const [, , , PORT = '', ADMIN_PORT = ''] = ports
  const script = 'services/payments/main.ts'
  const replica = await startAlike(mesh, 'payments', { script, PORT, ADMIN_PORT })
  try {
    const direct = ['--url', `http://127.0.0.1:${PORT}`, '--token', mesh.sandbox.grpc_token]
    await routes('set', '--currency', 'EUR', '--connector', second, ...direct)
    const stopwatch = startStopwatch()
    let lastBeforeMs = 0
    await eventually(async () => {
      const sentMs = stopwatch.elapsedMs()
      const { connector: chosen } = await whereIs(await shop.create(order(euros)), 'charge')
      if (chosen !== second) lastBeforeMs = sentMs
      expect(chosen).toBe(second)
    })
    expect(lastBeforeMs).toBeLessThan(1_000)
  } finally {
    await replica.end('SIGTERM', 10_000)
  }
})

it('charges go to the fallback while their connector is down, and refunds go where the charge is', async () => {
  const team = internalTeam(mesh)
  const projectId = await team.projectId(mesh.sandbox.projects.demo.subscription_key)
  await routes('set', '--currency', 'EUR', '--connector', second, '--fallback', 'simulator')

  const dollars = await shop.create(order({ currency: 'USD', payers: [payer(1)] }))
  const before = await shop.create(order(euros))
  await Promise.all([shop.stateIs(dollars.id, 'paid'), shop.stateIs(before.id, 'paid')])
  expect(await whereIs(dollars, 'charge')).toEqual({
    connector: 'simulator',
    simulator: 1,
    second: 0,
  })
  const atSecond = { connector: second, simulator: 0, second: 1 }
  expect(await whereIs(before, 'charge')).toEqual(atSecond)
  expect(await fallbacks()).toEqual([])

  await connector.end('SIGKILL', 0)
  const meanwhile = await shop.create(order(euros))
  await shop.stateIs(meanwhile.id, 'paid')
  const atFallback = { connector: 'simulator', simulator: 1, second: 0 }
  expect(await whereIs(meanwhile, 'charge')).toEqual(atFallback)
  const labels = `kind="charge",connector="${second}",fallback="simulator",currency="EUR"`
  expect(await fallbacks()).toEqual([
    `payweave_payments_fallbacks_total{${labels},part="payments"} 1`,
  ])
  await Promise.all([before, meanwhile].map(({ id }) => team.refund(projectId, id)))
  await eventually(async () => expect(await whereIs(meanwhile, 'refund')).toEqual(atFallback))
  expect(await whereIs(before, 'refund')).toMatchObject({ simulator: 0, second: 0 })

  connector = await startConnector()
  await eventually(async () => expect(await whereIs(before, 'refund')).toEqual(atSecond))
  const after = await shop.create(order(euros))
  await shop.stateIs(after.id, 'paid')
  expect(await whereIs(after, 'charge')).toEqual(atSecond)
  team.close()
})
