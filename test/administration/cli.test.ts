// Shows the command line against accounts on a real database: what it makes, prints and refuses, and with which exit code.
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { languages } from '../../gateway/pages/language.ts'
import { previewNames, receiptStates } from '../../gateway/pages/preview/samples.ts'
import { accessService } from '../../services/accounts/access/api/access.ts'
import {
  authenticateApiKey,
  authenticateSubscriptionKey,
} from '../../services/accounts/access/operations/authenticate.ts'
import { insertAudit } from '../../services/accounts/access/store/project-store.ts'
import { runHere, runProcess } from '../support/command-line.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { readPdf } from '../support/files/pdf.ts'
import { samplePng } from '../support/files/png.ts'
import { fixedKeys } from '../support/keys.ts'

const bearer = 'operator-credential-0123456789'
const secrets = { pepper: fixedKeys(), seal: fixedKeys() }
let dir: string
let database: TestDatabase
let db: ReturnType<TestDatabase['open']>
let server: RpcServer

beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'payweave-administration-'))
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  writeIdentities(dir, ['accounts'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open()
  const administration = { db, secrets, publishAccessChanged: async () => {}, notify: () => {} }
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: openIdentity({ name: 'accounts', dir: path.join(dir, 'accounts'), log: silentLog }),
    log: silentLog,
    routes: (router) => router.service(AccessService, accessService(administration)),
  })
  writeFileSync(
    path.join(dir, 'sandbox.json'),
    JSON.stringify({
      grpc: { accounts: `http://127.0.0.1:${server.port}` },
      grpc_token: bearer,
      projects: {},
    }),
  )
})
afterAll(async () => {
  await server.close()
  await database.drop()
  rmSync(dir, { recursive: true })
})

const run = (...words: string[]) => runHere(dir, ...words)

/** What a command prints with --json, line by line. It must end well. */
async function json<T = Record<string, string>>(...words: string[]): Promise<T[]> {
  const { code, out, err } = await run(...words, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}

async function one(...words: string[]): Promise<Record<string, string>> {
  const [line, ...more] = await json(...words)
  expect(more).toEqual([])
  return line ?? {}
}

const opens = (key: string) => authenticateSubscriptionKey(db, secrets, key, 'sandbox')

describe('payweave bootstrap institution', () => {
  const out = () => path.join(dir, 'installation')
  const make = (...words: string[]) =>
    run('bootstrap', 'institution', 'Acme Bank', '--out', out(), '--token', bearer, ...words)
  const file = (name: string) =>
    readFileSync(path.join(out(), 'institutions/sandbox/Acme%20Bank', name), 'utf8')

  it('payweave bootstrap institution makes the institution once, keeps its secrets and shows none', async () => {
    expect((await make()).err).toContain('run "bootstrap"')
    rmSync(out(), { recursive: true })
    await run('bootstrap', '--out', out())
    const made = await make('--currency', 'TTD')
    expect(made).toMatchObject({ code: 0, err: '' })
    expect(made.out).toContain(file('institution-id'))
    for (const secret of ['shared-key', 'signing-secret']) {
      expect(made.out).not.toContain(file(secret))
    }
    const { institution_id: id, default_currency: currency } = await one(
      'institution',
      'list',
      '--limit',
      '1',
    )
    expect([id, currency]).toEqual([file('institution-id'), 'TTD'])
    expect(await make()).toEqual({ code: 0, out: `institution  ${id}\n`, err: '' })
  })

  it('payweave bootstrap institution says what to do when the answer with the secrets was lost', async () => {
    rmSync(path.join(out(), 'bootstrap.json'))
    const folder = path.join(out(), 'institutions/sandbox/Acme%20Bank')
    const requestId = file('request-id')
    rmSync(out(), { recursive: true })
    await run('bootstrap', '--out', out())
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, 'request-id'), requestId)
    const again = await make('--currency', 'TTD')
    expect(again.code).toBe(1)
    expect(again.err).toContain('institution rotate')
  })
})

