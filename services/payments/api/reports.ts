// Maps payweave.payments.v1.ChargeReportService to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { invalid, missing } from '#core/errors/errors.ts'
import { paymentMethods, refusalReasons, wordOf } from '#core/payment/words.ts'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import {
  ChargeOutcome,
  type ChargeReportService,
  TransferOutcome as WireTransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { AttemptOutcome } from '../domain/charge-report.ts'
import type { TransferOutcome } from '../domain/payout.ts'
import type { PaymentContext } from '../operations/payments.ts'
import { reportCharge, reportPayout, reportRefund } from '../operations/reports.ts'
import { payerStateNumber, payoutStateNumber } from './messages.ts'

const chargeOutcomes: Partial<Record<ChargeOutcome, AttemptOutcome>> = {
  [ChargeOutcome.PROCESSING]: 'processing',
  [ChargeOutcome.PAID]: 'paid',
  [ChargeOutcome.REFUSED]: 'refused',
}

const transferOutcomes: Partial<Record<WireTransferOutcome, TransferOutcome>> = {
  [WireTransferOutcome.COMPLETED]: 'completed',
  [WireTransferOutcome.FAILED]: 'failed',
}

/**
 * The handlers of ChargeReportService; a repeated report changes nothing. All refuse an id that was never announced
 * with CHARGE_NOT_FOUND, and an outcome that is not set with MISSING_PARAMETER. `reportCharge` refuses the reason of a
 * refusal with another outcome with INVALID_PARAMETER.
 */
export function chargeReportService(
  payments: PaymentContext,
): ServiceImpl<typeof ChargeReportService> {
  return {
    async reportCharge({ chargeId, attemptId, outcome, paymentMethod, refusalReason }) {
      if (refusalReason !== RefusalReason.UNSPECIFIED && outcome !== ChargeOutcome.REFUSED) {
        throw invalid('refusal_reason', 'must be unset for an outcome that is no refusal')
      }
      const state = await reportCharge(payments, chargeId, {
        attemptId,
        outcome: required(chargeOutcomes[outcome]),
        paymentMethod: wordOf(paymentMethods, paymentMethod),
        refusalReason: wordOf(refusalReasons, refusalReason),
      })
      return { payerState: payerStateNumber(state) }
    },
    async reportPayout({ payoutId, outcome }) {
      const state = await reportPayout(payments, payoutId, required(transferOutcomes[outcome]))
      return { payoutState: payoutStateNumber(state) }
    },
    async reportRefund({ refundId, outcome }) {
      await reportRefund(payments, refundId, required(transferOutcomes[outcome]))
      return {}
    },
  }
}

function required<T>(outcome: T | undefined): T {
  if (outcome !== undefined) return outcome
  throw missing('outcome')
}
