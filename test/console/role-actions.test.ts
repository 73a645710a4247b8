// Tests what each role may do: pages show no more, and services accept no more, even if the console does.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import { PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { permissions } from '#platform/rpc/auth/roles.ts'
import { openSandbox } from '../../console/sandbox.ts'
import { localPeople } from '../../console/sign-in/local-provider.ts'
import { listActivity } from '../../console/store/activity-store.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.close())

type Action = {
  page: string
  /** What the page itself calls; absent: what all may. */
  needs?: string
  post: string
  rpc: string
  fields?: Record<string, string>
  /** The status of a success; 303 unless it is given. */
  answers?: number
  /** Whether it claims an item first, which is for those who may open the page. */
  claims?: boolean
  /** Whether the call is for no single project. */
  isForAll?: boolean
  /** The state in which the page offers it, where that is not the usual one of its thing. */
  when?: { thing: { state: number }; state: number }
}

const ofRouting = {
  page: '/routing',
  needs: 'payweave.payments.v1.RoutingService/ListRoutes',
  isForAll: true,
}
const ofCatalogue = {
  page: '/catalogue',
  needs: 'payweave.billing.v1.CatalogueService/ListCatalogue',
  isForAll: true,
}

/** Actions of pages: where, what the page shows for them, and the RPC that they end in. */
function actions(): Action[] {
  const { projectId, keyId, payment, delivery, job } = harness.peers.projects.demo
  const { staff, institutionId } = harness.peers
  const base = `/projects/${projectId}`
  const requestId = randomUUID()
  return [
    {
      page: `${base}/payments/${payment.paymentId}`,
      post: 'refund',
      rpc: 'payweave.payments.v1.PaymentsService/RefundPayment',
    },
    {
      page: `${base}/payments/${payment.paymentId}`,
      post: 'cancel',
      rpc: 'payweave.payments.v1.PaymentsService/CancelPayment',
      when: { thing: payment, state: PaymentState.PENDING },
    },
    {
      page: `${base}/pushes/${delivery.deliveryId}`,
      post: 'cancel',
      rpc: 'payweave.delivery.v1.DeliveryService/CancelDelivery',
      when: { thing: delivery, state: DeliveryState.PENDING },
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'resume',
      rpc: 'payweave.delivery.v1.ReplayService/ResumeReplayJob',
      when: { thing: job, state: ReplayJobState.PAUSED },
    },
    {
      page: `${base}/pushes/${delivery.deliveryId}`,
      post: 'resend',
      rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
      fields: { request_id: requestId },
    },
    {
      page: `${base}/pushes`,
      post: 'replays',
      rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
      fields: { request_id: requestId },
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'cancel',
      rpc: 'payweave.delivery.v1.ReplayService/CancelReplayJob',
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'pause',
      rpc: 'payweave.delivery.v1.ReplayService/PauseReplayJob',
    },
    ...[
      { post: 'subscription-keys', rpc: 'payweave.accounts.v1.AccessService/IssueSubscriptionKey' },
      { post: 'api-keys', rpc: 'payweave.accounts.v1.AccessService/IssueApiKey' },
    ].map((action) => ({
      ...action,
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      fields: { request_id: requestId, merchant_id: payment.merchantId },
      answers: 200,
    })),
    ...[
      {
        post: 'subscription-keys/revoke',
        rpc: 'payweave.accounts.v1.AccessService/RevokeSubscriptionKey',
      },
      { post: 'api-keys/revoke', rpc: 'payweave.accounts.v1.AccessService/RevokeApiKey' },
    ].map((action) => ({
      ...action,
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      fields: { key_id: keyId, confirmed: 'on' },
    })),
    ...[
      { post: 'update', rpc: 'payweave.accounts.v1.AccessService/UpdateProjectAccess' },
      { post: 'grants', rpc: 'payweave.accounts.v1.AccessService/GrantEndpoints' },
    ].map((action) => ({
      ...action,
      page: `${base}/access`,
      needs: 'payweave.accounts.v1.AccessService/ListInstitutions',
      fields: { institution_id: institutionId, 'GET /institution/post': 'on' },
    })),
    {
      page: `${base}/branding`,
      post: 'update',
      rpc: 'payweave.accounts.v1.AccessService/UpdateMerchant',
      fields: { merchant_id: payment.merchantId, color: '#0b57d0' },
    },
    {
      page: '/inbox',
      needs: 'payweave.billing.v1.CatalogueService/ListReviews',
      post: 'bills',
      rpc: 'payweave.billing.v1.CatalogueService/ResolveReview',
      fields: {
        project_id: staff.projectId,
        transaction_id: 'bill-1',
        item_id: staff.projectId,
        decision: 'paid',
        note: 'their statement',
      },
      isForAll: true,
    },
    ...[
      { post: 'check', rpc: 'payweave.accounts.v1.LedgerService/CheckLedger', answers: 200 },
      { post: 'backfill', rpc: 'payweave.accounts.v1.SettlementPostingService/RestartBackfill' },
    ].map((action) => ({
      ...action,
      page: '/ledger',
      needs: 'payweave.accounts.v1.SettlementPostingService/GetBackfill',
      isForAll: true,
    })),
    {
      page: '/inbox',
      needs: 'payweave.billing.v1.CatalogueService/ListReviews',
      post: 'refunds',
      rpc: 'payweave.payments.v1.PaymentOperationsService/SettleRefund',
      fields: { refund_id: requestId, note: 'by bank transfer' },
      isForAll: true,
    },
    ...['accept', 'reject'].map((post) => ({
      page: `/inbox/onboardings/${staff.reviewId}`,
      needs: 'payweave.accounts.v1.OnboardingService/GetOnboarding',
      post,
      rpc: 'payweave.accounts.v1.OnboardingService/DecideOnboarding',
      fields: { level: '1', funds_access: 'full', reason: 'their passport' },
      isForAll: true,
    })),
    {
      page: '/dead-letters',
      claims: true,
      needs: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
      post: 'resend',
      rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
      fields: {
        project_id: projectId,
        delivery_id: delivery.deliveryId,
        request_id: requestId,
      },
    },
    ...[
      { post: 'retry', rpc: 'payweave.events.v1.EventDeadLetterService/RetryEventDeadLetter' },
      { post: 'discard', rpc: 'payweave.events.v1.EventDeadLetterService/DiscardEventDeadLetter' },
    ].map((action) => ({
      ...action,
      page: '/dead-letters/events',
      needs: 'payweave.events.v1.EventDeadLetterService/ListEventDeadLetters',
      fields: {
        service: 'delivery',
        dead_letter_id: harness.peers.events.deadLetterId,
        note: 'posted by hand',
      },
      isForAll: true,
    })),
    {
      page: '/receivers',
      needs: 'payweave.delivery.v1.EndpointService/ListAllEndpoints',
      post: 'replays',
      rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
      fields: { project_id: projectId, kind: 'notify', request_id: requestId, rate: '5' },
    },
    {
      page: '/stuck',
      needs: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
      post: 'calls',
      rpc: 'payweave.payments.v1.PaymentOperationsService/RetryCall',
      fields: { subject_id: requestId, kind: 'payout' },
      isForAll: true,
    },
    {
      ...ofRouting,
      post: 'routes',
      rpc: 'payweave.payments.v1.RoutingService/PutRoute',
      fields: { kind: 'charge', currency: 'USD', channel: '', connector: 'connector-card' },
    },
    {
      ...ofRouting,
      post: 'removals',
      rpc: 'payweave.payments.v1.RoutingService/DeleteRoute',
      fields: { kind: 'payout', project_id: '', currency: '' },
    },
    {
      ...ofCatalogue,
      post: 'billers',
      rpc: 'payweave.billing.v1.CatalogueService/PutBiller',
      fields: { biller: 'POWER', name: 'Power', active: 'on' },
    },
    {
      ...ofCatalogue,
      post: 'products',
      rpc: 'payweave.billing.v1.CatalogueService/PutProduct',
      fields: {
        biller: 'POWER',
        product: 'HOME',
        name: 'Power',
        pattern: '[0-9]{7}',
        ranges: 'USD:1.00-5.00',
      },
    },
  ]
}

