// Shows the commands on routes of docs/connectors/routing.md against payments on a real database.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runHere } from '../support/command-line.ts'
import { absent, second } from './connectors.ts'
import { bearer, type Harness, startHarness } from './harness.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-routes-'))
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  const grpc = { payments: harness.url }
  const sandbox = { grpc, grpc_token: bearer, projects: {} }
  writeFileSync(join(dir, 'sandbox.json'), JSON.stringify(sandbox))
})
afterAll(async () => {
  await harness.stop()
  rmSync(dir, { recursive: true })
})
const run = (...words: string[]) => runHere(dir, 'routes', ...words)
async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await run(...words)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

it('payweave routes sets, lists and removes routes, and shows who changed them', async () => {
  const key = ['--project', harness.projectId, '--currency', 'USD', '--method', 'wallet']
  await done('set', ...key, '--connector', second, '--fallback', 'simulator')
  await done('set', '--payouts', '--connector', second)
  const words = (line = '') => line.split(/ {2,}/)
  const [heads, first, payouts, others] = (await done('list')).split('\n')
  const all = ['any', 'any', 'any', 'any']
  expect(words(heads).slice(0, 6)).toEqual([
    'FOR',
    'PROJECT',
    'CURRENCY',
    'CHANNEL',
    'METHOD',
    'CONNECTOR',
  ])
  const ofWallets = ['charges', harness.projectId, 'USD', 'any', 'wallet', second, 'simulator']
  expect(words(first).slice(0, 7)).toEqual(ofWallets)
  expect(words(payouts).slice(0, 6)).toEqual(['payouts', ...all, second])
  expect(others).toBe(`all others go to simulator; connectors: simulator, ${second}, ${absent}`)
  const lines = (await done('list', '--json')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      key: { kind: 'ROUTE_KIND_CHARGE', project_id: harness.projectId, currency: 'USD' },
      connector: second,
      fallback_connector: 'simulator',
    },
    { key: { kind: 'ROUTE_KIND_PAYOUT' }, connector: second },
  ])
  await done('remove', ...key)
  await done('remove', '--payouts')
  expect(await done('list')).toMatch(/^no routes\nall others/)
  const [, removed] = (await done('changes')).split('\n')
  expect(words(removed).slice(1)).toEqual(['operator', 'payouts', ...all, 'removed'])
  const [json = ''] = (await done('changes', '--json')).split('\n')
  expect(JSON.parse(json)).toMatchObject({ caller: 'operator' })
})

it('payweave routes refuses what no route can say', async () => {
  expect(await run('set', '--currency', 'USD')).toMatchObject({ code: 2 })
  const wrong = ['--connector', second, '--channel', 'letter']
  expect(await run('set', ...wrong)).toMatchObject({ code: 2 })
  const unknown = await run('set', '--connector', 'connector-unknown')
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('CONNECTORS')])
  const absentRoute = await run('remove', '--currency', 'EUR')
  expect([absentRoute.code, absentRoute.err]).toEqual([
    1,
    expect.stringContaining('ROUTE_NOT_FOUND'),
  ])
})
