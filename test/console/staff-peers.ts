// The services that pages of the staff call: ledger, settlements, catalogue and reviews.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  HoldState,
  InternalAccount,
  type LedgerService,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { type Texts, time } from './rows.ts'

const usd = (minorUnits: bigint) => ({ currency: 'USD', minorUnits })

/** What the staff sees. `seen` is called with each RPC that reaches a service. */
export function staffPeers(seen: (rpc: string) => void, texts: Texts) {
  const staff = {
    projectId: randomUUID(),
    transferId: randomUUID(),
    holdId: randomUUID(),
    billId: `bill-${texts.id}`,
  }
  const details = { reference: texts.id, description: texts.note, method: 'p2p' }
  const ledger: Partial<ServiceImpl<typeof LedgerService>> = {
    getTransfer({ projectId, transferId }) {
      seen('GetTransfer')
      if (transferId !== staff.transferId) throw new Failure('TRANSFER_NOT_FOUND', 'unknown')
      const float = { holder: { case: 'floatProjectId' as const, value: projectId } }
      const clearing = {
        holder: { case: 'internal' as const, value: InternalAccount.BILLER_CLEARING },
      }
      const postings = [
        { address: float, amount: usd(-1_234n) },
        { address: clearing, amount: usd(1_234n) },
      ]
      return { transfer: { transferId, projectId, postings, details, postTime: time } }
    },
    getHold({ projectId, holdId }) {
      seen('GetHold')
      if (holdId !== staff.holdId) throw new Failure('HOLD_NOT_FOUND', 'unknown')
      return { hold: { holdId, projectId, amount: usd(5n), state: HoldState.OPEN, details } }
    },
    checkLedger() {
      seen('CheckLedger')
      return { findings: [{ rule: 'L1', description: texts.note }], transfersChecked: 3n }
    },
  }
  const settlements: Partial<ServiceImpl<typeof SettlementPostingService>> = {
    getBackfill() {
      const refused = { settlementId: randomUUID(), projectId: staff.projectId, reason: texts.note }
      return { backfill: { round: 1n }, refused: [{ ...refused, refuseTime: time }] }
    },
    restartBackfill() {
      seen('RestartBackfill')
      return {}
    },
  }
  const catalogue: Partial<ServiceImpl<typeof CatalogueService>> = {
    listCatalogue() {
      const ranges = [{ min: usd(100n), max: usd(500_000n) }]
      const named = { billerCode: 'POWER', name: texts.name, active: true }
      const product = { ...named, productCode: 'HOME', referencePattern: texts.pattern, ranges }
      return { billers: [named], products: [product] }
    },
    putBiller() {
      seen('PutBiller')
      return {}
    },
    putProduct() {
      seen('PutProduct')
      return {}
    },
    listReviews() {
      const payment = {
        transactionId: staff.billId,
        billerCode: 'POWER',
        productCode: 'HOME',
        amount: usd(9_900n),
      }
      const item = { payment, projectId: staff.projectId, billPaymentId: randomUUID() }
      return { items: [{ ...item, enquiries: 8, sinceTime: time }] }
    },
    resolveReview() {
      seen('ResolveReview')
      return {}
    },
  }
  return { staff, ledger, settlements, catalogue }
}
