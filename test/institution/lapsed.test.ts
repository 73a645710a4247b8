// Transfers that the back end completes after their holds have expired, and transfers whose end the ledger refuses.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Reason } from '#core/errors/errors.ts'
import { TransferState } from '#gen/payweave/backend/v1/transfers_pb.js'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import { eventually } from '../support/eventually.ts'
import { no, type Person } from './accounts.ts'
import { type Harness, refusal, settings, startHarness } from './harness.ts'

type Line = Record<string, unknown>

const lines: Line[] = []
const log = createLogger({
  part: 'institution',
  level: 'warn',
  destination: { write: (line) => void lines.push(JSON.parse(line) as Line) },
})
let harness: Harness
beforeAll(async () => {
  harness = await startHarness(log)
  // Money on its way at the back end can no longer be stopped.
  harness.backend.state.isMoving = true
})
afterAll(() => harness.stop())
beforeEach(() => {
  lines.length = 0
})

const outside = { accountNumber: 'ELSEWHERE-1', organizationId: 'Far Bank' }

/** A transfer to or from the outside that the back end has. */
async function transferOf(ama: Person, type: TransactionType, amount = '100.00') {
  const far = type === TransactionType.DEPOSIT ? 'debitParty' : 'creditParty'
  const token = harness.accounts.session(ama)
  const order = harness.order(token, ama, ama, { type, amount, [far]: outside })
  const { movementId, transactionId } = await harness.create(order)
  const transfer = await eventually(() => harness.backend.transfers.get(movementId) ?? false)
  return { movementId, transactionId, transfer }
}

/** A cashout of 100.00 whose hold has expired while the back end says that it is pending. */
async function lapsed(ama: Person) {
  const made = await transferOf(ama, TransactionType.CASHOUT)
  expect(ama.balance).toBe(990_000n)
  harness.testClock.advance(settings.transferTtlS * 1_000 + 31 * 86_400_000)
  return made
}

async function stuckCount(): Promise<number> {
  const text = await harness.registry.metrics()
  return Number(/^payweave_institution_transfers_stuck_total (\d+)$/m.exec(text)?.[1])
}

/** The next attempt of a transfer that was postponed. */
function retry(): void {
  harness.testClock.advance(61_000)
}

const logged = (movementId: string, msg: string) =>
  lines.filter((line) => line['transferId'] === movementId && line['msg'] === msg)

describe('a transfer that completes after its hold has expired', () => {
  it('a transfer that completes after its hold has expired is paid from what the account has then', async () => {
    const ama = harness.accounts.person()
    const { movementId, transactionId, transfer } = await lapsed(ama)
    transfer.state = TransferState.COMPLETED
    harness.testClock.advance(300_000)
    await harness.becomes(transactionId, TransactionStatus.COMPLETED)
    expect(ama.balance).toBe(990_000n)
    expect(harness.accounts.movements.get(movementId)?.isHeld).toBe(false)
    expect(await harness.events(transactionId)).toEqual(['ACCEPTED', 'COMPLETED'])
  })

  it('a transfer that completes after its hold has expired is repeated until the account has enough', async () => {
    const { accounts } = harness
    const ama = accounts.person()
    const { movementId, transactionId } = await lapsed(ama)
    const before = await stuckCount()
    // The holder spends what the hold has released.
    const spend = harness.order(accounts.session(ama), ama, accounts.person(), {
      amount: '9950.00',
    })
    await harness.create(spend)
    expect(ama.balance).toBe(5_000n)
    await harness.end(movementId, TransferOutcome.COMPLETED)
    await eventually(() => expect(logged(movementId, 'transfer waits for funds')).not.toEqual([]))
    expect(await harness.statusOf(transactionId)).toBe('PENDING')
    expect(ama.balance).toBe(5_000n)
    ama.balance += 20_000n
    await eventually(async () => {
      retry()
      expect(await harness.statusOf(transactionId)).toBe('COMPLETED')
    })
    expect(ama.balance).toBe(15_000n)
    expect(await stuckCount()).toBe(before)
  })
})

describe('a permanent refusal of the ledger', () => {
  const permanent: Reason[] = [
    'HOLD_CLOSED',
    'AMOUNT_OUT_OF_RANGE',
    'LEDGER_ACCOUNT_NOT_FOUND',
    'LEDGER_CONFLICT',
    'MOVEMENT_NOT_FOUND',
    'INVALID_PARAMETER',
  ]

  it.each(permanent)(
    'a permanent refusal of the ledger counts as stuck and is logged at error (%s)',
    async (reason) => {
      const { movements } = harness.peers
      const { completeMovement } = movements
      const before = await stuckCount()
      const { movementId, transactionId } = await transferOf(
        harness.accounts.person(),
        TransactionType.DEPOSIT,
      )
      movements.completeMovement = () => Promise.reject(no(reason))
      await harness.end(movementId, TransferOutcome.COMPLETED)
      await eventually(() =>
        expect(logged(movementId, 'transfer and ledger disagree')[0]).toMatchObject({
          level: 'error',
          outcome: 'completed',
          reason,
        }),
      )
      expect(await stuckCount()).toBeGreaterThan(before)
      movements.completeMovement = completeMovement
      await eventually(async () => {
        retry()
        expect(await harness.statusOf(transactionId)).toBe('COMPLETED')
      })
    },
  )

  it.each(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMIT_EXCEEDED'] as const)(
    'an error of the ledger that passes does not count as stuck (%s)',
    async (reason) => {
      const { movements } = harness.peers
      const { completeMovement } = movements
      const before = await stuckCount()
      const { movementId, transactionId } = await transferOf(
        harness.accounts.person(),
        TransactionType.DEPOSIT,
      )
      let isRefused = false
      movements.completeMovement = (...call) => {
        if (isRefused) return completeMovement(...call)
        isRefused = true
        return Promise.reject(no(reason))
      }
      await harness.end(movementId, TransferOutcome.COMPLETED)
      await eventually(async () => {
        retry()
        expect(await harness.statusOf(transactionId)).toBe('COMPLETED')
      })
      movements.completeMovement = completeMovement
      expect(isRefused).toBe(true)
      expect(await stuckCount()).toBe(before)
    },
  )
})

it('a deposit that the balance of its account cannot take is refused with its field, and nothing is left of it', async () => {
  const ama = harness.accounts.person({ balance: 2n ** 63n - 10_000n })
  const token = harness.accounts.session(ama)
  const asked = (amount: string) =>
    harness.order(token, ama, ama, {
      type: TransactionType.DEPOSIT,
      amount,
      debitParty: outside,
      fees: [{ type: 'recipient_pays', amount: '1.00' }],
    })
  const rows = await harness.rowCount()
  expect(await refusal(harness.create(asked('101.00')))).toBe('AMOUNT_OUT_OF_RANGE amount')
  expect(await harness.rowCount()).toBe(rows)
  expect(harness.accounts.isSpent(token)).toBe(false)
  // What the recipient pays does not enter the account.
  const { movementId, transactionId } = await harness.create(asked('100.99'))
  await harness.end(movementId, TransferOutcome.COMPLETED)
  await harness.becomes(transactionId, TransactionStatus.COMPLETED)
  expect(ama.balance).toBe(2n ** 63n - 1n)
})
