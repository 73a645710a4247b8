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
import { currentReporter } from '#platform/rpc/auth/reporter.ts'
import type { AttemptOutcome } from '../domain/charge-report.ts'
import type { TransferOutcome } from '../domain/payout.ts'
import type { PaymentContext } from '../operations/payments.ts'
import {
  type RefundOutcome,
  reportCharge,
  reportPayout,
  reportRefund,
} from '../operations/reports.ts'
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

const refundOutcomes: Partial<Record<WireTransferOutcome, RefundOutcome>> = {
  ...transferOutcomes,
  [WireTransferOutcome.RETURNED]: 'returned',
}

/**
 * The handlers of ChargeReportService; a repeated report changes nothing. All refuse an id that was never announced,
 * or that another connector has, with CHARGE_NOT_FOUND, and an outcome that is not set with MISSING_PARAMETER. `reportCharge` refuses the reason of a
 * refusal with another outcome with INVALID_PARAMETER, and `reportPayout` a payout that was returned.
 */
export function chargeReportService(
  payments: PaymentContext,
): ServiceImpl<typeof ChargeReportService> {
  return {
    async reportCharge({ chargeId, attemptId, outcome, paymentMethod, refusalReason }) {
      if (refusalReason !== RefusalReason.UNSPECIFIED && outcome !== ChargeOutcome.REFUSED) {
        throw invalid('refusal_reason', 'must be unset for an outcome that is no refusal')
      }
      const report = {
        attemptId,
        outcome: required(chargeOutcomes[outcome]),
        paymentMethod: wordOf(paymentMethods, paymentMethod),
        refusalReason: wordOf(refusalReasons, refusalReason),
      }
      const state = await reportCharge(payments, chargeId, report, currentReporter())
      return { payerState: payerStateNumber(state) }
    },
    async reportPayout({ payoutId, outcome }) {
      if (outcome === WireTransferOutcome.RETURNED)
        throw invalid('outcome', 'is one of refunds only')
      const ended = required(transferOutcomes[outcome])
      const state = await reportPayout(payments, payoutId, ended, currentReporter())
      return { payoutState: payoutStateNumber(state) }
    },
    async reportRefund({ refundId, outcome }) {
      await reportRefund(payments, refundId, required(refundOutcomes[outcome]), currentReporter())
      return {}
    },
  }
}

function required<T>(outcome: T | undefined): T {
  if (outcome !== undefined) return outcome
  throw missing('outcome')
}