describe('payweave project and key', () => {
  it('payweave project and key make a project that a person can use, rotate its key, and refuse a third', async () => {
    const made = await run('project', 'create', 'Shop', '--allowed-ips', '203.0.113.7,10.0.0.0/8')
    expect(made.out).toMatch(/^project {6}[0-9a-f-]{36}$/m)
    expect(made.out).toContain('allowed ips  203.0.113.7, 10.0.0.0/8')
    const issue = () => one('key', 'issue', '--project', 'Shop')
    const [first, second] = [await issue(), await issue()]
    for (const { subscription_key: key = '' } of [first, second]) {
      expect((await opens(key)).project).toMatchObject({ name: 'Shop', accountAccess: false })
    }
    const third = await run('key', 'issue', '--project', 'Shop')
    expect(third).toMatchObject({ code: 1, out: '' })
    expect(third.err).toContain('TOO_MANY_KEYS')
    const revoked = await run('key', 'revoke', first['key_id'] ?? '')
    expect(revoked).toMatchObject({ code: 0, err: '' })
    await expect(opens(first['subscription_key'] ?? '')).rejects.toThrow('not valid')
    await opens(second['subscription_key'] ?? '')
    const list = await run('key', 'list', '--project', 'Shop')
    expect(list.out.split('\n').map((line) => line.split(/ {2,}/)[3])).toEqual([
      'STATE',
      'active',
      'revoked',
      undefined,
    ])
    expect(list.out).not.toContain('pwk_')
  })

  it('payweave project and key change what is said and leave the rest', async () => {
    await run('project', 'create', 'Changing', '--allowed-ips', '10.0.0.1')
    const changed = await one('project', 'update', 'Changing', '--account-access', 'on')
    expect(changed).toMatchObject({ account_access: true, allowed_ips: ['10.0.0.1'] })
    await run('project', 'update', 'Changing', '--allowed-ips', 'none')
    const shown = await run('project', 'show', 'Changing')
    expect(shown.out).toContain('account api  on')
    expect(shown.out).toContain('allowed ips  any')
    const names = (await json('project', 'list')).map(({ name }) => name)
    expect(names).toContain('Changing')
  })

  it('payweave project and key create nothing twice for one request id, and print what was created', async () => {
    await run('project', 'create', 'Repeated')
    const words = ['key', 'issue', '--project', 'Repeated', '--request-id', randomUUID()]
    const { key_id: keyId = 'none' } = await one(...words)
    const again = await run(...words)
    expect(again).toMatchObject({ code: 1, out: '' })
    expect(again.err).toContain('REQUEST_DONE')
    expect(again.err).toContain(keyId)
  })

  it('payweave project and key print how to proceed when the response is lost', async () => {
    const words = ['project', 'create', 'Lost', '--url', 'http://127.0.0.1:1', '--token', 'x']
    const { code, err } = await run(...words)
    expect(code).toBe(1)
    expect(err).toMatch(/run it again with --request-id [0-9a-f-]{36}/)
  })
})

