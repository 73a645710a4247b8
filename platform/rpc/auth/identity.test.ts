// Tests which credentials are accepted, for how long, and what a change of the files does.

import { createHash, generateKeyPairSync } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JWTHeaderParameters, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import {
  bearerCredential,
  listeningLog,
  newSecrets,
  startInbox,
} from '../../testing/rpc/harness.ts'
import { createRpcClient } from '../client/client.ts'
import { openIdentity } from './identity.ts'
import { keyIdOf } from './jwt.ts'
import { readIdentityKey } from './trust.ts'

function harness(startMs = 1_800_000_000_000) {
  const dir = newSecrets()
  const clock = { nowMs: startMs }
  const { lines, log } = listeningLog()
  const open = (name: string) =>
    openIdentity({ name, dir: join(dir, name), log, now: () => clock.nowMs })
  return { dir, clock, lines, open }
}

type Claims = Record<string, unknown>

/** A token that another implementation has signed with the key of a process. */
async function forge(
  dir: string,
  signer: string,
  claims: Claims,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const key = readIdentityKey(join(dir, signer))
  const signed = new SignJWT(claims)
  signed.setProtectedHeader({ alg: 'EdDSA', kid: keyIdOf(key), ...header })
  return `Bearer ${await signed.sign(key, { crit: { x: true } })}`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

describe('a service token', () => {
  it('a service token says who calls and for which project', () => {
    const { open } = harness()
    const delivery = open('delivery')
    const payments = open('payments')
    expect(delivery.recognise(payments.authorization('delivery'))).toEqual({
      kind: 'service',
      name: 'payments',
    })
    expect(delivery.recognise(payments.authorization('delivery', 'p-1'))).toEqual({
      kind: 'service',
      name: 'payments',
      projectId: 'p-1',
    })
  })

  it('a service token is used again for half a minute, for the same audience and project only', () => {
    const { open, clock } = harness()
    const payments = open('payments')
    const first = payments.authorization('delivery')
    expect(payments.authorization('delivery', 'p-1')).not.toBe(first)
    expect(payments.authorization('accounts')).not.toBe(first)
    clock.nowMs += 29_999
    expect(payments.authorization('delivery')).toBe(first)
    clock.nowMs += 1
    expect(payments.authorization('delivery')).not.toBe(first)
  })

  it('a process whose clock was an hour ahead is recognised as soon as it is right again', () => {
    const { dir, open, clock } = harness()
    const { log } = listeningLog()
    const ahead = { ms: 3_600_000 }
    const now = () => clock.nowMs + ahead.ms
    const payments = openIdentity({ name: 'payments', dir: join(dir, 'payments'), log, now })
    const delivery = open('delivery')
    expect(delivery.recognise(payments.authorization('delivery'))).toBeUndefined()
    ahead.ms = 0
    expect(delivery.recognise(payments.authorization('delivery'))?.name).toBe('payments')
  })

  it('a service token is worth nothing after a minute, also when it was accepted before', () => {
    const { open, clock } = harness()
    const delivery = open('delivery')
    const token = open('payments').authorization('delivery')
    expect(delivery.recognise(token)).toBeDefined()
    clock.nowMs += 59_000
    expect(delivery.recognise(token)).toBeDefined()
    clock.nowMs += 1_000
    expect(delivery.recognise(token)).toBeUndefined()
    expect(delivery.recognise(token)).toBeUndefined()
  })

  it.each([15_000, 25_000, 55_000, 60_000])(
    'a service token outlives the deadline of a call of %d ms, whenever the call is made and with clocks 5 s apart',
    (timeoutMs) => {
      const { dir, clock, open } = harness()
      const { log } = listeningLog()
      const payments = open('payments')
      for (let sentMs = 0; sentMs <= 90_000; sentMs += 770) {
        const startMs = clock.nowMs + sentMs
        clock.nowMs = startMs
        const token = payments.authorization('delivery', undefined, timeoutMs)
        for (const skewMs of [-4_999, 0, 4_999]) {
          const theirMs = { now: startMs + skewMs }
          const path = join(dir, 'delivery')
          const now = () => theirMs.now
          const delivery = openIdentity({ name: 'delivery', dir: path, log, now })
          expect(delivery.recognise(token)).toBeDefined()
          theirMs.now += timeoutMs
          expect(delivery.recognise(token)).toBeDefined()
        }
        clock.nowMs = startMs - sentMs
      }
    },
  )

  it('a service token that expired is distinguished from one that was never valid, for ten minutes', async () => {
    const { dir, open, clock } = harness()
    const delivery = open('delivery')
    const token = open('payments').authorization('delivery')
    const exp = clock.nowMs / 1_000 + 60
    expect(delivery.hasExpired(token)).toBe(false)
    clock.nowMs += 60_000
    expect(delivery.hasExpired(token)).toBe(true)
    expect(delivery.hasExpired(`${token}x`)).toBe(false)
    expect(delivery.hasExpired(undefined)).toBe(false)
    expect(delivery.hasExpired(`Bearer ${bearerCredential}`)).toBe(false)
    const ofPayments = { iss: 'payments', sub: 'payments', exp }
    const hasExpired = async (signer: string, aud: string) =>
      delivery.hasExpired(await forge(dir, signer, { ...ofPayments, aud }))
    expect(await hasExpired('payments', 'delivery')).toBe(true)
    expect(await hasExpired('stranger', 'delivery')).toBe(false)
    expect(await hasExpired('payments', 'gateway')).toBe(false)
    clock.nowMs += 600_000
    expect(delivery.hasExpired(token)).toBe(false)
  })

  it('a service token that expired while its call waited ends the call like a deadline', async () => {
    const { server, dir, log } = await startInbox(() => ({ known: [] }))
    try {
      const answerTo = (agoMs: number) => {
        const now = () => Date.now() - agoMs
        const identity = openIdentity({ name: 'payments', dir: join(dir, 'payments'), log, now })
        const url = `http://127.0.0.1:${server.port}`
        return createRpcClient(InboxService, { url, audience: 'delivery', identity }).seen({})
      }
      await expect(answerTo(70_000)).rejects.toMatchObject({ reason: 'TIMEOUT' })
      await expect(answerTo(7_200_000)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    } finally {
      await server.close()
    }
  })

  it('a service token is worth nothing at another audience', () => {
    const { open } = harness()
    expect(open('delivery').recognise(open('payments').authorization('gateway'))).toBeUndefined()
  })

  it('a service token cannot be signed for somebody else, for longer, or without the claims', async () => {
    const { dir, open, clock } = harness()
    const delivery = open('delivery')
    const exp = clock.nowMs / 1_000 + 60
    const good = { iss: 'payments', sub: 'payments', aud: 'delivery', exp }
    expect(delivery.recognise(await forge(dir, 'payments', good))).toBeDefined()
    const bad: Array<[string, Claims]> = [
      ['stranger', good],
      ['gateway', good],
      ['payments', { ...good, exp: exp + 3_600 }],
      ['payments', { ...good, exp: String(exp) }],
      ['payments', { ...good, iss: 'nobody', sub: 'nobody' }],
      ['payments', { ...good, sub: 'gateway' }],
      ['payments', { ...good, aud: ['delivery'] }],
      ['payments', { ...good, project_id: 7 }],
      ['payments', { ...good, project_id: '' }],
      ['payments', { iss: 'payments', sub: 'payments', exp }],
      ['payments', { aud: 'delivery', exp }],
    ]
    for (const [signer, claims] of bad) {
      expect(delivery.recognise(await forge(dir, signer, claims))).toBeUndefined()
    }
  })

  it('a service token names its key and algorithm, and demands no extension', async () => {
    const { dir, open, clock } = harness()
    const delivery = open('delivery')
    const exp = clock.nowMs / 1_000 + 60
    const good = { iss: 'payments', sub: 'payments', aud: 'delivery', exp }
    const other = keyIdOf(readIdentityKey(join(dir, 'gateway')))
    const accepts = async (header: Partial<JWTHeaderParameters>) =>
      delivery.recognise(await forge(dir, 'payments', good, header)) !== undefined
    expect(await accepts({ typ: 'JWT' })).toBe(true)
    expect(await accepts({ alg: 'Ed25519' })).toBe(false)
    expect(await accepts({ kid: other })).toBe(false)
    expect(await accepts({ kid: '' })).toBe(false)
    expect(await accepts({ crit: ['x'], x: 1 })).toBe(false)
    const unsigned = `Bearer ${part({ alg: 'none' })}.${part(good)}.`
    expect(delivery.recognise(unsigned)).toBeUndefined()
  })

  it('a service token cannot be changed in any part', () => {
    const { open } = harness()
    const delivery = open('delivery')
    const token = open('payments').authorization('delivery')
    for (let at = 'Bearer '.length; at < token.length - 2; at += 3) {
      const other = token[at] === 'A' ? 'B' : 'A'
      expect(delivery.recognise(token.slice(0, at) + other + token.slice(at + 1))).toBeUndefined()
    }
  })

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic abc',
    'Bearer .',
    'Bearer ..',
    'Bearer bnVsbA.bnVsbA.AA',
    'Bearer bnVsbA.e30.AA',
    'Bearer e30.e30.AA.AA',
    `Bearer ${'x'.repeat(5_000)}`,
  ])('a service token is not %s', (authorization) => {
    expect(harness().open('delivery').recognise(authorization)).toBeUndefined()
  })
})

