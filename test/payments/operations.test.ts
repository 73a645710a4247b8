// Tests what the staff sees of payments: refunds without a good end, and calls that the back end does not take.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AttemptOutcome } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { RefundState } from '#gen/payweave/payments/v1/checkout_pb.js'
import {
  CallKind,
  type PaymentOperationsService,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import { PayerState } from '#gen/payweave/payments/v1/payments_pb.js'
import { listActions } from '#platform/actions/action-store.ts'
import { recordRefundPaidByHand } from '../../services/payments/store/operations-store.ts'
import { runHere } from '../support/command-line.ts'
import { eventually } from '../support/eventually.ts'
import { at, bearer, type Harness, payer, startHarness } from './harness.ts'
import { as } from './person.ts'

let harness: Harness
let operations: Client<typeof PaymentOperationsService>
beforeAll(async () => {
  harness = await startHarness()
  operations = harness.operations
})
afterAll(() => harness?.stop())

/** A refund of late money, as far as the back end has accepted it. */
async function refund() {
  const { paymentId, payerId } = await harness.one()
  await harness.cancel(paymentId)
  await harness.report(payerId, ChargeOutcome.PAID)
  const { refundId } = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
  return { paymentId, refundId }
}

/** What the only payer's page and receipt say of their refund. */
async function refundShown(paymentId: string): Promise<RefundState | undefined> {
  const { linkToken } = at((await harness.get(paymentId)).payers)
  const { checkout } = await harness.checkouts.getCheckout({ linkToken })
  const { receiptToken = '', refundState } = checkout?.receipt ?? {}
  const { share } = await harness.checkouts.getReceipt({ receiptToken })
  expect(share?.receipt?.refundState).toBe(refundState)
  return refundState
}

const list = (state: WaitingRefundState, pageToken = '', pageSize = 1) =>
  as('support', () => operations.listWaitingRefunds({ state, pageToken, pageSize }))

it('people who may not cancel a payment get no payer’s link, through which it can be cancelled', async () => {
  const { projectId } = harness
  const { paymentId, payers } = await harness.create({ payers: [payer()] })
  const linkFor = async (role: string) => {
    const held = role.startsWith('merchant') ? `${role}:${projectId}` : role
    const get = () => harness.byHand.getPayment({ projectId, paymentId })
    const { payment } = await as(held, get, { projectId })
    return payment?.payers[0]?.linkToken
  }
  const { linkToken } = at(payers)
  expect(linkToken).not.toBe('')
  for (const role of ['merchant_viewer', 'finance']) expect(await linkFor(role)).toBe('')
  for (const role of ['merchant_developer', 'support', 'operator', 'administrator']) {
    expect(await linkFor(role)).toBe(linkToken)
  }
  expect((await harness.get(paymentId)).payers[0]?.linkToken).toBe(linkToken)
})

describe('refunds that wait', () => {
  it('refunds that wait are listed oldest first, sent ones and failed ones apart, page after page', async () => {
    const refunds = [await refund(), await refund(), await refund()]
    const [first, second, third] = refunds
    const sent = await list(WaitingRefundState.SENT, '', 200)
    expect(sent.refunds).toMatchObject(
      refunds.map((one) => ({ ...one, amountMinor: 10_000n, currency: 'USD' })),
    )
    for (const { refundId } of refunds.slice(0, 2)) {
      await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.FAILED })
    }
    const page = await list(WaitingRefundState.FAILED)
    expect(page.refunds).toMatchObject([first])
    expect(page.refunds[0]?.endTime).toBeDefined()
    const next = await list(WaitingRefundState.FAILED, page.nextPageToken)
    expect([next.refunds, next.nextPageToken]).toMatchObject([[second], ''])
    expect((await list(WaitingRefundState.SENT, '', 200)).refunds).toMatchObject([third])
    const refundId = second?.refundId ?? ''
    const ofId = async (state: WaitingRefundState) =>
      (await as('support', () => operations.listWaitingRefunds({ state, refundId }))).refunds
    expect(await ofId(WaitingRefundState.FAILED)).toMatchObject([second])
    expect(await ofId(WaitingRefundState.SENT)).toEqual([])
  })

  it('a payer sees whether their refund was sent and has arrived', async () => {
    const { refundId, paymentId } = await refund()
    expect(await refundShown(paymentId)).toBe(RefundState.SENT)
    await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.COMPLETED })
    expect(await refundShown(paymentId)).toBe(RefundState.COMPLETED)
  })

  it('a failed refund that was paid by hand leaves the list, the first note stays, and the payer sees both', async () => {
    const { refundId, paymentId } = await refund()
    const settle = (note: string, role = 'finance') =>
      as(role, () => operations.settleRefund({ refundId, note }))
    await expect(settle('too early')).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
    await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.FAILED })
    await expect(settle('by support', 'support')).rejects.toMatchObject({
      cause: { code: Code.PermissionDenied },
    })
    expect(await refundShown(paymentId)).toBe(RefundState.FAILED)
    const { settleTime } = await settle('by bank transfer')
    expect(await refundShown(paymentId)).toBe(RefundState.SETTLED)
    expect((await settle('again', 'administrator')).settleTime).toEqual(settleTime)
    const { refunds } = await list(WaitingRefundState.FAILED, '', 200)
    expect(refunds.map((one) => one.refundId)).not.toContain(refundId)
    const kept = {
      name: 'kept_settled',
      text: `select settled_by, note from refund_settled where refund_id = '${refundId}'`,
    }
    expect(await harness.db.rows(kept, [])).toEqual([
      { settled_by: 'console:finance@example.com', note: 'by bank transfer' },
    ])
    const audited = await listActions(harness.db, { caller: '', target: refundId }, undefined, 10)
    const caller = 'console:finance@example.com'
    expect(audited).toMatchObject([{ action: 'settle_refund', caller, note: 'by bank transfer' }])
    expect(audited).toHaveLength(1)
  })

  it('a refund that was paid by hand before the audit had it is there after the migration', async () => {
    const { refundId } = await refund()
    await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.FAILED })
    const caller = 'console:finance@example.com'
    const settled = await recordRefundPaidByHand(harness.db, refundId, caller, 'in cash')
    const migration = 'services/payments/migrations/0021-settled-refunds-in-audit.sql'
    await harness.db.run({ name: 'test_migrate', text: await readFile(migration, 'utf8') }, [])
    const audited = await listActions(harness.db, { caller: '', target: refundId }, undefined, 10)
    const actionTime = settled?.settleTime
    expect(audited).toMatchObject([
      { action: 'settle_refund', caller, note: 'in cash', actionTime },
    ])
  })
})

