// Maps payweave.accounts.v1.LedgerService to the domain and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { pageSizeOf } from '#core/paging.ts'
import type { LedgerService, ListTransfersRequest } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Database } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { maxTimeoutMs } from '#platform/rpc/limits/limits.ts'
import { microsOfTimestamp } from '#platform/rpc/timestamps.ts'
import { type Address, refuse, requireAddress, requireCurrency } from '../domain/lines.ts'
import type { LedgerWriter } from '../operations/batching.ts'
import { freshHold, requireHold, voidHold } from '../operations/hold.ts'
import {
  freshTransfer,
  readBalance,
  requireTransfer,
  reverseTransfer,
} from '../operations/ledger.ts'
import { requireVisible } from '../operations/movement.ts'
import { listTransfers } from '../operations/transfer-list.ts'
import { readCheckRecords } from '../store/check-result-store.ts'
import { checkLedgerWithin, type PartialResult, resultOf } from '../workers/check.ts'
import {
  addressOf,
  detailsOf,
  holdMessage,
  internalNameOf,
  linesOf,
  moneyOf,
  timeOf,
  transferMessage,
  wireMoney,
} from './messages.ts'

/**
 * Dependencies of the handlers: `writer` writes in `db`. A check reads the whole ledger, so it has a connection and time limits of its own.
 */
export type LedgerParts = {
  db: Database
  writer: LedgerWriter
  checkDb: Database
}

/** What is left of the time of a call to answer a check that did not end. */
const answerMs = 3_000

/**
 * The handlers of LedgerService. All but `checkLedger` and `getLastLedgerCheck` reject as `projectOf` does; bad fields, lines and page
 * tokens are INVALID_PARAMETER or MISSING_PARAMETER, an unknown account LEDGER_ACCOUNT_NOT_FOUND, a sum past 64 bits
 * AMOUNT_OUT_OF_RANGE.
 *
 * Those that move money: INSUFFICIENT_FUNDS, LEDGER_CONFLICT for a UUID that was used with other content;
 * `reverseTransfer` also TRANSFER_REVERSED. Unknown ids: TRANSFER_NOT_FOUND, HOLD_NOT_FOUND. `postHold` and `voidHold`:
 * HOLD_CLOSED.
 */
export function ledgerService(parts: LedgerParts): ServiceImpl<typeof LedgerService> {
  return { ...transferHandlers(parts), ...holdHandlers(parts), ...readHandlers(parts) }
}

function transferHandlers({ db, writer }: LedgerParts) {
  const transferOf = async (projectId: string, transferId: string) => ({
    transfer: transferMessage(await requireTransfer(db, projectId, transferId)),
  })
  return {
    async postTransfer(request, context) {
      const projectId = projectOf(context, request.projectId)
      const transferId = request.transferId
      const lines = linesOf(request.postings)
      await requireVisible(db, projectId, addressesOf(lines))
      const details = detailsOf(request.details)
      const { postTime, repeated } = await writer.postTransfer({
        projectId,
        transferId,
        lines,
        details,
      })
      if (repeated) return transferOf(projectId, transferId)
      const posted = { projectId, transferId, lines, details, postTime }
      return { transfer: transferMessage(freshTransfer(posted)) }
    },
    async reverseTransfer(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { transferId, reversesId, description } = request
      await reverseTransfer(db, { projectId, transferId, reversesId, description })
      return transferOf(projectId, transferId)
    },
    async getTransfer(request, context) {
      const projectId = projectOf(context, request.projectId)
      return transferOf(projectId, request.transferId)
    },
  } satisfies Partial<ServiceImpl<typeof LedgerService>>
}

