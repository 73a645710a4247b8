// A connector of a run, with the rails behind it: it takes money, pays it out and refunds it, late, twice reported or not at all.
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { AttemptOutcome, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  TransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Process } from '../engine/scheduler.ts'
import { type Callee, clientOf } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'
import { createReporter, type Reporter } from './reporter.ts'

/** Money that the connector has taken from a payer; of one attempt, once. */
export type Receipt = {
  chargeId: string
  attemptId: string
  amountMinor: bigint
  /** By a call of payments; otherwise the payer came to the connector. */
  isCalled: boolean
}

/** A refund or a payout that was accepted: the money has left the connector, or it is refused for ever. */
export type Transfer = {
  id: string
  chargeId: string | undefined
  amountMinor: bigint
  isDone: boolean
}

/** The outside world: it neither fails nor forgets. */
export type Connector = {
  name: string
  charges: Callee<typeof ChargeService>
  payouts: Callee<typeof PayoutService>
  /** Amounts of the charges that were announced, by id. */
  announced: ReadonlyMap<string, bigint>
  withdrawn: ReadonlySet<string>
  receipts: readonly Receipt[]
  transfers: ReadonlyMap<string, Transfer>
  /** A payer pays without a call of payments, at an agent or by a card form. Nothing happens when the charge is not there or was withdrawn. */
  payHere(chargeId: string): void
  /** Whether it has nothing left to report. */
  isQuiet(): boolean
}

type Attempt = { isPaid: boolean; atMs: number } | 'unknown'

const maxSlowMs = [3_000, 20_000, 60_000]
/** Share of outcomes that payments hears only by its enquiry. */
const unreportedShare = 0.3
/** Shares of slow attempts that are answered with "processing" at once; the others when they end. */
const processingShare = 0.6
const { PROCESSING, PAID, REFUSED, UNSPECIFIED } = AttemptOutcome

type State = {
  simulation: Simulation
  name: string
  process: Process
  reporter: Reporter
  reports: Client<typeof ChargeReportService>
  announced: Map<string, bigint>
  withdrawn: Set<string>
  attempts: Map<string, Attempt>
  receipts: Receipt[]
  transfers: Map<string, Transfer>
}

/** A connector that has no charges yet, and that reports to `payments`. */
export function startConnector(
  simulation: Simulation,
  name: string,
  payments: readonly Callee<typeof ChargeReportService>[],
): Connector {
  const process = simulation.scheduler.start(name, 0)
  const options = { caller: process, timeoutMs: 10_000, as: name }
  const state: State = {
    simulation,
    name,
    process,
    reporter: createReporter(simulation, { name, process }),
    reports: clientOf(simulation, ChargeReportService, payments, options),
    announced: new Map(),
    withdrawn: new Set(),
    attempts: new Map(),
    receipts: [],
    transfers: new Map(),
  }
  const charges = chargeHandlers(state)
  const payouts = payoutHandlers(state)
  const { announced, withdrawn, receipts, transfers, reporter } = state
  return {
    name,
    charges: { process, served: () => charges },
    payouts: { process, served: () => payouts },
    announced,
    withdrawn,
    receipts,
    transfers,
    isQuiet: reporter.isQuiet,
    payHere: (chargeId) => payHere(state, chargeId),
  }
}

function chargeHandlers(state: State): ServiceImpl<typeof ChargeService> {
  const { announced, withdrawn, attempts } = state
  const { scheduler } = state.simulation
  return {
    async announceCharges({ charges }) {
      for (const { chargeId, amount } of charges) announced.set(chargeId, amount?.minorUnits ?? 0n)
      return {}
    },
    async withdrawCharges({ withdrawals }) {
      for (const { chargeId } of withdrawals) withdrawn.add(chargeId)
      return {}
    },
    async payWithWallet({ chargeId, attemptId }) {
      const amountMinor = announced.get(chargeId)
      if (amountMinor === undefined) throw new Failure('CHARGE_NOT_FOUND', 'no such charge')
      const attempt = attempts.get(attemptId) ?? begin(state, { chargeId, attemptId, amountMinor })
      if (attempt === 'unknown') return { outcome: REFUSED }
      const isLate = scheduler.random.next() >= processingShare
      if (isLate) await delay(Math.max(0, attempt.atMs - scheduler.nowMs()))
      return { outcome: outcomeOf(state, attempt) }
    },
    async getAttempt({ attemptId }) {
      const attempt = attempts.get(attemptId) ?? 'unknown'
      attempts.set(attemptId, attempt)
      return { outcome: outcomeOf(state, attempt) }
    },
    openCardFrame: () => Promise.reject(new Error('no payer of a run opens a card form')),
  }
}

