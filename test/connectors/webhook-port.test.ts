// The port of webhooks bounds what strangers can cause: lines of the log, statements of the database, and texts that cannot be stored.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '#platform/db/db.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import { signatureOf } from '../../connectors/kit/domain/signature.ts'
import { openWebhookPort, type WebhookPort } from '../../connectors/kit/http/webhook-port.ts'
import type { WebhookOutcome } from '../../connectors/kit/metrics.ts'
import { countWork } from '../../connectors/kit/store/work-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const host = '127.0.0.1'
const signature = { header: 'acme-signature', secrets: ['secret'], toleranceS: 300 }
const lines: string[] = []
const log = createLogger({
  part: 'connector',
  level: 'warn',
  destination: { write: (line) => void lines.push(line) },
})
const counts = new Map<WebhookOutcome, number>()
const count = (outcome: WebhookOutcome) => void counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
const calls = { log, host, port: 0, hintedKinds: ['none'], notify: () => undefined, count }
/** The first line is the id of the event, the second its subject. */
const readEvent = (body: Buffer) => {
  const [eventId, subject] = body.toString().split('\n')
  return eventId === undefined || subject === undefined ? undefined : { eventId, subject }
}
let database: TestDatabase
let db: Database
let open: WebhookPort
let nowMs = 0

beforeAll(async () => {
  database = await createTestDatabase('connector', connectorMigrations())
  db = database.open()
  open = await openWebhookPort({
    ...calls,
    db,
    webhooks: { path: '/webhooks', signature, read: readEvent },
    hints: { path: '/hints', read: (body) => body.toString() },
    nowMs: () => nowMs,
  })
})
afterAll(async () => {
  await open.close()
  await database.drop()
})

async function post(path: string, body: string, headers: Record<string, string> = {}) {
  const url = `http://${host}:${open.port}${path}`
  return (await fetch(url, { method: 'POST', body, headers })).status
}
const event = (body: string) =>
  post('/webhooks', body, {
    'acme-signature': signatureOf('secret', Buffer.from(body), Date.now()),
  })

it.each([[[]], [['']], [['secret', '']]])(
  'webhooks are not taken by the secrets %j',
  async (secrets) => {
    const webhooks = { path: '/webhooks', signature: { ...signature, secrets }, read: readEvent }
    const opening = openWebhookPort({ ...calls, db, webhooks, hints: undefined })
    await expect(opening).rejects.toThrow('none may be empty')
  },
)

it('bad signatures are all counted, and the log has one line of them', async () => {
  for (let sent = 0; sent < 20; sent += 1)
    expect(await post('/webhooks', 'e\ns', { 'acme-signature': 't=1,v1=00' })).toBe(401)
  expect(counts.get('bad_signature')).toBe(20)
  expect(lines.filter((line) => line.includes('bad signature'))).toHaveLength(1)
})

it('a signed event whose id or subject cannot be stored is refused, so that the provider does not send it for ever', async () => {
  const long = 'x'.repeat(201)
  for (const body of [`${long}\ns`, `e\n${long}`, '\ns', 'e\n', 'e\0\ns', 'e'])
    expect(await event(body)).toBe(400)
  expect(counts.get('malformed')).toBe(6)
  expect(await countWork(db)).toEqual([])
  const longest = `${'x'.repeat(200)}\ns`
  expect([await event(longest), await event(longest)]).toEqual([200, 200])
  expect([counts.get('stored'), counts.get('duplicate')]).toEqual([1, 1])
  expect(await countWork(db)).toMatchObject([{ kind: 'webhook', waiting: 1 }])
})

it('hints of strangers cost the database a bounded number of statements', async () => {
  const send = async (times: number) => {
    const sent = await Promise.all(
      Array.from({ length: times }, () => post('/hints', randomUUID())),
    )
    return sent.filter((status) => status === 200).length
  }
  expect(await send(210)).toBe(200)
  nowMs += 100
  expect(await send(10)).toBe(5)
  expect([counts.get('hint'), counts.get('hint_limited')]).toEqual([205, 15])
})
