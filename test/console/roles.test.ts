// Tests that people see nothing of other projects and nothing that is the staff's, by pages, ids and tokens.
import { randomUUID } from 'node:crypto'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { mayCall, parseMembership, permissions, roleNames } from '#platform/rpc/auth/roles.ts'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { type Harness, startHarness } from './harness.ts'
import { foreignForms, foreignPages } from './people/foreign.ts'
import { routeOf, routesOfProjects } from './people/routes.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.close())

describe('a person of one project', () => {
  it.each(['abena', 'kwame'])(
    '%s sees nothing of another project, by any page or id',
    async (id) => {
      const { demo } = harness.peers.projects
      const browser = await harness.signedIn(id)
      for (const path of foreignPages(harness.peers)) {
        const answer = await browser.follow(path)
        expect([path, answer.status]).toEqual([path, 404])
        expect(answer.text).not.toContain('other ')
      }
      harness.peers.calls.length = 0
      for (const form of foreignForms(harness.peers)) {
        const answer = await browser.post(form)
        expect([form, answer.status]).toEqual([form, 404])
      }
      const reached = harness.peers.calls.filter(({ projectId }) => projectId !== demo.projectId)
      expect(reached).toEqual([])
    },
  )

  it('every route of a project is tried with ids of another project', async () => {
    const { demo } = harness.peers.projects
    const routes = await routesOfProjects(harness)
    const pages = foreignPages(harness.peers)
    const tried = new Set([
      ...pages.map((path) => routeOf('GET', path, routes)),
      ...foreignForms(harness.peers).map((path) => routeOf('POST', path, routes)),
    ])
    expect(routes.filter((route) => !tried.has(route))).toEqual([])
    expect(routes.length).toBeGreaterThan(40)
    // What has an id of its own is also asked for in the person's own project.
    const inOwn = new Set(
      pages
        .filter((path) => path.startsWith(`/projects/${demo.projectId}/`))
        .map((path) => routeOf('GET', path, routes)),
    )
    const byId = routes.filter((route) => /^GET .*:projectId\/.*:/.test(route))
    // A viewer may call neither in their own project; both have tests of their own with the id of another.
    expect(byId.filter((route) => !inOwn.has(route)).toSorted()).toEqual([
      'GET /projects/:projectId/bills/:transactionId/receipt.pdf',
      'GET /projects/:projectId/customers/:accountId/personal',
    ])
  })

  it('a person of one project finds their own things by id, and the staff those of all', async () => {
    const { demo, other } = harness.peers.projects
    const own = await harness.signedIn('abena')
    const staff = await harness.signedIn('yaw')
    for (const [browser, { projectId, payment, transfer, delivery, job, customer, bill }] of [
      [own, demo],
      [staff, demo],
      [staff, other],
    ] as const) {
      for (const [id, path] of [
        [payment.paymentId, `payments/${payment.paymentId}`],
        [transfer.movementId, `transfers/${transfer.movementId}`],
        [delivery.deliveryId, `pushes/${delivery.deliveryId}`],
        [job.jobId, `pushes/replays/${job.jobId}`],
        [customer.accountId, `customers/${customer.accountId}`],
        [bill.transactionId, `bills/${bill.transactionId}`],
      ]) {
        const found = await browser.follow(`/search?q=${id}`)
        expect([found.status, found.url]).toEqual([
          200,
          `${harness.url}/projects/${projectId}/${path}`,
        ])
      }
    }
  })
})

it('a key of another project cannot be revoked, nor any without a tick', async () => {
  const { demo, other } = harness.peers.projects
  const browser = await harness.signedIn('abena')
  for (const kind of ['subscription-keys', 'api-keys']) {
    const path = `/projects/${demo.projectId}/developers/${kind}/revoke`
    const post = async (fields: Record<string, string>) => (await browser.post(path, fields)).status
    expect(await post({ key_id: other.keyId, confirmed: 'on' })).toBe(404)
    expect(await post({ key_id: demo.keyId })).toBe(400)
    expect(await post({ key_id: demo.keyId, confirmed: 'on' })).toBe(303)
  }
})

