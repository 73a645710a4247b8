// Statements on which stored digests and tokens need which key, page by page.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Dependant } from '#platform/keys/dependants.ts'

const noId = '00000000-0000-0000-0000-000000000000'

const keyStatements = {
  subscription_key: sql(
    'dependants_subscription_key',
    `select key_id::text as cursor, key_id::text as id, pepper_id as "keyId" from subscription_key
     where key_id > $1::uuid and revoked_at is null order by key_id limit $2`,
  ),
  api_key: sql(
    'dependants_api_key',
    `select key_id::text as cursor, key_id::text as id, pepper_id as "keyId" from api_key
     where key_id > $1::uuid and revoked_at is null order by key_id limit $2`,
  ),
}

/** Reads keys that are not revoked, in the order of their ids. Locks nothing. */
export function readKeysByPepper(
  db: Queryable,
  table: keyof typeof keyStatements,
  after: string,
  limit: number,
): Promise<Dependant[]> {
  return db.rows(keyStatements[table], [after || noId, limit])
}

const pinStatement = sql(
  'dependants_pin',
  `select project_id || '/' || merchant_id as cursor, merchant_id::text as id,
     pin_pepper_id as "keyId"
   from business_owner where (project_id, merchant_id) > ($1::uuid, $2::uuid)
   order by project_id, merchant_id limit $3`,
)

/** Reads the pins of business accounts, in the order of their projects and merchants. Locks nothing. */
export function readPinsByPepper(
  db: Queryable,
  after: string,
  limit: number,
): Promise<Dependant[]> {
  const [projectId = noId, merchantId = noId] = after === '' ? [] : after.split('/')
  return db.rows(pinStatement, [projectId, merchantId, limit])
}

const sessionStatement = sql(
  'dependants_session',
  `select (extract(epoch from r.expire_time) * 1000000)::bigint || '/' || r.project_id || '/'
       || r.request_id as cursor,
     s.session_id::text as id, s.key_id as "keyId"
   from session_request r join session s on s.session_id = r.session_id
   where r.expire_time > clock_now()
     and r.expire_time >= timestamptz 'epoch' + $1::bigint * interval '1 microsecond'
     and (r.expire_time, r.project_id, r.request_id)
       > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::uuid, $3::uuid)
   order by r.expire_time, r.project_id, r.request_id limit $4`,
)

/** Reads live sessions that a repeat of their request shows again, in the order of their ends. Locks nothing. */
export function readSessionsByKey(
  db: Queryable,
  after: string,
  limit: number,
): Promise<Dependant[]> {
  const [micros = '0', projectId = noId, requestId = noId] = after === '' ? [] : after.split('/')
  return db.rows(sessionStatement, [micros, projectId, requestId, limit])
}
