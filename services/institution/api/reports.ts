// Maps payweave.institution.v1.TransferReportService to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { missing } from '#core/errors/errors.ts'
import {
  TransferOutcome,
  type TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import type { Outcome } from '../domain/transaction.ts'
import type { Institution } from '../operations/institution.ts'
import { reportTransfer } from '../operations/reports.ts'

const outcomes: Partial<Record<TransferOutcome, Outcome>> = {
  [TransferOutcome.COMPLETED]: 'completed',
  [TransferOutcome.FAILED]: 'failed',
  [TransferOutcome.CANCELLED]: 'cancelled',
}

/**
 * The handler of TransferReportService; a repeated report changes nothing. It refuses an unknown transfer with
 * TRANSFER_NOT_FOUND, and an outcome that is not set with MISSING_PARAMETER.
 */
export function transferReportService(
  institution: Institution,
): ServiceImpl<typeof TransferReportService> {
  return {
    async reportTransfer({ transferId, outcome: wire, reason }) {
      const outcome = outcomes[wire]
      if (outcome === undefined) {
        const field = 'outcome'
        throw missing(field)
      }
      await reportTransfer(institution, transferId, { outcome, reason })
      return {}
    },
  }
}
