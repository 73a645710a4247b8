// The statement on owners of business accounts. Credentials are stored hashed or sealed.
import { type Queryable, sql } from '#platform/db/db.ts'

/** Whose a business account is, with what it was given beside its API key. */
export type BusinessOwner = {
  projectId: string
  merchantId: string
  firstName: string
  lastName: string
  email: string
  pinSalt: Buffer
  pinHash: Buffer
  /** The pepper under which the pin was hashed. */
  pinPepperId: string
  authorisationTokenSealed: string
}

const insertStatement = sql(
  'business_owner_insert',
  `insert into business_owner
     (project_id, merchant_id, first_name, last_name, email, pin_salt, pin_hash,
      pin_pepper_id, authorisation_token_sealed)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
)

/** Inserts the owner of a merchant that was made in the same transaction. */
export async function insertBusinessOwner(tx: Queryable, owner: BusinessOwner): Promise<void> {
  await tx.run(insertStatement, [
    owner.projectId,
    owner.merchantId,
    owner.firstName,
    owner.lastName,
    owner.email,
    owner.pinSalt,
    owner.pinHash,
    owner.pinPepperId,
    owner.authorisationTokenSealed,
  ])
}
