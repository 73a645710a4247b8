// Writes the event that calls a client back, in the transaction that ended what he waits for; it must not decide what ended.
import { OnboardingKind, RegistrationStatus } from '#gen/accounts/v1/onboarding_event_pb.js'
import type { Queryable } from '#runtime/db.ts'
import { openAtRest, type SealedColumn } from '../at-rest.ts'
import { tellOnboarded } from '../events.ts'
import { sealAuthorisationToken } from '../institution-keys.ts'
import type { Account } from './account.ts'
import type { Customers } from './customers.ts'
import { accountStatusNumber, fundsAccessNumber, onboardingStatusNumber } from './messages.ts'
import type { CallBack } from './review-store.ts'

/** What ended; `rowId` is the id of the review or the challenge. */
export type Ended = { rowId: string; of: CallBack; account: Account } & (
  | { kind: 'onboarding' }
  | { kind: 'registration'; approved: boolean }
)

const tokenColumns = {
  onboarding: 'review.authorisation_token_sealed',
  registration: 'challenge.authorisation_token_sealed',
} as const satisfies Record<Ended['kind'], SealedColumn>

/** Tells the client, if he gave an URL and a token to be called back with. */
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
  await tellOnboarded(tx, of.projectId, {
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
