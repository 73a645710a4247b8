// Accepts and ends the money that is sent out: payouts and refunds.
import { Failure } from '#core/errors/errors.ts'
import { TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { Database } from '#platform/db/db.ts'
import { payoutReport, refundReport } from '../api/report-messages.ts'
import type { Credit } from '../domain/payment.ts'
import type { ClaimedWork } from '../domain/work.ts'
import {
  findCredit,
  insertCredit,
  updateCredit,
  updateReturnedRefund,
} from '../store/payment-store.ts'
import { hastenWork, holdWork, insertWork } from '../store/work-store.ts'

const reportKind = 'report.payments'

/**
 * Stores a credit with the work of this kind that sends it. Repeating it moves nothing: what is open of its work, or of its report, is
 * done at once. Rejects with REFERENCE_CONFLICT when the reference is that of another credit.
 */
export async function acceptCredit(db: Database, credit: Credit, workKind: string): Promise<void> {
  const { reference } = credit
  await db.transaction(async (tx) => {
    if (!(await insertCredit(tx, credit))) {
      if (isSame(credit, await findCredit(tx, reference))) {
        await hastenWork(tx, [workKind, reportKind], reference)
        return
      }
      throw new Failure('REFERENCE_CONFLICT', `${reference} was used with other content`)
    }
    const payload = Buffer.alloc(0)
    await insertWork(tx, { kind: workKind, key: reference, subject: reference, payload })
  })
}

function isSame(credit: Credit, known: Credit | undefined): boolean {
  if (known?.chargeId != null && known.chargeId !== credit.chargeId) return false
  const fields = ['kind', 'currency', 'amountMinor', 'mobileNumber'] as const
  return fields.every((field) => credit[field] === known?.[field])
}

/**
 * Ends a credit and owes Payweave the report, in one transaction; a second end changes nothing. A worker passes the work by
 * which it concluded that: rejects, and changes nothing, when another worker has claimed that work since.
 */
export function endCredit(
  db: Database,
  reference: string,
  state: 'completed' | 'failed',
  work?: ClaimedWork,
): Promise<void> {
  return db.transaction(async (tx) => {
    if (work !== undefined) await holdWork(tx, work)
    const kind = await updateCredit(tx, reference, state)
    const outcome = state === 'completed' ? TransferOutcome.COMPLETED : TransferOutcome.FAILED
    if (kind === 'payout') await insertWork(tx, payoutReport({ payoutId: reference, outcome }))
    if (kind === 'refund') await insertWork(tx, refundReport({ refundId: reference, outcome }))
  })
}

/**
 * Records that a completed refund has come back, and owes Payweave the report, in one transaction; false when it is not completed,
 * or has come back before.
 */
export function returnRefund(db: Database, reference: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await updateReturnedRefund(tx, reference))) return false
    const outcome = TransferOutcome.RETURNED
    await insertWork(tx, refundReport({ refundId: reference, outcome }))
    return true
  })
}
