// The accounts service as quotes uses it: sessions, the accounts behind them, their limits.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type LimitRoom, requireRoom } from '#core/money/limit-room.ts'
import type {
  Account,
  AccountsService,
  ReferencedAccount,
  ResolveSessionResponse,
  LimitRoom as WireRoom,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import type { NewQuote } from '../domain/quote.ts'

/** A live session's account, with what a quote for it needs. */
export type SessionAccount = {
  accountId: string
  institutionId: string
  institutionName: string
  /** Currency that is to be quoted. */
  targetCurrency: string
  /** Currency in which the limits of users are counted. */
  limitCurrency: string
  /** What they leave the account. */
  room: LimitRoom | undefined
}

/** What quotes asks of accounts. */
export type Accounts = {
  /** Resolves the token of a new quote. SESSION_INVALID, SESSION_EXPIRED, ACCOUNT_UNAVAILABLE, AMBIGUOUS_MATCH. */
  openSession(request: NewQuote): Promise<SessionAccount>
  /** LIMIT_EXCEEDED when the account may not move that much in the currency of the limits. */
  checkLimits(projectId: string, account: SessionAccount, amountMinor: bigint): Promise<void>
}

/** The port over the RPC clients. */
export function accountsPort(
  accounts: Pick<Client<typeof AccountsService>, 'resolveSession'>,
  movements: Pick<Client<typeof MovementService>, 'checkLimits'>,
): Accounts {
  return {
    async openSession({ projectId, sessionToken, institutionName, creditParty }) {
      // A named currency needs no look-up of the account.
      const named = creditParty?.currency === '' ? creditParty : undefined
      const isKnownBy = named !== undefined && (named.mobileNumber || named.accountNumber) !== ''
      const references = isKnownBy
        ? [{ mobileNumber: named.mobileNumber, accountNumber: named.accountNumber }]
        : []
      const found = await accounts.resolveSession(
        {
          projectId,
          token: { case: 'sessionToken', value: sessionToken },
          institutionName,
          references,
          withLimitRoom: true,
        },
        withProject(projectId),
      )
      const account = liveAccount(found)
      return {
        accountId: account.accountId,
        institutionId: account.institutionId,
        institutionName: account.institutionName,
        targetCurrency:
          creditParty?.currency || currencyOf(found.references[0]) || account.currency,
        limitCurrency: found.limitCurrency,
        room: roomOf(found.limitRoom),
      }
    },
    async checkLimits(projectId, { accountId, limitCurrency, room }, amountMinor) {
      if (room !== undefined) return requireRoom(room, amountMinor)
      // While a release is rolled out, accounts may still be the previous one, which returns no room.
      const amount = { currency: limitCurrency, minorUnits: amountMinor }
      await movements.checkLimits(
        { projectId, limitUse: { accountId, amount } },
        withProject(projectId),
      )
    },
  }
}

function liveAccount({ state, account }: ResolveSessionResponse): Account {
  if (state === SessionState.EXPIRED) throw new Failure('SESSION_EXPIRED', 'the session has ended')
  if (state !== SessionState.LIVE || account === undefined) {
    throw new Failure('SESSION_INVALID', 'the session is spent')
  }
  if (account.accountStatus !== AccountStatus.AVAILABLE) {
    throw new Failure('ACCOUNT_UNAVAILABLE', 'the account of the session is not available')
  }
  return account
}

function roomOf(message: WireRoom | undefined): LimitRoom | undefined {
  const { single, day, month } = message ?? {}
  if (single === undefined || day === undefined || month === undefined) return undefined
  return {
    singleMinor: single.minorUnits,
    dayMinor: day.minorUnits,
    monthMinor: month.minorUnits,
  }
}

/** An account that the institution does not know is one elsewhere, which says nothing of the currency. */
function currencyOf(found: ReferencedAccount | undefined): string {
  if (found?.ambiguous === true) {
    throw new Failure(
      'AMBIGUOUS_MATCH',
      'credit_party fits several accounts; name its account_number or its currency',
      { details: { field: 'credit_party' } },
    )
  }
  return found?.account?.currency ?? ''
}
