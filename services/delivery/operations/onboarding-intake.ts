// Renders the callbacks of onboarding events. They are signed at each attempt.
import { fromBinary } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { isUuid } from '#core/identity/id.ts'
import { isSealed } from '#core/identity/seal.ts'
import { formatDateTime } from '#core/text/time.ts'
import {
  AccountStatus,
  FundsAccessStatus,
  type OnboardedAccount,
  type OnboardingEvent,
  OnboardingEventSchema,
  OnboardingKind,
  OnboardingStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { Event } from '#gen/payweave/events/v1/events_pb.js'
import { recordedTrace } from '#platform/telemetry/spans.ts'
import { deliveryId, receiverOf } from '../domain/delivery.ts'
import type { NewDelivery } from '../store/intake-store.ts'

/** The subject of onboardings and registrations that ended. */
export const onboardingEvents = 'pw.accounts.onboarding'

/** Version of the contract that the callback's body follows. */
const bodyVersion = '2024-10-01'
const maxUrl = 200
const maxLevel = 2

const kindNames = {
  [OnboardingKind.UNSPECIFIED]: undefined,
  [OnboardingKind.ONBOARDING]: 'onboarding',
  [OnboardingKind.REGISTRATION]: 'registration',
} as const satisfies Record<OnboardingKind, string | undefined>

const accountStatuses = {
  [AccountStatus.UNSPECIFIED]: undefined,
  [AccountStatus.PENDING_REVIEW]: 'pending_review',
  [AccountStatus.AVAILABLE]: 'available',
  [AccountStatus.UNAVAILABLE]: 'unavailable',
} as const satisfies Record<AccountStatus, string | undefined>

const fundsAccessStatuses = {
  [FundsAccessStatus.UNSPECIFIED]: undefined,
  [FundsAccessStatus.NONE]: 'none',
  [FundsAccessStatus.LIMITED]: 'limited',
  [FundsAccessStatus.FULL]: 'full',
} as const satisfies Record<FundsAccessStatus, string | undefined>

const onboardingStatuses = {
  [OnboardingStatus.UNSPECIFIED]: undefined,
  [OnboardingStatus.PENDING_REVIEW]: 'pending_review',
  [OnboardingStatus.COMPLETED]: 'completed',
  [OnboardingStatus.REJECTED]: 'rejected',
} as const satisfies Record<OnboardingStatus, string | undefined>

const requestStatuses = {
  [RegistrationStatus.UNSPECIFIED]: undefined,
  [RegistrationStatus.APPROVED]: 'approved',
  [RegistrationStatus.REJECTED]: 'rejected',
} as const satisfies Record<RegistrationStatus, string | undefined>

/**
 * The callback of one event, with the same id and bytes however often it comes. Throws a RangeError for an
 * event that breaks its contract: a partial callback would mislead the receiver.
 */
export function onboardingCallback(event: Event): NewDelivery {
  const onboarding = fromBinary(OnboardingEventSchema, event.payload)
  const { account, callbackUrl, institutionId, authorisationTokenSealed } = onboarding
  if (account === undefined || event.occurredTime === undefined) {
    throw new RangeError('the event has no account or no time')
  }
  if (!isUuid(event.projectId) || !isUuid(institutionId) || account.accountId === '') {
    throw new RangeError('the event has no valid project, institution or account id')
  }
  if (callbackUrl.length > maxUrl) throw new RangeError('the event has a URL that is too long')
  if (!isSealed(authorisationTokenSealed)) {
    throw new RangeError('the event has a token that is not sealed')
  }
  const occurredAt = timestampDate(event.occurredTime)
  return {
    deliveryId: deliveryId(event.eventId, 'onboarding', kindOf(onboarding)),
    projectId: event.projectId,
    eventId: event.eventId,
    kind: 'onboarding',
    subjectId: account.accountId,
    ...receiverOf(event.projectId, callbackUrl, 'onboarding'),
    body: Buffer.from(renderOnboarding(onboarding, account, occurredAt)),
    occurredAt,
    traceparent: recordedTrace(event),
    signing: { institutionId, authorisationTokenSealed },
  }
}

function renderOnboarding(
  onboarding: OnboardingEvent,
  account: OnboardedAccount,
  occurredAt: Date,
): string {
  const requestStatus = requestStatuses[onboarding.requestStatus]
  return JSON.stringify({
    version: bodyVersion,
    request_timestamp: formatDateTime(occurredAt),
    request_id: given(onboarding.requestId, 'request id'),
    institution_name: given(onboarding.institutionName, 'institution'),
    account: {
      mobile_number: given(account.mobileNumber, 'mobile number'),
      account_status: given(accountStatuses[account.accountStatus], 'account status'),
      account_level: levelOf(account),
      funds_access_status: given(
        fundsAccessStatuses[account.fundsAccessStatus],
        'funds access status',
      ),
      onboarding_status: given(onboardingStatuses[account.onboardingStatus], 'onboarding status'),
    },
    ...(requestStatus === undefined ? {} : { request_status: requestStatus }),
  })
}

/** A registration has a request status and nothing else has one. */
function kindOf({ kind, requestStatus }: OnboardingEvent): 'onboarding' | 'registration' {
  const name = given(kindNames[kind], 'kind')
  if ((name === 'registration') !== (requestStatuses[requestStatus] !== undefined)) {
    throw new RangeError('the event has a request status that does not fit its kind')
  }
  return name
}

function levelOf({ accountLevel }: OnboardedAccount): number {
  if (accountLevel <= maxLevel) return accountLevel
  throw new RangeError('the event has an account level of another contract')
}

function given<T extends string>(value: T | undefined, what: string): T {
  if (value === undefined || value === '') throw new RangeError(`the event has no ${what}`)
  return value
}
