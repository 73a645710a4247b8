// Holds that receivers of a hosted sandbox keep to tags which are secrets, and that no tag is ever listed.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ environment: 'sandbox' })
})
afterAll(() => harness.stop())

const refusal = {
  message: 'The tag must be a secret of your own choice: 16 or more characters.',
}

const keptStatement = sql(
  'test_kept_by_tag',
  'select count(*) as requests from received where tag = $1',
)

async function ask(path: string, method = 'GET') {
  const answer = await fetch(`${harness.publicUrl}${path}`, { method, redirect: 'manual' })
  return [answer.status, await answer.json()]
}

it.each(['order', 'fifteen-letters', '€'.repeat(15), 'a%2Fb'])(
  'the tag %s is refused, and nothing is kept',
  async (tag) => {
    for (const kind of ['ok', 'fail', 'flaky', 'slow', 'redirect', 'gone']) {
      expect(await ask(`/receivers/${kind}/${tag}`, 'POST')).toEqual([400, refusal])
    }
    expect(await ask(`/receivers/log?tag=${tag}`)).toEqual([400, refusal])
    const db = harness.database.open({})
    const kept = await db.row(keptStatement, [decodeURIComponent(tag)])
    await db.close()
    expect(kept).toEqual({ requests: 0n })
  },
)

it('a tag of 16 characters is taken, and its log shows its own requests alone', async () => {
  const [tag, other] = ['0123456789abcdef', randomUUID()]
  expect(await ask(`/receivers/ok/${tag}`, 'POST')).toEqual([200, { received: true }])
  expect(await ask(`/receivers/ok/${other}`, 'POST')).toEqual([200, { received: true }])
  expect(await ask(`/receivers/log?tag=${tag}`)).toMatchObject([
    200,
    { requests: [{ path: `/receivers/ok/${tag}` }] },
  ])
})

it.each(['/receivers', '/receivers/', '/receivers/log', '/receivers/ok', '/receivers/log?tag=%25'])(
  'the path %s lists no received requests',
  async (path) => {
    const tag = randomUUID()
    await ask(`/receivers/ok/${tag}`, 'POST')
    const [status, body] = await ask(path)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(body)).not.toContain(tag)
  },
)
