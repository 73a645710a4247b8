// Transactions that wait for the back end: held, submitted, queried, reversed, completed; the outcome is never guessed.
import { randomUUID } from 'node:crypto'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Failure } from '#core/errors/errors.ts'
import { TransferState } from '#gen/payweave/backend/v1/transfers_pb.js'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { listActions } from '#platform/actions/action-store.ts'
import { toFailure } from '#platform/rpc/errors.ts'
import { businessTime } from '#platform/testing/business-time.ts'
import { bringForward } from '../../services/institution/store/work-store.ts'
import { eventually } from '../support/eventually.ts'
import { no } from './accounts.ts'
import { type Harness, type Order, refusal, settings, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const outside = { accountNumber: 'ELSEWHERE-1', organizationId: 'Far Bank' }

const refusalCodes = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.OutOfRange,
]
const undecidedCodes = [Code.Unimplemented, Code.PermissionDenied, Code.Unknown]

/** The error of a back end that has no library of ours, as our client gives it to its caller. */
function withoutReason(code: Code): Failure {
  return toFailure(new ConnectError('no', code))
}

/** A holder, their session, and a transaction to the outside. */
function sender(more: Order = {}) {
  const ama = harness.accounts.person()
  const token = harness.accounts.session(ama)
  const type = TransactionType.INTTRANSFER
  const asked = harness.order(token, ama, ama, { type, creditParty: outside, ...more })
  return { ama, token, asked }
}

/** A holder who gets money from the outside. */
function receiver(type: TransactionType, more: Order = {}) {
  const ama = harness.accounts.person()
  const token = harness.accounts.session(ama)
  const asked = harness.order(token, ama, ama, { type, debitParty: outside, ...more })
  return { ama, token, asked }
}

describe('a transfer to the outside', () => {
  it('a transfer to the outside holds the money, with the fees, until it arrives', async () => {
    const fees = [{ type: 'sender_pays', amount: '2.00' }]
    const { ama, asked } = sender({ fees })
    const made = await harness.create(asked)
    expect(made.status).toBe(TransactionStatus.PENDING)
    expect(ama.balance).toBe(989_800n)
    const { hold } = harness.accounts.movements.get(made.movementId)?.request ?? {}
    expect(hold).toMatchObject({ amount: { minorUnits: 10_200n }, feeMinorUnits: 200n })
    const { limitUse } = harness.accounts.movements.get(made.movementId)?.request ?? {}
    // 102.00 USD are 691.8558 TTD.
    expect(limitUse?.amount).toMatchObject({ currency: 'TTD', minorUnits: 69_186n })
    await harness.end(made.movementId, TransferOutcome.COMPLETED)
    await harness.becomes(made.transactionId, TransactionStatus.COMPLETED)
    expect(ama.balance).toBe(989_800n)
    expect(harness.accounts.movements.get(made.movementId)?.state).toBe('posted')
    expect(await harness.events(made.transactionId)).toEqual(['ACCEPTED', 'COMPLETED'])
    const ended = await harness.get(made.transactionId)
    expect(ended.endTime).toBeDefined()
    expect(await harness.create(asked)).toEqual(ended)
  })

  it('a transfer to the outside gives the money back when it fails', async () => {
    const { ama, asked } = sender({ type: TransactionType.CASHOUT })
    const made = await harness.create(asked)
    await harness.end(made.movementId, TransferOutcome.FAILED)
    await harness.becomes(made.transactionId, TransactionStatus.FAILED)
    expect(ama.balance).toBe(1_000_000n)
    expect(await harness.events(made.transactionId)).toEqual(['ACCEPTED', 'FAILED'])
  })

  it('a transfer submits both parties to the back end, with the amounts and fees of each', async () => {
    const { ama, asked } = sender({
      fees: [
        { type: 'sender_pays', amount: '2.00' },
        { type: 'recipient_pays', amount: '1.00' },
      ],
      senderKyc: { nationality: 'TT' },
      recipientKyc: { full_name: 'Kofi Boateng', country: 'GH' },
      transferInformation: { remittance_purpose: 'family' },
    })
    const { movementId } = await harness.create(asked)
    const { request } = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    expect(request).toMatchObject({
      debitAmount: { currency: 'USD', minorUnits: 10_200n },
      creditAmount: { currency: 'USD', minorUnits: 9_900n },
      debitParty: { mobileNumber: ama.mobileNumber, kyc: { nationality: 'TT' } },
      creditParty: { accountNumber: 'ELSEWHERE-1', kyc: { full_name: 'Kofi Boateng' } },
      transferInformation: { remittance_purpose: 'family' },
    })
  })

  it('a transfer to the outside goes to the holder’s own account elsewhere, but not to the one that it comes from', async () => {
    const { ama, token, asked } = sender()
    const same = { ...asked, creditParty: { mobileNumber: ama.mobileNumber } }
    expect(await refusal(harness.create(same))).toBe('SAME_PARTIES')
    const elsewhere = { mobileNumber: ama.mobileNumber, accountNumber: 'ELSEWHERE-2' }
    await harness.create({ ...asked, creditParty: elsewhere })
    expect(harness.accounts.isSpent(token)).toBe(true)
  })
})

