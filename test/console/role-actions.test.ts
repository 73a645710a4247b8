// Tests what each role may do: pages show no more, and services accept no more, even if the console does.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { permissions } from '#platform/rpc/auth/roles.ts'
import { openSandbox } from '../../console/sandbox.ts'
import { localPeople } from '../../console/sign-in/local-provider.ts'
import { listActivity } from '../../console/store/activity-store.ts'
import { type Harness, startHarness } from './harness.ts'
import { actionsOf } from './people/actions.ts'
import { routeOf, routesOf } from './people/routes.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  // The person who acts has claimed every item: claims.test.ts has items that others have claimed.
  harness.peers.holders.clear()
})
afterAll(() => harness?.close())

const inDemo = localPeople.filter(({ project }) => project !== 'other')

describe.each(inDemo)('$role', ({ id, role }) => {
  it(`a ${role} sees the actions that they may take, and services refuse all others`, async () => {
    const browser = await harness.signedIn(id)
    const roles = permissions as Record<string, readonly string[]>
    for (const { page, needs, post, rpc, fields, answers = 303, ...one } of actionsOf(
      harness.peers,
    )) {
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
      // As a command too, on the page that offers it.
      const isNamed = shown.text.includes(`/${rpc}&quot; \\`)
      expect([rpc, isNamed || !may || !mayOpen]).toEqual([rpc, true])
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

it('every form of the console is an action by role, or has a test of its own', async () => {
  const routes = (await routesOf(harness)).filter((route) => route.startsWith('POST '))
  const tried = new Set(
    actionsOf(harness.peers).map(({ page, post }) => routeOf('POST', `${page}/${post}`, routes)),
  )
  const others = [
    // Claims and approvals: claims.test.ts and approvals/approvals.test.ts.
    /\/inbox\/(claims|releases)$/,
    /\/approvals\/:approvalId\/(approve|reject)$/,
    // Below.
    /\/developers\/triggers$/,
    // It stores nothing: pages.test.ts.
    /\/branding\/preview$/,
    // For everybody: sign-in.test.ts.
    / \/(sign-out|local\/token)$/,
  ]
  const left = routes.filter((route) => !tried.has(route))
  expect(left.filter((route) => !others.some((other) => other.test(route)))).toEqual([])
})

it('what a person has asked again or paused is written down with what it was about', async () => {
  const browser = await harness.signedIn('ama')
  const ids = { attempt_id: 'attempt-7', refund_id: randomUUID(), movement_id: randomUUID() }
  await browser.post('/stuck/attempts', ids)
  await browser.post('/stuck/refunds', ids)
  const { projectId } = harness.peers.projects.demo
  const lane = { project_id: projectId, lane_id: randomUUID() }
  const paused = await browser.post('/receivers/pauses', lane)
  expect(paused.headers.get('location')).toBe('/receivers?notice=paused')
  const answer = await browser.post('/stuck/transfers', ids)
  expect(answer.headers.get('location')).toBe('/stuck?notice=asked')
  expect((await browser.get('/stuck?notice=asked')).text).toContain('It is asked again within')
  const person = harness.personOf('ama')
  const rows = await listActivity(harness.db, { person, projectId: '', before: '', limit: 50 })
  const written = rows.map(({ rpc, target }) => `${rpc.split('/')[1]} ${target}`)
  expect(written).toEqual(
    expect.arrayContaining([
      `EnquireAttempt ${ids.attempt_id}`,
      `RepeatRefund ${ids.refund_id}`,
      `ResumeTransaction ${ids.movement_id}`,
      `PauseEndpoint ${lane.lane_id}`,
    ]),
  )
})

it('a settlement that is refused again stays with its reason, and one that is posted is off the list', async () => {
  const browser = await harness.signedIn('ama')
  const retry = async (id: string) => {
    const answer = await browser.post('/ledger/settlements/retry', { settlement_id: id })
    return answer.headers.get('location')
  }
  expect(await retry(harness.peers.staff.postableId)).toBe('/ledger?notice=posted')
  expect(await retry(randomUUID())).toBe('/ledger?notice=refused')
  const { text } = await browser.get('/ledger?notice=refused')
  expect(text).toContain('The ledger has refused the settlement again.')
})

it('the page of a new customer has its duplicates beside it, what is the same marked, and leads to open ones', async () => {
  const { staff } = harness.peers
  const browser = await harness.signedIn('ama')
  const { text } = await browser.get(`/inbox/onboardings/${staff.reviewId}`)
  expect(text).toContain('Duplicate 2')
  expect(text.match(/ \(same\)/g)?.length).toBe(6)
  expect(text).toContain(`href="/inbox/onboardings/${staff.otherReviewId}"`)
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

it.each(['retry', 'discard'])(
  'a %s of an event about which somebody else has decided meanwhile says that nothing was done',
  async (post) => {
    const { events, calls } = harness.peers
    const browser = await harness.signedIn('ama')
    calls.length = 0
    const fields = { event_id: events.decidedId, note: 'posted by hand' }
    const { status, text } = await browser.post(`/dead-letters/events/${post}`, fields)
    expect([status, text.includes('No dead letter of this event is left')]).toEqual([404, true])
    expect(calls.filter(({ rpc }) => rpc.endsWith('EventDeadLetter'))).toEqual([])
  },
)

it('ticks decide what a project may call at an institution, and what others have granted or revoked since stays', async () => {
  const { projects, institutionId, changed } = harness.peers
  const browser = await harness.signedIn('ama')
  const base = `/projects/${projects.demo.projectId}/access`
  const [quote, post, read] = [
    'POST /institution/quote',
    'GET /institution/post',
    'GET /institution/transaction',
  ] as const
  const page = await browser.get(base)
  expect(page.text).toContain(`name="shown" value="${quote}"`)
  // It holds the first one.
  const store = async (shown: string[], ...endpoints: string[]) => {
    Object.assign(changed, { granted: [], revoked: [] })
    const ticks = Object.fromEntries(endpoints.map((endpoint) => [endpoint, 'on']))
    const fields = { institution_id: institutionId, shown: shown.join(','), ...ticks }
    expect((await browser.post(`${base}/grants`, fields)).status).toBe(303)
    return [changed.granted, changed.revoked]
  }
  expect(await store([quote], quote)).toEqual([[], []])
  expect(await store([quote], post)).toEqual([[post], [quote]])
  expect(await store([quote], quote, 'POST /account/session')).toEqual([[], []])
  // Somebody else has granted it since, or revoked another.
  expect(await store([], read)).toEqual([[read], []])
  expect(await store([], quote)).toEqual([[], []])
  expect(await store([quote, post], quote, post)).toEqual([[], []])
  expect(await store([quote, post], quote)).toEqual([[], []])
  const unshown = { institution_id: institutionId }
  expect((await browser.post(`${base}/grants`, unshown)).status).toBe(400)
})

it('a page of access stores what was changed on it, and replaces no list of addresses that another person has changed since', async () => {
  const { projects, changed, calls } = harness.peers
  const browser = await harness.signedIn('ama')
  const base = `/projects/${projects.demo.projectId}/access`
  Object.assign(changed, { accountAccess: false, allowedIps: [] })
  const opened = async () => {
    const { text } = await browser.get(base)
    const hidden = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? 'none'
    return {
      shown_access: hidden('shown_access'),
      shown_addresses: hidden('shown_addresses'),
      ...(changed.accountAccess && { account_access: 'on' }),
      addresses: changed.allowedIps.join('\r\n'),
    }
  }
  const store = async (fields: Record<string, string>) => {
    calls.length = 0
    const { status } = await browser.post(`${base}/update`, fields)
    const { accountAccess, allowedIps } = changed
    const isCalled = calls.some(({ rpc }) => rpc === 'UpdateProjectAccess')
    return [status, isCalled, accountAccess, allowedIps.join(' ')]
  }
  const empty = await opened()
  const addresses = '203.0.113.7\r\n198.51.100.0/24, 2001:db8::1'
  const stored = '203.0.113.7 198.51.100.0/24 2001:db8::1'
  expect(await store({ ...empty, account_access: 'on', addresses })).toEqual([
    303,
    true,
    true,
    stored,
  ])
  const full = await opened()
  expect(await store(full)).toEqual([303, false, true, stored])
  // A page from before sends its own changes alone, and none to a list that it did not show.
  expect(await store({ ...empty, addresses: '192.0.2.1' })).toEqual([409, false, true, stored])
  expect(await store(empty)).toEqual([303, false, true, stored])
  const off = { shown_access: 'on', shown_addresses: empty.shown_addresses }
  expect(await store(off)).toEqual([303, true, false, stored])
  expect(await store({ ...full, addresses: '' })).toEqual([303, true, false, ''])
  expect((await store({}))[0]).toBe(400)
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
