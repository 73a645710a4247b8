// Tests that a refund above the limit by hand takes two people, is executed once, and stands in the audit with both.
import { randomUUID } from 'node:crypto'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  ApprovalKind,
  ApprovalState,
  type ListApprovalsRequest,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import {
  PaymentEventType,
  PaymentState,
  PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { approve as approveIn } from '#platform/approvals/approvals.ts'
import { sql } from '#platform/db/db.ts'
import { bearerIdentity } from '#platform/rpc/auth/identity.ts'
import { type Role, roleNames } from '#platform/rpc/auth/roles.ts'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { bearer, type Harness, payer, startHarness } from './harness.ts'
import { as } from './person.ts'

const limitMinor = 100_000n
const hourMs = 3_600_000
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ refundApprovalAboveMinor: { USD: limitMinor } })
})
afterAll(() => harness?.stop())

const deleteStatement = sql('test_approval_delete', 'delete from approval where approval_id = $1')
const changeStatement = sql(
  'test_approval_change',
  "update approval set requester = 'console:esi@example.com' where approval_id = $1",
)

/** A paid request of one payer; its id. */
async function paid(amountMinor = limitMinor + 1n, currency = 'USD'): Promise<string> {
  const made = await harness.create({ amountMinor, currency, payers: [payer(amountMinor)] })
  await harness.report(made.payers[0]?.payerId ?? '', ChargeOutcome.PAID)
  return made.paymentId
}

const finance = <T>(name: string, work: () => Promise<T>) => as('finance', work, { name })

const refund = (name: string, paymentId: string, reason = 'returned goods') =>
  finance(name, () =>
    harness.byHand.refundPayment({ projectId: harness.projectId, paymentId, reason }),
  )

/** Requests a refund; the id of its approval. */
async function request(name: string, paymentId: string): Promise<string> {
  const { approval } = await refund(name, paymentId)
  if (approval === undefined) throw new Error('it needs no approval')
  return approval.approvalId
}

const approve = (name: string, approvalId: string, projectId = harness.projectId) =>
  finance(name, () => harness.approvals.approve({ projectId, approvalId }))
const reject = (name: string, approvalId: string, note = '') =>
  finance(name, () => harness.approvals.reject({ projectId: harness.projectId, approvalId, note }))
const list = async (more: Partial<ListApprovalsRequest>) => {
  const { $typeName: _, ...wanted } = more
  return await as('support', () => harness.approvals.listApprovals(wanted))
}
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Failure ? error.reason : String(error)),
  )
const stateOf = async (paymentId: string) => PaymentState[(await harness.get(paymentId)).state]
const refunds = async (paymentId: string) =>
  (await harness.movements(paymentId)).filter((one) => one.startsWith('refund '))

