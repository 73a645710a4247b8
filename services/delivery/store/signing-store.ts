// Statements on what signed pushes need beyond their bodies. No secret is stored.
import { type Queryable, sql } from '#platform/db/db.ts'

/** Who signs a push, and its sealed token. */
export interface Signing {
  institutionId: string
  /** Value of the header `authorisation-token`. */
  authorisationTokenSealed: string
}

const insertStatement = sql(
  'delivery_insert_signings',
  `insert into signing (delivery_id, institution_id, authorisation_token_sealed)
   select delivery_id, institution_id, authorisation_token_sealed
   from unnest($1::uuid[], $2::uuid[], $3::text[])
     as n(delivery_id, institution_id, authorisation_token_sealed)
   on conflict (delivery_id) do nothing`,
)

/** Lays them down beside their deliveries, in the transaction that laid those down. */
export async function insertSignings(
  tx: Queryable,
  signings: (Signing & { deliveryId: string })[],
): Promise<void> {
  if (signings.length === 0) return
  await tx.run(insertStatement, [
    signings.map(({ deliveryId }) => deliveryId),
    signings.map(({ institutionId }) => institutionId),
    signings.map(({ authorisationTokenSealed }) => authorisationTokenSealed),
  ])
}

const findStatement = sql(
  'delivery_find_signing',
  `select institution_id as "institutionId",
     authorisation_token_sealed as "authorisationTokenSealed"
   from signing where delivery_id = $1`,
)

/** What a delivery needs to be signed. Locks nothing. */
export function findSigning(db: Queryable, deliveryId: string): Promise<Signing | undefined> {
  return db.row(findStatement, [deliveryId])
}