describe('a bearer', () => {
  it('a bearer is known by the digest of the credential', () => {
    const delivery = harness().open('delivery')
    expect(delivery.recognise(`Bearer ${bearerCredential}`)).toEqual({
      kind: 'bearer',
      name: 'auditor',
      rpcs: ['payweave.events.v1.InboxService/*'],
    })
    expect(delivery.recognise(`bearer ${bearerCredential}`)).toBeDefined()
    expect(delivery.recognise(`Bearer ${bearerCredential}x`)).toBeUndefined()
  })

  const projectId = '0197a9b0-3f6a-7000-8000-000000000001'
  const startMs = Date.parse('2027-01-01T00:00:00Z')

  /** A trust file whose one bearer has these bounds. */
  function bounded(bounds: object) {
    const made = harness(startMs)
    const path = join(made.dir, 'delivery', 'trust.json')
    const trust = JSON.parse(readFileSync(path, 'utf8'))
    Object.assign(trust.bearers[0], bounds)
    writeFileSync(path, JSON.stringify(trust))
    return made
  }

  it('a bearer is worth nothing from its expiry on, also when it was accepted before', () => {
    const { open, clock } = bounded({ expires: '2027-01-01T01:00:05+01:00' })
    const delivery = open('delivery')
    const who = () => delivery.recognise(`Bearer ${bearerCredential}`)
    expect(who()).toMatchObject({ name: 'auditor', expiresMs: startMs + 5_000 })
    clock.nowMs += 4_999
    expect(who()).toBeDefined()
    clock.nowMs += 1
    expect([who(), who()]).toEqual([undefined, undefined])
    expect(open('delivery').recognise(`Bearer ${bearerCredential}`)).toBeUndefined()
  })

  it('a bearer that is bound to a project says so', () => {
    const delivery = bounded({ project_id: projectId }).open('delivery')
    expect(delivery.recognise(`Bearer ${bearerCredential}`)).toMatchObject({ projectId })
  })

  it('a bearer without an expiry is not trusted where each must have one, and its name is logged', () => {
    const openStrictly = ({ dir, clock }: ReturnType<typeof harness>) => {
      const { lines, log } = listeningLog()
      const options = { log, bearersExpire: true, now: () => clock.nowMs }
      const identity = openIdentity({ name: 'delivery', dir: join(dir, 'delivery'), ...options })
      return { lines, who: () => identity.recognise(`Bearer ${bearerCredential}`) }
    }
    const permanent = openStrictly(harness(startMs))
    expect(permanent.who()).toBeUndefined()
    expect(permanent.lines).toMatchObject([{ level: 'warn', caller: 'auditor' }])
    const ending = openStrictly(bounded({ expires: '2027-01-02T00:00:00Z' }))
    expect(ending.who()).toBeDefined()
    expect(ending.lines).toEqual([])
  })

  it.each([
    { expires: 'tomorrow' },
    { expires: '2027-01-01' },
    { expires: '2027-01-01T00:00:00' },
    { expires: '2027-13-01T00:00:00Z' },
    { expires: 1_800_000_000_000 },
    { expires: null },
    { project_id: 'demo' },
    { project_id: '' },
    { project_id: null },
  ])('a bearer with bounds that cannot be read fails the boot: %j', (bounds) => {
    expect(() => bounded(bounds).open('delivery')).toThrow(/trust\.json: (expires|project_id) of/)
  })
})