function holdHandlers({ db, writer }: LedgerParts) {
  return {
    async createHold(request, context) {
      const projectId = projectOf(context, request.projectId)
      const holdId = request.holdId
      const address = addressOf(request.address, 'address')
      if ('internal' in address) return refuse('address', 'must be a customer or a float')
      await requireVisible(db, projectId, [address])
      const expireTime = timeOf(request.expireTime, 'expire_time')
      const details = detailsOf(request.details)
      const money = moneyOf(request.amount, 'amount')
      const wanted = { projectId, holdId, address, ...money, expireTime, details }
      const { createTime, repeated } = await writer.createHold(wanted)
      // A new hold is as requested and needs no read; a repeated one may have been posted or voided since.
      const hold = repeated
        ? await requireHold(db, projectId, holdId)
        : freshHold({ ...wanted, createTime })
      return { hold: holdMessage(hold) }
    },
    async postHold(request, context) {
      const projectId = projectOf(context, request.projectId)
      const holdId = request.holdId
      const lines = linesOf(request.postings)
      await requireVisible(db, projectId, addressesOf(lines))
      const { postTime, repeated, details } = await writer.postHold({ projectId, holdId, lines })
      // A new transfer is as requested and needs no read; a repeated one may have been reversed since.
      const transfer = repeated
        ? await requireTransfer(db, projectId, holdId)
        : freshTransfer({ projectId, transferId: holdId, lines, details, postTime })
      return { transfer: transferMessage(transfer) }
    },
    async voidHold(request, context) {
      const projectId = projectOf(context, request.projectId)
      const holdId = request.holdId
      return { hold: holdMessage(await voidHold(db, projectId, holdId)) }
    },
    async getHold(request, context) {
      const projectId = projectOf(context, request.projectId)
      const holdId = request.holdId
      return { hold: holdMessage(await requireHold(db, projectId, holdId)) }
    },
  } satisfies Partial<ServiceImpl<typeof LedgerService>>
}

function readHandlers({ db, checkDb }: LedgerParts) {
  return {
    async getLedgerBalance({ currency, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const address = addressOf(request.address, 'address')
      requireAddress(projectId, address, 'address')
      requireCurrency(currency, 'currency')
      await requireVisible(db, projectId, [address])
      const balance = await readBalance(db, { address, projectId, currency })
      return {
        posted: wireMoney(currency, balance.postedMinor),
        held: wireMoney(currency, balance.heldMinor),
        available: wireMoney(currency, balance.postedMinor - balance.heldMinor),
      }
    },
    async listTransfers({ startTime, endTime, pageSize, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const account = listedAccount(request.account, projectId)
      if (account !== undefined) await requireVisible(db, projectId, [account])
      const { transfers, nextPageToken } = await listTransfers(db, {
        projectId,
        account,
        startUs: startTime === undefined ? 0n : microsOfTimestamp(startTime),
        endUs: endTime === undefined ? undefined : microsOfTimestamp(endTime),
        method: request.method,
        reference: request.reference,
        limit: pageSizeOf(pageSize),
        pageToken: request.pageToken,
      })
      return { transfers: transfers.map(transferMessage), nextPageToken }
    },
    async checkLedger(_request, context) {
      const withinMs = (context.timeoutMs() ?? maxTimeoutMs) - answerMs
      return checkMessage(await checkLedgerWithin(checkDb, withinMs))
    },
    async getLastLedgerCheck() {
      return checkMessage(resultOf(await readCheckRecords(db)))
    },
  } satisfies Partial<ServiceImpl<typeof LedgerService>>
}

/** The account whose transfers are listed; undefined for all. */
function listedAccount(
  account: ListTransfersRequest['account'],
  floatProjectId: string,
): Address | undefined {
  switch (account.case) {
    case 'accountId':
      return { accountId: account.value }
    case 'projectFloat':
      return { floatProjectId }
    case 'internal':
      return { internal: internalNameOf(account.value) ?? refuse('internal', 'is no account') }
    default:
      return undefined
  }
}

function addressesOf(lines: readonly { address: Address }[]): Address[] {
  return lines.map(({ address }) => address)
}

function checkMessage({ checkTime, ...checked }: PartialResult) {
  return checkTime === undefined ? checked : { ...checked, checkTime: timestampFromDate(checkTime) }
}
