// Kills the simulator repeatedly under load: no id is executed twice and no outcome that it returned changes.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { BillState } from '#gen/payweave/backend/v1/billers_pb.js'
import { TransferState, TransferType } from '#gen/payweave/backend/v1/transfers_pb.js'
import { eventually } from '../support/eventually.ts'
import { startStandIns } from './harness.ts'
import { type SimulatorProcess, simulatorProcess } from './process.ts'

vi.setConfig({ testTimeout: 240_000 })

let standIns: Awaited<ReturnType<typeof startStandIns>>
let simulator: SimulatorProcess
beforeAll(async () => {
  standIns = await startStandIns()
  simulator = simulatorProcess(standIns)
})
afterAll(async () => {
  await simulator.end('SIGKILL')
  await standIns.remove()
})

const kills = 6
const callTimeoutMs = 1_000
const paceMs = 10
/** A client without a response waits, so that the restarting process gets the processor. */
const unansweredPaceMs = 50
const enquiriesAtOnce = 50
const start = async () => void (await once(simulator.run({}).child, 'message'))
/** Without a response the outcome is unknown. */
const unknownWhenUnclear = (error: unknown) => {
  if (error instanceof Failure && error.reason !== 'REFERENCE_REFUSED') return undefined
  throw error
}

/** Clients that pay bills and make transfers, and record the outcomes that they receive. */
function load() {
  const words = new Map<string, Set<unknown>>()
  const note = (id: string, word: unknown) => {
    if (word === undefined) return
    words.set(id, (words.get(id) ?? new Set()).add(word))
  }
  const bills: string[] = []
  const transfers: string[] = []
  const options = { timeoutMs: callTimeoutMs }
  const stopping = new AbortController()

  async function payBills(reference: string) {
    while (!stopping.signal.aborted) {
      const billPaymentId = randomUUID()
      bills.push(billPaymentId)
      const order = {
        billPaymentId,
        billerCode: 'DEMO_POWER',
        productCode: 'PREPAID',
        amount: { currency: 'USD', minorUnits: 100n },
        customerReference: reference,
      }
      let answer: Awaited<ReturnType<typeof standIns.bills.payBill>> | undefined
      for (let repeat = 0; repeat < 2; repeat += 1) {
        answer = await standIns.bills.payBill(order, options).catch(unknownWhenUnclear)
        note(billPaymentId, answer?.outcome?.providerReference)
      }
      await delay(answer === undefined ? unansweredPaceMs : paceMs)
    }
  }

  async function carry() {
    while (!stopping.signal.aborted) {
      const transferId = randomUUID()
      const transfer = {
        transferId,
        type: TransferType.CASHOUT,
        institutionName: 'Demo Wallet',
        debitAmount: { currency: 'USD', minorUnits: 100n },
        creditAmount: { currency: 'USD', minorUnits: 100n },
        creditParty: { accountNumber: '100200300' },
      }
      const taken = await standIns.transfers
        .createTransfer(transfer, options)
        .catch(unknownWhenUnclear)
      if (taken !== undefined) transfers.push(transferId)
      await delay(taken === undefined ? unansweredPaceMs : paceMs)
    }
  }

  const running = Promise.all([...['12345678', '12345678', '12340504'].map(payBills), carry()])
  return {
    bills,
    transfers,
    words,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function executionsOf(kind: string, ids: string[]): Promise<string[]> {
  const found: string[] = []
  for (let from = 0; from < ids.length; from += 50) {
    const query = ids.slice(from, from + 50).map((id) => `&id=${id}`)
    const answer = await fetch(`${standIns.publicUrl}/executions?kind=${kind}${query.join('')}`)
    const { executions } = (await answer.json()) as { executions: { id: string }[] }
    found.push(...executions.map(({ id }) => id))
  }
  return found
}

it('a simulator that is killed under load executes each id at most once and keeps every answer', async () => {
  await start()
  const { bills, transfers, words, stop } = load()
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(150 + Math.random() * 300)
    await simulator.end('SIGKILL')
    await start()
  }
  await stop()

  const paid: string[] = []
  const broken: string[] = []
  const settled = async (billPaymentId: string) => {
    const { outcome } = await standIns.bills.enquireBill({ billPaymentId })
    const seen = words.get(billPaymentId) ?? new Set()
    const isPaid = outcome?.state === BillState.PAID
    if (isPaid) paid.push(billPaymentId)
    const stands = isPaid ? seen.add(outcome.providerReference).size === 1 : seen.size === 0
    if (!stands || (!isPaid && outcome?.state !== BillState.NOT_FOUND)) broken.push(billPaymentId)
  }
  for (let from = 0; from < bills.length; from += enquiriesAtOnce) {
    await Promise.all(bills.slice(from, from + enquiriesAtOnce).map(settled))
  }
  expect(broken).toEqual([])
  expect(paid.length).toBeGreaterThan(0)
  expect((await executionsOf('bill', bills)).toSorted()).toEqual(paid.toSorted())

  const reported = () => standIns.institution.got.map(({ id }) => id)
  await eventually(() => expect(reported()).toEqual(expect.arrayContaining(transfers)))
  expect(transfers.length).toBeGreaterThan(0)
  expect((await executionsOf('transfer', transfers)).toSorted()).toEqual(transfers.toSorted())
})

it('a simulator that is killed with everything in progress ends all of it after the next start', async () => {
  const { bills, transfers, reviews, accounts, institution } = standIns
  const [billPaymentId, transferId, reviewId, challengeId] = [1, 2, 3, 4].map(() => randomUUID())
  if (!billPaymentId || !transferId || !reviewId || !challengeId) throw new Error('no ids')
  const money = { currency: 'USD', minorUnits: 100n }
  const institutionName = 'Demo Wallet'
  const paying = bills
    .payBill({
      billPaymentId,
      billerCode: 'DEMO_POWER',
      productCode: 'PREPAID',
      amount: money,
      customerReference: '12340408',
    })
    .catch(unknownWhenUnclear)
  const type = TransferType.DEPOSIT
  await transfers.createTransfer({
    transferId,
    type,
    institutionName,
    debitAmount: money,
    creditAmount: money,
  })
  await reviews.submitOnboarding({ reviewId, institutionName, mobileNumber: '+12025550113' })
  const expireTime = timestampFromDate(new Date(Date.now() + 600_000))
  const challenge = { challengeId, institutionName, clientName: 'Demo Store', expireTime }
  await reviews.requestConsent({ ...challenge, mobileNumber: '+12025550100' })
  const givenUp = randomUUID()
  await bills.enquireBill({ billPaymentId: givenUp })
  await simulator.end('SIGKILL')
  expect(await paying).toBeUndefined()

  await start()
  await eventually(async () => {
    expect([...accounts.of(reviewId), ...accounts.of(challengeId)]).toMatchObject([
      { outcome: 'COMPLETED' },
      { outcome: 'APPROVED' },
    ])
    expect(institution.of(transferId)).toMatchObject([{ outcome: 'COMPLETED' }])
    const { outcome } = await bills.enquireBill({ billPaymentId })
    expect(outcome?.state).toBe(BillState.PAID)
  })
  expect((await transfers.enquireTransfer({ transferId })).state).toBe(TransferState.COMPLETED)
  expect(await executionsOf('bill', [billPaymentId, givenUp])).toEqual([billPaymentId])
  expect((await bills.enquireBill({ billPaymentId: givenUp })).outcome?.state).toBe(
    BillState.NOT_FOUND,
  )
})
