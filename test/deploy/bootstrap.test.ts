// The secrets of an installation as an operator makes, keeps and rotates them.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readKeys } from '#platform/process/secrets.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { runHere } from '../support/command-line.ts'
import { silentLog } from '../support/database.ts'
import { type Manifest, ofKind, optional, render } from './kustomize.ts'

let home: string
let out: string

beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-bootstrap-'))
  out = path.join(home, 'secrets')
})
afterEach(() => fs.rmSync(home, { recursive: true }))

const bootstrap = (...words: string[]) => runHere(home, 'bootstrap', ...words, '--out', out)

async function made(...words: string[]) {
  const ran = await bootstrap(...words)
  expect([ran.err, ran.code]).toEqual(['', 0])
  return ran.out
}

async function refused(...words: string[]) {
  const ran = await bootstrap(...words)
  expect([ran.out, ran.code === 0]).toEqual(['', false])
  return ran.err
}

const files = () =>
  fs
    .readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))

const contents = () =>
  Object.fromEntries(
    files()
      .filter((file) => !file.endsWith('bootstrap.json'))
      .map((file) => [file, fs.readFileSync(file, 'utf8')]),
  )

let nowMs = Date.now()

/** Until processes look at their files again, and tokens are signed anew. */
function wait(): void {
  nowMs += 40_000
}

/** A process as it reads its folder. */
function process(part: string) {
  const dir = path.join(out, `${part}-secrets`)
  return openIdentity({ name: part, dir, log: silentLog, now: () => nowMs })
}

