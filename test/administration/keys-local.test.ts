// Shows the commands on keys in a local start, against services that read the very files: rotate, seal anew, retire, look.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { parseKeyRing } from '#core/identity/key-ring.ts'
import { sql } from '#platform/db/db.ts'
import { keyFileNames } from '../../deploy/bootstrap/lasting-secrets.ts'
import { seedSandbox } from '../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../deploy/local/seed/credentials.ts'
import type { AccountSecrets } from '../../services/accounts/access/domain/at-rest.ts'
import { accountSecrets } from '../../services/accounts/access/domain/credentials.ts'
import { runHere } from '../support/command-line.ts'
import {
  type Copy,
  type Harness,
  idsOf,
  type Part,
  parts,
  startHarness,
  statesOf,
  token,
} from './harness.ts'

let harness: Harness
let dataDir: string
let copies: Record<Part, Copy>
let steps: number

beforeAll(async () => {
  harness = await startHarness()
  dataDir = path.join(harness.dir, 'local')
  for (const name of keyFileNames) {
    const file = path.join(dataDir, 'secrets', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    // As a release before key lists has made it.
    fs.writeFileSync(file, `${createHash('sha256').update(name).digest('hex')}\n`)
  }
  const start = (part: Part) =>
    harness.startCopy(part, path.join(dataDir, 'secrets', part), `${part}-1`)
  copies = {
    accounts: await start('accounts'),
    payments: await start('payments'),
    billing: await start('billing'),
  }
  const grpc = Object.fromEntries(parts.map((part) => [part, copies[part].url]))
  const sandbox = { grpc, grpc_token: token, projects: {} }
  fs.writeFileSync(path.join(dataDir, 'sandbox.json'), JSON.stringify(sandbox))
  await seedSandbox(harness.databases.accounts, secrets(), newSandboxCredentials(), 'local')
})
beforeEach(async () => {
  steps = (await harness.audit()).length
})
afterAll(() => harness.stop())

const run = (...words: string[]) => runHere(dataDir, 'keys', ...words)
const list = (name: string) =>
  parseKeyRing(fs.readFileSync(path.join(dataDir, 'secrets', name), 'utf8'))
const secrets = (): AccountSecrets => accountSecrets(copies.accounts.files)
const newSteps = async () => (await harness.audit()).slice(steps)

async function json(...words: string[]) {
  const { code, out, err } = await run(...words, '--json')
  const lines = out.split('\n').filter((line) => line !== '')
  return { code, err, rows: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

it('status shows every list, the age of its keys and the processes that have read it', async () => {
  const { code, rows } = await json('status')
  expect(code).toBe(0)
  expect(rows.map(({ file }) => file)).toEqual(keyFileNames)
  const [pepper] = rows
  expect(pepper).toMatchObject({
    keys: [{ state: 'current', make_time: null, age_days: null }],
    readers: [{ instance: 'accounts-1', key_ids: [list('accounts/pepper').current.keyId] }],
  })
  const { out } = await run('status', 'pepper', '--count')
  expect(out).toContain('from before key lists')
  expect(out).toMatch(/needs {4}accounts\/pepper {2}\w{8} {2}5 × subscription key/)
})

it('rotate takes every list to a new key, which its processes use when it ends', async () => {
  const before = Object.fromEntries(keyFileNames.map((name) => [name, list(name).current.keyId]))
  const { code, out } = await run('rotate', 'all')
  expect(code).toBe(0)
  for (const name of keyFileNames) {
    const ring = list(name)
    expect(statesOf(ring)).toEqual(['current', 'old'])
    expect(ring.find(null)?.keyId).toBe(before[name])
    expect(out).toContain(`used     ${name}  ${ring.current.keyId}`)
    for (const key of ring.keys) expect(out).not.toContain(key.key.toString('hex'))
  }
  const { rows } = await json('status')
  for (const { file, readers } of rows) {
    const ids = list(String(file)).keys.map(({ keyId }) => keyId)
    for (const reader of readers as { key_ids: string[] }[]) expect(reader.key_ids).toEqual(ids)
  }
  expect(await newSteps()).toEqual(
    keyFileNames.flatMap((file) =>
      ['add_key', 'use_key'].map((action) => ({
        action,
        file,
        key: list(file).current.keyId,
        unchecked: null,
      })),
    ),
  )
})

it('reseal shows its progress, ends when none is left, and does nothing twice', async () => {
  const first = await json('reseal')
  expect(first.code).toBe(0)
  const { keyId } = list('accounts/seal.key').current
  expect(first.rows[0]).toMatchObject({ step: 'check', checked: 2, left: 2 })
  expect(first.rows).toContainEqual(
    expect.objectContaining({ step: 'seal', sealed: 2, total: 2, remaining_s: 0 }),
  )
  expect(first.rows.at(-1)).toEqual({
    step: 'end',
    key_id: keyId,
    sealed: 2,
    left: 0,
    unopened: [],
  })
  expect((await newSteps()).map(({ action }) => action)).toEqual(['reseal'])
  const again = await run('reseal')
  expect([again.code, again.out]).toEqual([0, `key ${keyId}  resealed 0  left 0\n`])
  expect(again.err).toContain('checked 2  not resealed 0')
  expect((await run('reseal', '--check')).code).toBe(0)
})

it('reseal names a value that no key opens, and ends with 1', async () => {
  const damage = sql(
    'test_damage',
    'update institution_key set signing_secret_sealed = shared_key_sealed',
  )
  const before = sql(
    'test_sealed',
    'select signing_secret_sealed as sealed, key_id as id from institution_key',
  )
  const row = await harness.databases.accounts.row<{ sealed: string; id: string }>(before, [])
  await harness.databases.accounts.run(damage, [])
  await run('rotate', 'seal.key')
  const { code, out } = await run('reseal')
  expect(code).toBe(1)
  expect(out).toContain(`no key opens  institution_key.signing_secret_sealed of ${row?.id}`)
  expect(out).toContain('resealed 1  left 1')
  expect((await run('reseal', '--check')).code).toBe(1)
  const mend = sql('test_mend', 'update institution_key set signing_secret_sealed = $1')
  await harness.databases.accounts.run(mend, [row?.sealed])
  expect((await run('reseal')).code).toBe(0)
})

it('retire refuses while values need a key and names them, and then removes it', async () => {
  const untimed = list('accounts/seal.key').find(null)?.keyId ?? ''
  expect((await run('retire', 'seal.key', untimed)).code).toBe(0)
  expect(list('accounts/seal.key').find(untimed)).toBeUndefined()
  const pepper = list('accounts/pepper').find(null)?.keyId ?? ''
  const refused = await run('retire', 'pepper', pepper)
  expect(refused.code).toBe(1)
  expect(refused.out).toMatch(/needs {4}accounts\/pepper .* × API key: [0-9a-f-]{36}, /)
  expect(refused.err).toContain(`9 stored values need key ${pepper} of accounts/pepper`)
  expect(list('accounts/pepper').find(pepper)).toBeDefined()
  const current = list('accounts/pepper').current.keyId
  expect((await run('retire', 'pepper', current)).err).toContain('is the current one')
  expect((await run('retire', 'pepper', 'ffffffff')).err).toContain('has no key ffffffff')
  expect((await newSteps()).map(({ action, key }) => [action, key])).toEqual([
    ['retire_key', untimed],
  ])
  const now = await run('retire', 'pepper', pepper, '--now')
  expect(now.code).toBe(0)
  expect(now.err).toContain('the audit has no entry')
  expect(list('accounts/pepper').find(pepper)).toBeUndefined()
})

it('retire of page.key waits until no form of it can be submitted', async () => {
  const old = list('gateway/page.key').find(null)?.keyId ?? ''
  const early = await run('retire', 'page.key', old)
  expect([early.code, early.err]).toEqual([1, expect.stringContaining('can be submitted for')])
  expect((await run('retire', 'page.key', old, '--now')).code).toBe(0)
})

it('a wrong use of the key commands changes nothing', async () => {
  const before = idsOf(list('payments/link.key'))
  for (const words of [
    ['rotate'],
    ['rotate', 'link.key'],
    ['rotate', 'nothing'],
    ['retire', 'pepper'],
    ['retire', 'payments/link.key', 'a', 'b'],
    ['reseal', '--rate', 'fast'],
  ]) {
    const { code, out } = await run(...words)
    expect([words, code, out]).toEqual([words, 2, ''])
  }
  expect((await run('rotate', 'link.key')).err).toContain('payments/link.key, billing/link.key')
  expect(idsOf(list('payments/link.key'))).toEqual(before)
})

it('services that cannot be asked leave the list as it is, unless nobody is to be asked', async () => {
  const before = idsOf(list('billing/link.key'))
  const url = ['--accounts-url', 'http://127.0.0.1:1']
  const away = await run('rotate', 'billing/link.key', ...url, '--token', token)
  expect([away.code, away.err]).toEqual([1, expect.stringContaining('--now continues')])
  // A refused bearer is no reason to go on without asking.
  const refused = await run('rotate', 'billing/link.key', '--token', 'of-somebody-else')
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('UNAUTHENTICATED')])
  expect(refused.err).not.toContain('--now')
  expect(idsOf(list('billing/link.key'))).toEqual(before)
  const now = await run('rotate', 'billing/link.key', '--now', ...url)
  expect(now.code).toBe(0)
  expect(statesOf(list('billing/link.key'))).toEqual(['current', 'old', 'old'])
})
