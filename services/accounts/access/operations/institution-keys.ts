// Opens an institution's live keys, for signing and sealing; never logs one.

import { Failure } from '#core/errors/errors.ts'
import { seal } from '#core/identity/seal.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type InstitutionKey } from '../domain/access.ts'
import type { AccountSecrets } from '../domain/at-rest.ts'
import { openInstitutionKey } from '../domain/credentials.ts'
import { listLiveInstitutionKeys } from '../store/institution-store.ts'

/** What binds a sealed authorisation token to its use: the name of the header that carries it. */
export const authorisationTokenPurpose = 'authorisation-token'

/** The live keys, newest first. INSTITUTION_NOT_FOUND for an unknown institution and for one without a key. */
async function liveKeys(
  db: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
): Promise<InstitutionKey[]> {
  const rows = await listLiveInstitutionKeys(db, institutionId)
  if (rows.length === 0) {
    throw new Failure('INSTITUTION_NOT_FOUND', `no institution ${institutionId} with a live key`)
  }
  return rows.map((row) => openInstitutionKey(secrets, row))
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

/**
 * Seals a client's `authorisation_token` so that an event may contain it. Under the older of two live keys: the
 * receiver has had that one since the rotation before, and may not have installed the new one yet.
 */
export async function sealAuthorisationToken(
  db: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
  authorisationToken: string,
): Promise<string> {
  const oldest = (await liveKeys(db, secrets, institutionId)).at(-1)
  if (oldest === undefined) throw new Error('an institution without a key was let through')
  const key = Buffer.from(oldest.sharedKey, 'base64')
  const sealing = { keyId: oldest.keyId, key, purpose: authorisationTokenPurpose }
  return seal(Buffer.from(authorisationToken), sealing)
}