it('the back end is asked for the outcome of a transfer at once when a person wants it, and not after its end', async () => {
  const { asked } = sender()
  const made = await harness.create(asked)
  const transfer = await eventually(() => harness.backend.transfers.get(made.movementId) ?? false)
  transfer.state = TransferState.COMPLETED
  const resume = (movementId = made.movementId) =>
    harness.institution.resumeTransaction({ movementId })
  // While it is submitted nothing else is done. The next enquiry would be a minute later.
  const submitted = {
    name: 'test_submitted',
    text: 'select from transaction where movement_id = $1 and told_time is not null',
  }
  await eventually(async () => (await harness.db.row(submitted, [made.movementId])) !== undefined)
  await resume()
  await harness.becomes(made.transactionId, TransactionStatus.COMPLETED)
  await eventually(async () => expect(await refusal(resume())).toBe('TRANSACTION_NOT_FOUND'))
  expect(await refusal(resume(randomUUID()))).toBe('TRANSACTION_NOT_FOUND')
  const any = { caller: '', target: '' }
  const recorded = await listActions(harness.db, any, undefined, 10)
  expect(recorded.map(({ action, target }) => [action, target])).toContainEqual([
    'resume_transaction',
    made.movementId,
  ])
})

describe('a transfer from the outside', () => {
  it.each([TransactionType.DEPOSIT, TransactionType.INTTRANSFER])(
    'a transfer from the outside holds nothing and credits the holder once it arrived (%s)',
    async (type) => {
      const fees = [{ type: 'recipient_pays', amount: '1.00' }]
      const { ama, asked } = receiver(type, { fees })
      const made = await harness.create(asked)
      expect([made.status, ama.balance]).toEqual([TransactionStatus.PENDING, 1_000_000n])
      // Only what leaves an account counts.
      expect(harness.accounts.movements.get(made.movementId)?.request?.limitUse).toBeUndefined()
      await harness.end(made.movementId, TransferOutcome.COMPLETED)
      await harness.becomes(made.transactionId, TransactionStatus.COMPLETED)
      expect(ama.balance).toBe(1_009_900n)
    },
  )

  it('a deposit from the outside cannot be made by the debit party', async () => {
    const { asked } = sender({ type: TransactionType.DEPOSIT })
    expect(await refusal(harness.create(asked))).toBe('PARTY_NOT_ALLOWED')
    const { asked: cashout } = receiver(TransactionType.CASHOUT)
    expect(await refusal(harness.create(cashout))).toBe('PARTY_NOT_ALLOWED')
  })
})

