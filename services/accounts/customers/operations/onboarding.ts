// Creates personal accounts from profiles, to be reviewed.
import { Failure, invalid } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { sealAtRest } from '../../access/domain/at-rest.ts'
import type { Account } from '../domain/account.ts'
import {
  findVisibleInstitution,
  insertAccount,
  isNumberTaken,
  lockNumber,
} from '../store/account-store.ts'
import { attachArtefacts, type WholeArtefact } from '../store/artefact-store.ts'
import { insertReview } from '../store/review-store.ts'
import { type Customers } from './customers.ts'
import { checkProfile, countryOf, type Profile } from './profile.ts'

/** Who sends a profile. */
export type Sender = { projectId: string; requestId: string }

/**
 * Makes an account that waits for its review, with the artefacts that came before. ACCOUNT_EXISTS when an available
 * account of the institution has the number; other profiles with it are no hindrance.
 */
export async function createPersonalAccount(
  customers: Customers,
  { projectId, requestId }: Sender,
  profile: Profile,
  artefacts: readonly WholeArtefact[] = [],
): Promise<Account> {
  const { db, secrets, settings } = customers
  checkProfile(profile, settings)
  const account = await db.transaction(async (tx) => {
    const institution = await findVisibleInstitution(tx, projectId, profile.institutionName)
    if (institution === undefined) {
      throw invalid('institution_name', 'must be that of an institution open to the project')
    }
    const made = newAccount(profile, institution)
    await lockNumber(tx, made.institutionId, made.mobileNumber)
    if (await isNumberTaken(tx, made.institutionId, made.mobileNumber)) {
      throw new Failure('ACCOUNT_EXISTS', 'the institution has an account with this number')
    }
    await insertAccount(tx, made)
    const reviewId = newId()
    const { callbackUrl, authorisationToken, mobileNumberAsSent } = profile
    const seal = (column: 'details_sealed' | 'authorisation_token_sealed', text: string) =>
      sealAtRest(secrets, { column: `review.${column}`, rowId: reviewId }, Buffer.from(text))
    await insertReview(tx, {
      reviewId,
      projectId,
      institutionId: made.institutionId,
      accountId: made.accountId,
      requestId,
      mobileNumberAsSent: mobileNumberAsSent || made.mobileNumber,
      detailsSealed: seal('details_sealed', JSON.stringify(profile.details)),
      callbackUrl: callbackUrl === '' ? null : callbackUrl,
      authorisationTokenSealed:
        authorisationToken === '' ? null : seal('authorisation_token_sealed', authorisationToken),
    })
    if (artefacts.length > 0) await attachArtefacts(tx, reviewId, artefacts)
    return made
  })
  customers.notify()
  return account
}

function newAccount(
  profile: Profile,
  institution: { institutionId: string; name: string; defaultCurrency: string },
): Account {
  return {
    accountId: newId(),
    institutionId: institution.institutionId,
    institutionName: institution.name,
    accountNumber: null,
    accountType: 'personal',
    mobileNumber: profile.mobileNumber,
    email: profile.email,
    firstName: profile.firstName,
    lastName: profile.lastName,
    country: countryOf(profile),
    currency: institution.defaultCurrency,
    status: 'pending_review',
    level: 0,
    fundsAccess: 'none',
  }
}
