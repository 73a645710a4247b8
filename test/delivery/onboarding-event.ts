// Onboarding events as the accounts service writes them, for tests. It must not publish them.
import { randomBytes, randomUUID } from 'node:crypto'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { seal } from '#core/identity/seal.ts'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingEventSchema,
  OnboardingKind,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import { occurredAt } from './event.ts'

/** What an onboarding event says. */
export type Onboarding = MessageInitShape<typeof OnboardingEventSchema>

/** A completed onboarding, but for who is called back and by which institution. */
export const completedAccount = {
  accountId: 'account-1',
  mobileNumber: '+12025550142',
  accountStatus: AccountStatus.AVAILABLE,
  accountLevel: 1,
  fundsAccessStatus: FundsAccessStatus.LIMITED,
  onboardingStatus: OnboardingStatus.COMPLETED,
}

/** A token that some key seals. */
export function someSealedToken(): string {
  const key = { keyId: '00c0ffee', key: randomBytes(32), purpose: 'authorisation-token' }
  return seal(Buffer.from('token-0123456789'), key)
}

/** The event of a completed onboarding, with changes. */
export function onboardingEvent(
  changes: Partial<Onboarding> = {},
  envelope: Partial<MessageInitShape<typeof EventSchema>> = {},
): Event {
  const onboarding = create(OnboardingEventSchema, {
    kind: OnboardingKind.ONBOARDING,
    requestId: 'd2f1b1e4-7a53-4f61-9e0c-3f5a0f6f8b11',
    institutionId: randomUUID(),
    institutionName: 'Demo Wallet',
    account: completedAccount,
    callbackUrl: 'https://m.example/onboarded?k=1',
    authorisationTokenSealed: someSealedToken(),
    ...changes,
  } as Onboarding)
  return create(EventSchema, {
    eventId: randomUUID(),
    subject: 'pw.accounts.onboarding',
    occurredTime: timestampFromDate(occurredAt),
    projectId: randomUUID(),
    payload: toBinary(OnboardingEventSchema, onboarding),
    ...envelope,
  } as MessageInitShape<typeof EventSchema>)
}
