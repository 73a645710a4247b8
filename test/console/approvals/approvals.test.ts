// Tests whom pages offer what waits for a second person, and that nobody else decides it.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { localPeople } from '../../../console/sign-in/local-provider.ts'
import { listActivity } from '../../../console/store/activity-store.ts'
import { type Harness, startHarness } from '../harness.ts'
import { usualTexts } from '../rows.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ ...usualTexts, person: 'console:other@example.com' })
})
afterAll(() => harness?.close())
beforeEach(() => {
  const { refunds, bills } = harness.peers.approvals
  for (const { held } of [refunds, bills]) {
    Object.assign(held, { requester: 'console:other@example.com', isShown: true })
  }
})

const base = () => `/projects/${harness.peers.projects.demo.projectId}`
const paymentPath = () => `${base()}/payments/${harness.peers.projects.demo.payment.paymentId}`
const pathOf = (kind: 'refunds' | 'bills') =>
  `${base()}/approvals/${harness.peers.approvals[kind].approvalId}`

const inDemo = localPeople.filter(({ project }) => project !== 'other')

describe.each(inDemo)('a person with the role $role', ({ id, role }) => {
  const isOfStaff = !role.startsWith('merchant_')
  const decides = {
    refunds: ['merchant_developer', 'finance', 'administrator'],
    bills: ['finance', 'administrator'],
  }

  it.each(['refunds', 'bills'] as const)(
    'is offered the decision about %s if they may make it, and services refuse all others',
    async (kind) => {
      const browser = await harness.signedIn(id)
      const may = decides[kind].includes(role)
      const pages = [
        ...(isOfStaff ? ['/approvals'] : []),
        ...(kind === 'refunds' ? [paymentPath()] : []),
      ]
      for (const page of pages) {
        const { status, text } = await browser.get(page)
        expect([page, status]).toEqual([page, 200])
        for (const action of ['approve', 'reject']) {
          const isOffered = text.includes(`action="${pathOf(kind)}/${action}"`)
          expect([page, action, isOffered]).toEqual([page, action, may])
        }
      }
      // Whether a merchant may decide about a bill is for billing to say: test/billing/approvals.test.ts.
      if (!isOfStaff && kind === 'bills') return
      for (const [action, notice] of [
        ['approve', 'approved'],
        ['reject', 'not-approved'],
      ]) {
        harness.peers.calls.length = 0
        const fields = { kind: kind.slice(0, -1), back: '/inbox?page=second', note: 'no receipt' }
        const answer = await browser.post(`${pathOf(kind)}/${action}`, fields)
        expect(answer.status).toBe(may ? 303 : 403)
        const calls = harness.peers.calls.filter(({ rpc }) => rpc.toLowerCase() === action)
        expect(calls).toHaveLength(may ? 1 : 0)
        if (!may) continue
        expect(answer.headers.get('location')).toBe(`/inbox?page=second&notice=${notice}`)
        expect(calls[0]).toMatchObject({
          person: harness.personOf(id),
          projectId: harness.peers.projects.demo.projectId,
        })
      }
    },
  )
})

it('a payment whose refund waits for a second person offers no refund, and its requester may withdraw it alone', async () => {
  const browser = await harness.signedIn('abena')
  const refund = `action="${paymentPath()}/refund"`
  expect((await browser.get(paymentPath())).text).not.toContain(refund)
  harness.peers.approvals.refunds.held.requester = `console:${harness.personOf('abena')}`
  const { text } = await browser.get(paymentPath())
  expect(text).toContain('Withdraw')
  expect(text).not.toContain(`action="${pathOf('refunds')}/approve"`)
  expect(text).not.toContain(refund)
  harness.peers.approvals.refunds.held.isShown = false
  expect((await browser.get(paymentPath())).text).toContain(refund)
})

it('a refund that needs a second person says so, and so does a decision about a bill', async () => {
  const browser = await harness.signedIn('abena')
  const answer = await browser.post(`${paymentPath()}/refund`, { reason: 'returned' })
  expect(answer.headers.get('location')).toBe(`${paymentPath()}?notice=requested`)
  const { text } = await browser.get(`${paymentPath()}?notice=requested`)
  expect(text).toContain('It waits for a second person')
})

it('a decision is of an approval of the project, of a kind that there is, and leads to no other site', async () => {
  const browser = await harness.signedIn('ama')
  const post = async (path: string, fields: Record<string, string>) => {
    const { status, headers } = await browser.post(path, fields)
    return [status, headers.get('location')]
  }
  const refund = { kind: 'refund' }
  const { other } = harness.peers.projects
  const own = pathOf('refunds')
  expect(await post(`${own}/approve`, { ...refund, back: '//evil.example/' })).toEqual([
    303,
    '/?notice=approved',
  ])
  expect((await post(`${own}/approve`, { kind: 'project' }))[0]).toBe(400)
  expect((await post(`${base()}/approvals/${randomUUID()}/approve`, refund))[0]).toBe(404)
  expect((await post(`${base()}/approvals/1/reject`, refund))[0]).toBe(404)
  const foreign = own.replace(harness.peers.projects.demo.projectId, other.projectId)
  expect((await post(`${foreign}/approve`, refund))[0]).toBe(404)
  const forged = await browser.post(`${own}/approve`, { ...refund, form_token: 'forged' })
  expect(forged.status).toBe(403)
})

it('the Inbox leads to what waits, and the list shows on request what was decided', async () => {
  const browser = await harness.signedIn('yaw')
  const inbox = (await browser.get('/inbox')).text
  expect(inbox).toContain('For a second person')
  expect(inbox).toContain('href="/approvals"')
  expect((await browser.get('/approvals?state=all')).status).toBe(200)
  expect((await browser.get('/approvals?state=none')).status).toBe(400)
})

it('a decision is written down with its approval', async () => {
  const browser = await harness.signedIn('esi')
  await browser.post(`${pathOf('bills')}/approve`, { kind: 'bill', back: '/inbox' })
  const { projectId } = harness.peers.projects.demo
  const wanted = { person: harness.personOf('esi'), projectId, before: '', limit: 5 }
  expect(await listActivity(harness.db, wanted)).toContainEqual(
    expect.objectContaining({
      rpc: 'payweave.approvals.v1.ApprovalService/Approve',
      target: harness.peers.approvals.bills.approvalId,
    }),
  )
})

it('a payment or bill is looked for in its project: without one the list and its file are refused, and the form stays', async () => {
  const browser = await harness.signedIn('yaw')
  const { approvalId, approval } = harness.peers.approvals.refunds
  const { projectId, subjectId } = approval()
  const page = await browser.get(`/approvals?subject=${subjectId}`)
  expect(page.status).toBe(400)
  expect(page.text).toContain('must be that of the payment or bill')
  expect(page.text).toContain(`name="subject" type="text" value="${subjectId}"`)
  expect(page.text).not.toContain(`/payments/${subjectId}"`)
  const file = await browser.get(`/approvals.csv?subject=${subjectId}`)
  expect([file.status, file.text.includes(approvalId)]).toEqual([400, false])
  const named = await browser.get(`/approvals?subject=${subjectId}&project=${projectId}`)
  expect([named.status, named.text.includes(`/payments/${subjectId}"`)]).toEqual([200, true])
})
