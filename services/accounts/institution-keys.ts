// Opens an institution's live keys, to sign and to seal with; it must not log one or answer with one that nobody asked for.
import { Failure } from '#core/errors.ts'
import { seal } from '#core/seal.ts'
import type { Queryable } from '#runtime/db.ts'
import { type InstitutionKey, requireUuid } from './access.ts'
import { type AccountSecrets, openInstitutionKey } from './credentials.ts'
import { listLiveInstitutionKeys } from './institution-store.ts'

/** What binds a sealed authorisation token to its use: the name of the header that carries it. */
export const authorisationTokenPurpose = 'authorisation-token'

type LiveKeys = [newest: InstitutionKey, ...older: InstitutionKey[]]

/** The live keys, newest first. INSTITUTION_NOT_FOUND for an unknown institution and for one without a key. */
async function liveKeys(
  db: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
): Promise<LiveKeys> {
  const rows = await listLiveInstitutionKeys(db, requireUuid(institutionId, 'institution_id'))
  const [newest, ...older] = rows.map((row) => openInstitutionKey(secrets, row))
  if (newest === undefined) {
    throw new Failure('INSTITUTION_NOT_FOUND', `no institution ${institutionId} with a live key`)
  }
  return [newest, ...older]
}

/** The secrets that sign an institution's callbacks, newest first; two while a rotation is under way. */
export async function signingSecrets(
  db: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
): Promise<string[]> {
  const keys = await liveKeys(db, secrets, institutionId)
  return keys.map(({ signingSecret }) => signingSecret)
}

/** Seals a client's `authorisation_token` under the institution's newest shared key: fit for an event. */
export async function sealAuthorisationToken(
  db: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
  authorisationToken: string,
): Promise<string> {
  const [{ keyId, sharedKey }] = await liveKeys(db, secrets, institutionId)
  const key = Buffer.from(sharedKey, 'base64')
  return seal(Buffer.from(authorisationToken), { keyId, key, purpose: authorisationTokenPurpose })
}