const inDemo = localPeople.filter(({ project }) => project !== 'other')

describe.each(inDemo)('$role', ({ id, role }) => {
  it(`a ${role} sees the actions that they may take, and services refuse all others`, async () => {
    const browser = await harness.signedIn(id)
    const roles = permissions as Record<string, readonly string[]>
    for (const { page, needs, post, rpc, fields, answers = 303, ...one } of actions()) {
      const { claims, isForAll, when } = one
      const usual = when?.thing.state ?? 0
      if (when !== undefined) when.thing.state = when.state
      const mayOpen = needs === undefined || (roles[needs]?.includes(role) ?? false)
      const may = (roles[rpc]?.includes(role) ?? false) && (claims !== true || mayOpen)
      const shown = await browser.get(page)
      expect([rpc, shown.status, shown.text.includes(`action="${page}/${post}"`)]).toEqual([
        rpc,
        mayOpen ? 200 : 403,
        may && mayOpen,
      ])
      harness.peers.calls.length = 0
      const answer = await browser.post(`${page}/${post}`, fields)
      expect([rpc, answer.status]).toEqual([rpc, may ? answers : 403])
      const reached = harness.peers.calls.filter((call) => rpc.endsWith(`/${call.rpc}`))
      expect(reached).toHaveLength(may ? 1 : 0)
      for (const call of reached) {
        expect(call.person).toBe(harness.personOf(id))
        const { projectId } = harness.peers.projects.demo
        expect(call.projectId).toBe(isForAll === true ? undefined : projectId)
      }
      if (when !== undefined) when.thing.state = usual
    }
  })
})

it('an event is retried and discarded at all services that have it, the consumers first', async () => {
  const { events, calls } = harness.peers
  const browser = await harness.signedIn('ama')
  for (const [post, rpc] of [
    ['retry', 'RetryEventDeadLetter'],
    ['discard', 'DiscardEventDeadLetter'],
  ]) {
    calls.length = 0
    const fields = { event_id: events.eventId, note: 'posted by hand' }
    const answer = await browser.post(`/dead-letters/events/${post}`, fields)
    expect(answer.status).toBe(303)
    expect(calls.filter((call) => call.rpc === rpc)).toHaveLength(3)
  }
  const unsaid = { event_id: events.eventId, note: ' ' }
  expect((await browser.post('/dead-letters/events/discard', unsaid)).status).toBe(400)
})

