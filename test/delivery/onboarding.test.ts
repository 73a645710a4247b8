// Shows which callback an onboarding event makes, that it stays the same, and which events are refused.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingKind,
  OnboardingStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { deliveriesOf } from '../../services/delivery/operations/event-intake.ts'
import { replayDelivery } from '../../services/delivery/store/operate-store.ts'
import { findSigning } from '../../services/delivery/store/signing-store.ts'
import { eventually } from '../support/eventually.ts'
import { startHarness } from './harness.ts'
import { completedAccount, onboardingEvent, someSealedToken } from './onboarding-event.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const registration = {
  kind: OnboardingKind.REGISTRATION,
  requestStatus: RegistrationStatus.REJECTED,
}

describe('an onboarding event', () => {
  it('an onboarding event makes one callback with the body that the contract shows', () => {
    const [callback, ...others] = deliveriesOf(onboardingEvent())
    expect(others).toEqual([])
    expect(callback).toMatchObject({ kind: 'onboarding', subjectId: 'account-1' })
    expect(callback?.body.toString()).toBe(
      '{"version":"2024-10-01","request_timestamp":"2026-03-01 10:11:12",' +
        '"request_id":"d2f1b1e4-7a53-4f61-9e0c-3f5a0f6f8b11","institution_name":"Demo Wallet",' +
        '"account":{"mobile_number":"+12025550142","account_status":"available","account_level":1,' +
        '"funds_access_status":"limited","onboarding_status":"completed"}}',
    )
  })

  it('an onboarding event of a registration has the answer of the holder', () => {
    const [callback] = deliveriesOf(onboardingEvent(registration))
    expect(JSON.parse(callback?.body.toString() ?? '')).toMatchObject({
      account: { onboarding_status: 'completed' },
      request_status: 'rejected',
    })
  })

  it('an onboarding event of a refused profile shows it as unavailable', () => {
    const account = {
      ...completedAccount,
      accountStatus: AccountStatus.UNAVAILABLE,
      accountLevel: 0,
      fundsAccessStatus: FundsAccessStatus.NONE,
      onboardingStatus: OnboardingStatus.REJECTED,
    }
    const [callback] = deliveriesOf(onboardingEvent({ account }))
    expect(JSON.parse(callback?.body.toString() ?? '')).toMatchObject({
      account: {
        account_status: 'unavailable',
        account_level: 0,
        funds_access_status: 'none',
        onboarding_status: 'rejected',
      },
    })
  })

  it('an onboarding event makes the same id and bytes however often it comes', () => {
    const event = onboardingEvent()
    expect(deliveriesOf(structuredClone(event))).toEqual(deliveriesOf(event))
  })

  it.each([
    ['no account', onboardingEvent({ account: undefined })],
    ['no account id', onboardingEvent({ account: { ...completedAccount, accountId: '' } })],
    ['no mobile number', onboardingEvent({ account: { ...completedAccount, mobileNumber: '' } })],
    [
      'a level of another contract',
      onboardingEvent({ account: { ...completedAccount, accountLevel: 3 } }),
    ],
    [
      'a status of another contract',
      onboardingEvent({ account: { ...completedAccount, accountStatus: 9 as AccountStatus } }),
    ],
    ['no kind', onboardingEvent({ kind: OnboardingKind.UNSPECIFIED })],
    [
      'a request status without a registration',
      onboardingEvent({ requestStatus: RegistrationStatus.APPROVED }),
    ],
    ['a registration without its status', onboardingEvent({ kind: OnboardingKind.REGISTRATION })],
    ['no request id', onboardingEvent({ requestId: '' })],
    ['no institution', onboardingEvent({ institutionId: '' })],
    ['no institution name', onboardingEvent({ institutionName: '' })],
    ['no project', onboardingEvent({}, { projectId: '' })],
    ['no time', onboardingEvent({}, { occurredTime: undefined })],
    ['no URL', onboardingEvent({ callbackUrl: '' })],
    [
      'a URL of 201 characters',
      onboardingEvent({ callbackUrl: `https://m.example/${'a'.repeat(183)}` }),
    ],
    ['a token in the clear', onboardingEvent({ authorisationTokenSealed: 'token-0123456789' })],
    ['a long token in the clear', onboardingEvent({ authorisationTokenSealed: 'A'.repeat(40) })],
    ['no token', onboardingEvent({ authorisationTokenSealed: '' })],
    ['a payload that is no message', onboardingEvent({}, { payload: new Uint8Array([255, 255]) })],
  ])('an onboarding event with %s is poison', (_what, event) => {
    expect(() => deliveriesOf(event)).toThrow(UnprocessableEvent)
  })

  it('an onboarding event may have a URL of 200 characters', () => {
    const callbackUrl = `https://m.example/${'a'.repeat(182)}`
    expect(deliveriesOf(onboardingEvent({ callbackUrl }))).toHaveLength(1)
  })
})

