// Tests over RPC that a bill in review is decided by two people, once, and that the audit names both.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Client, Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  ApprovalKind,
  ApprovalService,
  ApprovalState,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import { BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { sql } from '#platform/db/db.ts'
import { bearerIdentity, openIdentity } from '#platform/rpc/auth/identity.ts'
import { roleNames } from '#platform/rpc/auth/roles.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { billApprovalService } from '../../services/billing/api/approvals.ts'
import { catalogueService } from '../../services/billing/api/catalogue.ts'
import { as } from '../payments/person.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

const bearer = 'operator-credential-0123456789'
const dir = mkdtempSync(path.join(os.tmpdir(), 'payweave-bill-approvals-'))
let harness: Harness
let server: RpcServer
let pool: RpcPool
let catalogue: Client<typeof CatalogueService>
let approvals: Client<typeof ApprovalService>

beforeAll(async () => {
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  writeIdentities(dir, ['billing', 'console'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: path.join(dir, name), log: silentLog })
  harness = await startHarness({ enquiryScheduleS: [30] })
  const { billing } = harness
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('billing'),
    log: silentLog,
    routes: (router) => {
      router.service(CatalogueService, catalogueService(billing, harness.catalogue))
      router.service(ApprovalService, billApprovalService(billing))
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  pool = createRpcPool(url)
  const options = { url, audience: 'billing', identity: identityOf('console'), pool }
  catalogue = createRpcClient(CatalogueService, options)
  approvals = createRpcClient(ApprovalService, options)
})
afterAll(async () => {
  await pool.close()
  await server.close()
  await harness.stop()
  rmSync(dir, { recursive: true })
})

const lost = () => Promise.reject(new Failure('TIMEOUT', 'no answer'))

/** A payment that waits for a person; its transaction id. */
async function inReview(): Promise<string> {
  harness.billers.after = lost
  harness.billers.beforeEnquiry = lost
  const { bill } = await harness.pay()
  harness.testClock.advance(31_000)
  await eventually(async () => expect(await stateOf(bill.transactionId)).toBe('review'))
  harness.billers.after = async () => {}
  harness.billers.beforeEnquiry = async () => {}
  return bill.transactionId
}

const billStatement = sql(
  'test_bill_state',
  'select state, bill_payment_id as id from bill_payment where transaction_id = $1',
)
const auditStatement = sql(
  'test_bill_audit',
  'select caller, action, note from catalogue_audit where target = $1 order by occurred_at',
)
const billOf = (transactionId: string) =>
  harness.db.row<{ state: string; id: string }>(billStatement, [transactionId])
const stateOf = async (transactionId: string) => (await billOf(transactionId))?.state
const auditOf = async (transactionId: string) =>
  harness.db.rows(auditStatement, [(await billOf(transactionId))?.id])

const finance = <T>(name: string, work: () => Promise<T>) => as('finance', work, { name })
const paid = { case: 'paid', value: true } as const
const notReceived = { case: 'failedWith', value: 'NOT_RECEIVED' } as const
const again = { case: 'enquireAgain', value: true } as const

const decide = (
  name: string,
  transactionId: string,
  decision: typeof paid | typeof notReceived | typeof again,
) => {
  const request = { projectId: harness.projectId, transactionId, decision, note: 'their statement' }
  return finance(name, () => catalogue.resolveReview(request))
}
async function request(
  name: string,
  transactionId: string,
  decision: typeof paid | typeof notReceived,
) {
  const { approval } = await decide(name, transactionId, decision)
  if (approval === undefined) throw new Error('it needs no approval')
  return approval.approvalId
}
const approve = (name: string, approvalId: string, projectId = harness.projectId) =>
  finance(name, () => approvals.approve({ projectId, approvalId }))
const list = (transactionId: string) =>
  as('support', () =>
    approvals.listApprovals({ projectId: harness.projectId, subjectId: transactionId }),
  )
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Failure ? error.reason : String(error)),
  )