it('a key is rotated in one step: the new one is shown once, and the old one stays or is revoked', async () => {
  const { demo, other } = harness.peers.projects
  const browser = await harness.signedIn('abena')
  for (const [kind, key] of [
    ['subscription-keys', `pwk_test_${demo.secret}`],
    ['api-keys', demo.secret],
  ] as const) {
    const rotate = (fields: Record<string, string>) => {
      harness.peers.calls.length = 0
      const path = `/projects/${demo.projectId}/developers/${kind}/rotate`
      return browser.post(path, { request_id: randomUUID(), ...fields })
    }
    const revoked = () => harness.peers.calls.filter(({ rpc }) => rpc.startsWith('Revoke')).length
    const kept = await rotate({ key_id: demo.keyId })
    expect([kept.status, kept.text.includes(key), revoked()]).toEqual([200, true, 0])
    expect(kept.text).toContain(`/developers/${kind}/revoke"`)
    const ended = await rotate({ key_id: demo.keyId, at_once: 'on' })
    expect([ended.status, ended.text.includes(key), revoked()]).toEqual([200, true, 1])
    expect((await rotate({ key_id: other.keyId })).status).toBe(404)
    expect(harness.peers.calls.filter(({ rpc }) => rpc.startsWith('Issue'))).toEqual([])
  }
})

it('a key is rotated for its own merchant, also by a replica of accounts that ignores the id of a key', async () => {
  const { keys, projects } = harness.peers
  const { projectId, keyId, payment } = projects.demo
  const browser = await harness.signedIn('abena')
  const developers = `/projects/${projectId}/developers`
  const rotate = async (key_id: string) => {
    const fields = { request_id: randomUUID(), key_id }
    return (await browser.post(`${developers}/api-keys/rotate`, fields)).status
  }
  Object.assign(keys, { ignoresId: true, issuedFor: [] })
  const statuses = [await rotate(keyId), await rotate(projects.other.keyId)]
  const shown = (await browser.get(`${developers}?key=${keyId}`)).text
  Object.assign(keys, { ignoresId: false })
  expect(statuses).toEqual([200, 404])
  expect(keys.issuedFor).toEqual([payment.merchantId])
  const offered = [...shown.matchAll(/name="key_id" value="([^"]+)"/g)].map(([, id]) => id)
  expect(new Set(offered)).toEqual(new Set([keyId]))
})

it('a merchant of another project is not found by its id, nor is its payment by that of its own', async () => {
  const { demo, other } = harness.peers.projects
  const browser = await harness.signedIn('abena')
  const path = `/projects/${demo.projectId}/payments?merchant=${other.payment.merchantId}`
  const { text, status } = await browser.get(path)
  expect(status).toBe(404)
  expect(text).not.toContain(other.payment.paymentId)
})

it.each(['', '/payments', '/branding'])(
  'a page of a merchant, %j, is of the one in its address, also beyond the first 200, and of nobody else',
  async (page) => {
    const { peers } = harness
    const browser = await harness.signedIn('ama')
    const { projectId } = peers.projects.demo
    peers.second.isShown = true
    const open = (merchant: string) =>
      browser.get(`/projects/${projectId}${page}?${new URLSearchParams({ merchant }).toString()}`)
    const beyond = await open(peers.second.unlistedId)
    expect(beyond.status).toBe(200)
    expect(beyond.text).toMatch(
      new RegExp(`<option value="${peers.second.unlistedId}" selected>\\s*Unlisted`),
    )
    for (const unknown of [peers.projects.other.payment.merchantId, 'none']) {
      expect([unknown, (await open(unknown)).status]).toEqual([unknown, 404])
    }
    expect((await open('')).status).toBe(200)
    peers.second.isShown = false
  },
)

