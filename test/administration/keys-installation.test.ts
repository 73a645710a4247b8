// Shows the commands on keys in an installation with two copies of each service, of which one reads a changed file later.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { formatKeyRing, parseKeyRing } from '#core/identity/key-ring.ts'
import { lastingSecrets } from '../../deploy/bootstrap/lasting-secrets.ts'
import { seedSandbox } from '../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../deploy/local/seed/credentials.ts'
import { accountSecrets } from '../../services/accounts/access/domain/credentials.ts'
import { runHere } from '../support/command-line.ts'
import { eventually } from '../support/eventually.ts'
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
let out: string
const copies: Copy[] = []
const pod = (part: Part, copy: string) => path.join(harness.dir, 'pods', copy, part)
const list = (name: string) => {
  const [part, file = ''] = name.split('/')
  return parseKeyRing(fs.readFileSync(path.join(out, `${part}-secrets`, file), 'utf8'))
}

/** What the kubelet does, pod by pod. */
function bring(copy: string): void {
  for (const part of parts) {
    fs.mkdirSync(pod(part, copy), { recursive: true })
    for (const file of lastingSecrets[part] ?? []) {
      const fresh = path.join(pod(part, copy), `${file}.new`)
      fs.copyFileSync(path.join(out, `${part}-secrets`, file), fresh)
      fs.renameSync(fresh, path.join(pod(part, copy), file))
    }
  }
}

beforeAll(async () => {
  harness = await startHarness()
  out = path.join(harness.dir, 'installation')
  await runHere(harness.dir, 'bootstrap', '--out', out, '--kubernetes', '--namespace', 'mesh')
  for (const copy of ['one', 'two']) {
    bring(copy)
    for (const part of parts) {
      copies.push(await harness.startCopy(part, pod(part, copy), `${part}-${copy}`))
    }
  }
  const secrets = accountSecrets(copies[0]?.files as Parameters<typeof accountSecrets>[0])
  await seedSandbox(harness.databases.accounts, secrets, newSandboxCredentials(), 'local')
})
afterAll(() => harness.stop())

const addresses = () => parts.flatMap((part, index) => [`--${part}-url`, copies[index]?.url ?? ''])
const run = (...words: string[]) =>
  runHere(
    harness.dir,
    'keys',
    ...words,
    '--out',
    out,
    ...addresses(),
    '--token',
    token,
    '--within',
    '2',
  )

it('lists are made with a time, and their manifests follow every change in their namespace', async () => {
  const before = list('accounts/pepper')
  expect(before.current.makeTime).toBeDefined()
  const { code, err, out: said } = await run('rotate', 'pepper')
  expect(code).toBe(0)
  expect(err).toContain('--use')
  expect(said).toContain('wrote    accounts-secrets/pepper')
  const ring = list('accounts/pepper')
  expect(statesOf(ring)).toEqual(['current', 'next'])
  const manifests = fs.readFileSync(path.join(out, 'kubernetes', 'secrets.yaml'), 'utf8')
  const file = fs.readFileSync(path.join(out, 'accounts-secrets', 'pepper'))
  expect(manifests).toContain(`pepper: ${file.toString('base64')}`)
  expect(manifests).toContain('namespace: mesh')
  const next = ring.keys.find(({ state }) => state === 'next')
  expect((await run('retire', 'pepper', next?.keyId ?? '')).code).toBe(0)
  expect(idsOf(list('accounts/pepper'))).toEqual(idsOf(before))
})

