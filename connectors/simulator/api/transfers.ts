// Maps payweave.backend.v1.TransferService to the domain.
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type TransferService,
  TransferState,
  TransferType,
} from '#gen/payweave/backend/v1/transfers_pb.js'
import type { Database } from '#platform/db/db.ts'
import { readMoney, refuse, rolledUpId } from '../../kit/api/request.ts'
import type { TransferType as Type } from '../domain/transfer.ts'
import { enquireTransfer, takeBack, takeTransfer } from '../workers/run-transfer.ts'

/** What the handlers need of the process. */
export type TransferContext = {
  db: Database
  /** Called when a transfer is to be executed. */
  transfersWritten: () => void
  /** Called when a report to the institution service is due. */
  reportsWritten: () => void
}

const types: Partial<Record<TransferType, Type>> = {
  [TransferType.INTTRANSFER]: 'inttransfer',
  [TransferType.DEPOSIT]: 'deposit',
  [TransferType.CASHOUT]: 'cashout',
}
const states = {
  pending: TransferState.PENDING,
  completed: TransferState.COMPLETED,
  failed: TransferState.FAILED,
  cancelled: TransferState.CANCELLED,
  not_found: TransferState.NOT_FOUND,
} as const

/**
 * The handlers of payweave.backend.v1.TransferService. `createTransfer` refuses bad fields with INVALID_PARAMETER, an id that an
 * enquiry has called unknown, or that was cancelled, with REFERENCE_REFUSED, and one that was used with other content with
 * REFERENCE_CONFLICT. All reject as a Queryable does.
 */
export function transferService(context: TransferContext): ServiceImpl<typeof TransferService> {
  const { db, transfersWritten, reportsWritten } = context
  return {
    async createTransfer({ transferId, type, institutionName, ...rest }) {
      await takeTransfer(db, {
        transferId: rolledUpId(transferId),
        type: types[type] ?? refuse('type'),
        institutionName: institutionName,
        debit: readMoney(rest.debitAmount, 'debit_amount'),
        credit: readMoney(rest.creditAmount, 'credit_amount'),
        creditAccountNumber: rest.creditParty?.accountNumber ?? '',
      })
      transfersWritten()
      return {}
    },
    async enquireTransfer({ transferId }) {
      const { state, reason } = await enquireTransfer(db, rolledUpId(transferId))
      return { state: states[state], reason: reason ?? '' }
    },
    async cancelTransfer({ transferId }) {
      const { state } = await takeBack(db, rolledUpId(transferId))
      reportsWritten()
      return { state: states[state] }
    },
  }
}