describe('a refund by hand', () => {
  it('a refund by hand above the limit is executed when a second person approves it, once, and both are in the audit', async () => {
    const paymentId = await paid()
    const asked = await refund('ama', paymentId)
    expect(asked.payment?.state).toBe(PaymentState.PAID)
    expect(asked.approval).toMatchObject({
      kind: ApprovalKind.REFUND,
      subjectId: paymentId,
      amount: { currency: 'USD', minorUnits: limitMinor + 1n },
      note: 'returned goods',
      requester: 'console:ama@example.com',
      state: ApprovalState.WAITING,
      decider: '',
    })
    const approvalId = asked.approval?.approvalId ?? ''
    expect(await refunds(paymentId)).toEqual([])
    expect(await reasonOf(approve('ama', approvalId))).toBe('APPROVAL_OWN')
    expect(await reasonOf(approve('AMA', approvalId))).toBe('APPROVAL_OWN')
    expect(await stateOf(paymentId)).toBe('PAID')
    const { approval } = await approve('kofi', approvalId)
    expect(approval).toMatchObject({
      requester: 'console:ama@example.com',
      decider: 'console:kofi@example.com',
      state: ApprovalState.APPROVED,
    })
    expect(await stateOf(paymentId)).toBe('REFUNDED')
    // A repeat, as after a lost answer.
    expect((await approve('kofi', approvalId)).approval).toEqual(approval)
    expect(await reasonOf(approve('esi', approvalId))).toBe('APPROVAL_CLOSED')
    expect(await refunds(paymentId)).toEqual([`refund ${limitMinor + 1n}`])
    const { projectId, merchantId } = harness
    const { events } = await harness.payments.listPaymentEvents({
      projectId,
      merchantId,
      paymentId,
    })
    expect(events.find(({ type }) => type === PaymentEventType.PAYMENT_REFUNDED)?.reason).toBe(
      'returned goods',
    )
    const listed = await list({ projectId, subjectId: paymentId })
    expect(listed.approvals).toEqual([approval])
  })

  it('nobody approves what may be their own request from before people were named by their provider', async () => {
    const id = 'https://id.example.com#00u1'
    const byId = <T>(work: () => Promise<T>) => as('finance', work, { id })
    const { projectId } = harness
    const paymentId = await paid()
    const approvalId = await request('ama', paymentId)
    const key = { projectId, approvalId }
    expect(await reasonOf(byId(() => harness.approvals.approve(key)))).toBe('APPROVAL_OWN')
    await byId(() => harness.approvals.reject({ ...key, note: '' }))
    const again = await byId(() => harness.byHand.refundPayment({ projectId, paymentId }))
    const renewed = again.approval?.approvalId ?? ''
    expect(await reasonOf(approve('kofi', renewed))).toBe('APPROVAL_OWN')
    const other = { id: 'https://id.example.com#00u2' }
    await as('finance', () => harness.approvals.approve({ projectId, approvalId: renewed }), other)
    expect(await stateOf(paymentId)).toBe('REFUNDED')
  })

  it('nobody approves what may be their own request from before the issuer of people changed', async () => {
    const of = (id: string) => ({ id })
    const { projectId } = harness
    const paymentId = await paid()
    const refundBy = () => harness.byHand.refundPayment({ projectId, paymentId })
    const { approval } = await as('finance', refundBy, of('https://a.example#u1'))
    const key = { projectId, approvalId: approval?.approvalId ?? '' }
    const other = of('https://b.example#u2')
    const approving = as('finance', () => harness.approvals.approve(key), other)
    expect(await reasonOf(approving)).toBe('APPROVAL_OWN')
    expect(await stateOf(paymentId)).toBe('PAID')
    await as('finance', () => harness.approvals.reject({ ...key, note: '' }), other)
    const { approvals } = await list({ projectId, subjectId: paymentId })
    expect(approvals).toMatchObject([{ state: ApprovalState.REJECTED }])
  })

  it('a refund by hand up to the limit, or in a currency without one, needs nobody else', async () => {
    for (const paymentId of [await paid(limitMinor), await paid(limitMinor * 9n, 'JPY')]) {
      const { approval, payment } = await refund('ama', paymentId)
      expect([approval, payment?.state]).toEqual([undefined, PaymentState.REFUNDED])
    }
  })

  it('a refund by the gateway needs nobody else, for any amount', async () => {
    const paymentId = await paid(limitMinor * 9n)
    expect((await harness.refund(paymentId)).state).toBe(PaymentState.REFUNDED)
  })

  it('a refund by a bearer waits for a person, who is another one', async () => {
    const identity = bearerIdentity(bearer)
    const options = { url: harness.url, audience: 'payments', identity }
    const paymentId = await paid()
    const { projectId } = harness
    const { approval } = await createRpcClient(PaymentsService, options).refundPayment({
      projectId,
      paymentId,
    })
    expect(approval?.requester).toBe('operator')
    await approve('ama', approval?.approvalId ?? '')
    expect(await stateOf(paymentId)).toBe('REFUNDED')
  })

  it('a refund by hand is requested only for what can be refunded', async () => {
    const { paymentId } = await harness.create({ amountMinor: limitMinor * 2n })
    expect(await reasonOf(refund('ama', paymentId))).toBe('PAYMENT_NOT_REFUNDABLE')
    const done = await paid()
    await harness.refund(done)
    const { payment, approval } = await refund('ama', done)
    expect([payment?.state, approval]).toEqual([PaymentState.REFUNDED, undefined])
    expect((await list({ subjectId: done, projectId: harness.projectId })).approvals).toEqual([])
  })

  it('a refund by hand that the merchant makes in the meantime is not made again', async () => {
    const paymentId = await paid()
    const approvalId = await request('ama', paymentId)
    await harness.refund(paymentId)
    expect(await reasonOf(approve('kofi', approvalId))).toBe('PAYMENT_NOT_REFUNDABLE')
    expect(await refunds(paymentId)).toHaveLength(1)
    const { approvals } = await list({ projectId: harness.projectId, subjectId: paymentId })
    expect(approvals).toMatchObject([{ state: ApprovalState.WAITING, decider: '' }])
    await reject('kofi', approvalId, 'done by the merchant')
  })
})