it('ticks decide what a project may call at an institution, and no grant is made or taken twice', async () => {
  const { projects, institutionId, changed } = harness.peers
  const browser = await harness.signedIn('ama')
  const base = `/projects/${projects.demo.projectId}/access`
  // It holds POST /institution/quote.
  const store = async (...endpoints: string[]) => {
    Object.assign(changed, { granted: [], revoked: [] })
    const ticks = Object.fromEntries(endpoints.map((endpoint) => [endpoint, 'on']))
    await browser.post(`${base}/grants`, { institution_id: institutionId, ...ticks })
    return [changed.granted, changed.revoked]
  }
  expect(await store('POST /institution/quote')).toEqual([[], []])
  expect(await store('GET /institution/post')).toEqual([
    ['GET /institution/post'],
    ['POST /institution/quote'],
  ])
  expect(await store('POST /institution/quote', 'POST /account/session')).toEqual([[], []])
  await browser.post(`${base}/update`, {
    account_access: 'on',
    addresses: '203.0.113.7\r\n198.51.100.0/24, 2001:db8::1',
  })
  expect(changed).toMatchObject({
    accountAccess: true,
    allowedIps: ['203.0.113.7', '198.51.100.0/24', '2001:db8::1'],
  })
  await browser.post(`${base}/update`)
  expect(changed).toMatchObject({ accountAccess: false, allowedIps: [] })
})

it.each(inDemo)(
  'the personal data of a customer is shown to a $role only if they may see it, and written down',
  async ({ id, role }) => {
    const { projectId, customer } = harness.peers.projects.demo
    const browser = await harness.signedIn(id)
    const path = `/projects/${projectId}/customers/${customer.accountId}`
    const may = ['support', 'operator', 'administrator'].includes(role)
    expect((await browser.get(path)).text.includes(`href="${path}/personal"`)).toBe(may)
    harness.peers.calls.length = 0
    const { status, text } = await browser.get(`${path}/personal`)
    expect([status, text.includes('123.00 USD')]).toEqual(may ? [200, true] : [403, false])
    expect(harness.peers.calls.some(({ rpc }) => rpc === 'GetPersonalData')).toBe(may)
    const person = harness.personOf(id)
    const wanted = { person, projectId, before: '', limit: 20 }
    expect(await listActivity(harness.db, wanted)).toContainEqual(
      expect.objectContaining({
        rpc: 'payweave.accounts.v1.CustomerService/GetPersonalData',
        target: customer.accountId,
      }),
    )
  },
)

describe('a trigger of the sandbox', () => {
  const pathOf = (name: 'demo' | 'other') =>
    `/projects/${harness.peers.projects[name].projectId}/developers/triggers`
  const trigger = 'payment.paid'

  it.each(inDemo)(
    'a trigger of the sandbox is for a $role only if they may issue keys',
    async ({ id, role }) => {
      const path = pathOf('demo')
      const { projectId } = harness.peers.projects.demo
      const browser = await harness.signedIn(id)
      const may = ['merchant_developer', 'administrator'].includes(role)
      const developers = await browser.get(path.replace('/triggers', ''))
      expect(developers.text.includes(`href="${path}"`)).toBe(may)
      const shown = await browser.get(path)
      expect([shown.status, shown.text.includes(`value="${trigger}"`)]).toEqual([
        may ? 200 : 403,
        may,
      ])
      // The sandbox of these tests does not answer.
      const { status, text } = await browser.post(path, { trigger })
      expect([status, text.includes('It has not happened')]).toEqual([may ? 409 : 403, may])
      expect(text).not.toContain('pwk_test_key')
      const wanted = { person: harness.personOf(id), projectId, before: '', limit: 20 }
      const written = (await listActivity(harness.db, wanted)).map(({ rpc }) => rpc)
      expect(written.includes(`payweave trigger ${trigger}`)).toBe(may)
    },
  )

  it('a trigger of the sandbox exists in the project of its keys alone, and by its name', async () => {
    const browser = await harness.signedIn('ama')
    expect((await browser.get(pathOf('other'))).status).toBe(404)
    expect((await browser.post(pathOf('other'), { trigger })).status).toBe(404)
    expect((await browser.post(pathOf('demo'), { trigger: 'payment.none' })).status).toBe(404)
  })

  it('a trigger of the sandbox is in no console of production, nor in one without its file', () => {
    const file = join(import.meta.dirname, 'harness.ts')
    expect(openSandbox(undefined, 'production')).toBeUndefined()
    expect(openSandbox(undefined, 'local')).toBeUndefined()
    expect(() => openSandbox(file, 'production')).toThrow(ConfigurationError)
    expect(() => openSandbox(`${file}.none`, 'local')).toThrow(ConfigurationError)
  })
})
