// Takes a pending transfer one step further: sends it to the back end, enquires, cancels or ends it.
import { Failure } from '#core/errors/errors.ts'
import { TransferState } from '#gen/payweave/backend/v1/transfers_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { transactionEvent } from '../api/events.ts'
import { transferMessage } from '../api/messages.ts'
import { isUnexecuted, type Leased, type Outcome } from '../domain/transaction.ts'
import type { Institution } from '../operations/institution.ts'
import { cancelMovement, completeMovement } from '../ports/movements.ts'
import { isPermanent, isRefusal, isUnimplemented } from '../ports/refusals.ts'
import { readClock } from '../store/history-store.ts'
import { endTransaction } from '../store/transaction-store.ts'
import { recordOutcome, waitForOutcome } from '../store/work-store.ts'

/** More are not counted: the column has two bytes. */
const maxEnquiries = 32_767

/** One step of a leased transfer; true when the transaction has ended. */
export async function stepTransfer(institution: Institution, row: Leased): Promise<boolean> {
  if (row.outcome !== undefined) return settle(institution, row, row.outcome)
  if (row.isLate) await takeBack(institution, row)
  else if (row.isSubmitted) await enquire(institution, row)
  else await submit(institution, row)
  return false
}

/** Repeating the call changes nothing at the back end, so a crash right after it is harmless. */
async function submit(institution: Institution, row: Leased): Promise<void> {
  const { peers } = institution
  try {
    await peers.transfers.createTransfer(transferMessage(row), withProject(row.projectId))
  } catch (error) {
    // A call that is rejected permanently says nothing about an earlier one.
    if (!isRefusal(error)) throw error
    await enquire(institution, row)
    return
  }
  await wait(institution, row, 0)
}

async function enquire(institution: Institution, row: Leased): Promise<void> {
  const { peers } = institution
  const request = { transferId: row.movementId }
  const { state, reason } = await peers.transfers.enquireTransfer(
    request,
    withProject(row.projectId),
  )
  await learn(institution, row, { outcome: outcomes[state], reason })
}

/**
 * The time of the transfer has run out. What it had become before stands. A back end without transfers cannot cancel: the transfer
 * is cancelled when no call can have executed it.
 */
async function takeBack(institution: Institution, row: Leased): Promise<void> {
  const { peers } = institution
  const request = { transferId: row.movementId }
  const { state } = await peers.transfers
    .cancelTransfer(request, withProject(row.projectId))
    .catch((error: unknown) => {
      if (isUnimplemented(error) && isUnexecuted(row)) return { state: TransferState.NOT_FOUND }
      throw error
    })
  const outcome = state === TransferState.NOT_FOUND ? 'cancelled' : outcomes[state]
  await learn(institution, row, { outcome, reason: '' })
}

/** What ends a transfer. The back end refuses for ever an id that it has once reported as unknown, so that is a final failure. */
const outcomes: Partial<Record<TransferState, Outcome>> = {
  [TransferState.COMPLETED]: 'completed',
  [TransferState.FAILED]: 'failed',
  [TransferState.CANCELLED]: 'cancelled',
  [TransferState.NOT_FOUND]: 'failed',
}

async function learn(
  institution: Institution,
  row: Leased,
  { outcome, reason }: { outcome: Outcome | undefined; reason: string },
): Promise<void> {
  if (outcome === undefined) {
    await wait(institution, row, Math.min(row.enquiries + 1, maxEnquiries))
    return
  }
  await recordOutcome(institution.db, row.movementId, { outcome, reason })
  institution.notify()
}

/** Until the next enquiry. After the last of the schedule its wait is repeated. */
async function wait({ db, settings }: Institution, row: Leased, enquiries: number): Promise<void> {
  const { enquiryScheduleS: schedule } = settings
  const waitS = schedule[Math.min(enquiries, schedule.length - 1)] ?? 60
  await waitForOutcome(db, row, { waitS, enquiries })
}

const endedBy = { completed: 'complete', failed: 'fail', cancelled: 'cancel' } as const

/** Moves or frees the money, then records the end. */
async function settle(institution: Institution, row: Leased, outcome: Outcome): Promise<boolean> {
  const { db, metrics, notify } = institution
  const endTime = await moveMoney(institution, row, outcome)
  const ended = { ...row, state: outcome, endTime } as const
  if (!(await endTransaction(db, row, { state: outcome, endTime }, transactionEvent(ended)))) {
    return false
  }
  metrics.ended(endedBy[outcome])
  notify()
  return true
}

async function moveMoney(institution: Institution, row: Leased, outcome: Outcome): Promise<Date> {
  try {
    if (outcome === 'completed') return await completeMovement(institution, row)
    await cancelMovement(institution, row)
    return await readClock(institution.db)
  } catch (error) {
    const { metrics, log } = institution
    const fields = { err: error, transferId: row.movementId, projectId: row.projectId, outcome }
    if (isPermanent(error)) {
      metrics.stuck()
      log.error({ ...fields, reason: error.reason }, 'transfer and ledger disagree')
    } else if (error instanceof Failure && error.reason === 'INSUFFICIENT_FUNDS') {
      log.warn(fields, 'transfer waits for funds')
    }
    throw error
  }
}