describe('payweave bootstrap', () => {
  it('payweave bootstrap makes what every process needs to know the others, for its owner alone', async () => {
    await made()
    for (const file of files()) expect(fs.statSync(file).mode & 0o777, file).toBe(0o600)
    expect(readKeys(path.join(out, 'accounts-secrets'), 'pepper').keys).toHaveLength(1)
    const call = process('gateway').authorization('payments')
    expect(process('payments').recognise(call)).toMatchObject({ kind: 'service', name: 'gateway' })
    expect(process('delivery').recognise(call)).toBeUndefined()
    const nats = fs.readFileSync(path.join(out, 'nats-passwords', 'passwords.conf'), 'utf8')
    const own = fs.readFileSync(path.join(out, 'billing-secrets', 'nats-password'), 'utf8')
    expect(nats).toContain(`BILLING_PASSWORD: "${own}"`)
    const ofOperator = fs.readFileSync(path.join(out, 'operator', 'nats-password'), 'utf8')
    expect(nats).toContain(`OPERATOR_PASSWORD: "${ofOperator}"`)
  })

  it('payweave bootstrap makes a password for the stream controller, and one by which the servers of NATS join', async () => {
    await made('--kubernetes')
    const read = (...place: string[]) => fs.readFileSync(path.join(out, ...place), 'utf8')
    const own = read('stream-controller-secrets', 'nats-password')
    const passwords = read('nats-passwords', 'passwords.conf')
    expect(passwords).toContain(`STREAM_CONTROLLER_PASSWORD: "${own}"`)
    const route = read('nats-route', 'password')
    const routes = read('nats-passwords', 'routes.conf')
    expect(routes).toContain(`authorization { user: route, password: "${route}"`)
    expect(routes.match(/nats:\/\/route:[0-9a-f]{48}@nats-\d\.nats:6222/g)).toHaveLength(3)
    const manifests = read('kubernetes', 'secrets.yaml')
    expect(manifests).toContain('name: stream-controller-secrets')
    expect(manifests).not.toContain('name: nats-route')
  })

  it('payweave bootstrap makes the secrets that components/external-secrets takes from a store', async () => {
    await made('--kubernetes')
    const written = parseAllDocuments(
      fs.readFileSync(path.join(out, 'kubernetes', 'secrets.yaml'), 'utf8'),
    ).map((document) => document.toJS() as Manifest)
    const taken = ofKind(render(optional), 'ExternalSecret')
    const names = (manifests: Manifest[]) =>
      manifests.map(({ metadata }) => metadata.name).toSorted()
    // The credentials of the object store come from its operator.
    expect(names(taken)).toEqual([...names(written), 'backup-credentials'].toSorted())
    for (const { metadata, spec } of taken) {
      expect(spec.dataFrom).toEqual([{ extract: { key: `payweave/${metadata.name}` } }])
      const same = written.find((one) => one.metadata.name === metadata.name)
      const { type = 'Opaque', metadata: kept } = spec.target?.template ?? {}
      expect(type, metadata.name).toBe(same?.['type'] ?? 'Opaque')
      const reload = 'cnpg.io/reload'
      expect(kept?.labels?.[reload], metadata.name).toBe(same?.metadata.labels?.[reload])
    }
  })

  it('payweave bootstrap shows the operator’s bearer on request, and otherwise no secret', async () => {
    const printed = await made()
    const secrets = Object.values(contents()).flatMap((text) => text.match(/[\w+/-]{24,}/g) ?? [])
    expect(secrets.length).toBeGreaterThan(30)
    for (const secret of secrets) expect(printed).not.toContain(secret)
    const token = (await made('--show-operator')).trim()
    const caller = process('accounts').recognise(`Bearer ${token}`)
    expect(caller).toMatchObject({ kind: 'bearer', name: 'operator', rpcs: ['*'] })
  })

  it('payweave bootstrap, run again, changes nothing and makes only what a newer version needs', async () => {
    await made()
    const before = contents()
    expect(await made()).toBe('')
    expect(contents()).toEqual(before)
  })

  it('payweave bootstrap refuses to replace what was lost, and to write among the files of others', async () => {
    await made()
    fs.rmSync(path.join(out, 'accounts-secrets', 'pepper'))
    expect(await refused()).toContain('accounts-secrets/pepper was made before and is gone')
    out = home
    expect(await refused()).toContain('is not empty')
  })

  it('payweave bootstrap writes the same as Kubernetes Secrets, but for what no pod may read', async () => {
    await made('--kubernetes', '--namespace', 'payments-mesh')
    const text = fs.readFileSync(path.join(out, 'kubernetes', 'secrets.yaml'), 'utf8')
    const secrets = parseAllDocuments(text).map(
      (document) =>
        document.toJS() as {
          metadata: { name: string; namespace: string }
          data: Record<string, string>
        },
    )
    const byName = new Map(secrets.map((secret) => [secret.metadata.name, secret]))
    expect([...byName.keys()]).toEqual(
      expect.arrayContaining([
        'gateway-secrets',
        'postgres-owner',
        'database-logins',
        'nats-passwords',
      ]),
    )
    expect(byName.has('operator')).toBe(false)
    const { metadata, data = {} } = byName.get('accounts-secrets') ?? {}
    expect(metadata?.namespace).toBe('payments-mesh')
    expect(Object.keys(data).toSorted()).toEqual([
      'database-password',
      'identity.key',
      'nats-password',
      'pepper',
      'seal.key',
      'session.key',
      'trust.json',
    ])
    const pepper = fs.readFileSync(path.join(out, 'accounts-secrets', 'pepper'), 'utf8')
    expect(Buffer.from(data['pepper'] ?? '', 'base64').toString()).toBe(pepper)
  })
})

describe('payweave bootstrap --connector', () => {
  it('payweave bootstrap --connector gives a connector a key that every process trusts, also after later changes', async () => {
    await made('--connector', 'connector-momo')
    expect(files()).toContain(path.join(out, 'connector-momo-secrets', 'database-password'))
    const momo = process('connector-momo')
    const known = () => process('payments').recognise(momo.authorization('payments'))
    expect(known()).toMatchObject({ kind: 'service', name: 'connector-momo' })
    expect(momo.recognise(process('payments').authorization('connector-momo'))).toMatchObject({
      name: 'payments',
    })
    const before = contents()
    await made()
    await made('--connector', 'connector-momo')
    expect(contents()).toEqual(before)
    await made('rotate', 'identity', 'connector-momo')
    expect(known()).toMatchObject({ name: 'connector-momo' })
    expect(await refused('--connector', 'momo')).toContain('connector-')
  })
})

