// The project's float as billing uses it, over payweave.accounts.v1.LedgerService.

import { createHash } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { InternalAccount, type LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import type { BillMoney } from '../domain/bill.ts'

/** What billing asks of the ledger. Every call may be repeated. */
export type Ledger = {
  /** Places the hold on the float; false when its funds are insufficient. Rejects as `isPastExpiry` says when it is too late to make it. */
  hold(money: BillMoney & { createTime: Date }): Promise<boolean>
  /**
   * Posts the hold to the biller. When the hold has expired, debits the float, whose funds may then be insufficient. Each of its calls
   * takes at most `timeoutMs`.
   */
  post(money: BillMoney, timeoutMs?: number): Promise<void>
  /** Voids the hold. */
  release(money: BillMoney, timeoutMs?: number): Promise<void>
}

// Longer than the longest schedule of enquiries and a good while for people after it.
const holdLifeMs = 180 * 86_400_000

/** Whether `hold` rejected because the hold was never made and its expiry has passed: no request makes it any more. */
export function isPastExpiry(error: unknown): boolean {
  return (
    error instanceof Failure &&
    error.reason === 'INVALID_PARAMETER' &&
    error.details['field'] === 'expire_time'
  )
}

/** The ledger over its RPC client. */
export function ledgerOver(client: Client<typeof LedgerService>): Ledger {
  return {
    async hold(money) {
      const { billPaymentId, projectId, amountMinor, currency, transactionId, createTime } = money
      const request = {
        projectId,
        holdId: billPaymentId,
        address: floatOf(projectId),
        amount: { currency, minorUnits: amountMinor },
        // The same each time: another time would be another hold.
        expireTime: timestampFromMs(createTime.getTime() + holdLifeMs),
        details: { reference: transactionId, method: 'bill_payment' },
      }
      try {
        await client.createHold(request, withProject(projectId))
        return true
      } catch (error) {
        if (error instanceof Failure && error.reason === 'INSUFFICIENT_FUNDS') return false
        throw error
      }
    },
    async post({ billPaymentId, projectId, amountMinor, currency, transactionId }, timeoutMs) {
      const options = optionsOf(projectId, timeoutMs)
      const postings = [
        { address: floatOf(projectId), amount: { currency, minorUnits: -amountMinor } },
        { address: billerClearing, amount: { currency, minorUnits: amountMinor } },
      ]
      const request = { projectId, holdId: billPaymentId, postings }
      try {
        await client.postHold(request, options)
      } catch (error) {
        // Only expiry closes the hold of a payment that succeeded. The money is owed all the same.
        if (!(error instanceof Failure && error.reason === 'HOLD_CLOSED')) throw error
        await client.voidHold({ projectId, holdId: billPaymentId }, options)
        const transferId = lateTransferId(billPaymentId)
        const details = { reference: transactionId, method: 'bill_payment' }
        await client.postTransfer({ projectId, transferId, postings, details }, options)
      }
    },
    async release({ billPaymentId, projectId }, timeoutMs) {
      const options = optionsOf(projectId, timeoutMs)
      await client.voidHold({ projectId, holdId: billPaymentId }, options)
    },
  }
}

function optionsOf(projectId: string, timeoutMs: number | undefined) {
  return { ...withProject(projectId), ...(timeoutMs !== undefined && { timeoutMs }) }
}

/** A UUID (version 8) of its own, the same each time: the ledger never uses that of a hold for anything else. */
function lateTransferId(billPaymentId: string): string {
  const digest = createHash('sha256').update(`late bill payment ${billPaymentId}`).digest('hex')
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`]
  return [...parts, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join('-')
}

function floatOf(projectId: string) {
  return { holder: { case: 'floatProjectId' as const, value: projectId } }
}

const billerClearing = {
  holder: { case: 'internal' as const, value: InternalAccount.BILLER_CLEARING },
}