describe('two at once', () => {
  it('two at once who request it have one request, and the other one is sent to it', async () => {
    const paymentId = await paid()
    const names = ['ama', 'kofi', 'esi', 'yaw']
    const results = await Promise.all(names.map((name) => reasonOf(refund(name, paymentId))))
    expect(results.toSorted()).toEqual(['APPROVAL_OPEN', 'APPROVAL_OPEN', 'APPROVAL_OPEN', 'done'])
    const { approvals } = await list({ projectId: harness.projectId, subjectId: paymentId })
    expect(approvals).toHaveLength(1)
    const [first] = approvals
    const name = names[results.indexOf('done')] ?? ''
    expect((await refund(name, paymentId, 'again')).approval).toEqual(first)
  })

  it('two at once who approve it, and one who approves it twice, refund it once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const paymentId = await paid()
      const approvalId = await request('ama', paymentId)
      const names = ['kofi', 'kofi', 'esi', 'yaw']
      const results = await Promise.all(names.map((name) => reasonOf(approve(name, approvalId))))
      const approvers = new Set(names.filter((_, at) => results[at] === 'done'))
      expect(approvers.size).toBe(1)
      expect(results.filter((one) => one !== 'done' && one !== 'APPROVAL_CLOSED')).toEqual([])
      expect(await refunds(paymentId)).toHaveLength(1)
    }
  })

  it('two at once, one who approves and one who rejects it, do one of the two', async () => {
    for (let round = 0; round < 5; round += 1) {
      const paymentId = await paid()
      const approvalId = await request('ama', paymentId)
      const results = await Promise.all([
        reasonOf(approve('kofi', approvalId)),
        reasonOf(reject('esi', approvalId)),
      ])
      expect(results.toSorted()).toEqual(['APPROVAL_CLOSED', 'done'])
      const wasApproved = results[0] === 'done'
      expect(await stateOf(paymentId)).toBe(wasApproved ? 'REFUNDED' : 'PAID')
    }
  })
})

describe('a request', () => {
  it('a request that is rejected, or withdrawn by its requester, refunds nothing, and can be made again', async () => {
    const paymentId = await paid()
    const first = await request('ama', paymentId)
    const rejected = (await reject('kofi', first, 'no receipt')).approval
    expect(rejected).toMatchObject({
      state: ApprovalState.REJECTED,
      decider: 'console:kofi@example.com',
      decisionNote: 'no receipt',
    })
    expect((await reject('kofi', first)).approval).toEqual(rejected)
    expect(await reasonOf(approve('esi', first))).toBe('APPROVAL_CLOSED')
    const second = await request('esi', paymentId)
    expect((await reject('esi', second)).approval?.state).toBe(ApprovalState.REJECTED)
    expect(await stateOf(paymentId)).toBe('PAID')
    await approve('ama', await request('kofi', paymentId))
    expect(await stateOf(paymentId)).toBe('REFUNDED')
  })

  it('a request ends after 72 hours, and can be made again', async () => {
    const paymentId = await paid()
    const approvalId = await request('ama', paymentId)
    const byState = (state: ApprovalState) =>
      list({ projectId: harness.projectId, subjectId: paymentId, state })
    harness.testClock.advance(71 * hourMs)
    expect((await byState(ApprovalState.WAITING)).approvals).toHaveLength(1)
    harness.testClock.advance(2 * hourMs)
    expect(await reasonOf(approve('kofi', approvalId))).toBe('APPROVAL_CLOSED')
    expect(await reasonOf(reject('kofi', approvalId))).toBe('APPROVAL_CLOSED')
    expect((await byState(ApprovalState.WAITING)).approvals).toEqual([])
    expect((await byState(ApprovalState.EXPIRED)).approvals).toMatchObject([{ approvalId }])
    expect((await list({ approvalId })).approvals).toMatchObject([{ approvalId }])
    expect((await list({ approvalId, state: ApprovalState.WAITING })).approvals).toEqual([])
    expect((await list({ approvalId: randomUUID() })).approvals).toEqual([])
    const next = await request('kofi', paymentId)
    expect(next).not.toBe(approvalId)
    await approve('ama', next)
    expect(await stateOf(paymentId)).toBe('REFUNDED')
  })

  it('a request whose process crashes before the commit is still open, and both people stay as they are written', async () => {
    const paymentId = await paid()
    const key = { projectId: harness.projectId, approvalId: await request('ama', paymentId) }
    const actor = { caller: 'console:kofi@example.com', requestId: undefined }
    const crash = approveIn(harness.db, actor, key, async (_, __, within) => {
      await within(() => Promise.reject(new Error('crash')))
    })
    await expect(crash).rejects.toThrow('crash')
    const { approvals } = await list({ projectId: harness.projectId, subjectId: paymentId })
    expect(approvals).toMatchObject([{ state: ApprovalState.WAITING, decider: '' }])
    await approve('kofi', key.approvalId)
    expect(await refunds(paymentId)).toHaveLength(1)
    for (const [statement, refusal] of [
      [deleteStatement, 'for ever'],
      [changeStatement, 'never change'],
    ] as const) {
      await expect(harness.db.run(statement, [key.approvalId])).rejects.toThrow(refusal)
    }
  })
})

