// Tests the tokens against jose, another implementation of the standards.

import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { calculateJwkThumbprint, createLocalJWKSet, exportJWK, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { listeningLog, newSecrets } from '../../testing/rpc/harness.ts'
import { openIdentity } from './identity.ts'
import { keyIdOf } from './jwt.ts'
import { readTrust } from './trust.ts'

it('a token of a process is a JWT with the registered claims', async () => {
  const dir = newSecrets()
  const { log } = listeningLog()
  const currentDate = new Date(1_800_000_000_000)
  const now = () => currentDate.getTime()
  const payments = openIdentity({ name: 'payments', dir: join(dir, 'payments'), log, now })
  const token = payments.authorization('delivery', 'p-1').replace('Bearer ', '')
  const { issuers } = readTrust(join(dir, 'delivery'))
  const [[kid, key] = []] = issuers.get('payments') ?? []
  if (kid === undefined || key === undefined) throw new Error('payments has no key')
  const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(key)), kid }] })
  const options = { issuer: 'payments', subject: 'payments', algorithms: ['EdDSA'], currentDate }
  const ours = { ...options, audience: 'delivery' }
  const { protectedHeader, payload } = await jwtVerify(token, keys, ours)
  expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'JWT', kid })
  expect(payload).toEqual({
    iss: 'payments',
    sub: 'payments',
    aud: 'delivery',
    project_id: 'p-1',
    iat: 1_800_000_000,
    exp: 1_800_000_060,
  })
  await expect(jwtVerify(token, keys, { ...options, audience: 'gateway' })).rejects.toThrow(/aud/)
})

it('the id of a key is its JWK thumbprint', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  expect(keyIdOf(publicKey)).toBe(await calculateJwkThumbprint(await exportJWK(publicKey)))
  expect(keyIdOf(privateKey)).toBe(keyIdOf(publicKey))
})
