// What quotes calls, for the tests of this folder: accounts and a source of rates that do what a test says.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { parseDecimal } from '#core/money/money.ts'
import type {
  AccountReference,
  AccountsService,
  ResolveSessionRequest,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { CheckLimitsRequest, MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { GetRateRequest, RateService } from '#gen/payweave/backend/v1/rates_pb.js'

export const accountId = '0198c000-0000-7000-8000-0000000000a1'
export const institutionId = '0198c000-0000-7000-8000-0000000000b1'
export const institutionName = 'Demo Wallet'
/** A token that is live; every other one is unknown. */
export const token = `pws_${'A'.repeat(43)}`

/** Accounts of one holder, kept in USD, and of others that a credit party may name. */
export function newAccounts(projectId: string) {
  const state = {
    session: SessionState.LIVE,
    status: AccountStatus.AVAILABLE,
    currency: 'USD',
    limitCurrency: 'TTD',
    /** Largest amount in the limits' currency: at once, and what is left of the day and the month. */
    limitMinor: 2_500_000n,
    /** False: accounts of the previous release, which returns no limit room. */
    showsRoom: true,
  }
  const asked: { sessions: ResolveSessionRequest[]; limits: CheckLimitsRequest[] } = {
    sessions: [],
    limits: [],
  }
  const base = { institutionId, institutionName, accountLevel: 2 }
  const others: Record<string, { currency: string } | 'several'> = {
    '+12025550105': { currency: 'TTD' },
    'JP-1': { currency: 'JPY' },
    '+12025550109': 'several',
  }
  const referenced = ({ mobileNumber, accountNumber }: AccountReference) => {
    const found = others[accountNumber || mobileNumber]
    if (found === 'several') return { ambiguous: true }
    return found === undefined ? {} : { account: { ...base, accountId: 'other', ...found } }
  }
  const room = () => {
    const most = { currency: state.limitCurrency, minorUnits: state.limitMinor }
    return { single: most, day: most, month: most }
  }
  const accounts: Partial<ServiceImpl<typeof AccountsService>> = {
    resolveSession(request) {
      asked.sessions.push(request)
      const isOurs =
        request.projectId === projectId &&
        request.institutionName === institutionName &&
        request.token.value === token
      if (!isOurs) throw new Failure('SESSION_INVALID', 'no such session')
      const { status: accountStatus, currency } = state
      return {
        sessionId: accountId,
        state: state.session,
        account: { ...base, accountId, accountStatus, currency },
        references: request.references.map(referenced),
        limitCurrency: state.limitCurrency,
        ...(request.withLimitRoom && state.showsRoom && { limitRoom: room() }),
      }
    },
  }
  const movements: Partial<ServiceImpl<typeof MovementService>> = {
    checkLimits(request) {
      asked.limits.push(request)
      const counted = request.limitUse?.amount?.minorUnits ?? 0n
      if (counted > state.limitMinor) throw new Failure('LIMIT_EXCEEDED', 'the limit is exceeded')
      return {}
    },
  }
  return { state, asked, accounts, movements }
}

const perDollar: Record<string, string> = {
  USD: '1.0000',
  TTD: '6.7829',
  EUR: '0.9210',
  JPY: '149.35',
  BHD: '0.3760',
  XOF: '604.10',
}

/** A source that crosses rates per dollar to eight decimals. */
export function newSource() {
  const state = {
    isDown: false,
    /** Age of what it gives. */
    ageMs: 0,
    now: () => new Date(),
    /** Given in place of the crossed rate when set. */
    rate: undefined as string | undefined,
  }
  const asked: GetRateRequest[] = []
  const rates: ServiceImpl<typeof RateService> = {
    getRate(request) {
      asked.push(request)
      if (state.isDown) throw new Failure('SERVICE_UNAVAILABLE', 'the source is down')
      const rate = state.rate ?? crossed(request.baseCurrency, request.quotedCurrency)
      const ms = state.now().getTime() - state.ageMs
      const seconds = Math.floor(ms / 1_000)
      const sourceTime = { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 }
      return { rate, sourceTime }
    },
  }
  return { state, asked, rates }
}

function crossed(base: string, quoted: string): string {
  const from = parseDecimal(perDollar[base] ?? '')
  const to = parseDecimal(perDollar[quoted] ?? '')
  if (from === undefined || to === undefined) {
    throw new Failure('CURRENCY_NOT_SUPPORTED', 'no rate')
  }
  if (base === 'USD') return perDollar[quoted] ?? ''
  const scaled =
    (to.digits * 10n ** BigInt(8 + from.scale)) / (from.digits * 10n ** BigInt(to.scale))
  const text = String(scaled).padStart(9, '0')
  return `${text.slice(0, -8)}.${text.slice(-8)}`
}
