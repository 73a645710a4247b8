// Shows what a receiver of signed callbacks sees through the running system when it refuses the first ones; the event is written as accounts writes it.
import { createDecipheriv, createHmac, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { seal } from '#core/identity/seal.ts'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingKind,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { openDatabase } from '#platform/db/db.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { publishOnboarded } from '../../../services/accounts/access/ports/events.ts'
import { eventually } from '../../support/eventually.ts'
import { jsonOf, type Push, receiver, sharedMesh, unique } from '../harness.ts'

const mesh = sharedMesh()
const institutionName = 'Demo Wallet'
const keys = mesh.sandbox.institutions[institutionName]
const password = fs.readFileSync(path.join(mesh.dataDir, 'postgres', 'password'), 'utf8').trim()
const accounts = openDatabase({
  url: `postgres://postgres:${password}@127.0.0.1:${mesh.portBase + 20}/payweave`,
  service: 'accounts',
  log: createLogger({ part: 'test', level: 'silent' }),
})
afterAll(() => accounts.close())

const signatureOf = ({ headers }: Push) =>
  /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['pw-signature'] ?? '') ?? []

/** Verifies a signature as the documentation instructs receivers, by the platform's own functions. */
function isSigned(push: Push): boolean {
  const [, time = '', signature] = signatureOf(push)
  const hmac = createHmac('sha256', keys.signing_secret)
  return hmac.update(`${time}.${push.body}`).digest('hex') === signature
}

function tokenIn({ headers }: Push): string {
  const sealed = Buffer.from(headers['authorisation-token'] ?? '', 'base64')
  expect(sealed.readUInt8(0)).toBe(1)
  expect(sealed.subarray(1, 5).toString('hex')).toBe(keys.key_id)
  const key = Buffer.from(keys.shared_key, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(5, 17))
  decipher.setAAD(Buffer.from('authorisation-token'))
  decipher.setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(17, -16)), decipher.final()]).toString()
}

async function writeEvent(callbackUrl: string, token: string): Promise<string> {
  const projectId = randomUUID()
  const [institution] = await mesh.rows<{ institution_id: string }>(
    'select institution_id from accounts.institution where name = $1',
    [institutionName],
  )
  const key = Buffer.from(keys.shared_key, 'base64')
  const sealing = { keyId: keys.key_id, key, purpose: 'authorisation-token' }
  await accounts.transaction((tx) =>
    publishOnboarded(tx, projectId, {
      kind: OnboardingKind.ONBOARDING,
      requestId: randomUUID(),
      institutionId: institution?.institution_id ?? '',
      institutionName,
      account: {
        accountId: randomUUID(),
        mobileNumber: '+12025550142',
        accountStatus: AccountStatus.AVAILABLE,
        accountLevel: 1,
        fundsAccessStatus: FundsAccessStatus.LIMITED,
        onboardingStatus: OnboardingStatus.COMPLETED,
      },
      callbackUrl,
      authorisationTokenSealed: seal(Buffer.from(token), sealing),
    }),
  )
  return projectId
}

it('a callback that is refused twice comes a third time, each signed anew over the same bytes, and its event ends', {
  timeout: 60_000,
}, async () => {
  const inbox = receiver(mesh, 'flaky')
  const token = unique('token')
  const projectId = await writeEvent(inbox.urls.callback, token)
  const pushes = await eventually(inbox.callbacks, (now) => expect(now).toHaveLength(3), 40_000)
  expect(pushes.map(isSigned)).toEqual([true, true, true])
  expect(pushes.map(tokenIn)).toEqual([token, token, token])
  expect(new Set(pushes.map(({ body }) => body)).size).toBe(1)
  expect(new Set(pushes.map((push) => signatureOf(push)[1])).size).toBeGreaterThan(1)
  for (const push of pushes) {
    const receivedS = new Date(push.received_time).getTime() / 1_000
    expect(Math.abs(receivedS - Number(signatureOf(push)[1]))).toBeLessThan(30)
    expect(jsonOf(push)).toMatchObject({ institution_name: institutionName })
  }
  await eventually(
    () =>
      mesh.rows<{ confirmed: boolean }>(
        'select confirmed_at is not null as confirmed from accounts.outbox where project_id = $1',
        [projectId],
      ),
    (rows) => expect(rows).toEqual([{ confirmed: true }]),
  )
})
