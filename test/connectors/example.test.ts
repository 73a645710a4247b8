// The example connector of docs/connectors/README.md, as a process before a simulated provider: it passes the conformance kit, refuses
// webhooks that are not signed, and loses nothing when it is killed.
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signatureOf } from '../../connectors/kit/domain/signature.ts'
import { type BackendCheck, reported } from '../../tools/conformance/backend/check.ts'
import { chargeOfItsOwn, payByItself } from '../../tools/conformance/backend/reported-payment.ts'
import { blocksOf } from '../docs/pages.ts'
import { eventually } from '../support/eventually.ts'
import { apiKey, startAcme, webhookSecret } from './acme.ts'
import { type ConnectorProcess, checkGroups, prepareConnector } from './harness.ts'

const example = join(import.meta.dirname, '../../connectors/example')
let acme: Awaited<ReturnType<typeof startAcme>>
let connector: ConnectorProcess
let webhookUrl = ''

beforeAll(async () => {
  acme = await startAcme(() => webhookUrl)
  connector = await prepareConnector({
    name: 'example',
    identity: 'simulator',
    secrets: { 'acme-api-key': apiKey, 'acme-webhook-secret': webhookSecret },
    variables: () => ({ ACME_URL: acme.url }),
  })
  webhookUrl = `${connector.webhookOrigin}/webhooks/acme`
  await connector.start()
})
afterAll(async () => {
  await acme.close()
  await connector.remove()
})

/** What Acme can show, though its webhooks come twice and credits fail at first. */
const shown = new Set(['access', 'charges', 'reports', 'wallets', 'payouts', 'refunds'])

it.each(checkGroups)('the example keeps every rule of %s that Acme can show', async (group) => {
  const results = await connector.runGroup(group)
  const of = (wanted: string) => results.filter(({ result }) => result === wanted)
  expect(of('failed').map(({ name, reason }) => `${name}: ${reason ?? ''}`)).toEqual([])
  expect(of('passed').length > 0, group).toBe(shown.has(group))
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
  // No id of ours, and an id that is longer than what is stored: repeating them helps nobody.
  const long = event.replace('"e"', `"${'e'.repeat(201)}"`).replace('"r"', `"${randomUUID()}"`)
  for (const body of [event, long]) expect(await post(body, signed(body))).toBe(400)
  await eventually(async () => {
    const metrics = await (await fetch(`${connector.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/payweave_connector_work_waiting\{.*kind="webhook".*\} 0/)
    expect(metrics).toMatch(/payweave_connector_work_dead\{.*kind="webhook".*\} 0/)
  })
})

it('a process that is killed while it owes a report sends it after its next start', async () => {
  const killed: BackendCheck = {
    name: 'example/killed',
    rule: 'A report that was owed is sent after a crash.',
    needs: [],
    async run(context) {
      const charge = chargeOfItsOwn(context)
      const { chargeId } = charge
      context.reports.plan(
        chargeId,
        ...Array.from({ length: 1_000 }, () => 'SERVICE_UNAVAILABLE' as const),
      )
      await payByItself(context, charge)
      await eventually(() => context.reports.of(chargeId).length > 0)
      await connector.end('SIGKILL')
      context.reports.plan(chargeId)
      await connector.start()
      await reported(context, chargeId, 'PAID')
    },
  }
  expect(await connector.run([killed])).toMatchObject([{ result: 'passed' }])
})

it('the code of docs/connectors/README.md is that of the example', () => {
  const sources = readdirSync(example, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(example, file), 'utf8'))
  const blocks = blocksOf('docs/connectors/README.md').filter(({ language }) => language === 'ts')
  expect(blocks.length).toBeGreaterThan(3)
  for (const { code, place } of blocks) {
    expect(
      sources.some((source) => source.includes(code.trimEnd())),
      place,
    ).toBe(true)
  }
})

it('a stop is clean', async () => {
  expect(await connector.end('SIGTERM')).toBe(0)
})