describe('a list of approvals', () => {
  it('a list of approvals has those that wait oldest first, all others newest first, page after page', async () => {
    const ids: string[] = []
    for (let made = 0; made < 3; made += 1) ids.push(await request('ama', await paid()))
    const [first = '', second = ''] = ids
    const read = async (state: ApprovalState | undefined, pages: number) => {
      const found: string[] = []
      let pageToken = ''
      for (let page = 0; page < pages; page += 1) {
        const answer = await list({ pageSize: 1, pageToken, ...(state !== undefined && { state }) })
        found.push(...answer.approvals.map(({ approvalId }) => approvalId))
        pageToken = answer.nextPageToken
        if (pageToken === '') break
      }
      return found
    }
    const waiting = await read(ApprovalState.WAITING, 100)
    expect(waiting.filter((id) => ids.includes(id))).toEqual(ids)
    await reject('kofi', second)
    expect(await read(undefined, 3)).toEqual(ids.toReversed())
    expect((await read(ApprovalState.REJECTED, 1))[0]).toBe(second)
    expect((await read(ApprovalState.WAITING, 100)).includes(second)).toBe(false)
    expect(await reasonOf(list({ pageToken: 'bad' }))).toBe('INVALID_PARAMETER')
    expect(await reasonOf(list({ subjectId: first }))).toBe('MISSING_PARAMETER')
  })
})

describe('a role', () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: { cause?: { code?: Code } }) => Code[error.cause?.code ?? 0] ?? 'unexpected',
    )

  it.each(roleNames)(
    'a role decides if it may refund, and lists what it may see: %s',
    async (role: Role) => {
      const { projectId } = harness
      const approvalId = await request('ama', await paid())
      const isOfMerchant = role.startsWith('merchant_')
      const held = isOfMerchant ? `${role}:${projectId}` : role
      const options = { name: role, ...(isOfMerchant && { projectId }) }
      const call = <T>(work: () => Promise<T>) => codeOf(as(held, work, options))
      const may = ['merchant_developer', 'finance', 'administrator'].includes(role)
      expect(await call(() => harness.approvals.listApprovals({ projectId }))).toBe(
        role === 'merchant_viewer' ? 'PermissionDenied' : 'done',
      )
      expect(await call(() => harness.approvals.approve({ projectId, approvalId }))).toBe(
        may ? 'done' : 'PermissionDenied',
      )
      expect(await call(() => harness.approvals.reject({ projectId, approvalId }))).toBe(
        may ? 'FailedPrecondition' : 'PermissionDenied',
      )
    },
  )

  it('a role in one project sees and decides nothing of another', async () => {
    const approvalId = await request('ama', await paid())
    const foreign = randomUUID()
    const { projectId } = harness
    const inOther = <T>(work: () => Promise<T>): Promise<T> =>
      as(`merchant_developer:${foreign}`, work, { name: 'nana', projectId: foreign })
    const calls: (() => Promise<unknown>)[] = [
      () => harness.approvals.listApprovals({ projectId }),
      () => harness.approvals.approve({ projectId, approvalId }),
      () => harness.approvals.reject({ projectId, approvalId }),
    ]
    for (const call of calls) expect(await codeOf(inOther(call))).toBe('PermissionDenied')
    for (const wanted of [{}, { approvalId }]) {
      expect((await inOther(() => harness.approvals.listApprovals(wanted))).approvals).toEqual([])
    }
    for (const wanted of [foreign, '']) {
      const key = { projectId: wanted, approvalId }
      expect(await reasonOf(inOther(() => harness.approvals.approve(key)))).toBe(
        'APPROVAL_NOT_FOUND',
      )
      expect(await reasonOf(inOther(() => harness.approvals.reject(key)))).toBe(
        'APPROVAL_NOT_FOUND',
      )
    }
    expect(await reasonOf(approve('kofi', approvalId, foreign))).toBe('APPROVAL_NOT_FOUND')
    expect(await reasonOf(approve('kofi', randomUUID()))).toBe('APPROVAL_NOT_FOUND')
    await reject('kofi', approvalId)
  })
})
