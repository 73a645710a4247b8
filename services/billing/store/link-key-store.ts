// Reads which receipts need which key of their links.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { DependantSource } from '#platform/keys/dependants.ts'

const noId = '00000000-0000-0000-0000-000000000000'

const receiptStatement = sql(
  'dependants_receipt',
  `select bill_payment_id::text as cursor, transaction_id as id, link_key_id as "keyId"
   from bill_payment where bill_payment_id > $1::uuid and receipt_id is not null
   order by bill_payment_id limit $2`,
)

/** Stored values that need link.key. */
export function linkDependants(db: Queryable): Record<string, DependantSource[]> {
  return {
    'link.key': [
      {
        kind: 'receipt that a print shows at the same link',
        read: (after, limit) => db.rows(receiptStatement, [after || noId, limit]),
      },
    ],
  }
}
