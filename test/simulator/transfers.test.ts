// Proves that transfers end as the sandbox promises, once, and that one that was given up is never executed.
import { randomUUID } from 'node:crypto'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TransferState, TransferType } from '#gen/payweave/backend/v1/transfers_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const newTransfer = (accountNumber = '100200300') => ({
  transferId: randomUUID() as string,
  type: TransferType.CASHOUT,
  institutionName: 'Demo Wallet',
  debitAmount: { currency: 'USD', minorUnits: 1000n },
  creditAmount: { currency: 'TTD', minorUnits: 6783n },
  creditParty: { accountNumber },
})
type Transfer = ReturnType<typeof newTransfer>

async function create(accountNumber?: string): Promise<Transfer> {
  const transfer = newTransfer(accountNumber)
  await harness.transfers.createTransfer(transfer)
  return transfer
}

const enquire = async ({ transferId }: Transfer) =>
  await harness.transfers.enquireTransfer({ transferId })
const cancel = async ({ transferId }: Transfer) =>
  (await harness.transfers.cancelTransfer({ transferId })).state
const reportsOf = ({ transferId }: Transfer) =>
  harness.institution.of(transferId).map(({ outcome }) => outcome)
const expectReports = (transfer: Transfer, expected: string[]) =>
  eventually(() => expect(reportsOf(transfer)).toEqual(expected))
/** All that was due before is done and reported: transfers that came due later, twice, are completed. */
async function workIsDone(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const transfer = await create()
    harness.testClock.advance(1_000)
    await expectReports(transfer, ['COMPLETED'])
  }
}

async function executionsOf({ transferId }: Transfer): Promise<unknown[]> {
  const response = await fetch(`${harness.publicUrl}/executions?kind=transfer&id=${transferId}`)
  return ((await response.json()) as { executions: unknown[] }).executions
}

const refusedForEver = { reason: 'REFERENCE_REFUSED' }