it('a key is used when every process has read it, and retired when none uses it', async () => {
  const old = list('accounts/seal.key').current.keyId
  expect((await run('rotate', 'seal.key', '--use')).err).toContain('has no next key')
  expect((await run('rotate', 'seal.key')).code).toBe(0)
  expect((await run('rotate', 'seal.key')).err).toContain('already has a next key')
  bring('one')
  const early = await run('rotate', 'seal.key', '--use')
  expect(early.code).toBe(1)
  expect(early.err).toContain('accounts-two did not read key')
  expect(statesOf(list('accounts/seal.key'))).toEqual(['current', 'next'])
  expect((await run('status', 'seal.key')).code).toBe(1)

  bring('two')
  const used = await run('rotate', 'seal.key', '--use')
  expect([used.code, used.out]).toEqual([0, expect.stringContaining('used     accounts/seal.key')])
  bring('one')
  const sealing = await run('reseal')
  expect([sealing.code, sealing.err]).toEqual([
    1,
    expect.stringContaining('accounts-two did not use'),
  ])
  const retiring = await run('retire', 'seal.key', old)
  expect([retiring.code, retiring.err]).toEqual([
    1,
    expect.stringContaining('accounts-two did not stop'),
  ])
  expect(list('accounts/seal.key').find(old)).toBeDefined()

  bring('two')
  const sealed = await run('reseal')
  expect([sealed.code, sealed.out]).toEqual([0, expect.stringContaining('resealed 2  left 0')])
  expect((await run('retire', 'seal.key', old)).code).toBe(0)
  expect(list('accounts/seal.key').find(old)).toBeUndefined()
  bring('one')
  bring('two')
  // Until both have looked at their files again.
  await eventually(async () => expect((await run('status', 'seal.key')).code).toBe(0))
})

it('a change of keys waits for gateways, which cannot be asked', async () => {
  expect((await run('rotate', 'page.key')).code).toBe(0)
  const early = await run('rotate', 'page.key', '--use')
  expect([early.code, early.err]).toEqual([1, expect.stringMatching(/wait 1[78]\d s more/)])
  const file = path.join(out, 'gateway-secrets', 'page.key')
  const aged = fs
    .readFileSync(file, 'utf8')
    .replaceAll(/\d{4}-\S+Z/g, new Date(Date.now() - 181_000).toISOString())
  fs.writeFileSync(file, aged)
  expect((await run('rotate', 'page.key', '--use')).code).toBe(0)
  expect(statesOf(list('gateway/page.key'))).toEqual(['current', 'old'])
})

it('retire of page.key waits two hours from the switch, which may be days after the key was made', async () => {
  const file = path.join(out, 'gateway-secrets', 'page.key')
  const { keys } = list('gateway/page.key')
  const old = keys.find(({ state }) => state === 'old')?.keyId ?? ''
  const daysAgo = new Date(Date.now() - 2 * 86_400_000)
  const made = formatKeyRing({ keys: keys.map((key) => ({ ...key, makeTime: daysAgo })) })
  fs.writeFileSync(file, made)
  const early = await run('retire', 'page.key', old)
  expect([early.code, early.err]).toEqual([
    1,
    expect.stringContaining('can be submitted for 123 more minutes'),
  ])
  const switched = new Date(Date.now() - (2 * 3_600 + 181) * 1_000)
  fs.utimesSync(file, switched, switched)
  expect((await run('retire', 'page.key', old)).code).toBe(0)
  expect(statesOf(list('gateway/page.key'))).toEqual(['current'])
})

it('without a service address nothing is changed, and status shows only the folder', async () => {
  const before = idsOf(list('billing/link.key'))
  const bare = (...words: string[]) => runHere(harness.dir, 'keys', ...words, '--out', out)
  const { code, err } = await bare('rotate', 'billing/link.key')
  expect([code, err]).toEqual([2, expect.stringContaining('--accounts-url is missing')])
  expect(idsOf(list('billing/link.key'))).toEqual(before)
  const shown = await bare('status', 'billing/link.key')
  expect(shown.code).toBe(0)
  expect(shown.out).toContain(before[0]?.split(' ')[1])
  expect(shown.out).not.toContain('read by')
})

it('a release without key lists is named', async () => {
  const server = await harness.serve('billing', () => undefined)
  const url = `http://127.0.0.1:${server.port}`
  const asked = ['status', 'billing/link.key', '--out', out, '--billing-url', url, '--token', token]
  const { code, err } = await runHere(harness.dir, 'keys', ...asked)
  await server.close()
  expect([code, err]).toEqual([1, expect.stringContaining('is a release without key lists')])
})