describe('the files of an identity', () => {
  it('the files of an identity are readable by their owner only', () => {
    const { dir } = harness()
    for (const file of ['identity.key', 'trust.json']) {
      expect(statSync(join(dir, 'payments', file)).mode & 0o777).toBe(0o600)
    }
  })

  it('the files of an identity take effect when they change, without a restart', () => {
    const { dir, open, clock } = harness()
    const delivery = open('delivery')
    const payments = open('payments')
    const old = payments.authorization('delivery')
    expect(delivery.recognise(old)).toBeDefined()

    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const trustPath = join(dir, 'delivery', 'trust.json')
    const trust = JSON.parse(readFileSync(trustPath, 'utf8'))
    trust.issuers.payments = [publicKey.export({ type: 'spki', format: 'pem' })]
    trust.bearers = [
      { name: 'new', sha256: createHash('sha256').update('fresh').digest('hex'), rpcs: ['*'] },
    ]
    writeFileSync(trustPath, JSON.stringify(trust))
    writeFileSync(
      join(dir, 'payments', 'identity.key'),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
    )
    clock.nowMs += 1_000

    expect(delivery.recognise(old)).toBeUndefined()
    expect(delivery.recognise(payments.authorization('delivery'))).toBeDefined()
    expect(delivery.recognise(`Bearer ${bearerCredential}`)).toBeUndefined()
    expect(delivery.recognise('Bearer fresh')).toMatchObject({ name: 'new' })
  })

  it('the files of an identity leave the last good state in force when they break', () => {
    const { dir, open, clock, lines } = harness()
    const delivery = open('delivery')
    const payments = open('payments')
    writeFileSync(join(dir, 'delivery', 'trust.json'), '{"issuers": ')
    clock.nowMs += 1_000
    expect(delivery.recognise(payments.authorization('delivery'))).toBeDefined()
    expect(lines.map((line) => line['level'])).toContain('warn')
  })

  it('the files of an identity must be whole at boot', () => {
    const { dir, open } = harness()
    writeFileSync(join(dir, 'delivery', 'trust.json'), '{"issuers": {"payments": "x"}}')
    expect(() => open('delivery')).toThrow(/payments/)
    rmSync(join(dir, 'gateway', 'identity.key'))
    expect(() => open('gateway')).toThrow(/identity\.key/)
  })
})
