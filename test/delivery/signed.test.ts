// Shows signed onboarding callbacks from the event in accounts to the receiver, through rotation and with accounts down.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { open, verifyWebhook } from '#core/identity/seal.ts'
import {
  OnboardingKind,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { eventually } from '../support/eventually.ts'
import { type AccountsAndDelivery, startAccountsAndDelivery } from './accounts-and-delivery.ts'
import { type Received, type Receiver, startReceiver, status } from './receiver.ts'

let harness: AccountsAndDelivery
let receiver: Receiver
beforeAll(async () => {
  harness = await startAccountsAndDelivery()
  receiver = await startReceiver()
})
afterEach(() => {
  receiver.answer(status(200))
})
afterAll(async () => {
  await receiver.close()
  await harness.close()
})

type Key = { keyId: string; sharedKey: string; signingSecret: string }

/** Plaintexts and keys of all tests: none may be seen anywhere. */
const secrets: string[] = []

async function institution() {
  const made = await harness.institution()
  remember(made.key)
  return made
}

async function rotate(institutionId: string) {
  const key = await harness.rotate(institutionId)
  remember(key)
  return key
}

function remember({ sharedKey, signingSecret }: Key) {
  secrets.push(sharedKey, Buffer.from(sharedKey, 'base64').toString('latin1'), signingSecret)
}

function newToken(): string {
  const token = `canary-${randomUUID().slice(0, 28)}`
  secrets.push(token)
  return token
}

/** A receiver's path of its own, and what arrived there. */
function ownPath() {
  const path = `/${randomUUID()}`
  const arrived = () => receiver.requests.filter((request) => request.path === path)
  return {
    callbackUrl: `${receiver.url}${path}`,
    arrived,
    async first(): Promise<Received> {
      await eventually(() => expect(arrived().length).toBeGreaterThan(0))
      return arrived()[0] as Received
    },
  }
}

const signatureOf = ({ headers }: Received) => String(headers['pw-signature'])
const timeOf = (request: Received) => Number(/^t=(\d+),/.exec(signatureOf(request))?.[1])
const signaturesIn = (request: Received) => signatureOf(request).split(',v1=').length - 1

function verifies(request: Received, key: Key, shiftS = 0): boolean {
  const nowS = timeOf(request) + shiftS
  return verifyWebhook([key.signingSecret], signatureOf(request), request.body, nowS)
}

function opened({ headers }: Received, key: Key, purpose = 'authorisation-token') {
  const keys = [{ keyId: key.keyId, key: Buffer.from(key.sharedKey, 'base64') }]
  return open(String(headers['authorisation-token']), keys, purpose)?.toString()
}

describe('the callback of an onboarding', () => {
  it('the callback of an onboarding arrives signed, with the token that only the shared key opens, and is confirmed', async () => {
    const wallet = await institution()
    const other = await institution()
    const { callbackUrl, first } = ownPath()
    const token = newToken()
    const beforeS = Math.floor(Date.now() / 1_000)
    await harness.onboard(harness.projectId, wallet, { callbackUrl, token })
    const request = await first()

    expect(JSON.parse(request.body)).toMatchObject({
      version: '2024-10-01',
      institution_name: wallet.name,
      account: { mobile_number: '+12025550142', onboarding_status: 'completed' },
    })
    expect(timeOf(request)).toBeGreaterThanOrEqual(beforeS)
    expect(timeOf(request)).toBeLessThanOrEqual(Date.now() / 1_000)
    expect(verifies(request, wallet.key)).toBe(true)
    expect(verifies(request, wallet.key, 300)).toBe(true)
    expect(verifies(request, wallet.key, 301)).toBe(false)
    expect(verifies(request, wallet.key, -301)).toBe(false)
    expect(verifies({ ...request, body: `${request.body} ` }, wallet.key)).toBe(false)
    expect(verifies(request, other.key)).toBe(false)
    expect(opened(request, wallet.key)).toBe(token)
    expect(opened(request, wallet.key, 'session_token')).toBeUndefined()
    expect(opened(request, other.key)).toBeUndefined()
    await eventually(async () => expect(await harness.unconfirmed()).toBe(0))
  })

  it('the callback of a registration has the answer of the holder', async () => {
    const wallet = await institution()
    const { callbackUrl, first } = ownPath()
    await harness.onboard(randomUUID(), wallet, {
      callbackUrl,
      token: newToken(),
      kind: OnboardingKind.REGISTRATION,
      requestStatus: RegistrationStatus.APPROVED,
    })
    expect(JSON.parse((await first()).body)).toMatchObject({ request_status: 'approved' })
  })

  it('the callback of an onboarding has the same body and token at each attempt, and a signature of its own time', async () => {
    const wallet = await institution()
    const { callbackUrl, arrived } = ownPath()
    receiver.answer((request, response) =>
      status(arrived().length > 1 ? 200 : 500)(request, response),
    )
    await harness.onboard(randomUUID(), wallet, { callbackUrl, token: newToken() })
    await eventually(() => expect(arrived().length).toBe(2))
    const [one, two] = arrived() as [Received, Received]
    expect(two.body).toBe(one.body)
    expect(two.headers['authorisation-token']).toBe(one.headers['authorisation-token'])
    expect(timeOf(two)).toBeGreaterThan(timeOf(one))
    expect([verifies(one, wallet.key), verifies(two, wallet.key)]).toEqual([true, true])
  })
})

describe('a rotation', () => {
  it('a rotation signs with both live secrets at once, and with a retired one never again', async () => {
    const wallet = await institution()
    const push = async () => {
      const { callbackUrl, first } = ownPath()
      await harness.onboard(randomUUID(), wallet, { callbackUrl, token: newToken() })
      return first()
    }
    // The secrets are not forgotten by themselves: only the invalidation can do that.
    onTestFinished(harness.remember())
    expect(signaturesIn(await push())).toBe(1)

    const second = await rotate(wallet.institutionId)
    let request = await eventually(push, (latest) => expect(signaturesIn(latest)).toBe(2))
    expect([verifies(request, wallet.key), verifies(request, second)]).toEqual([true, true])
    expect(signatureOf(request)).toMatch(/^t=\d{10},v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
    // A receiver that has not yet installed the new key can do everything with the old one.
    expect(opened(request, wallet.key)).toMatch(/^canary-/)

    const third = await rotate(wallet.institutionId)
    request = await eventually(push, (latest) => expect(verifies(latest, wallet.key)).toBe(false))
    expect([verifies(request, second), verifies(request, third)]).toEqual([true, true])
    expect(signaturesIn(request)).toBe(2)
    expect(opened(request, second)).toMatch(/^canary-/)
  })
})

describe('without the secrets', () => {
  it('a callback without signing secrets waits for accounts, unsent and without using up attempts, and is sent when accounts is back', async () => {
    const wallet = await institution()
    const { callbackUrl, arrived } = ownPath()
    const projectId = randomUUID()
    const startAccounts = await harness.stopAccounts()
    await harness.onboard(projectId, wallet, { callbackUrl, token: newToken() })
    await eventually(async () =>
      expect((await harness.attempts(projectId))[0]?.outcome).toBe('unsigned'),
    )
    expect(arrived()).toHaveLength(0)
    await startAccounts()
    await eventually(() => expect(arrived().length).toBe(1))
    await eventually(async () =>
      expect((await harness.attempts(projectId)).at(-1)?.outcome).toBe('delivered'),
    )
    const attempts = await harness.attempts(projectId)
    expect(attempts[0]).toMatchObject({ error: 'signing_unavailable', failures: 0 })
    expect(verifies(arrived()[0] as Received, wallet.key)).toBe(true)
  })

  it('a callback of an unknown institution ends blocked', async () => {
    const wallet = await institution()
    const { callbackUrl, arrived } = ownPath()
    const projectId = randomUUID()
    const institutionId = randomUUID()
    await harness.onboard(projectId, wallet, { callbackUrl, token: newToken(), institutionId })
    await eventually(async () =>
      expect((await harness.attempts(projectId))[0]?.state).toBe('blocked'),
    )
    expect(await harness.attempts(projectId)).toMatchObject([
      { outcome: 'unsigned', error: 'institution_unknown' },
    ])
    expect(arrived()).toHaveLength(0)
  })

  it('signing secrets are returned to no service but delivery', async () => {
    const { institutionId, key } = await institution()
    const ask = (caller: string) => harness.access(caller).getSigningSecrets({ institutionId })
    expect((await ask('delivery')).signingSecrets).toEqual([key.signingSecret])
    for (const caller of ['gateway', 'launcher', 'accounts']) {
      await expect(ask(caller)).rejects.toMatchObject({ reason: 'INTERNAL_ERROR' })
    }
  })
})

it('no key, secret or token is in any log line, event or table', async () => {
  const traces = (await harness.traces()).join('\n')
  // Else the search would prove nothing: log, published event and stored body are in it.
  const body = Buffer.from('"onboarding_status":"completed"')
  const shown = ['push not signed', 'pw.accounts.onboarding', body.toString('hex')]
  expect(shown.filter((text) => !traces.includes(text))).toEqual([])
  expect(secrets.length).toBeGreaterThan(20)
  for (const secret of secrets) {
    const bytes = Buffer.from(secret, 'latin1')
    for (const form of [secret, bytes.toString('hex'), bytes.toString('base64')]) {
      expect(traces.includes(form), 'a secret was seen').toBe(false)
    }
  }
})