it('a refund without an outcome is sent again when a person asks, however often, and never after its outcome', async () => {
  const { refundId } = await refund()
  const { refunds } = harness.backend.received
  const repeat = (role = 'support') => as(role, () => operations.repeatRefund({ refundId }))
  await expect(repeat('finance')).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
  const done = {
    name: 'test_refund_done',
    text: `select from task where subject_id = $1 and kind = 'refund' and done_time is not null`,
  }
  for (let round = 0; round < 2; round += 1) {
    await eventually(async () => (await harness.db.row(done, [refundId])) !== undefined)
    refunds.delete(refundId)
    await repeat()
  }
  await eventually(() => refunds.has(refundId))
  await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.COMPLETED })
  await expect(repeat()).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
  const asked = await listActions(harness.db, { caller: '', target: refundId }, undefined, 10)
  const line = ['repeat_refund', 'console:support@example.com']
  expect(asked.map(({ action, caller }) => [action, caller])).toEqual([line, line])
  const others = { caller: 'console:other@example.com', target: refundId }
  expect(await listActions(harness.db, others, undefined, 10)).toEqual([])
})

describe('attempts without an outcome', () => {
  const processing = (minAgeS: number, pageToken = '', pageSize = 1) =>
    as('support', () => operations.listProcessingAttempts({ minAgeS, pageToken, pageSize }))

  it('attempts that are processed for too long are listed oldest first, until their outcome comes', async () => {
    harness.backend.state.wallet = () => AttemptOutcome.PROCESSING
    const made: { payerId: string; paymentId: string; attemptId: string }[] = []
    for (let count = 0; count < 2; count += 1) {
      const { paymentId, payers } = await harness.create({ payers: [payer()] })
      const { payerId, linkToken } = at(payers)
      await eventually(() => harness.backend.received.charges.has(payerId))
      await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
      const attemptId = at([...harness.backend.received.attempts.keys()].slice(-1))
      made.push({ payerId, paymentId, attemptId })
      harness.testClock.advance(1_000)
    }
    expect((await processing(600)).attempts).toEqual([])
    const first = await processing(1)
    const second = await processing(1, first.nextPageToken)
    expect([...first.attempts, ...second.attempts]).toMatchObject(made)
    const [oldest] = made
    if (oldest === undefined) throw new Error('no attempt')
    await harness.report(oldest.payerId, ChargeOutcome.PAID, oldest.attemptId)
    harness.testClock.advance(1_000)
    expect((await processing(1, '', 200)).attempts).toMatchObject(made.slice(1))
    await expect(processing(0, 'nonsense')).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  })

  it('the back end is asked for the outcome of an attempt at once when a person wants it, but not while its call may be under way', async () => {
    const { received, state } = harness.backend
    const called = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<AttemptOutcome>()
    state.wallet = () => {
      called.resolve()
      return answered.promise
    }
    const { paymentId, payers } = await harness.create({ payers: [payer()] })
    const { linkToken } = at(payers)
    await eventually(() => received.charges.has(at(payers).payerId))
    const paying = harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    await called.promise
    const row = async () => {
      const found = await harness.db.row<{ attemptId: string; dueInS: number; enquiries: number }>(
        {
          name: 'attempt_of_payment',
          text: `select attempt_id as "attemptId", enquiries,
            extract(epoch from next_enquiry_time - clock_now())::float8 as "dueInS"
            from attempt where payment_id = $1`,
        },
        [paymentId],
      )
      if (found === undefined) throw new Error('no attempt')
      return found
    }
    const { attemptId } = await row()
    const ask = (role = 'support') => as(role, () => operations.enquireAttempt({ attemptId }))
    await expect(ask('finance')).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    await ask()
    expect((await row()).dueInS).toBeGreaterThan(0)
    answered.resolve(AttemptOutcome.PROCESSING)
    await paying
    // Enquiries that found nothing have put the next one off.
    await eventually(async () => {
      harness.testClock.advance(60_000)
      return (await row()).enquiries >= 4
    })
    await eventually(async () => (await row()).dueInS > 2)
    received.attempts.set(attemptId, AttemptOutcome.PAID)
    await ask()
    await ask().catch(() => undefined)
    await eventually(async () =>
      expect((await harness.get(paymentId)).payers[0]?.state).toBe(PayerState.PAID),
    )
    await expect(ask()).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
  })
})