it('pages of the staff are for no merchant', async () => {
  for (const id of ['abena', 'kwame']) {
    const browser = await harness.signedIn(id)
    const profile = `/inbox/onboardings/${harness.peers.staff.reviewId}`
    const file = `${profile}/files/${harness.peers.staff.pictureId}`
    for (const path of [
      '/now',
      '/now/runbooks/part-down',
      '/inbox',
      '/inbox.csv',
      '/approvals',
      profile,
      file,
      '/stuck',
      '/stuck.csv',
      '/receivers',
      '/receivers.csv',
      '/dead-letters',
      '/dead-letters.csv',
      '/dead-letters/events',
      '/dead-letters/events.csv',
      '/dead-letters/events/decisions',
      '/api-log',
      '/api-log.csv',
      '/ledger',
      '/catalogue',
      '/catalogue.csv',
      '/routing',
      '/routing.csv',
      '/audit',
      '/audit.csv',
      '/audit/catalogue',
      '/audit/catalogue.csv',
      '/audit/calls',
    ]) {
      expect([path, (await browser.get(path)).status]).toEqual([path, 403])
    }
    expect((await browser.get('/audit/calls.csv')).status).toBe(403)
    expect((await browser.follow('/')).text).not.toContain('href="/inbox"')
  }
})

it('a search leads those who may see the ledger to a transfer or a hold, and asks it for nobody else', async () => {
  const { staff, calls, projects } = harness.peers
  const operator = await harness.signedIn('ama')
  for (const id of [staff.transferId, staff.holdId]) {
    const found = await operator.get(`/search?q=${id}`)
    expect(found.headers.get('location')).toMatch(new RegExp(`^/ledger\\?project=.*&id=${id}$`))
  }
  calls.length = 0
  const merchant = await harness.signedIn('abena')
  const { projectId } = projects.demo
  expect((await merchant.get(`/projects/${projectId}/search?q=${staff.transferId}`)).status).toBe(
    404,
  )
  expect(calls.map(({ rpc }) => rpc)).not.toContain('GetTransfer')
})

it('the header leads the staff to the same page of another project, and a person of one project nowhere', async () => {
  const { demo, other } = harness.peers.projects
  const path = `/projects/${demo.projectId}/payments/${demo.payment.paymentId}`
  const linkOf = ({ text }: { text: string }) =>
    text.includes(`href="/projects/${other.projectId}/payments"`)
  expect(linkOf(await (await harness.signedIn('yaw')).get(path))).toBe(true)
  const { text } = await (await harness.signedIn('abena')).get(path)
  expect(text).not.toContain('aria-label="Projects"')
})