describe('a callback that is stored', () => {
  let harness: Awaited<ReturnType<typeof startHarness>>
  let receiver: Receiver
  beforeAll(async () => {
    harness = await startHarness()
    receiver = await startReceiver()
  })
  afterEach(async () => {
    receiver.answer(status(200))
    receiver.requests.length = 0
    await harness.reset()
  })
  afterAll(async () => {
    await receiver.close()
    await harness.drop()
  })

  const headers = { 'authorisation-token': 'sealed', 'pw-signature': 't=1,v1=00' }

  async function storeCallback(callbackUrl: string): Promise<string> {
    const event = onboardingEvent({ callbackUrl }, { projectId: harness.projectId })
    await harness.takeIn(event, event)
    await harness.takeIn(event)
    return deliveriesOf(event)[0]?.deliveryId ?? ''
  }

  it('a callback is one row with its institution and sealed token, also when events repeat', async () => {
    const authorisationTokenSealed = someSealedToken()
    const event = onboardingEvent({ authorisationTokenSealed })
    await harness.takeIn(event)
    await harness.takeIn(event)
    const [callback] = deliveriesOf(event)
    expect(await harness.count('true')).toBe(1)
    expect(await findSigning(harness.db, callback?.deliveryId ?? '')).toEqual(callback?.signing)
  })

  it('a callback that cannot be signed for a while waits, and loses none of its attempts', async () => {
    let signs = 0
    harness.worker({
      scheduleS: [],
      sign: async () => {
        signs += 1
        if (signs > 2) return { headers }
        return { end: { outcome: 'unsigned', error: 'signing_unavailable', totalMs: 0 } }
      },
    })
    const id = await storeCallback(receiver.url)
    const unsigned = async () =>
      (await harness.attempts(id)).filter(({ outcome }) => outcome === 'unsigned')
    const [first] = await eventually(unsigned, (now) => expect(now).not.toEqual([]))
    const nextMs = first?.nextAttemptAt?.getTime() ?? 0
    expect(nextMs - (first?.startedAt.getTime() ?? 0)).toBeGreaterThan(1_000)
    harness.clock.advance(5_000)
    await eventually(unsigned, (now) => expect(now).toHaveLength(2))
    harness.clock.advance(10_000)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect((await harness.attempts(id)).map(({ outcome, error }) => [outcome, error])).toEqual([
      ['unsigned', 'signing_unavailable'],
      ['unsigned', 'signing_unavailable'],
      ['delivered', null],
    ])
    expect(receiver.requests).toHaveLength(1)
    expect(await harness.count('failures = 0')).toBe(1)
  })

  it('a callback whose first attempt was not sent records no latency until the first POST', async () => {
    const metrics = new Registry()
    let signs = 0
    harness.worker({
      metrics,
      sign: async () => {
        signs += 1
        if (signs > 1) return { headers }
        return { end: { outcome: 'unsigned', error: 'signing_unavailable', totalMs: 0 } }
      },
    })
    const id = await storeCallback(receiver.url)
    await eventually(async () => signs === 1 && (await harness.state(id)) === 'pending')
    harness.clock.advance(5_000)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    const counted = async () =>
      /payweave_delivery_first_post_seconds_count (\d+)/.exec(await metrics.metrics())?.[1]
    expect(await counted()).toBe('0')
    await storeCallback(receiver.url)
    await eventually(async () => expect(await counted()).toBe('1'))
  })

  it('a callback of an onboarding waits as at first after a replay, however many attempts came before', async () => {
    const unavailable = { outcome: 'unsigned', error: 'signing_unavailable', totalMs: 0 } as const
    harness.worker({ sign: async () => ({ end: unavailable }) })
    const id = await storeCallback(receiver.url)
    await harness.asOwner(
      `update delivery.delivery set state = 'exhausted', attempts = 9, failures = 3,
         next_attempt_at = null, lease_token = null, lease_until = null, ended_at = now()`,
    )
    await replayDelivery(harness.db, harness.projectId, id, randomUUID())
    const waits = async () => {
      const [row] = await harness.asOwner<{ waitS: number }>(
        `select extract(epoch from next_attempt_at - attempt_started_at)::float8 as "waitS"
         from delivery.delivery where state = 'pending' and attempts > 9`,
      )
      return row?.waitS ?? 0
    }
    await eventually(async () => expect(await waits()).toBeGreaterThan(0))
    expect(await waits()).toBeGreaterThanOrEqual(2)
    expect(await waits()).toBeLessThan(4)
  })

  it('a callback of an onboarding is identified and signed on each attempt, and names no payment', async () => {
    receiver.answer(status(500))
    harness.worker({ scheduleS: [1], sign: async () => ({ headers }) })
    const id = await storeCallback(receiver.url)
    await eventually(() => expect(receiver.requests.length).toBe(1))
    await eventually(async () => expect(await harness.state(id)).toBe('pending'))
    receiver.answer(status(200))
    harness.clock.advance(2_000)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    const [row] = await harness.asOwner<{ eventId: string }>(
      'select event_id as "eventId" from delivery.delivery',
    )
    for (const [index, { headers: sent }] of receiver.requests.entries()) {
      expect(sent).toMatchObject({
        ...headers,
        'pw-delivery-id': id,
        'pw-delivery-attempt': String(index + 1),
        'pw-event-id': row?.eventId,
      })
      expect(sent).not.toHaveProperty('pw-payment-details-id')
    }
    expect(receiver.requests).toHaveLength(2)
  })

  it('a callback that can never be signed is given up at once, visibly to operators', async () => {
    harness.worker({
      sign: async () => ({
        end: { outcome: 'unsigned', unsignable: true, error: 'institution_unknown', totalMs: 0 },
      }),
    })
    const id = await storeCallback(receiver.url)
    await eventually(async () => expect(await harness.state(id)).toBe('blocked'))
    expect(receiver.requests).toHaveLength(0)
  })

  it('a callback of an onboarding to a plain http URL is blocked unsent where only https is allowed', async () => {
    harness.worker({ allowLoopback: false, sign: async () => ({ headers }) })
    const id = await storeCallback('http://m.example/onboarded')
    await eventually(async () => expect(await harness.state(id)).toBe('blocked'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'blocked', error: 'url' }])
  })

  it('a callback of an onboarding is deleted together with its sealed token', async () => {
    const id = await storeCallback(receiver.url)
    await harness.asOwner(`delete from delivery.delivery where delivery_id = '${id}'`)
    expect(await findSigning(harness.db, id)).toBeUndefined()
  })

  it('a callback of an onboarding ends with 410, and so does every later one of that account to that URL', async () => {
    receiver.answer(status(410))
    harness.worker({ sign: async () => ({ headers }) })
    const first = await storeCallback(receiver.url)
    await eventually(async () => expect(await harness.state(first)).toBe('gone'))
    const second = await storeCallback(receiver.url)
    expect(await harness.state(second)).toBe('gone')
  })
})