describe('calls that fail', () => {
  it('a call that fails is listed with its attempts, and made at once when a person asks for it', async () => {
    harness.backend.state.isDown = true
    const { paymentId, payerId } = await harness.one()
    const { calls } = await eventually(async () => {
      harness.testClock.advance(60_000)
      const found = await as('support', () => operations.listFailingCalls({ minAttempts: 3 }))
      return found.calls.length > 0 ? found : false
    })
    expect(calls[0]).toMatchObject({ subjectId: payerId, paymentId, kind: CallKind.ANNOUNCE })
    expect(calls[0]?.attemptCount).toBeGreaterThanOrEqual(3)
    // An attempt may be due by the clock as well: it succeeds no earlier than the retry is asked for.
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    harness.backend.state.announcesAfter = promise
    harness.backend.state.isDown = false
    const retry = { subjectId: payerId, kind: CallKind.ANNOUNCE }
    await as('operator', () => operations.retryCall(retry))
    answer()
    await eventually(() => harness.backend.received.charges.has(payerId))
    await eventually(() =>
      expect(as('operator', () => operations.retryCall(retry))).rejects.toMatchObject({
        reason: 'CHARGE_NOT_FOUND',
      }),
    )
  })

  it('the command line filters what is stuck by the kind that it prints, so refunds whose call fails apart from all without an outcome', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'payweave-stuck-'))
    const { url } = harness
    const grpc = { accounts: url, payments: url, institution: url, quotes: url }
    const sandbox = { grpc, grpc_token: bearer, projects: {} }
    writeFileSync(join(dir, 'sandbox.json'), JSON.stringify(sandbox))
    const stuck = async (kind: string) => {
      const listed = await runHere(dir, 'stuck', 'list', '--kind', kind, '--json')
      expect(listed).toMatchObject({ code: 0, err: '' })
      const lines = listed.out.split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    }
    const { refundId: sent } = await refund()
    const { paymentId, payerId } = await harness.one()
    await harness.cancel(paymentId)
    harness.backend.state.isDown = true
    await harness.report(payerId, ChargeOutcome.PAID)
    try {
      const failing = await eventually(async () => {
        harness.testClock.advance(60_000)
        const found = await stuck('refund')
        return found.length > 0 ? found : false
      })
      expect(failing).toMatchObject([{ kind: 'refund' }])
      const refunds = await stuck('sent_refund')
      expect(new Set(refunds.map(({ kind }) => kind))).toEqual(new Set(['sent_refund']))
      const ids = refunds.map(({ id }) => id)
      expect(ids).toEqual(expect.arrayContaining([sent, failing[0]?.['id']]))
      expect(failing[0]?.['id']).not.toBe(sent)
      const none = await runHere(dir, 'stuck', 'list', '--kind', 'payout')
      expect(none).toEqual({ code: 0, out: 'no payout is stuck\n', err: '' })
    } finally {
      harness.backend.state.isDown = false
      rmSync(dir, { recursive: true })
    }
  })

  it('calls that fail are listed oldest first, however often each is put off', async () => {
    const { paymentId } = await harness.one()
    const made = Array.from({ length: 4 }, () => randomUUID())
    for (const [at, subjectId] of made.entries()) {
      const text = `insert into task (subject_id, kind, project_id, payment_id, attempts, create_time, next_time)
        values ($1, 'payout', $2, $3, 900, business_now() + $4 * interval '1 second',
          clock_now() + (20 - $4) * interval '1 day')`
      const values = [subjectId, harness.projectId, paymentId, at]
      await harness.db.run({ name: 'test_failing_task', text }, values)
    }
    const { calls } = await as('support', () => operations.listFailingCalls({ minAttempts: 900 }))
    expect(calls.map(({ subjectId }) => subjectId)).toEqual(made)
  })
})
