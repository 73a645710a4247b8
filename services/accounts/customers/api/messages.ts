// Maps accounts to the messages of payweave.accounts.v1.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { LimitRoom } from '#core/money/limit-room.ts'
import {
  type AccountSchema,
  type AccountTransactionSchema,
  LookupType as WireLookupType,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  FundsAccessStatus,
  OnboardingStatus,
  AccountStatus as WireStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { timestampFromMicros } from '#platform/rpc/timestamps.ts'
import type { Account, AccountStatus, FundsAccess } from '../domain/account.ts'
import type { Movement } from '../operations/history.ts'
import type { Session } from '../operations/session.ts'
import type { LookupType } from '../store/session-store.ts'

/** The kinds of look-up by their enum numbers. */
export const lookupTypes: Partial<Record<WireLookupType, LookupType>> = {
  [WireLookupType.MOBILE]: 'MOBILE',
  [WireLookupType.EMAIL]: 'EMAIL',
  [WireLookupType.ACCOUNT_NUMBER]: 'ACCOUNT_NUMBER',
}

const statuses = {
  pending_review: WireStatus.PENDING_REVIEW,
  available: WireStatus.AVAILABLE,
  rejected: WireStatus.UNAVAILABLE,
  suspended: WireStatus.UNAVAILABLE,
  closed: WireStatus.UNAVAILABLE,
} as const satisfies Record<AccountStatus, WireStatus>

const onboardingStatuses: Record<AccountStatus, OnboardingStatus> = {
  pending_review: OnboardingStatus.PENDING_REVIEW,
  rejected: OnboardingStatus.REJECTED,
  available: OnboardingStatus.COMPLETED,
  suspended: OnboardingStatus.COMPLETED,
  closed: OnboardingStatus.COMPLETED,
}

/** The enum number of a review that has ended. */
export const endedStatuses = {
  completed: OnboardingStatus.COMPLETED,
  rejected: OnboardingStatus.REJECTED,
} as const

const fundsAccesses = {
  none: FundsAccessStatus.NONE,
  limited: FundsAccessStatus.LIMITED,
  full: FundsAccessStatus.FULL,
} as const satisfies Record<FundsAccess, FundsAccessStatus>

/** The enum number of an account's status. */
export function accountStatusNumber(status: AccountStatus): WireStatus {
  return statuses[status]
}

/** The enum number of the review of an account of this status. */
export function onboardingStatusNumber(status: AccountStatus): OnboardingStatus {
  return onboardingStatuses[status]
}

/** The enum number of a funds access. */
export function fundsAccessNumber(access: FundsAccess): FundsAccessStatus {
  return fundsAccesses[access]
}

/** The funds access of an enum number; undefined for UNSPECIFIED and unknown numbers. */
export function fundsAccessOf(number: FundsAccessStatus): FundsAccess | undefined {
  const found = Object.entries(fundsAccesses).find(([, known]) => known === number)
  return found?.[0] as FundsAccess | undefined
}

/** An account as a message. */
export function accountMessage(account: Account): MessageInitShape<typeof AccountSchema> {
  return {
    accountId: account.accountId,
    institutionId: account.institutionId,
    institutionName: account.institutionName,
    accountNumber: account.accountNumber ?? '',
    accountType: account.accountType,
    mobileNumber: account.mobileNumber,
    email: account.email,
    firstName: account.firstName,
    lastName: account.lastName,
    country: account.country,
    currency: account.currency,
    accountStatus: statuses[account.status],
    accountLevel: account.level,
    fundsAccessStatus: fundsAccesses[account.fundsAccess],
    onboardingStatus: onboardingStatuses[account.status],
  }
}

/** A session as a message; its time to live is in seconds. */
export function sessionMessage({ sessionToken, expireTime, ttlS, singleUse }: Session) {
  return {
    sessionToken,
    expireTime: timestampFromDate(expireTime),
    ttlSeconds: ttlS,
    singleUse,
  }
}

/** What limits leave an account, as a message, in minor units of this currency. */
export function roomMessage(room: LimitRoom, currency: string) {
  const money = (minorUnits: bigint) => ({ currency, minorUnits })
  return {
    single: money(room.singleMinor),
    day: money(room.dayMinor),
    month: money(room.monthMinor),
  }
}

/** A movement as a message, in minor units; its time is cut to microseconds. */
export function transactionMessage(
  movement: Movement,
): MessageInitShape<typeof AccountTransactionSchema> {
  const { currency, cleared } = movement
  const postTime = timestampFromMicros(movement.timeUs)
  return {
    transactionId: movement.transactionId,
    amount: { currency, minorUnits: movement.amountMinor },
    fees: { currency, minorUnits: movement.feeMinor },
    description: movement.description,
    transactionMethod: movement.method,
    cleared,
    postTime,
    ...(cleared && { clearTime: postTime }),
    metadata: movement.metadata,
  }
}
