// Checks of transfers and their reversal: outcomes, repeats, enquiries, cancellations.
import { TransferState, TransferType } from '#gen/payweave/backend/v1/transfers_pb.js'
import { demand } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  demandConflict,
  demandExecuted,
  demandStatus,
  more,
  newReference,
  reported,
  shownAmount,
  type World,
} from './check.ts'

const transfer = backendGroup('transfers')
const { PENDING, COMPLETED, FAILED, CANCELLED, NOT_FOUND } = TransferState

export const transferChecks: readonly BackendCheck[] = [
  transfer(
    'completed',
    'A transfer is executed once, as ordered, and reported COMPLETED; an enquiry says the same.',
    ['transfer.completed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.completed')
      const create = () => world.transfers.createTransfer(order)
      await Promise.all([create(), create()])
      await reported(world, order.transferId, 'COMPLETED')
      await create()
      await demandState(world, order.transferId, COMPLETED)
      await demandExecuted(world, 'transfer', order.transferId, 1, shownAmount(world))
    },
  ),
  transfer(
    'other-content',
    'A transfer whose id comes again with another amount or receiver is refused; the first one is executed.',
    ['transfer.completed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.completed')
      await world.transfers.createTransfer(order)
      const amount = more(order.creditAmount)
      const other = { ...order, debitAmount: amount, creditAmount: amount }
      await demandConflict(world.transfers.createTransfer(other))
      const accountNumber = `1${order.creditParty.accountNumber}`
      const elsewhere = { ...order, creditParty: { accountNumber } }
      await demandConflict(world.transfers.createTransfer(elsewhere))
      await reported(world, order.transferId, 'COMPLETED')
      await demandExecuted(world, 'transfer', order.transferId, 1, shownAmount(world))
    },
  ),
  transfer(
    'failed',
    'A transfer that failed is reported FAILED with a reason, and moves no money.',
    ['transfer.failed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.failed')
      await world.transfers.createTransfer(order)
      const { reason } = await reported(world, order.transferId, 'FAILED')
      demand(reason !== undefined && reason !== '', 'the report has no reason')
      await demandState(world, order.transferId, FAILED)
      await demandExecuted(world, 'transfer', order.transferId, 0, shownAmount(world))
    },
  ),
  transfer(
    'cancelled',
    'A pending transfer that is cancelled is CANCELLED, is reported so, and moves no money.',
    ['transfer.pending'],
    async (world) => {
      const order = newTransfer(world, 'transfer.pending')
      const { transferId } = order
      await world.transfers.createTransfer(order)
      await demandState(world, transferId, PENDING)
      demandIs(
        (await world.transfers.cancelTransfer({ transferId })).state,
        CANCELLED,
        'cancelling',
      )
      await reported(world, transferId, 'CANCELLED')
      await demandState(world, transferId, CANCELLED)
      await demandExecuted(world, 'transfer', transferId, 0, shownAmount(world))
    },
  ),
  transfer(
    'cancelled-too-late',
    'Cancelling a transfer that has ended returns its final state and changes nothing.',
    ['transfer.completed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.completed')
      const { transferId } = order
      await world.transfers.createTransfer(order)
      await reported(world, transferId, 'COMPLETED')
      demandIs(
        (await world.transfers.cancelTransfer({ transferId })).state,
        COMPLETED,
        'cancelling',
      )
      await demandState(world, transferId, COMPLETED)
      await reported(world, transferId, 'COMPLETED')
    },
  ),
  transfer(
    'cancelled-first',
    'A transfer that is cancelled before it arrives is CANCELLED and refused permanently.',
    ['transfer.completed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.completed')
      const { transferId } = order
      demandIs(
        (await world.transfers.cancelTransfer({ transferId })).state,
        CANCELLED,
        'cancelling',
      )
      await demandRefused(world, order)
    },
  ),
  transfer(
    'unknown-is-final',
    'A transfer that an enquiry has called NOT_FOUND is refused permanently.',
    ['transfer.completed'],
    async (world) => {
      const order = newTransfer(world, 'transfer.completed')
      await demandState(world, order.transferId, NOT_FOUND)
      await demandRefused(world, order)
      await demandState(world, order.transferId, NOT_FOUND)
    },
  ),
]

type Order = ReturnType<typeof newTransfer>

function newTransfer(
  world: World,
  outcome: 'transfer.completed' | 'transfer.failed' | 'transfer.pending',
) {
  const amount = amountOf(world)
  return {
    transferId: newReference(world),
    type: TransferType.INTTRANSFER,
    institutionName: world.map.institution_name,
    debitAmount: amount,
    creditAmount: amount,
    debitParty: { accountNumber: '1000000001' },
    creditParty: { accountNumber: world.outcome(outcome).account_number },
  }
}

async function demandRefused(world: World, order: Order): Promise<void> {
  const call = world.transfers.createTransfer(order)
  await demandStatus(call, 'failed_precondition', 'the transfer')
  await demandExecuted(world, 'transfer', order.transferId, 0, shownAmount(world))
}

async function demandState(world: World, transferId: string, wanted: TransferState): Promise<void> {
  demandIs((await world.transfers.enquireTransfer({ transferId })).state, wanted, 'the enquiry')
}

const nameOf = (one: TransferState) => TransferState[one] ?? String(one)

function demandIs(state: TransferState, wanted: TransferState, what: string): void {
  demand(state === wanted, `${what} returned ${nameOf(state)}, not ${nameOf(wanted)}`)
}