it('a search of the staff asks a few projects at a time', async () => {
  const { projects, crowd, most } = harness.peers
  const browser = await harness.signedIn('yaw')
  crowd.push(...Array.from({ length: 20 }, () => randomUUID()))
  most.atOnce = 0
  const found = await browser.get(`/search?q=${projects.other.payment.paymentId}`)
  expect(found.headers.get('location')).toMatch(/\/payments\//)
  expect(most.atOnce).toBeGreaterThan(0)
  expect(most.atOnce).toBeLessThanOrEqual(4)
  crowd.length = 0
})

describe('a token of the console', () => {
  const call = (memberships: string[], projectId: string | undefined, requested: string) => {
    const identity = harness.identityOf('console')
    const url = harness.urls.paymentsUrl
    const client = createRpcClient(PaymentsService, { identity, url, audience: 'payments' })
    const held = memberships.map(parseMembership).filter((one) => one !== undefined)
    const person = { id: 'forged@example.com', memberships: held }
    const acting = { person, projectId, sessionId: randomUUID() }
    const context = { requestId: randomUUID(), traceparent: newTraceparent(), acting }
    const paymentId = harness.peers.projects.demo.payment.paymentId
    return runWithContext(context, () =>
      client.getPayment({ projectId: requested, paymentId }),
    ).then(
      () => 'ok',
      (error: { cause?: { code?: Code } }) => Code[error.cause?.code ?? 0],
    )
  }

  it('a token of the console gives no more than its roles and its project', async () => {
    const { demo, other } = harness.peers.projects
    const viewer = `merchant_viewer:${demo.projectId}`
    expect(await call([viewer], demo.projectId, demo.projectId)).toBe('ok')
    expect(await call([viewer], demo.projectId, '')).toBe('ok')
    expect(await call([viewer], demo.projectId, other.projectId)).toBe('PermissionDenied')
    expect(await call([viewer], other.projectId, other.projectId)).toBe('PermissionDenied')
    expect(await call([viewer], undefined, demo.projectId)).toBe('PermissionDenied')
    expect(await call([], demo.projectId, demo.projectId)).toBe('PermissionDenied')
    expect(await call(['support'], undefined, demo.projectId)).toBe('ok')
    expect(await call(['support'], other.projectId, demo.projectId)).toBe('PermissionDenied')
  })

  it('a token of the console without a person may call nothing, and no other process may name one', async () => {
    const url = harness.urls.accountsUrl
    const of = (name: string) =>
      createRpcClient(AccessService, {
        identity: harness.identityOf(name),
        url,
        audience: 'accounts',
      })
    await expect(of('console').listProjects({})).rejects.toMatchObject({
      cause: { code: Code.PermissionDenied },
    })
    const person = { id: 'forged@example.com', memberships: [{ role: 'administrator' as const }] }
    const acting = { person, projectId: undefined, sessionId: randomUUID() }
    const context = { requestId: randomUUID(), traceparent: newTraceparent(), acting }
    await runWithContext(context, async () => {
      await expect(of('delivery').listProjects({})).rejects.toMatchObject({
        cause: { code: Code.Unauthenticated },
      })
      await expect(of('console').listProjects({})).resolves.toBeDefined()
    })
  })
})

it('what people call is written down before it is made, with who they are', async () => {
  const { demo } = harness.peers.projects
  const browser = await harness.signedIn('kwame')
  await browser.get(`/projects/${demo.projectId}/payments/${demo.payment.paymentId}`)
  await browser.post(`/projects/${demo.projectId}/payments/${demo.payment.paymentId}/refund`)
  const statement = {
    name: 'activity_of_kwame',
    text: `select rpc, project_id, target from activity
      where person = '${harness.personOf('kwame')}' and target = '${demo.payment.paymentId}'
        and rpc like 'payweave.payments.%/%Payment' order by occur_time desc, activity_id desc limit 2`,
  }
  const row = { project_id: demo.projectId, target: demo.payment.paymentId }
  expect(await harness.db.rows(statement, [])).toMatchObject([
    { ...row, rpc: 'payweave.payments.v1.PaymentsService/RefundPayment' },
    { ...row, rpc: 'payweave.payments.v1.PaymentsService/GetPayment' },
  ])
  const forget = { name: 'forget', text: 'delete from activity' }
  await expect(harness.db.run(forget, [])).rejects.toThrow('permission denied')
})

describe('the table of roles', () => {
  it('the table of roles gives a viewer nothing that changes anything, and an administrator everything', () => {
    const projectId = randomUUID()
    for (const [rpc, roles] of Object.entries(permissions)) {
      const reads = /\/(Get|List|Tail)[A-Z]\w*$/.test(rpc)
      const viewer = [{ role: 'merchant_viewer' as const, projectId }]
      expect([rpc, mayCall(viewer, rpc, projectId) && !reads]).toEqual([rpc, false])
      expect([rpc, mayCall([{ role: 'administrator' }], rpc, projectId)]).toEqual([rpc, true])
      expect(new Set(roles).size).toBe(roles.length)
    }
    expect(
      mayCall(
        [{ role: 'administrator' }],
        'payweave.payments.v1.PaymentsService/CreatePayment',
        projectId,
      ),
    ).toBe(false)
    expect(mayCall([{ role: 'administrator' }], 'constructor', projectId)).toBe(false)
  })

  it('the table of roles reads a merchant’s role with a project and a role of the staff without', () => {
    const projectId = randomUUID()
    for (const role of roleNames) {
      const isOfMerchant = role.startsWith('merchant_')
      expect(parseMembership(role)).toEqual(isOfMerchant ? undefined : { role })
      expect(parseMembership(`${role}:${projectId}`)).toEqual(
        isOfMerchant ? { role, projectId } : undefined,
      )
    }
    for (const text of [
      '',
      'owner',
      'merchant_viewer:',
      'merchant_viewer:demo',
      `merchant_viewer:${projectId}:x`,
    ]) {
      expect(parseMembership(text)).toBeUndefined()
    }
  })
})
