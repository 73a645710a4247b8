// Which credentials are believed, for how long, and what a change of the files does.

import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bearerCredential, listeningLog, newSecrets } from './fixture.ts'
import { openIdentity } from './identity.ts'
import { readIdentityKey } from './trust.ts'

function world(startMs = 1_800_000_000_000) {
  const dir = newSecrets()
  const clock = { nowMs: startMs }
  const { lines, log } = listeningLog()
  const open = (name: string) =>
    openIdentity({ name, dir: join(dir, name), log, now: () => clock.nowMs })
  return { dir, clock, lines, open }
}

type Claims = Record<string, unknown>

function forge(dir: string, signer: string, claims: Claims): string {
  const signed = `pwi1.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  const key = readIdentityKey(join(dir, signer))
  return `Bearer ${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}

describe('a service token', () => {
  it('says who calls and for which project', () => {
    const { open } = world()
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

  it('is used again for half a minute, for the same audience and project only', () => {
    const { open, clock } = world()
    const payments = open('payments')
    const first = payments.authorization('delivery')
    expect(payments.authorization('delivery', 'p-1')).not.toBe(first)
    expect(payments.authorization('accounts')).not.toBe(first)
    clock.nowMs += 29_999
    expect(payments.authorization('delivery')).toBe(first)
    clock.nowMs += 1
    expect(payments.authorization('delivery')).not.toBe(first)
  })

  it('is worth nothing after a minute, also when it was accepted before', () => {
    const { open, clock } = world()
    const delivery = open('delivery')
    const token = open('payments').authorization('delivery')
    expect(delivery.recognise(token)).toBeDefined()
    clock.nowMs += 59_000
    expect(delivery.recognise(token)).toBeDefined()
    clock.nowMs += 1_000
    expect(delivery.recognise(token)).toBeUndefined()
    expect(delivery.recognise(token)).toBeUndefined()
  })

  it('is worth nothing at another audience', () => {
    const { open } = world()
    expect(open('delivery').recognise(open('payments').authorization('gateway'))).toBeUndefined()
  })

  it('cannot be signed for somebody else, for longer, or without the fields', () => {
    const { dir, open, clock } = world()
    const delivery = open('delivery')
    const exp = clock.nowMs / 1_000 + 60
    const good = { iss: 'payments', aud: 'delivery', exp }
    expect(delivery.recognise(forge(dir, 'payments', good))).toBeDefined()
    const bad: Array<[string, Claims]> = [
      ['stranger', good],
      ['payments', { ...good, exp: exp + 3_600 }],
      ['payments', { ...good, exp: String(exp) }],
      ['payments', { ...good, iss: 'nobody' }],
      ['payments', { ...good, prj: 7 }],
      ['payments', { aud: 'delivery', exp }],
    ]
    for (const [signer, claims] of bad) {
      expect(delivery.recognise(forge(dir, signer, claims))).toBeUndefined()
    }
  })

  it('cannot be changed in any part', () => {
    const { open } = world()
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
    'Bearer pwi1.',
    'Bearer pwi1..',
    'Bearer pwi1.bnVsbA.AA',
    'Bearer pwi1.e30.AA.AA',
    `Bearer ${'x'.repeat(5_000)}`,
  ])('is not %s', (authorization) => {
    expect(world().open('delivery').recognise(authorization)).toBeUndefined()
  })
})

describe('a bearer', () => {
  it('is known by the digest of the credential', () => {
    const delivery = world().open('delivery')
    expect(delivery.recognise(`Bearer ${bearerCredential}`)).toEqual({
      kind: 'bearer',
      name: 'auditor',
      rpcs: ['events.v1.InboxService/*'],
    })
    expect(delivery.recognise(`bearer ${bearerCredential}`)).toBeDefined()
    expect(delivery.recognise(`Bearer ${bearerCredential}x`)).toBeUndefined()
  })
})

describe('the files of an identity', () => {
  it('are readable by their owner only', () => {
    const { dir } = world()
    for (const file of ['identity.key', 'trust.json']) {
      expect(statSync(join(dir, 'payments', file)).mode & 0o777).toBe(0o600)
    }
  })

  it('take effect when they change, without a restart', () => {
    const { dir, open, clock } = world()
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

  it('leave the last good state in force when they break', () => {
    const { dir, open, clock, lines } = world()
    const delivery = open('delivery')
    const payments = open('payments')
    writeFileSync(join(dir, 'delivery', 'trust.json'), '{"issuers": ')
    clock.nowMs += 1_000
    expect(delivery.recognise(payments.authorization('delivery'))).toBeDefined()
    expect(lines.map((line) => line['level'])).toContain('warn')
  })

  it('must be whole at boot', () => {
    const { dir, open } = world()
    writeFileSync(join(dir, 'delivery', 'trust.json'), '{"issuers": {"payments": "x"}}')
    expect(() => open('delivery')).toThrow(/payments/)
    rmSync(join(dir, 'gateway', 'identity.key'))
    expect(() => open('gateway')).toThrow(/identity\.key/)
  })
})