function payoutHandlers(state: State): ServiceImpl<typeof PayoutService> {
  return {
    async createPayout({ payoutId, amount }) {
      accept(state, payoutId, amount?.minorUnits ?? 0n, undefined)
      return {}
    },
    async createRefund({ refundId, chargeId, amount }) {
      accept(state, refundId, amount?.minorUnits ?? 0n, chargeId)
      return {}
    },
  }
}

const hasFaults = ({ scheduler, plan }: Simulation): boolean => scheduler.nowMs() < plan.faultsMs

function slowMs(simulation: Simulation): number {
  const { random } = simulation.scheduler
  const isSlow = hasFaults(simulation) && random.next() < simulation.plan.slowPostShare
  return isSlow ? random.next() * random.pick(maxSlowMs) : 0
}

function isAccepted(simulation: Simulation): boolean {
  return (
    !hasFaults(simulation) || simulation.scheduler.random.next() >= simulation.plan.refusedShare
  )
}

function take({ simulation, name, receipts }: State, receipt: Receipt): void {
  const { chargeId, attemptId, amountMinor } = receipt
  simulation.scheduler.record(name, `takes ${amountMinor} of ${chargeId} by ${attemptId}`)
  receipts.push(receipt)
}

function begin(state: State, tried: Omit<Receipt, 'isCalled'>): Attempt {
  const { simulation, withdrawn, attempts, reporter, reports } = state
  const { scheduler } = simulation
  const { chargeId, attemptId } = tried
  const isPaid = isAccepted(simulation) && !withdrawn.has(chargeId)
  const attempt = { isPaid, atMs: scheduler.nowMs() + slowMs(simulation) }
  attempts.set(attemptId, attempt)
  if (isPaid) take(state, { ...tried, isCalled: true })
  const outcome = isPaid ? ChargeOutcome.PAID : ChargeOutcome.REFUSED
  const afterMs = attempt.atMs - scheduler.nowMs()
  if (afterMs > 0 && scheduler.random.next() >= unreportedShare) {
    reporter.report(afterMs, () => reports.reportCharge({ chargeId, attemptId, outcome }))
  }
  return attempt
}

function outcomeOf({ simulation }: State, attempt: Attempt): AttemptOutcome {
  if (attempt === 'unknown') return UNSPECIFIED
  if (simulation.scheduler.nowMs() < attempt.atMs) return PROCESSING
  return attempt.isPaid ? PAID : REFUSED
}

function accept(
  { simulation, name, transfers, reporter, reports }: State,
  id: string,
  amountMinor: bigint,
  chargeId: string | undefined,
): void {
  if (transfers.has(id)) return
  const isDone = isAccepted(simulation)
  const what = chargeId === undefined ? 'pays out' : `refunds ${chargeId} by`
  simulation.scheduler.record(name, `${isDone ? what : 'refuses'} ${id}: ${amountMinor}`)
  transfers.set(id, { id, chargeId, amountMinor, isDone })
  const outcome = isDone ? TransferOutcome.COMPLETED : TransferOutcome.FAILED
  reporter.report(slowMs(simulation), () =>
    chargeId === undefined
      ? reports.reportPayout({ payoutId: id, outcome })
      : reports.reportRefund({ refundId: id, outcome }),
  )
}

function payHere(state: State, chargeId: string): void {
  const { simulation, announced, withdrawn, reporter, reports } = state
  const amountMinor = announced.get(chargeId)
  if (amountMinor === undefined || withdrawn.has(chargeId)) return
  const attemptId = randomId()
  take(state, { chargeId, attemptId, amountMinor, isCalled: false })
  const paid = { chargeId, attemptId, paymentMethod: PaymentMethod.CARD }
  reporter.report(slowMs(simulation), () =>
    reports.reportCharge({ ...paid, outcome: ChargeOutcome.PAID }),
  )
}
