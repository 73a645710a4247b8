// Maps payweave.accounts.v1.BalanceService to the ledger and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { pageSizeOf } from '#core/paging.ts'
import type { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Database } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { isOfStaff } from '#platform/rpc/auth/roles.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { microsOfTimestamp, timestampFromMicros } from '#platform/rpc/timestamps.ts'
import { type InternalName, refuse } from '../domain/lines.ts'
import { type AccountPosting, listPostings } from '../operations/balance.ts'
import {
  listOpenBalances,
  listProjectBalances,
  listSuspenseItems,
  listSuspenseItemsOfTransfer,
  type ProjectBalance,
} from '../store/project-balance-store.ts'
import { internalAccounts, internalNameOf, wireMoney } from './messages.ts'

const maxBalances = 200
const maxItems = 200

/** What a merchant sees beside the float: their own money, their fees and their debt. The rest is our bookkeeping. */
const ofMerchants: ReadonlySet<InternalName | null> = new Set([
  null,
  'held',
  'fee_income',
  'merchant_receivable',
] as const)

/**
 * The handlers of BalanceService. Those of a project reject as `projectOf` does; a page token that is not one of ours is
 * INVALID_PARAMETER, a sum past 64 bits AMOUNT_OUT_OF_RANGE.
 */
export function balanceService(db: Database): ServiceImpl<typeof BalanceService> {
  return {
    async listProjectBalances(request, context) {
      const projectId = projectOf(context, request.projectId)
      const balances = await listProjectBalances(db, projectId)
      const shown = seesAll() ? balances : balances.filter((one) => ofMerchants.has(one.internal))
      return { balances: shown.map(balanceMessage) }
    },
    async listOpenBalances({ internal }) {
      const name = internalNameOf(internal)
      if (name !== 'suspense' && name !== 'refunds_unpaid') {
        return refuse('internal', 'must be suspense or refunds_unpaid')
      }
      const balances = await listOpenBalances(db, name, maxBalances)
      return { balances: balances.map(balanceMessage) }
    },
    async listSuspenseItems({ transferId }) {
      const items =
        transferId === ''
          ? await listSuspenseItems(db, maxItems)
          : await listSuspenseItemsOfTransfer(db, transferId)
      return {
        items: items.map(({ currency, minor, sinceTime, ...item }) => ({
          ...item,
          amount: wireMoney(currency, minor),
          sinceTime: timestampFromDate(sinceTime),
        })),
      }
    },
    async listFloatPostings({ startTime, endTime, pageSize, pageToken, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const { postings, next } = await listPostings(db, {
        holder: 'float',
        holderId: projectId,
        startUs: startTime === undefined ? 0n : microsOfTimestamp(startTime),
        endUs: endTime === undefined ? undefined : microsOfTimestamp(endTime),
        limit: pageSizeOf(pageSize),
        ...(pageToken !== '' && { after: pageToken }),
      })
      return { postings: postings.map(postingMessage), nextPageToken: next ?? '' }
    },
  }
}

/** Whether the call is made by the staff: a person with such a role, or a bearer for all projects. */
function seesAll(): boolean {
  const caller = currentContext()?.caller
  if (caller?.person !== undefined) return isOfStaff(caller.person.memberships)
  return caller !== undefined && caller.projectId === undefined
}

function balanceMessage({ projectId, internal, currency, ...balance }: ProjectBalance) {
  return {
    projectId,
    internal: internal === null ? InternalAccount.UNSPECIFIED : internalAccounts[internal],
    posted: wireMoney(currency, balance.postedMinor),
    held: wireMoney(currency, balance.heldMinor),
  }
}

function postingMessage({ transferId, currency, amountMinor, timeUs, ...posting }: AccountPosting) {
  const { details, cleared } = posting
  const time = timestampFromMicros(timeUs)
  return { transferId, amount: wireMoney(currency, amountMinor), details, cleared, time }
}