describe('a transfer', () => {
  it.each([TransferType.INTTRANSFER, TransferType.DEPOSIT, TransferType.CASHOUT])(
    'a transfer of type %i completes after a second and is executed once',
    async (type) => {
      const startedMs = Date.now()
      const transfer = { ...newTransfer(), type }
      await harness.transfers.createTransfer(transfer)
      // However long the enquiry takes.
      harness.testClock.advance(-60_000)
      expect((await enquire(transfer)).state).toBe(TransferState.PENDING)
      harness.testClock.advance(60_000)
      await expectReports(transfer, ['COMPLETED'])
      expect(Date.now() - startedMs).toBeGreaterThanOrEqual(1_000)
      expect(await enquire(transfer)).toMatchObject({ state: TransferState.COMPLETED, reason: '' })
      expect(await executionsOf(transfer)).toEqual([
        expect.objectContaining({ id: transfer.transferId, amount: '67.83', currency: 'TTD' }),
      ])
    },
  )

  it('a transfer of nothing to the credit party, whose fee is the whole amount, completes', async () => {
    const transfer = { ...newTransfer(), creditAmount: { currency: 'TTD', minorUnits: 0n } }
    await harness.transfers.createTransfer(transfer)
    harness.testClock.advance(1_000)
    await expectReports(transfer, ['COMPLETED'])
    expect(await executionsOf(transfer)).toEqual([
      expect.objectContaining({ id: transfer.transferId, amount: '0.00', currency: 'TTD' }),
    ])
  })

  it('a transfer to an account ending 0402 fails, with a reason and no execution', async () => {
    const transfer = await create('200300402')
    harness.testClock.advance(1_000)
    await expectReports(transfer, ['FAILED'])
    const { state, reason } = await enquire(transfer)
    expect(state).toBe(TransferState.FAILED)
    expect(reason).not.toBe('')
    expect(await executionsOf(transfer)).toEqual([])
  })

  it('a transfer to an account ending 0504 stays pending until it is cancelled', async () => {
    const transfer = await create('200300504')
    harness.testClock.advance(86_400_000)
    await workIsDone()
    expect((await enquire(transfer)).state).toBe(TransferState.PENDING)
    expect(reportsOf(transfer)).toEqual([])
    expect(await cancel(transfer)).toBe(TransferState.CANCELLED)
    await expectReports(transfer, ['CANCELLED'])
    await harness.transfers.createTransfer(transfer)
    harness.testClock.advance(1_000)
    await workIsDone()
    expect((await enquire(transfer)).state).toBe(TransferState.CANCELLED)
    expect(await executionsOf(transfer)).toEqual([])
  })

  it('a transfer that has ended cannot be cancelled', async () => {
    const [done, failed] = [await create(), await create('0402')]
    harness.testClock.advance(1_000)
    await expectReports(done, ['COMPLETED'])
    await expectReports(failed, ['FAILED'])
    expect(await cancel(done)).toBe(TransferState.COMPLETED)
    expect(await cancel(failed)).toBe(TransferState.FAILED)
    expect(await executionsOf(done)).toHaveLength(1)
  })

  it('a transfer created many times at once is executed and reported once', async () => {
    const transfer = newTransfer()
    await Promise.all(Array.from({ length: 30 }, () => harness.transfers.createTransfer(transfer)))
    harness.testClock.advance(1_000)
    await expectReports(transfer, ['COMPLETED'])
    await harness.transfers.createTransfer(transfer)
    harness.testClock.advance(1_000)
    await workIsDone()
    expect(reportsOf(transfer)).toEqual(['COMPLETED'])
    expect(await executionsOf(transfer)).toHaveLength(1)
  })

  it('a transfer goes on after a restart, and is reported until the institution service accepts', async () => {
    const transfer = await create()
    harness.institution.refuse(transfer.transferId, 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR')
    await harness.restart()
    harness.testClock.advance(1_000)
    await eventually(() => {
      harness.testClock.advance(500)
      expect(reportsOf(transfer)).toEqual(['COMPLETED'])
    })
    expect(await executionsOf(transfer)).toHaveLength(1)
  })

  it('a transfer waits with its report while the institution service is down', async () => {
    await harness.institution.stop()
    const transfer = await create()
    harness.testClock.advance(1_000)
    await eventually(async () =>
      expect((await enquire(transfer)).state).toBe(TransferState.COMPLETED),
    )
    await harness.institution.start()
    harness.testClock.advance(10_000)
    await expectReports(transfer, ['COMPLETED'])
  })

  it.each([
    ['INVALID_PARAMETER', 'transfer_id', { transferId: 'x' }],
    ['MISSING_PARAMETER', 'type', { type: TransferType.UNSPECIFIED }],
    ['MISSING_PARAMETER', 'institution_name', { institutionName: '' }],
    ['INVALID_PARAMETER', 'debit_amount', { debitAmount: { currency: 'USD', minorUnits: 0n } }],
    ['INVALID_PARAMETER', 'credit_amount', { creditAmount: { currency: 'TTD', minorUnits: -1n } }],
    ['INVALID_PARAMETER', 'credit_amount', { creditAmount: { currency: 'XXX', minorUnits: 1n } }],
  ])('a transfer is refused with %s %s', async (reason, field, fault) => {
    const call = harness.transfers.createTransfer({ ...newTransfer(), ...fault })
    await expect(call).rejects.toMatchObject({ reason, details: { field } })
  })
})

describe('a transfer that was given up before it came', () => {
  it('a transfer queried before it arrived is refused permanently, also after a restart', async () => {
    const transfer = newTransfer()
    expect((await enquire(transfer)).state).toBe(TransferState.NOT_FOUND)
    await harness.restart()
    await expect(harness.transfers.createTransfer(transfer)).rejects.toMatchObject(refusedForEver)
    expect(await cancel(transfer)).toBe(TransferState.NOT_FOUND)
    harness.testClock.advance(1_000)
    await workIsDone()
    expect((await enquire(transfer)).state).toBe(TransferState.NOT_FOUND)
    expect([reportsOf(transfer), await executionsOf(transfer)]).toEqual([[], []])
  })

  it('a transfer cancelled before it arrived is refused permanently', async () => {
    const transfer = newTransfer()
    expect(await cancel(transfer)).toBe(TransferState.CANCELLED)
    await expect(harness.transfers.createTransfer(transfer)).rejects.toMatchObject(refusedForEver)
    expect((await enquire(transfer)).state).toBe(TransferState.CANCELLED)
    expect(await executionsOf(transfer)).toEqual([])
  })

  it('a transfer whose creation races with an enquiry and a cancellation ends in the same way for all callers', async () => {
    for (let round = 0; round < 20; round += 1) {
      const transfer = newTransfer('0504')
      const giveUp = round % 2 === 0 ? cancel : async (it: Transfer) => (await enquire(it)).state
      const [created, heard] = await Promise.all([
        harness.transfers.createTransfer(transfer).then(
          () => true,
          () => false,
        ),
        giveUp(transfer),
      ])
      const { state } = await enquire(transfer)
      expect(state).toBe(heard)
      expect(created || state !== TransferState.PENDING).toBe(true)
      expect(created && state === TransferState.NOT_FOUND).toBe(false)
    }
  })

  it('a transfer that is cancelled while it is due is either executed or cancelled', async () => {
    const transfers = await Promise.all(Array.from({ length: 20 }, () => create()))
    harness.testClock.advance(1_000)
    const states = await Promise.all(transfers.map(cancel))
    for (const [index, transfer] of transfers.entries()) {
      const isDone = states[index] === TransferState.COMPLETED
      expect((await enquire(transfer)).state).toBe(states[index])
      expect(await executionsOf(transfer)).toHaveLength(isDone ? 1 : 0)
      await expectReports(transfer, [isDone ? 'COMPLETED' : 'CANCELLED'])
    }
  })
})

describe('rates', () => {
  it('rates are those of this moment', async () => {
    const beforeMs = Date.now()
    const { rate, sourceTime } = await harness.rates.getRate({
      baseCurrency: 'USD',
      quotedCurrency: 'TTD',
    })
    expect(rate).toBe('6.7829')
    const sourceMs = sourceTime === undefined ? 0 : timestampDate(sourceTime).getTime()
    expect(sourceMs).toBeGreaterThan(beforeMs - 2_000)
    expect(sourceMs).toBeLessThan(Date.now() + 2_000)
  })

  it('rates are refused for a currency without one', async () => {
    const call = harness.rates.getRate({ baseCurrency: 'USD', quotedCurrency: 'GHS' })
    await expect(call).rejects.toMatchObject({ reason: 'CURRENCY_NOT_SUPPORTED' })
  })
})
