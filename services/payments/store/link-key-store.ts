// Reads which open payments need which key of their payers' links.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Dependant, DependantSource } from '#platform/keys/dependants.ts'

const noId = '00000000-0000-0000-0000-000000000000'

const openStatement = sql(
  'dependants_open_payer',
  `select (extract(epoch from p.expiry_check_time) * 1000000)::bigint || '/' || p.payment_id || '/'
       || r.payer_id as cursor,
     r.payer_id::text as id, r.link_key_id as "keyId"
   from payment p join payer r on r.payment_id = p.payment_id
   where p.expiry_check_time >= timestamptz 'epoch' + $1::bigint * interval '1 microsecond'
     and (p.expiry_check_time, p.payment_id, r.payer_id)
       > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::uuid, $3::uuid)
     and r.link_token_hash is not null
   order by p.expiry_check_time, p.payment_id, r.payer_id limit $4`,
)

/** Reads payers of payments that are still to be paid, in the order of their deadlines. Locks nothing. */
async function readOpenPayers(db: Queryable, after: string, limit: number): Promise<Dependant[]> {
  const [micros = '0', paymentId = noId, payerId = noId] = after === '' ? [] : after.split('/')
  return db.rows(openStatement, [micros, paymentId, payerId, limit])
}

/** Stored values that need link.key. Links of payments that ended are not counted: they open without it. */
export function linkDependants(db: Queryable): Record<string, DependantSource[]> {
  const kind = 'payer of an open payment'
  return { 'link.key': [{ kind, read: (after, limit) => readOpenPayers(db, after, limit) }] }
}