describe('a bill in review', () => {
  it('a bill in review is decided by the id that was claimed alone, and the list says whose decision waits', async () => {
    const transactionId = await inReview()
    const { id = '' } = (await billOf(transactionId)) ?? {}
    const { projectId } = harness
    const wanted = { projectId, transactionId, decision: paid, note: 'their statement' }
    const ask = (billPaymentId: string) =>
      finance('ama', () => catalogue.resolveReview({ ...wanted, billPaymentId }))
    const listed = async () => {
      const { items } = await as('support', () => catalogue.listReviews({ pageSize: 200 }))
      return items.find((one) => one.billPaymentId === id)?.approvalId
    }
    expect(await reasonOf(ask(randomUUID()))).toBe('BILL_PAYMENT_NOT_FOUND')
    expect(await listed()).toBe('')
    const { approval } = await ask(id)
    expect(await listed()).toBe(approval?.approvalId)
  })

  it.each([
    ['paid', paid, 'succeeded', 'posted', 'paid'],
    ['failed', notReceived, 'failed', 'voided', 'NOT_RECEIVED'],
  ] as const)(
    'a bill in review is %s when a second person says so',
    async (word, decision, state, hold, outcome) => {
      const transactionId = await inReview()
      const asked = await decide('ama', transactionId, decision)
      expect(asked.payment?.state).toBe(BillPaymentState.PENDING)
      expect(asked.approval).toMatchObject({
        kind: ApprovalKind.BILL,
        subjectId: transactionId,
        amount: { currency: 'USD', minorUnits: 2_000n },
        outcome,
        note: 'their statement',
        requester: 'console:ama@example.com',
      })
      const approvalId = asked.approval?.approvalId ?? ''
      expect(await stateOf(transactionId)).toBe('review')
      expect(await reasonOf(approve('ama', approvalId))).toBe('APPROVAL_OWN')
      expect(await reasonOf(decide('kofi', transactionId, decision))).toBe('APPROVAL_OPEN')
      expect((await decide('ama', transactionId, decision)).approval).toEqual(asked.approval)
      expect((await approve('kofi', approvalId)).approval).toMatchObject({
        state: ApprovalState.APPROVED,
        decider: 'console:kofi@example.com',
      })
      expect(await stateOf(transactionId)).toBe(state)
      const { id = '' } = (await billOf(transactionId)) ?? {}
      await eventually(() => expect(harness.ledger.holds.get(id)?.state).toBe(hold))
      const note = 'their statement'
      expect(await auditOf(transactionId)).toEqual([
        { caller: 'console:ama@example.com', action: `request_${word}`, note },
        { caller: 'console:kofi@example.com', action: `review_${word}`, note },
      ])
      expect(await reasonOf(decide('ama', transactionId, decision))).toBe('REVIEW_NOT_FOUND')
    },
  )

  it('a bill in review with two decisions keeps the first one, until it is withdrawn', async () => {
    const transactionId = await inReview()
    const first = await request('ama', transactionId, paid)
    expect(await reasonOf(decide('ama', transactionId, notReceived))).toBe('APPROVAL_OPEN')
    await finance('ama', () =>
      approvals.reject({ projectId: harness.projectId, approvalId: first }),
    )
    await approve('kofi', await request('ama', transactionId, notReceived))
    expect(await stateOf(transactionId)).toBe('failed')
  })

  it('a bill in review that four people approve at once is decided once', async () => {
    const transactionId = await inReview()
    const approvalId = await request('ama', transactionId, paid)
    const names = ['kofi', 'esi', 'yaw', 'abena']
    const results = await Promise.all(names.map((name) => reasonOf(approve(name, approvalId))))
    expect(results.toSorted()).toEqual([
      'APPROVAL_CLOSED',
      'APPROVAL_CLOSED',
      'APPROVAL_CLOSED',
      'done',
    ])
    expect(await auditOf(transactionId)).toHaveLength(2)
  })

  it('a bill in review that is enquired about again needs nobody else, and rejects the request', async () => {
    const transactionId = await inReview()
    const approvalId = await request('ama', transactionId, notReceived)
    const { approval } = await decide('kofi', transactionId, again)
    expect(approval).toBeUndefined()
    expect((await list(transactionId)).approvals).toMatchObject([
      { approvalId, state: ApprovalState.REJECTED, decider: 'console:kofi@example.com' },
    ])
    expect(await reasonOf(approve('esi', approvalId))).toBe('APPROVAL_CLOSED')
    await eventually(async () => expect(await stateOf(transactionId)).toBe('succeeded'))
  })

  it('a bill that the biller answered for in the meantime is not decided again', async () => {
    const transactionId = await inReview()
    await decide('ama', transactionId, again)
    expect(await reasonOf(decide('ama', transactionId, paid))).toBe('REVIEW_NOT_FOUND')
    expect((await list(transactionId)).approvals).toEqual([])
  })

  it('a bill in review takes a person and a bearer, or two of either', async () => {
    const transactionId = await inReview()
    const url = `http://127.0.0.1:${server.port}`
    const options = { url, audience: 'billing', identity: bearerIdentity(bearer) }
    const { projectId } = harness
    const client = createRpcClient(CatalogueService, options)
    const { approval } = await client.resolveReview({ projectId, transactionId, decision: paid })
    expect(approval?.requester).toBe('operator')
    const approvalId = approval?.approvalId ?? ''
    const own = createRpcClient(ApprovalService, options).approve({ projectId, approvalId })
    expect(await reasonOf(own)).toBe('APPROVAL_OWN')
    await approve('ama', approvalId)
    expect(await stateOf(transactionId)).toBe('succeeded')
  })
})

it.each(roleNames)(
  'a %s decides on bills if they may, and a merchant sees no request',
  async (role) => {
    const transactionId = await inReview()
    const approvalId = await request('ama', transactionId, paid)
    const { projectId } = harness
    const isOfMerchant = role.startsWith('merchant_')
    const held = isOfMerchant ? `${role}:${projectId}` : role
    const call = (work: () => Promise<unknown>) =>
      as(held, work, { name: role, ...(isOfMerchant && { projectId }) }).then(
        () => 'done',
        (error: { cause?: { code?: Code } }) => Code[error.cause?.code ?? 0],
      )
    const may = role === 'finance' || role === 'administrator'
    expect(await call(() => approvals.listApprovals({ projectId }))).toBe(
      isOfMerchant ? 'PermissionDenied' : 'done',
    )
    expect(await call(() => approvals.approve({ projectId, approvalId }))).toBe(
      may ? 'done' : 'PermissionDenied',
    )
    expect(await call(() => approvals.reject({ projectId, approvalId }))).toBe(
      may ? 'FailedPrecondition' : 'PermissionDenied',
    )
    expect(await reasonOf(approve('kofi', approvalId, randomUUID()))).toBe('APPROVAL_NOT_FOUND')
  },
)
