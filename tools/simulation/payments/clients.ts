// The clients of a run of payments: merchants who create, cancel and refund, and payers who pay, hesitate or do not come.
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import {
  PayerState,
  type Payment,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import type { Random } from '../../campaign/random.ts'
import { uuid } from '../engine/globals.ts'
import type { Process, Scheduler } from '../engine/scheduler.ts'
import { type Callee, clientOf } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'
import type { Connector } from './connector.ts'

/** A payment that a merchant asks for, with one transaction id. */
export type Order = {
  transactionId: string
  shares: bigint[]
  /** Days until its payout goes out. */
  delayDays: number
  /** The payments that the merchant was shown. */
  answers: Payment[]
}

/** What the clients do. */
export type Clients = { orders: Order[]; hasEnded(): boolean }

/** Whom clients call. */
export type Called = {
  payments: readonly Callee<typeof PaymentsService>[]
  checkouts: readonly Callee<typeof CheckoutService>[]
  connectors: readonly Connector[]
}

const currency = 'USD'
const payerHabits = ['calls', 'calls', 'calls', 'comes', 'calls and comes', 'stays away'] as const
const merchantHabits = ['waits', 'waits', 'cancels', 'refunds', 'refunds twice'] as const
/** Share of payments that two calls create at once, and of payers who submit the page twice. */
const twiceShare = 0.3
const maxSubmissions = 8
const isOpen = ({ state }: Payment): boolean =>
  state === PaymentState.PENDING || state === PaymentState.PARTIALLY_PAID
const isPaying = (state: PayerState): boolean =>
  state === PayerState.PENDING || state === PayerState.PROCESSING

/** Starts the clients. */
export function startClients(simulation: Simulation, called: Called): Clients {
  const { scheduler, plan } = simulation
  const { random } = scheduler
  const process = scheduler.start('client', 0)
  const options = { caller: process, timeoutMs: 15_000 }
  const payments = clientOf(simulation, PaymentsService, called.payments, options)
  const checkouts = clientOf(simulation, CheckoutService, called.checkouts, options)
  const [projectId, merchantId] = [newUuid(random), newUuid(random)]
  const orders = Array.from({ length: plan.charged }, (_, n) => drawOrder(random, n))
  const { later, hasEnded } = createWork(scheduler, process)
  const beginPayer = createPayers(simulation, { later, checkouts, connectors: called.connectors })

  /** Repeats a call until it is answered, or refused for good. */
  async function untilAnswered<T>(call: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        if (refusals.has(error.reason)) return undefined
      }
      await delay(random.whole(50, 2_000))
    }
  }

  async function show(order: Order, call: () => Promise<{ payment?: Payment | undefined }>) {
    const payment = (await untilAnswered(call))?.payment
    if (payment !== undefined) order.answers.push(payment)
    return payment
  }

  async function create(order: Order): Promise<Payment | undefined> {
    const request = requestOf(order, { projectId, merchantId })
    return show(order, () => payments.createPayment(request))
  }

  async function begin(order: Order): Promise<void> {
    const payment = await create(order)
    if (payment === undefined) return
    for (const { payerId, linkToken } of payment.payers) beginPayer(payerId, linkToken)
    const key = { projectId, merchantId, paymentId: payment.paymentId }
    const habit = random.pick(merchantHabits)
    if (habit === 'cancels') {
      later(plan.timeToPayS * 1_000, async () => {
        await show(order, () => payments.cancelPayment(key))
      })
    }
    const refunds = habit === 'refunds' ? 1 : habit === 'refunds twice' ? 2 : 0
    later(0, async () => {
      let seen = await show(order, () => payments.getPayment(key))
      while (seen === undefined || isOpen(seen)) {
        await delay(random.whole(1_000, 4_000))
        seen = await show(order, () => payments.getPayment(key))
      }
      for (let n = 0; n < refunds; n += 1) {
        later(3_000, async () => {
          await show(order, () => payments.refundPayment(key))
        })
      }
    })
  }

  for (const order of orders) {
    later(plan.chargedWithinMs, () => begin(order))
    if (random.next() < twiceShare) {
      later(plan.chargedWithinMs, async () => {
        await create(order)
      })
    }
  }
  return { orders, hasEnded }
}

/** Runs work at some time, and knows whether all has ended. */
function createWork(scheduler: Scheduler, process: Process) {
  let left = 0
  return {
    hasEnded: () => left === 0,
    later(withinMs: number, work: () => Promise<void>): void {
      left += 1
      const run = () => work().finally(() => (left -= 1))
      scheduler.after(scheduler.random.next() * withinMs, run, process)
    },
  }
}

/** Makes the function that sends a payer on their way. */
function createPayers(
  { scheduler: { random }, plan }: Simulation,
  {
    later,
    checkouts,
    connectors,
  }: {
    later: (withinMs: number, work: () => Promise<void>) => void
    checkouts: Client<typeof CheckoutService>
    connectors: readonly Connector[]
  },
) {
  function begin(payerId: string, linkToken: string): void {
    const habit = random.pick(payerHabits)
    const withinMs = random.pick([100, plan.timeToPayS * 1_100])
    if (habit === 'comes' || habit === 'calls and comes') {
      later(withinMs, async () => {
        for (const connector of connectors) connector.payHere(payerId)
      })
    }
    if (habit === 'calls' || habit === 'calls and comes') {
      const times = random.next() < twiceShare ? 2 : 1
      for (let n = 0; n < times; n += 1) later(withinMs, () => submit(linkToken))
    }
  }

  /** Submits the page until the share is no longer to be paid, or the payer has had enough. */
  async function submit(linkToken: string): Promise<void> {
    for (let n = 0; n < maxSubmissions; n += 1) {
      const call = checkouts.payWithWallet({ linkToken, pin: '1234' })
      const checkout = await call.then((answer) => answer.checkout, unanswered)
      if (checkout !== undefined && !isPaying(checkout.payerState)) return
      await delay(random.whole(100, 4_000))
    }
  }

  return begin
}

/** Answers that stay the same, however often the call is made. */
const refusals = new Set(['PAYMENT_NOT_CANCELLABLE', 'PAYMENT_NOT_REFUNDABLE'])

function unanswered(error: unknown): undefined {
  if (!(error instanceof Failure)) throw error
}

const newUuid = (random: Random): string =>
  uuid(Uint8Array.from({ length: 16 }, () => random.whole(0, 255)))

function drawOrder(random: Random, n: number): Order {
  const shares = Array.from({ length: random.whole(1, 2) }, () => BigInt(random.whole(100, 9_999)))
  const delayDays = random.next() < 0.3 ? 1 : 0
  return { transactionId: `order-${n}`, shares, delayDays, answers: [] }
}

function requestOf(
  { transactionId, shares, delayDays }: Order,
  owner: { projectId: string; merchantId: string },
) {
  const amountMinor = shares.reduce((sum, share) => sum + share, 0n)
  const payee = { mobileNumberE164: '+18685550199', amountMinor, delayDays }
  return {
    ...owner,
    transactionId,
    amountMinor,
    currency,
    // The merchant is the payee of a payment that names none, and gets the money at once.
    payees: delayDays === 0 ? [] : [payee],
    payers: shares.map((share, index) => ({
      mobileNumberE164: `+1868555010${index}`,
      paymentChannel: PaymentChannel.PAYMENT_LINK,
      paymentMethod: PaymentMethod.WALLET,
      amountMinor: share,
    })),
    requestFingerprint: Buffer.alloc(32, transactionId),
  }
}
