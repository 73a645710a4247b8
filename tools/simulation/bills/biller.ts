// The biller of a run: it pays, refuses or takes its time, executes no id twice, and refuses for ever what it has called unknown.
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  type BillerService,
  BillState,
  RetryCategory,
} from '#gen/payweave/backend/v1/billers_pb.js'
import type { Callee } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'

/** A bill that the biller has paid. */
export type Execution = {
  billPaymentId: string
  customerReference: string
  amountMinor: bigint
  /** State and amount of its hold when the biller got it; undefined without one. */
  hold: { state: string; amountMinor: bigint } | undefined
}

/** The outside world: it neither fails nor forgets. */
export type Biller = Callee<typeof BillerService> & { executions: Execution[] }

type Decided = { isPaid: boolean; atMs: number } | 'unknown'

const maxSlowMs = [5_000, 90_000]
const holdText = 'select state, amount_minor as "amountMinor" from accounts.hold where hold_id = $1'

/** A biller that has no bills yet. */
export function startBiller({ scheduler, server, plan }: Simulation): Biller {
  const { random } = scheduler
  const process = scheduler.start('biller', 0)
  const executions: Execution[] = []
  const bills = new Map<string, Decided>()

  function decide(): Decided {
    const hasFaults = scheduler.nowMs() < plan.faultsMs
    const isPaid = !hasFaults || random.next() >= plan.refusedShare
    const isSlow = hasFaults && random.next() < plan.slowPostShare
    return {
      isPaid,
      atMs: scheduler.nowMs() + (isSlow ? random.next() * random.pick(maxSlowMs) : 0),
    }
  }

  async function execute(execution: Omit<Execution, 'hold'>): Promise<void> {
    const { billPaymentId, customerReference } = execution
    scheduler.record('biller', `pays ${billPaymentId} of ${customerReference}`)
    const [hold] = await server.read<NonNullable<Execution['hold']>>(holdText, [billPaymentId])
    executions.push({ ...execution, hold })
  }

  function outcomeOf(decided: Decided | undefined) {
    if (decided === 'unknown' || decided === undefined) return { state: BillState.NOT_FOUND }
    if (scheduler.nowMs() < decided.atMs) return { state: BillState.PENDING }
    if (decided.isPaid) return { state: BillState.PAID }
    const retryCategory = RetryCategory.NON_RETRIABLE
    return { state: BillState.REFUSED, failureCode: 'BILL_ALREADY_PAID', retryCategory }
  }

  const handlers: ServiceImpl<typeof BillerService> = {
    async payBill({ billPaymentId, customerReference, amount }) {
      let decided = bills.get(billPaymentId)
      if (decided === undefined) {
        decided = decide()
        bills.set(billPaymentId, decided)
        const amountMinor = amount?.minorUnits ?? 0n
        const execution = { billPaymentId, customerReference, amountMinor }
        if (decided !== 'unknown' && decided.isPaid) scheduler.after(0, () => execute(execution))
      }
      if (decided === 'unknown') throw new Failure('REFERENCE_REFUSED', 'it was called unknown')
      await delay(Math.max(0, decided.atMs - scheduler.nowMs()))
      return { outcome: outcomeOf(decided) }
    },
    async enquireBill({ billPaymentId }) {
      const decided = bills.get(billPaymentId) ?? 'unknown'
      bills.set(billPaymentId, decided)
      return { outcome: outcomeOf(decided) }
    },
  }
  return { process, executions, served: () => handlers }
}
