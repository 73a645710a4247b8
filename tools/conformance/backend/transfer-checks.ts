// Checks of transfers and their reversal: outcomes, repeats, enquiries, cancellations.
import { TransferState, TransferType } from '#gen/payweave/backend/v1/transfers_pb.js'
import { demand } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandConflict,
  demandExecuted,
  demandStatus,
  more,
  newReference,
  reported,
  shownAmount,
} from './check.ts'

const transfer = backendGroup('transfers')
const { PENDING, COMPLETED, FAILED, CANCELLED, NOT_FOUND } = TransferState

export const transferChecks: readonly BackendCheck[] = [
  transfer(
    'completed',
    'A transfer is executed once, as ordered, and reported COMPLETED; an enquiry says the same.',
    ['transfer.completed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.completed')
      const create = () => context.transfers.createTransfer(order)
      await Promise.all([create(), create()])
      await reported(context, order.transferId, 'COMPLETED')
      await create()
      await demandState(context, order.transferId, COMPLETED)
      await demandExecuted(context, 'transfer', order.transferId, 1, shownAmount(context))
    },
  ),
  transfer(
    'other-content',
    'A transfer whose id comes again with another amount or receiver is refused; the first one is executed.',
    ['transfer.completed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.completed')
      await context.transfers.createTransfer(order)
      const amount = more(order.creditAmount)
      const other = { ...order, debitAmount: amount, creditAmount: amount }
      await demandConflict(context.transfers.createTransfer(other))
      const accountNumber = `1${order.creditParty.accountNumber}`
      const elsewhere = { ...order, creditParty: { accountNumber } }
      await demandConflict(context.transfers.createTransfer(elsewhere))
      await reported(context, order.transferId, 'COMPLETED')
      await demandExecuted(context, 'transfer', order.transferId, 1, shownAmount(context))
    },
  ),
  transfer(
    'failed',
    'A transfer that failed is reported FAILED with a reason, and moves no money.',
    ['transfer.failed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.failed')
      await context.transfers.createTransfer(order)
      const { reason } = await reported(context, order.transferId, 'FAILED')
      demand(reason !== undefined && reason !== '', 'the report has no reason')
      await demandState(context, order.transferId, FAILED)
      await demandExecuted(context, 'transfer', order.transferId, 0, shownAmount(context))
    },
  ),
  transfer(
    'cancelled',
    'A pending transfer that is cancelled is CANCELLED, is reported so, and moves no money.',
    ['transfer.pending'],
    async (context) => {
      const order = newTransfer(context, 'transfer.pending')
      const { transferId } = order
      await context.transfers.createTransfer(order)
      await demandState(context, transferId, PENDING)
      demandIs(
        (await context.transfers.cancelTransfer({ transferId })).state,
        CANCELLED,
        'cancelling',
      )
      await reported(context, transferId, 'CANCELLED')
      await demandState(context, transferId, CANCELLED)
      await demandExecuted(context, 'transfer', transferId, 0, shownAmount(context))
    },
  ),
  transfer(
    'cancelled-too-late',
    'Cancelling a transfer that has ended returns its final state and changes nothing.',
    ['transfer.completed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.completed')
      const { transferId } = order
      await context.transfers.createTransfer(order)
      await reported(context, transferId, 'COMPLETED')
      demandIs(
        (await context.transfers.cancelTransfer({ transferId })).state,
        COMPLETED,
        'cancelling',
      )
      await demandState(context, transferId, COMPLETED)
      await reported(context, transferId, 'COMPLETED')
    },
  ),
  transfer(
    'cancelled-first',
    'A transfer that is cancelled before it arrives is CANCELLED and refused permanently.',
    ['transfer.completed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.completed')
      const { transferId } = order
      demandIs(
        (await context.transfers.cancelTransfer({ transferId })).state,
        CANCELLED,
        'cancelling',
      )
      await demandRefused(context, order)
    },
  ),
  transfer(
    'unknown-is-final',
    'A transfer that an enquiry has called NOT_FOUND is refused permanently.',
    ['transfer.completed'],
    async (context) => {
      const order = newTransfer(context, 'transfer.completed')
      await demandState(context, order.transferId, NOT_FOUND)
      await demandRefused(context, order)
      await demandState(context, order.transferId, NOT_FOUND)
    },
  ),
]

type Order = ReturnType<typeof newTransfer>

function newTransfer(
  context: CheckContext,
  outcome: 'transfer.completed' | 'transfer.failed' | 'transfer.pending',
) {
  const amount = amountOf(context)
  return {
    transferId: newReference(context),
    type: TransferType.INTTRANSFER,
    institutionName: context.map.institution_name,
    debitAmount: amount,
    creditAmount: amount,
    debitParty: { accountNumber: '1000000001' },
    creditParty: { accountNumber: context.outcome(outcome).account_number },
  }
}

async function demandRefused(context: CheckContext, order: Order): Promise<void> {
  const call = context.transfers.createTransfer(order)
  await demandStatus(call, 'failed_precondition', 'the transfer')
  await demandExecuted(context, 'transfer', order.transferId, 0, shownAmount(context))
}

async function demandState(
  context: CheckContext,
  transferId: string,
  wanted: TransferState,
): Promise<void> {
  demandIs((await context.transfers.enquireTransfer({ transferId })).state, wanted, 'the enquiry')
}

const nameOf = (one: TransferState) => TransferState[one] ?? String(one)

function demandIs(state: TransferState, wanted: TransferState, what: string): void {
  demand(state === wanted, `${what} returned ${nameOf(state)}, not ${nameOf(wanted)}`)
}
