// Maps a settlement to its ledger transfer. Pure.
import type { Settlement } from '#gen/payweave/payments/v1/settlement_pb.js'
import { SettlementKind } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { InternalName, NewTransfer } from './ledger.ts'

/** The internal accounts that a settlement debits and credits. */
export type Move = { debit: InternalName; credit: InternalName }

/**
 * The accounts of each kind. A refund is not here: it debits the account that its receipt has credited. A returned payout that reverses
 * a recovery credits the account that the recovery has debited.
 */
const moves: Readonly<Partial<Record<SettlementKind, Move>>> = {
  [SettlementKind.PAYER_RECEIPT]: { debit: 'clearing', credit: 'held' },
  [SettlementKind.LATE_RECEIPT]: { debit: 'clearing', credit: 'suspense' },
  [SettlementKind.DUPLICATE_RECEIPT]: { debit: 'clearing', credit: 'suspense' },
  [SettlementKind.FEE]: { debit: 'held', credit: 'fee_income' },
  [SettlementKind.MERCHANT_FEE]: { debit: 'merchant_receivable', credit: 'fee_income' },
  [SettlementKind.FEE_RETURNED]: { debit: 'fee_income', credit: 'held' },
  [SettlementKind.MERCHANT_FEE_RETURNED]: { debit: 'fee_income', credit: 'merchant_receivable' },
  [SettlementKind.REFUND_RETURNED]: { debit: 'clearing', credit: 'refunds_unpaid' },
  [SettlementKind.PAYOUT]: { debit: 'held', credit: 'clearing' },
  [SettlementKind.PAYOUT_RETURNED]: { debit: 'clearing', credit: 'held' },
  [SettlementKind.PAYOUT_RECOVERY]: { debit: 'merchant_receivable', credit: 'held' },
}

/** The accounts of a settlement. Throws a RangeError for a kind that this version does not know. */
export function moveOf({ kind, reversesKind }: Pick<Settlement, 'kind' | 'reversesKind'>): Move {
  const move = moveOfKind(kind, reversesKind)
  if (move === undefined) {
    throw new RangeError(`no accounts are known for settlement kind ${kind} of ${reversesKind}`)
  }
  return move
}

function moveOfKind(kind: SettlementKind, reversesKind: SettlementKind): Move | undefined {
  const { REFUND, PAYOUT_RETURNED, PAYOUT_RECOVERY } = SettlementKind
  if (kind === REFUND) return refundOf(moves[reversesKind]?.credit)
  if (kind === PAYOUT_RETURNED && reversesKind === PAYOUT_RECOVERY) {
    return { debit: 'clearing', credit: 'merchant_receivable' }
  }
  return moves[kind]
}

function refundOf(debit: InternalName | undefined): Move | undefined {
  return debit === 'held' || debit === 'suspense' ? { debit, credit: 'clearing' } : undefined
}

/**
 * The transfer of a settlement, the same for a settlement of an event and of the list. Throws a RangeError for a kind that this
 * version does not know.
 */
export function transferOf(settlement: Settlement): NewTransfer {
  const { currency, amountMinor } = settlement
  const { debit, credit } = moveOf(settlement)
  return {
    projectId: settlement.projectId,
    transferId: settlement.settlementId,
    lines: [
      { address: { internal: debit }, currency, amountMinor: -amountMinor },
      { address: { internal: credit }, currency, amountMinor },
    ],
    details: {
      reference: settlement.transactionId,
      method: 'payment',
      metadata: {
        kind: SettlementKind[settlement.kind].toLowerCase(),
        payment_id: settlement.paymentId,
        merchant_id: settlement.merchantId,
      },
    },
  }
}
