// Tests whom pages offer what waits for a person, and that nobody decides on what someone else has claimed.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ItemKind } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { itemEndings, permissions } from '#platform/rpc/auth/roles.ts'
import { localPeople } from '../../console/sign-in/local-provider.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.close())

describe('a claim', () => {
  const { BILL, DEAD_LETTER, ONBOARDING, REFUND, SETTLEMENT, SUSPENSE } = ItemKind
  const pages = (): [page: string, kinds: ItemKind[]][] => [
    ['/inbox', [BILL, DEAD_LETTER, REFUND, SETTLEMENT, SUSPENSE]],
    [`/inbox/onboardings/${harness.peers.staff.reviewId}`, [ONBOARDING]],
    ['/dead-letters', [DEAD_LETTER]],
    ['/ledger', [SETTLEMENT]],
  ]
  /** Has everybody see these items as free, their own or of this holder. */
  const hold = (holder: string | undefined, kinds: ItemKind[]) => {
    const { holders } = harness.peers
    holders.clear()
    if (holder !== undefined) for (const kind of kinds) holders.set(kind, holder)
  }
  const kindsIn = (html: string, action: string) =>
    [...html.matchAll(new RegExp(`action="/inbox/${action}"[^]*?name="kind" value="(\\w+)"`, 'g'))]
      .map(([, kind]) => kind)
      .toSorted()
  /** Forms that end an item. */
  const decisions =
    /action="\/(inbox\/(bills|refunds|suspense|onboardings\/[^"]+)|ledger\/settlements\/retry|dead-letters\/resend)"/

  it.each(localPeople.filter(({ role }) => !role.startsWith('merchant_')))(
    'a claim is offered to a person with the role $role for what they may end',
    async ({ id, role }) => {
      const browser = await harness.signedIn(id)
      for (const [page, kinds] of pages()) {
        const roles = permissions as Record<string, readonly string[]>
        const own = kinds
          .map((kind) => (ItemKind[kind] ?? '').toLowerCase() as keyof typeof itemEndings)
          .filter((kind) => roles[itemEndings[kind]]?.includes(role))
          .toSorted()
        for (const [holder, action, button] of [
          ['', 'claims', 'Claim'],
          ['console:other@example.com', 'claims', 'Take over'],
          [undefined, 'releases', 'Release'],
        ] as const) {
          hold(holder, kinds)
          const { status, text } = await browser.get(page)
          if (status === 403) continue
          expect([page, button, kindsIn(text, action)]).toEqual([page, button, own])
          expect(text.includes(`<button>${button}</button>`)).toBe(own.length > 0)
          expect(button !== 'Release' && decisions.test(text)).toBe(false)
        }
      }
    },
  )

  it('a claim of someone else stops a decision before it reaches its service', async () => {
    const { staff, projects, calls } = harness.peers
    const { projectId, delivery } = projects.demo
    hold('console:other@example.com', [BILL, REFUND, ONBOARDING, SUSPENSE, SETTLEMENT, DEAD_LETTER])
    const browser = await harness.signedIn('ama')
    const evidence = { note: 'their statement', reason: 'their passport' }
    calls.length = 0
    for (const [path, fields] of [
      [
        '/inbox/bills',
        {
          decision: 'paid',
          item_id: randomUUID(),
          project_id: projectId,
          transaction_id: 'bill-1',
        },
      ],
      ['/inbox/refunds', { refund_id: randomUUID() }],
      ['/inbox/suspense', { payment_id: randomUUID(), item_id: randomUUID() }],
      ['/ledger/settlements/retry', { settlement_id: staff.postableId }],
      [`/inbox/onboardings/${staff.reviewId}/reject`, {}],
      [
        '/dead-letters/resend',
        {
          project_id: projectId,
          delivery_id: delivery.deliveryId,
          request_id: randomUUID(),
        },
      ],
    ] as const) {
      const answer = await browser.post(path, { ...evidence, ...fields })
      expect([path, answer.status]).toEqual([path, 409])
      expect(answer.text).toContain('other@example.com works on this item')
    }
    expect(new Set(calls.map(({ rpc }) => rpc))).toEqual(new Set(['ClaimItem']))
  })

  it.each([
    ['/inbox/bills', { project_id: 'x', item_id: randomUUID(), decision: 'paid' }],
    ['/inbox/bills', { project_id: randomUUID(), item_id: 'x', decision: 'paid' }],
    ['/inbox/refunds', { refund_id: 'x'.repeat(60_000) }],
    ['/inbox/claims', { kind: 'bill', item_id: 'x'.repeat(60_000) }],
    ['/inbox/releases', { kind: 'bill', item_id: '' }],
    ['/dead-letters/resend', { project_id: 'x', delivery_id: randomUUID(), request_id: 'x' }],
    ['/receivers/replays', { project_id: 'x', request_id: randomUUID() }],
    ['/stuck/calls', { subject_id: 'x', kind: 'payout' }],
    ['/stuck/tasks', { subject_id: 'x', kind: 'request_consent' }],
    ['/stuck/attempts', { attempt_id: 'x'.repeat(65) }],
    ['/stuck/refunds', { refund_id: 'x' }],
    ['/stuck/transfers', { movement_id: 'x' }],
    ['/ledger/settlements/retry', { settlement_id: 'x' }],
  ])(
    'a form to %s with a text that is no id is refused before anything is claimed or written down',
    async (path, fields) => {
      const { calls } = harness.peers
      const browser = await harness.signedIn('ama')
      await browser.get('/now')
      const count = { name: 'count', text: 'select count(*)::int as rows from activity' }
      const before = await harness.db.row(count, [])
      calls.length = 0
      const answer = await browser.post(path, { note: 'their statement', ...fields })
      expect(answer.status).toBe(400)
      expect(calls.filter(({ rpc }) => rpc !== 'ListProjects')).toEqual([])
      expect(await harness.db.row(count, [])).toEqual(before)
    },
  )

  it('a bill whose decision waits for a second person leads to its approval, and offers no other decision', async () => {
    const { staff } = harness.peers
    hold(undefined, [BILL])
    staff.billApprovalId = randomUUID()
    const browser = await harness.signedIn('ama')
    const { text } = await browser.get('/inbox?kind=bill')
    staff.billApprovalId = ''
    const query = new URLSearchParams({ project: staff.projectId, subject: staff.billId })
    const path = `/approvals?${query.toString()}`
    expect(text).toContain('>waits for a second person</a>')
    expect(text).toContain(`href="${path.replaceAll('&', '&amp;').replaceAll("'", '&#39;')}"`)
    expect(text).not.toContain('action="/inbox/bills"')
    expect((await browser.get(path)).status).toBe(200)
  })

  it('a claim leads back to the page of its form, and to no other site', async () => {
    hold('console:other@example.com', [BILL])
    const browser = await harness.signedIn('ama')
    const item = { kind: 'bill', item_id: randomUUID() }
    const post = async (fields: Record<string, string>) => {
      const { status, headers } = await browser.post('/inbox/claims', { ...item, ...fields })
      return [status, headers.get('location')]
    }
    const from = 'console:other@example.com'
    const back = '/inbox?page=second&notice=released'
    expect(await post({ from, back })).toEqual([303, '/inbox?page=second&notice=claimed'])
    expect(await post({ from, back: '//evil.example/' })).toEqual([303, '/?notice=claimed'])
    expect((await post({ back }))[0]).toBe(409)
    expect((await post({ kind: 'project' }))[0]).toBe(400)
    expect((await browser.get('/inbox?notice=claimed')).text).toContain('You work on this now.')
    const released = await browser.post('/inbox/releases', { ...item, back })
    expect(released.headers.get('location')).toBe('/inbox?page=second&notice=released')
  })
})
