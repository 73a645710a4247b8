// The billing processes of a run, with the engine of the product.
import type { ServiceImpl } from '@connectrpc/connect'
import { Registry } from 'prom-client'
import { keyRing, newKeyOf } from '#core/identity/key-ring.ts'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import type { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { billingService } from '../../../services/billing/api/billing.ts'
import { startBilling } from '../../../services/billing/engine.ts'
import { ledgerTimeoutMs } from '../../../services/billing/operations/pay.ts'
import { billersOver } from '../../../services/billing/ports/backend.ts'
import { ledgerOver } from '../../../services/billing/ports/ledger.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import { type Callee, clientOf } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'

const billerTimeoutMs = 10_000
// More enquiries than the faults of a run use up: no bill waits for an operator.
const enquiryScheduleS = [1, 2, 3, ...Array.from({ length: 60 }, () => 5)]
const linkKeys = keyRing([newKeyOf(Buffer.alloc(32, 7), 'current', new Date(0))])

/** A process that pays bills. */
export type Billing = Member & { served(): ServiceImpl<typeof BillingService> }

/** Whom billing calls. */
export type Callees = {
  accounts: readonly Callee<typeof LedgerService>[]
  biller: Callee<typeof BillerService>
}

/** Starts a billing process. */
export function startBillingProcess(
  simulation: Simulation,
  name: string,
  { accounts, biller }: Callees,
): Billing {
  return startMember(simulation, { name, service: 'billing' }, ({ process, db, log }) => {
    const caller = process
    const ledgerMs = ledgerTimeoutMs(billerTimeoutMs)
    const ledger = clientOf(simulation, LedgerService, accounts, { caller, timeoutMs: ledgerMs })
    const billers = clientOf(simulation, BillerService, [biller], { caller, timeoutMs: 10_000 })
    const { billing } = startBilling({
      db,
      log,
      metrics: new Registry(),
      linkKeys: () => linkKeys,
      ledger: ledgerOver(ledger),
      billers: billersOver(billers, billerTimeoutMs),
      billerTimeoutMs,
      enquiryScheduleS,
    })
    return billingService(billing, { publicBaseUrl: 'https://pay.example', isSandbox: false })
  })
}
