// The example connector of docs/connectors.md, as a process before a simulated provider: it passes the conformance kit, refuses
// webhooks that are not signed, and loses nothing when it is killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import { signatureOf } from '../../connectors/kit/domain/signature.ts'
import {
  type BackendCheck,
  chargeOfItsOwn,
  payByItself,
  reported,
} from '../../tools/conformance/backend/check.ts'
import { backendChecks } from '../../tools/conformance/backend/checks.ts'
import { readOutcomeMap } from '../../tools/conformance/backend/outcome-map.ts'
import { type BackendTarget, runBackendChecks } from '../../tools/conformance/backend/run.ts'
import { blocksOf } from '../docs/pages.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'
import { apiKey, startAcme, webhookSecret } from './acme.ts'

const example = join(import.meta.dirname, '../../connectors/example')
const secrets = mkdtempSync(join(tmpdir(), 'payweave-connector-'))
let acme: Awaited<ReturnType<typeof startAcme>>
let database: TestDatabase
let target: BackendTarget
let webhookUrl = ''
let adminUrl = ''
let env: NodeJS.ProcessEnv = {}
let child: ChildProcess | undefined

async function start(): Promise<void> {
  child = spawn(process.execPath, [join(example, 'main.ts')], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
}
async function end(signal: NodeJS.Signals): Promise<unknown> {
  if (child === undefined) return undefined
  const ended = once(child, 'exit')
  child.kill(signal)
  const [code] = await ended
  child = undefined
  return code
}

beforeAll(async () => {
  writeIdentities(secrets, [
    'payments',
    'accounts',
    'institution',
    'quotes',
    'billing',
    'simulator',
  ])
  const own = join(secrets, 'simulator')
  writeFileSync(join(own, 'acme-api-key'), `${apiKey}\n`)
  writeFileSync(join(own, 'acme-webhook-secret'), `${webhookSecret}\n`)
  database = await createTestDatabase('connector', connectorMigrations(join(example, 'migrations')))
  const [port = 0, webhookPort = 0, adminPort = 0, ...reports] = await freePorts(6)
  const [payments = 0, accounts = 0, institution = 0] = reports
  const urlOf = (at: number) => `http://127.0.0.1:${at}`
  webhookUrl = `${urlOf(webhookPort)}/webhooks/acme`
  adminUrl = urlOf(adminPort)
  acme = await startAcme(webhookUrl)
  env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    LOG_LEVEL: 'fatal',
    HOST: '127.0.0.1',
    PORT: String(port),
    SIMULATOR_PUBLIC_PORT: String(webhookPort),
    ADMIN_PORT: String(adminPort),
    DATABASE_URL: database.url,
    PAYMENTS_URL: urlOf(payments),
    ACCOUNTS_URL: urlOf(accounts),
    INSTITUTION_URL: urlOf(institution),
    SECRETS_DIR: own,
    ACME_URL: acme.url,
  }
  target = {
    url: urlOf(port),
    audience: 'simulator',
    secrets,
    map: readOutcomeMap(join(example, 'conformance.json')),
    host: '127.0.0.1',
    ports: { payments, accounts, institution },
    pagesOrigin: 'https://pay.example',
    executionsUrl: undefined,
  }
  await start()
})
afterAll(async () => {
  await end('SIGKILL')
  await acme.close()
  await database.drop()
  rmSync(secrets, { recursive: true })
})

const run = (checks: readonly BackendCheck[]) =>
  runBackendChecks(target, checks, { atOnce: 4, signal: new AbortController().signal })

it('the example keeps every rule that Acme can show, though webhooks come twice and credits fail at first', async () => {
  const results = await run(backendChecks)
  const of = (wanted: string) => results.filter(({ result }) => result === wanted)
  expect(of('failed').map(({ name, reason }) => `${name}: ${reason ?? ''}`)).toEqual([])
  expect(of('passed').map(({ name }) => name.split('/')[0])).toEqual(
    expect.arrayContaining(['access', 'charges', 'reports', 'wallets', 'payouts', 'refunds']),
  )
  expect(of('passed').length).toBeGreaterThan(24)
})

it('a webhook without a valid signature, or that is no event, changes nothing', async () => {
  const event = JSON.stringify({ id: 'e', type: 'debit.ended', reference: 'r', status: 'paid' })
  const post = async (body: string, signature?: string) => {
    const headers = signature === undefined ? {} : { 'acme-signature': signature }
    return (await fetch(webhookUrl, { method: 'POST', headers, body })).status
  }
  const signed = (body: string) => signatureOf(webhookSecret, Buffer.from(body), Date.now())
  expect(await post(event)).toBe(401)
  expect(await post(event, 't=1,v1=00')).toBe(401)
  expect(await post(event, signed('{}'))).toBe(401)
  expect(await post('{"type":"other"}', signed('{"type":"other"}'))).toBe(400)
  await eventually(async () => {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/payweave_connector_work_waiting\{.*kind="webhook".*\} 0/)
    expect(metrics).toMatch(/payweave_connector_work_dead\{.*kind="webhook".*\} 0/)
  })
})

it('a process that is killed while it owes a report sends it after its next start', async () => {
  const killed: BackendCheck = {
    name: 'example/killed',
    rule: 'A report that was owed is sent after a crash.',
    needs: [],
    async run(world) {
      const charge = chargeOfItsOwn(world)
      const { chargeId } = charge
      world.reports.plan(
        chargeId,
        ...Array.from({ length: 1_000 }, () => 'SERVICE_UNAVAILABLE' as const),
      )
      await payByItself(world, charge)
      await eventually(() => world.reports.of(chargeId).length > 0)
      await end('SIGKILL')
      world.reports.plan(chargeId)
      await start()
      await reported(world, chargeId, 'PAID')
    },
  }
  expect(await run([killed])).toMatchObject([{ result: 'passed' }])
})

it('the code of docs/connectors.md is that of the example', () => {
  const sources = readdirSync(example, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(example, file), 'utf8'))
  const blocks = blocksOf('docs/connectors.md').filter(({ language }) => language === 'ts')
  expect(blocks.length).toBeGreaterThan(3)
  for (const { code, place } of blocks) {
    expect(
      sources.some((source) => source.includes(code.trimEnd())),
      place,
    ).toBe(true)
  }
})

it('a stop is clean', async () => {
  expect(await end('SIGTERM')).toBe(0)
})
