// Writes the event of a client's callback, in the transaction that ends the review or challenge that the client waits for.
import {
  OnboardingKind,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { openAtRest, type SealedColumn } from '../../access/domain/at-rest.ts'
import { sealAuthorisationToken } from '../../access/operations/institution-keys.ts'
import { publishOnboarded } from '../../access/ports/events.ts'
import { accountStatusNumber, fundsAccessNumber, onboardingStatusNumber } from '../api/messages.ts'
import type { Account } from '../domain/account.ts'
import type { OnboardingCallback } from '../store/review-store.ts'
import type { Customers } from './customers.ts'

/** What ended; `rowId` is the id of the review or the challenge. */
export type Ended = { rowId: string; of: OnboardingCallback; account: Account } & (
  | { kind: 'onboarding' }
  | { kind: 'registration'; approved: boolean }
)

const tokenColumns = {
  onboarding: 'review.authorisation_token_sealed',
  registration: 'challenge.authorisation_token_sealed',
} as const satisfies Record<Ended['kind'], SealedColumn>

/** Calls the client back, if the request had a callback URL and a token. */
export async function callBack(
  { secrets }: Pick<Customers, 'secrets'>,
  tx: Queryable,
  ended: Ended,
): Promise<void> {
  const { of, account, rowId } = ended
  const { callbackUrl, authorisationTokenSealed } = of
  if (callbackUrl === null || authorisationTokenSealed === null) return
  const column = tokenColumns[ended.kind]
  const token = openAtRest(secrets, { column, rowId }, authorisationTokenSealed)
  await publishOnboarded(tx, of.projectId, {
    kind: ended.kind === 'onboarding' ? OnboardingKind.ONBOARDING : OnboardingKind.REGISTRATION,
    requestId: of.requestId,
    institutionId: account.institutionId,
    institutionName: account.institutionName,
    account: {
      accountId: account.accountId,
      mobileNumber: of.mobileNumberAsSent,
      accountStatus: accountStatusNumber(account.status),
      accountLevel: account.level,
      fundsAccessStatus: fundsAccessNumber(account.fundsAccess),
      onboardingStatus: onboardingStatusNumber(account.status),
    },
    requestStatus: requestStatus(ended),
    callbackUrl,
    authorisationTokenSealed: await sealAuthorisationToken(
      tx,
      secrets,
      account.institutionId,
      token.toString(),
    ),
  })
}

function requestStatus(ended: Ended): RegistrationStatus {
  if (ended.kind === 'onboarding') return RegistrationStatus.UNSPECIFIED
  return ended.approved ? RegistrationStatus.APPROVED : RegistrationStatus.REJECTED
}
