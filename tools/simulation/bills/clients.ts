// The clients of a run: they fund floats and pay bills, and repeat each call until it is answered for good.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { InternalAccount, LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import {
  BillingService,
  type BillPayment,
  BillPaymentState,
} from '#gen/payweave/billing/v1/billing_pb.js'
import type { Random } from '../../campaign/random.ts'
import { type Callee, clientOf } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'

/** A bill that a client pays with one idempotency key. */
export type Order = {
  projectId: string
  idempotencyKey: string
  customerReference: string
  amountMinor: bigint
  /** The payments that the client was shown. */
  answers: BillPayment[]
}

/** A transfer that funds a float. */
export type Funding = {
  projectId: string
  transferId: string
  amountMinor: bigint
  /** The times of posting that the client was shown. */
  answers: string[]
}

/** What the clients do. */
export type Clients = { orders: Order[]; fundings: Funding[]; hasEnded(): boolean }

const currency = 'USD'
const projectCount = 2
/** Share of bills that are paid by two calls at once, and of clients who call once and never again. */
const [twiceShare, onceShare] = [0.3, 0.2]

/** Starts the clients. The floats get what all bills need, a part of it late. */
export function startClients(
  simulation: Simulation,
  accounts: readonly Callee<typeof LedgerService>[],
  billings: readonly Callee<typeof BillingService>[],
): Clients {
  const { scheduler, plan } = simulation
  const { random } = scheduler
  const process = scheduler.start('client', 0)
  const options = { caller: process, timeoutMs: 15_000 }
  const ledger = clientOf(simulation, LedgerService, accounts, options)
  const billing = clientOf(simulation, BillingService, billings, options)
  const clients = { orders: [] as Order[], fundings: [] as Funding[], hasEnded: () => left === 0 }
  let left = 1

  async function pay(order: Order, isOnce: boolean): Promise<void> {
    const { answers, amountMinor, ...rest } = order
    const amount = { currency, minorUnits: amountMinor }
    const bill = { ...rest, amount, billerCode: 'DEMO_POWER', productCode: 'PREPAID' }
    const request = { ...bill, fingerprint: Buffer.alloc(32, order.customerReference) }
    for (let isOver = false; !isOver; ) {
      const payment = await answered(billing.payBill(request).then((answer) => answer.payment))
      if (payment !== undefined) answers.push(payment)
      isOver = isOnce || (payment !== undefined && payment.state !== BillPaymentState.PENDING)
      if (!isOver) await delay(random.whole(50, 3_000))
    }
  }

  async function fund({ projectId, transferId, amountMinor, answers }: Funding): Promise<void> {
    const float = { holder: { case: 'floatProjectId' as const, value: projectId } }
    const opening = { holder: { case: 'internal' as const, value: InternalAccount.OPENING } }
    const postings = [
      { address: float, amount: { currency, minorUnits: amountMinor } },
      { address: opening, amount: { currency, minorUnits: -amountMinor } },
    ]
    const request = { projectId, transferId, postings }
    // A repeat after the answer gets the same one.
    while (answers.length < 2) {
      const answer = await answered(ledger.postTransfer(request))
      const time = answer?.transfer?.postTime
      if (time !== undefined) answers.push(`${time.seconds}.${time.nanos}`)
      else await delay(random.whole(50, 1_000))
    }
  }

  /** Runs it at some time of the phase of faults. */
  function later(withinMs: number, work: () => Promise<void>): void {
    left += 1
    const run = () => work().finally(() => (left -= 1))
    scheduler.after(random.next() * withinMs, run, process)
  }

  function begin(): void {
    const projectIds = Array.from({ length: projectCount }, randomId)
    for (let n = 0; n < plan.bills; n += 1) {
      const order = drawOrder(random, projectIds, n)
      clients.orders.push(order)
      const isOnce = random.next() < onceShare
      later(plan.billsWithinMs, () => pay(order, isOnce))
      if (random.next() < twiceShare) later(plan.billsWithinMs, () => pay(order, isOnce))
    }
    for (const projectId of projectIds) {
      const amountMinor = neededBy(projectId, clients.orders) / BigInt(plan.transfers) + 1n
      for (let n = 0; n < plan.transfers; n += 1) {
        const funding = { projectId, transferId: randomId(), amountMinor, answers: [] }
        clients.fundings.push(funding)
        later(n === 0 ? 10 : plan.faultsMs, () => fund(funding))
      }
    }
    left -= 1
  }
  scheduler.after(0, begin, process)
  return clients
}

function drawOrder(random: Random, projectIds: readonly string[], n: number): Order {
  return {
    projectId: random.pick(projectIds),
    idempotencyKey: `bill-${n}`,
    customerReference: String(10_000_000 + n),
    amountMinor: BigInt(random.whole(100, 1_000)),
    answers: [],
  }
}

/** What the bills of a project need, and a little more. */
function neededBy(projectId: string, orders: readonly Order[]): bigint {
  const own = orders.filter((order) => order.projectId === projectId)
  return own.reduce((sum, { amountMinor }) => sum + amountMinor, 1n)
}

/** What a call returned; undefined when it was refused or not answered. */
async function answered<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
