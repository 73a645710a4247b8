// Tests that the console says of each settlement what the ledger does with the money that is held.
import { expect, it } from 'vitest'
import { SettlementKind } from '#gen/payweave/payments/v1/settlement_pb.js'
import { heldChange } from '../../../console/routes/settlements.ts'
import { moveOf } from '../../../services/accounts/ledger/operations/settlement-transfer.ts'

const kinds = Object.values(SettlementKind).filter(
  (kind): kind is SettlementKind => typeof kind === 'number' && kind !== SettlementKind.UNSPECIFIED,
)

const { PAYER_RECEIPT, LATE_RECEIPT, REFUND, PAYOUT_RETURNED, PAYOUT_RECOVERY, UNSPECIFIED } =
  SettlementKind
const reversed = new Map([
  [REFUND, [PAYER_RECEIPT, LATE_RECEIPT]],
  [PAYOUT_RETURNED, [UNSPECIFIED, PAYOUT_RECOVERY]],
])

it('a settlement changes the money held in the console as in the ledger', () => {
  for (const kind of kinds) {
    for (const reversesKind of reversed.get(kind) ?? [UNSPECIFIED]) {
      const { debit, credit } = moveOf({ kind, reversesKind })
      const change = (credit === 'held' ? 7n : 0n) - (debit === 'held' ? 7n : 0n)
      expect([kind, heldChange({ kind, reversesKind, amountMinor: 7n })]).toEqual([kind, change])
    }
  }
  expect(kinds.length).toBeGreaterThan(11)
})