describe('payweave merchant, institution, grant and audit', () => {
  it('payweave merchant, institution, grant and audit make a merchant whose key works, and rotate that key', async () => {
    const { project_id: projectId = '' } = await one('project', 'create', 'Mall')
    const words = ['merchant', 'create', 'Mall Shop', '--mobile', '+12025550123']
    const made = await run(...words, '--project', projectId)
    const merchantId = /^merchant {2}(\S+)$/m.exec(made.out)?.[1] ?? ''
    const apiKey = /^api key {3}(\S+)$/m.exec(made.out)?.[1] ?? ''
    expect(await authenticateApiKey(db, secrets, projectId, apiKey)).toMatchObject({ merchantId })
    const second = await one('key', 'issue', '--project', 'Mall', '--merchant', merchantId)
    await authenticateApiKey(db, secrets, projectId, second['api_key'] ?? '')
    const keyId = /^key id {4}(\S+)$/m.exec(made.out)?.[1] ?? ''
    expect((await run('key', 'revoke', keyId)).code).toBe(0)
    await expect(authenticateApiKey(db, secrets, projectId, apiKey)).rejects.toThrow('not valid')
  })

  it('payweave merchant, institution, grant and audit list the merchants of a project, oldest first', async () => {
    await run('project', 'create', 'Arcade')
    const make = (name: string, mobile: string) =>
      one('merchant', 'create', name, '--mobile', mobile, '--project', 'Arcade')
    await make('Books', '+12025550124')
    await make('Toys', '+12025550125')
    const { out } = await run('merchant', 'list', '--project', 'Arcade')
    expect(out.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')).toBe(
      [
        `MERCHANT${' '.repeat(30)}MOBILE        NAME`,
        'id  +12025550124  Books',
        'id  +12025550125  Toys\n',
      ].join('\n'),
    )
    const [first] = await json('merchant', 'list', '--project', 'Arcade', '--limit', '1')
    expect(first).toMatchObject({ business_name: 'Books', mobile_number: '+12025550124' })
    expect((await run('merchant', 'list')).code).toBe(2)
  })

  // The commands of docs/integrate/checkout.md.
  it('payweave merchant changes how pages look, shows it, and previews every state', async () => {
    await run('project', 'create', 'Gallery')
    const project = ['--project', 'Gallery']
    const create = ['merchant', 'create', 'Pictures', '--mobile', '+12025550126', ...project]
    const made = (await json(...create)) as unknown as { merchant: { merchant_id: string } }[]
    const id = made[0]?.merchant.merchant_id ?? ''
    const logo = path.join(dir, 'logo.png')
    writeFileSync(logo, samplePng())
    const look = ['--color', '#ffd400', '--logo', logo, '--support-email', 'help@shop.example']
    const updated = await run('merchant', 'update', id, ...project, ...look)
    expect([updated.code, updated.err]).toEqual([0, ''])
    expect(updated.out).toMatch(
      /colour {4}#ffd400\nlogo {6}[0-9a-f]{64}\nsupport {3}help@shop\.example\n/,
    )
    const out = path.join(dir, 'preview')
    const preview = await run(
      'merchant',
      'preview',
      id,
      ...project,
      '--out',
      out,
      '--language',
      'ar',
    )
    const files = preview.out.trim().split('\n')
    expect(files).toHaveLength(previewNames.length + receiptStates.length)
    const { ar } = languages
    for (const [file, text] of [
      ['cancel.html', ar.cancelTitle],
      ['mistaken-pin.html', ar.pinMistake],
      ['link-not-found.html', ar.notFoundTitle],
      ['payment-not-confirmed.html', ar.notConfirmedTitle],
      ['open-for-too-long.html', ar.foreignFormText],
      ['too-many-requests.html', ar.tooManyTitle],
    ] as const) {
      expect(readFileSync(path.join(out, file), 'utf8'), file).toContain(text)
    }
    const pdf = readFileSync(path.join(out, 'receipt.pdf'))
    expect(pdf.toString('latin1')).toContain('/Subtype /Image')
    expect((await readPdf(pdf)).letters).toContain('Pictures')
    expect(readFileSync(path.join(out, 'logo.png'))).toEqual(samplePng())
    for (const file of ['open.html', 'paid.html', 'receipt.html']) {
      const html = readFileSync(path.join(out, file), 'utf8')
      expect(html).toContain('<html lang="ar" dir="rtl">')
      expect(html).toContain('src="logo.png"')
      expect(html).toContain('Pictures')
    }
    const removed = await run(
      'merchant',
      'update',
      id,
      ...project,
      '--color',
      'none',
      '--logo',
      'none',
    )
    expect(removed.out).toMatch(/colour {4}the default one\nlogo {6}none\nsupport {3}help@/)
    expect((await run('merchant', 'show', id, ...project)).out).toBe(removed.out)
    expect((await run('merchant', 'update', id, ...project)).code).toBe(2)
    expect(
      (await run('merchant', 'preview', id, ...project, '--out', out, '--language', 'xx')).code,
    ).toBe(2)
  })

  it('payweave merchant, institution, grant and audit make an institution, rotate its keys and grant its endpoints', async () => {
    await run('project', 'create', 'Granted')
    const made = await run('institution', 'create', 'City Bank', '--currency', 'TTD')
    expect(made.out).toMatch(/^shared key {6}\S{44}$/m)
    const rotated = await run('institution', 'rotate', 'City Bank')
    expect(rotated.out).toMatch(/^signing secret {2}\S{48}$/m)
    const shown = await run('institution', 'show', 'City Bank')
    expect(shown.out.match(/^live key/gm)).toHaveLength(2)
    expect(shown.out).not.toContain('secret')
    expect(shown.out).toMatch(/^currency {8}TTD$/m)
    expect((await run('institution', 'list')).out).toMatch(/ sandbox {6}TTD {7}City Bank$/m)
    const wrong = await run('institution', 'create', 'Gold Bank', '--currency', 'XAU')
    expect(wrong).toMatchObject({ code: 1 })
    expect(wrong.err).toContain('default_currency')
    const forProject = ['--project', 'Granted']
    const endpoints = ['POST /institution/quote', 'GET /institution/post']
    const added = await json('grant', 'add', 'City Bank', ...endpoints, ...forProject)
    expect(added.map(({ endpoint }) => endpoint)).toEqual(endpoints.toSorted())
    await run('grant', 'remove', 'City Bank', 'GET /institution/post', ...forProject)
    const left = await json('grant', 'list', ...forProject)
    expect(left).toMatchObject([
      { endpoint: 'POST /institution/quote', institution_name: 'City Bank' },
    ])
    const audit = await json('audit', 'list', '--project', 'Granted')
    expect(audit.map(({ action, caller }) => [action, caller])).toEqual([
      ['revoke_grants', 'operator'],
      ['grant_endpoints', 'operator'],
      ['create_project', 'operator'],
    ])
    const filtered = (...words: string[]) =>
      json('audit', 'list', '--project', 'Granted', '--limit', '2', ...words)
    const { target_id: target = '' } = audit[2] ?? {}
    expect(await filtered('--target', target)).toMatchObject([{ action: 'create_project' }])
    expect(await filtered('--caller', 'operator')).toHaveLength(2)
    const [person, before] = ['console:https://id.example.com#00u1', 'console:ama@example.com']
    for (const [caller, action] of Object.entries({
      [person]: 'revoke_grants',
      [before]: 'issue_api_key',
    })) {
      await insertAudit(db, {
        caller,
        requestId: undefined,
        action,
        projectId: target,
        targetId: target,
      })
    }
    expect(await filtered('--caller', person)).toMatchObject([{ caller: person }])
    expect(await filtered('--caller', before)).toMatchObject([{ caller: before }])
    expect(await filtered('--from', '2999-01-31T00:00:00Z')).toEqual([])
    expect(await filtered('--to', '2999-01-31T00:00+01:00')).toHaveLength(2)
    expect(await run('audit', 'list', '--from', 'yesterday')).toMatchObject({ code: 2, out: '' })
    const all = await run('audit', 'list', '--limit', '5')
    expect(all.out.trim().split('\n')).toHaveLength(6)
    expect((await run('grant', 'list', '--project', 'Changing')).out).toBe('no grants\n')
  })
})

it.each([
  ['a project that nobody has', ['project', 'show', 'Nobody'], 1],
  ['an unknown key', ['key', 'revoke', randomUUID()], 1],
  ['no project', ['key', 'issue'], 2],
  ['no name', ['project', 'create'], 2],
  ['an unknown environment', ['project', 'create', 'x', '--environment', 'moon'], 2],
  ['a switch that is neither on nor off', ['project', 'update', 'x', '--account-access', '1'], 2],
  ['nothing to change', ['project', 'update', 'x'], 2],
  ['an invalid request id', ['project', 'create', 'x', '--request-id', 'x'], 2],
  ['an invalid address', ['project', 'create', 'Ip', '--allowed-ips', 'x'], 1],
  ['help', ['key', 'issue', '--help'], 0],
] as const)('a command exits after %s with the documented code', async (_what, words, code) => {
  expect((await run(...words)).code).toBe(code)
})

it('the command line is a process that exits with the code of its command, with nothing left open', async () => {
  const made = await runProcess(dir, 'project', 'create', 'From a shell', '--json')
  expect(made).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(made.out)).toMatchObject({ name: 'From a shell' })
  expect(await runProcess(dir, 'project', 'show', 'Nobody')).toMatchObject({ code: 1, out: '' })
})
