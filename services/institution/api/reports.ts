// Maps payweave.institution.v1.TransferReportService to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, missing } from '#core/errors/errors.ts'
import {
  TransferOutcome,
  type TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { checkReporter, currentReporter } from '#platform/rpc/auth/reporter.ts'
import type { Outcome } from '../domain/transaction.ts'
import type { Institution } from '../operations/institution.ts'
import { reportTransfer } from '../operations/reports.ts'

const outcomes: Partial<Record<TransferOutcome, Outcome>> = {
  [TransferOutcome.COMPLETED]: 'completed',
  [TransferOutcome.FAILED]: 'failed',
  [TransferOutcome.CANCELLED]: 'cancelled',
}

/**
 * The handler of TransferReportService; a repeated report changes nothing. It refuses an unknown transfer, and each
 * report of a connector other than the back end, with TRANSFER_NOT_FOUND, and an outcome that is not set with MISSING_PARAMETER.
 */
export function transferReportService(
  institution: Institution,
): ServiceImpl<typeof TransferReportService> {
  const { log, settings } = institution
  const reported = { kind: 'transfer', owner: settings.backendName, unknown }
  return {
    async reportTransfer({ transferId, outcome: wire, reason }) {
      checkReporter(currentReporter(), reported, log)
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

function unknown(): Failure {
  return new Failure('TRANSFER_NOT_FOUND', 'there is no such transfer')
}