describe('payweave bootstrap rotate', () => {
  it('payweave bootstrap rotate passes from one identity to the next while every call is understood', async () => {
    await made()
    const [gateway, payments] = [process('gateway'), process('payments')]
    const call = () => payments.recognise(gateway.authorization('payments'))?.name
    const old = gateway.authorization('payments')
    await made('rotate', 'identity', 'gateway')
    wait()
    expect(call()).toBe('gateway')
    const held = gateway.authorization('payments')
    await made('rotate', 'identity', 'gateway', '--use')
    // Its last token by the old key.
    expect(payments.recognise(held)?.name).toBe('gateway')
    expect(call()).toBe('gateway')
    wait()
    expect(call()).toBe('gateway')
    const fresh = gateway.authorization('payments')
    await made('rotate', 'identity', 'gateway', '--retire')
    expect(process('payments').recognise(fresh)?.name).toBe('gateway')
    wait()
    expect(call()).toBe('gateway')
    expect(process('payments').recognise(old)).toBeUndefined()
  })

  it('payweave bootstrap rotate lets two bearers of the operator work until the old one is retired', async () => {
    const old = (await made('--show-operator')).split('\n').at(-2) ?? ''
    await made('rotate', 'operator')
    const fresh = (await made('--show-operator')).trim()
    expect(fresh).not.toBe(old)
    const names = () =>
      [old, fresh].map((token) => process('accounts').recognise(`Bearer ${token}`)?.name)
    expect(names()).toEqual(['operator', 'operator'])
    await made('rotate', 'operator', '--retire')
    expect(names()).toEqual([undefined, 'operator'])
  })

  it('payweave bootstrap rotate gives the operator a bearer that ends, after ninety days or at --expires', async () => {
    const first = (await made('--show-operator')).split('\n').at(-2) ?? ''
    const ofFirst = process('accounts').recognise(`Bearer ${first}`)
    const days = ((ofFirst?.expiresMs ?? 0) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(89.9)
    expect(days).toBeLessThanOrEqual(90)
    await made('rotate', 'operator', '--expires', '2099-01-01T00:00:00Z')
    const second = (await made('--show-operator')).trim()
    const ofSecond = process('accounts').recognise(`Bearer ${second}`)
    expect(ofSecond?.expiresMs).toBe(Date.parse('2099-01-01T00:00:00Z'))
    nowMs = (ofFirst?.expiresMs ?? 0) - 1
    expect(process('accounts').recognise(`Bearer ${first}`)).toBeDefined()
    nowMs += 1
    expect(process('accounts').recognise(`Bearer ${first}`)).toBeUndefined()
    nowMs = Date.now()
  })

  it('payweave bootstrap rotate warns of a bearer of an older version, which never expires', async () => {
    await made()
    const file = path.join(out, 'bootstrap.json')
    const record = JSON.parse(fs.readFileSync(file, 'utf8'))
    delete record.bearers[0].expires
    fs.writeFileSync(file, JSON.stringify(record))
    const ran = await bootstrap()
    expect(ran.code).toBe(0)
    expect(ran.err).toContain('the bearer operator never expires')
  })

  it('payweave bootstrap rotate replaces one password wherever it is, and nothing else', async () => {
    await made('--kubernetes')
    const before = contents()
    for (const [file, ...repeated] of [
      ['payments-secrets/database-password', 'database-logins/payments'],
      ['payments-secrets/nats-password', 'nats-passwords/passwords.conf'],
      ['operator/nats-password', 'nats-passwords/passwords.conf'],
      ['nats-route/password', 'nats-passwords/routes.conf'],
      ['postgres-owner/password'],
    ]) {
      const at = path.join(out, file ?? '')
      const old = contents()
      await made('rotate', 'password', file ?? '')
      const now = contents()
      const changed = Object.keys(now).filter((name) => now[name] !== old[name])
      const expected = [file ?? '', ...repeated, 'kubernetes/secrets.yaml']
      expect(changed.toSorted()).toEqual(expected.map((name) => path.join(out, name)).toSorted())
      expect(now[at]).toMatch(/^[0-9a-f]{48}$/)
      for (const name of repeated) expect(now[path.join(out, name)]).toContain(now[at])
      expect(Object.values(now).join('\n')).not.toContain(old[at])
    }
    expect(Object.keys(contents())).toEqual(Object.keys(before))
    const noPassword = 'there is no password accounts-secrets/pepper'
    expect(await refused('rotate', 'password', 'accounts-secrets/pepper')).toContain(noPassword)
    expect(await refused('rotate', 'password', 'operator/nats-password', '--use')).toContain('pass')
  })

  it('payweave bootstrap rotate refuses steps out of their order', async () => {
    await made()
    expect(await refused('rotate', 'identity', 'gateway', '--use')).toContain('begin first')
    expect(await refused('rotate', 'identity', 'gateway', '--retire')).toContain('no old key')
    await made('rotate', 'identity', 'gateway')
    expect(await refused('rotate', 'identity', 'gateway')).toContain('already has a next key')
    expect(await refused('rotate', 'pepper')).toContain('the keys of stored values')
    expect(await refused('rotate', 'identity', 'nobody')).toContain('there is no process nobody')
  })
})

describe('payweave bootstrap bearer', () => {
  const projectId = '0197a9b0-3f6a-7000-8000-000000000001'
  const rpcs =
    'payweave.payments.v1.PaymentsService/*,payweave.delivery.v1.DeliveryService/GetDelivery'
  const credential = (name: string) =>
    fs.readFileSync(path.join(out, 'bearers', name, 'credential'), 'utf8')

  it('payweave bootstrap bearer gives a team a bearer for some methods, one project and a time, and ends it', async () => {
    await made()
    const printed = await made('bearer', 'shop', '--rpcs', rpcs, '--project', projectId)
    expect(printed).not.toContain(credential('shop'))
    const who = () => process('payments').recognise(`Bearer ${credential('shop')}`)
    expect(who()).toMatchObject({ kind: 'bearer', name: 'shop', rpcs: rpcs.split(','), projectId })
    expect(who()?.expiresMs).toBeGreaterThan(Date.now())
    const listed = JSON.parse(await made('bearer', '--json'))
    expect(listed.bearers.map(({ name }: { name: string }) => name)).toEqual(['operator', 'shop'])
    expect(JSON.stringify(listed)).not.toContain('sha256')
    expect(await made('bearer')).toContain(`project ${projectId}`)
    const held = credential('shop')
    await made('bearer', 'shop', '--revoke')
    expect(process('payments').recognise(`Bearer ${held}`)).toBeUndefined()
    expect(fs.existsSync(path.join(out, 'bearers', 'shop', 'credential'))).toBe(false)
  })

  it('payweave bootstrap bearer writes no bearer into what pods read, only its digest', async () => {
    expect(await refused('bearer', 'shop', '--rpcs', '*')).toContain('bootstrap first')
    fs.rmSync(out, { recursive: true })
    await made()
    await made('bearer', 'shop', '--rpcs', '*', '--kubernetes')
    const manifests = fs.readFileSync(path.join(out, 'kubernetes', 'secrets.yaml'), 'utf8')
    const encoded = Buffer.from(credential('shop')).toString('base64')
    expect(manifests).not.toContain(encoded)
  })

  it.each([
    [['Shop', '--rpcs', '*'], 'small letters'],
    [['operator', '--rpcs', '*'], 'small letters'],
    [['shop'], '--rpcs'],
    [['shop', '--rpcs', 'everything'], '--rpcs'],
    [['shop', '--rpcs', '*', '--project', 'demo'], '--project'],
    [['shop', '--rpcs', '*', '--expires', '2020-01-01T00:00:00Z'], '--expires'],
    [['shop', '--rpcs', '*', '--expires', '0d'], '--expires'],
    [['shop', '--rpcs', '*', '--expires', 'soon'], '--expires'],
    [['nobody', '--revoke'], 'there is no bearer nobody'],
  ])('payweave bootstrap bearer refuses %j and changes nothing', async (words, message) => {
    await made()
    const before = contents()
    expect(await refused('bearer', ...words)).toContain(message)
    expect(contents()).toEqual(before)
  })
})