describe('an outcome that nobody reports', () => {
  it('an outcome that nobody reports is enquired for on schedule', async () => {
    const { asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    const transfer = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    transfer.state = TransferState.COMPLETED
    expect(await harness.statusOf(transactionId)).toBe('PENDING')
    harness.testClock.advance(60_500)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
  })

  it('an outcome that nobody reports is a failure when the back end does not know the transfer and will refuse it for ever', async () => {
    const { ama, asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    harness.backend.transfers.delete(movementId)
    harness.testClock.advance(60_500)
    await harness.becomes(transactionId, TransactionStatus.FAILED)
    expect(ama.balance).toBe(1_000_000n)
  })

  it('a transfer stays pending while the back end says so, until the deadline cancels it', async () => {
    const { ama, asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    const transfer = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    for (const [, waitS] of settings.enquiryScheduleS.entries()) {
      const { enquiries } = harness.backend.state
      harness.testClock.advance(waitS * 1_000 + 500)
      await eventually(() => expect(harness.backend.state.enquiries).toBeGreaterThan(enquiries))
      expect(await harness.statusOf(transactionId)).toBe('PENDING')
    }
    harness.testClock.advance(settings.transferTtlS * 1_000)
    await harness.becomes(transactionId, TransactionStatus.CANCELLED)
    expect(transfer.state).toBe(TransferState.CANCELLED)
    expect(ama.balance).toBe(1_000_000n)
    expect(await harness.events(transactionId)).toEqual(['ACCEPTED', 'CANCELLED'])
  })

  it('a transfer that the back end cannot cancel any more is asked about at the pace of enquiries', async () => {
    const { ama, asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    const transfer = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    harness.backend.state.isMoving = true
    harness.testClock.advance(settings.transferTtlS * 1_000 + 1_000)
    const waits = {
      name: 'test_wait',
      text: `select extract(epoch from next_time - clock_now())::float8 as s from transaction
             where movement_id = $1 and lease_token is null and enquiries = 1`,
    }
    const { s } = await eventually(
      async () => (await harness.db.row<{ s: number }>(waits, [movementId])) ?? false,
    )
    expect(s).toBeGreaterThan(60)
    transfer.state = TransferState.COMPLETED
    harness.backend.state.isMoving = false
    harness.testClock.advance(300_000)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
    expect(ama.balance).toBe(990_000n)
  })

  it('an outcome that nobody reports is that of the back end when the deadline came too late', async () => {
    const { ama, asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    const transfer = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    transfer.state = TransferState.COMPLETED
    harness.testClock.advance(settings.transferTtlS * 1_000 + 1_000)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
    expect(ama.balance).toBe(990_000n)
  })

  it('an outcome that nobody reports is no failure while the back end cannot be reached', async () => {
    const { ama, asked } = sender()
    harness.backend.state.isDown = true
    const { movementId, transactionId } = await harness.create(asked)
    const { refusals } = harness.backend.state
    harness.testClock.advance(10_000)
    await eventually(() => expect(harness.backend.state.refusals).toBeGreaterThan(refusals))
    expect(await harness.statusOf(transactionId)).toBe('PENDING')
    expect(ama.balance).toBe(990_000n)
    harness.backend.state.isDown = false
    harness.testClock.advance(60_000)
    await eventually(() => harness.backend.transfers.get(movementId) ?? false)
    await harness.end(movementId, TransferOutcome.COMPLETED)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
  })

  it('an outcome that nobody reports is enquired for when the back end refuses the transfer itself', async () => {
    const { state } = harness.backend
    for (const refusal of [no('INVALID_PARAMETER'), ...refusalCodes.map(withoutReason)]) {
      state.refusesWith = refusal
      const { ama, asked } = sender()
      const { transactionId } = await harness.create(asked)
      await harness.becomes(transactionId, TransactionStatus.FAILED)
      expect(ama.balance).toBe(1_000_000n)
    }
    state.refusesWith = undefined
  })

  it('a transfer to a back end without transfers is cancelled at its deadline, but not when an earlier call may have been executed', async () => {
    const { state } = harness.backend
    const unimplemented = withoutReason(Code.Unimplemented)
    const [plain, doubtful] = [sender(), sender()]
    state.refusesWith = withoutReason(Code.Unknown)
    const inDoubt = await harness.create(doubtful.asked)
    await eventually(() => expect(state.creates).toBeGreaterThan(0))
    const postponed = {
      name: 'test_postponed',
      text: `select attempts from transaction
             where movement_id = $1 and lease_token is null and attempts > $2`,
    }
    /** Waits until one more attempt has been recorded. */
    const tried = async (movementId: string, before: number) => {
      const read = () => harness.db.row<{ attempts: number }>(postponed, [movementId, before])
      return (await eventually(async () => (await read()) ?? false)).attempts
    }
    const attempts = await tried(inDoubt.movementId, 0)
    state.lacksTransfers = unimplemented
    state.refusesWith = undefined
    const { transactionId, movementId } = await harness.create(plain.asked)
    await tried(movementId, 0)
    expect(await harness.statusOf(transactionId)).toBe('PENDING')
    harness.testClock.advance(settings.transferTtlS * 1_000 + 60_000)
    await harness.becomes(transactionId, TransactionStatus.CANCELLED)
    expect(plain.ama.balance).toBe(1_000_000n)
    harness.testClock.advance(60_000)
    await tried(inDoubt.movementId, attempts)
    expect(await harness.statusOf(inDoubt.transactionId)).toBe('PENDING')
    expect(doubtful.ama.balance).toBe(990_000n)
    state.lacksTransfers = undefined
    harness.testClock.advance(60_000)
    await harness.becomes(inDoubt.transactionId, TransactionStatus.CANCELLED)
  })

  it('a transfer that meets an error of the back end that decides nothing is sent again', async () => {
    const { state, refused, transfers } = harness.backend
    for (const error of [no('INTERNAL_ERROR'), ...undecidedCodes.map(withoutReason)]) {
      const { creates } = state
      state.refusesWith = error
      const { asked } = sender()
      const { movementId, transactionId } = await harness.create(asked)
      await eventually(() => expect(state.creates).toBeGreaterThan(creates))
      state.refusesWith = undefined
      harness.testClock.advance(60_000)
      await eventually(() =>
        expect(transfers.has(movementId) || refused.has(movementId)).toBe(true),
      )
      expect(refused.has(movementId)).toBe(false)
      await harness.end(movementId, TransferOutcome.COMPLETED)
      await harness.becomes(transactionId, TransactionStatus.COMPLETED)
    }
  })
})

describe('a report', () => {
  it('a report counts once: the first outcome stays', async () => {
    const { ama, asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    await harness.end(movementId, TransferOutcome.COMPLETED)
    await harness.end(movementId, TransferOutcome.COMPLETED)
    await harness.end(movementId, TransferOutcome.FAILED)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
    await harness.end(movementId, TransferOutcome.CANCELLED)
    expect(await harness.statusOf(transactionId)).toBe('COMPLETED')
    expect(ama.balance).toBe(990_000n)
    expect(await harness.events(transactionId)).toEqual(['ACCEPTED', 'COMPLETED'])
  })

  it('a report of a connector that is not the back end is refused, and the transfer stays open', async () => {
    const { asked } = sender()
    const { movementId, transactionId } = await harness.create(asked)
    const outcome = TransferOutcome.COMPLETED
    const foreign = harness.otherReports.reportTransfer({ transferId: movementId, outcome })
    expect(await refusal(foreign)).toBe('TRANSFER_NOT_FOUND')
    await harness.end(movementId, TransferOutcome.FAILED)
    await harness.becomes(transactionId, TransactionStatus.FAILED)
  })

  it('a report of an unknown transfer is refused', async () => {
    const { order, accounts } = harness
    const ama = accounts.person()
    const p2p = await harness.create(order(accounts.session(ama), ama, accounts.person()))
    const report = (transferId: string, outcome = TransferOutcome.FAILED) =>
      refusal(harness.reports.reportTransfer({ transferId, outcome }))
    expect(await report('not a uuid')).toBe('INVALID_PARAMETER transfer_id')
    expect(await report('0198c000-0000-7000-8000-0000000000ee')).toBe('TRANSFER_NOT_FOUND')
    expect(await report(p2p.movementId)).toBe('TRANSFER_NOT_FOUND')
    expect(await report(p2p.movementId, TransferOutcome.UNSPECIFIED)).toBe(
      'MISSING_PARAMETER outcome',
    )
    expect(await harness.statusOf(p2p.transactionId)).toBe('COMPLETED')
  })
})

it('a transfer that stays pending is cancelled when the test clock of a sandbox moves past its deadline', async () => {
  // Its accounts stay where they are, so that every later transfer would be late.
  const own = await startHarness()
  const ama = own.accounts.person()
  const type = TransactionType.INTTRANSFER
  const order = own.order(own.accounts.session(ama), ama, ama, { type, creditParty: outside })
  const { movementId, transactionId } = await own.create(order)
  await eventually(() => own.backend.transfers.get(movementId) ?? false)
  const aheadMs = BigInt(settings.transferTtlS * 1_000)
  await businessTime({ db: own.db, onMoved: bringForward }).advanceClock({ aheadMs })
  await own.becomes(transactionId, TransactionStatus.CANCELLED)
  expect(await own.events(transactionId)).toEqual(['ACCEPTED', 'CANCELLED'])
  await own.stop()
})
