// Statements that delete ended deliveries and old rows.
import { type Queryable, sql } from '#platform/db/db.ts'

const daysStatement = sql('delivery_keep_attempt_days', 'select keep_attempt_days($1, $2)')

/** Makes the partitions of the coming days and drops old ones. Locks `attempt` for a moment when it does. */
export async function keepAttemptDays(
  db: Queryable,
  daysAhead: number,
  daysKept: number,
): Promise<void> {
  await db.run(daysStatement, [daysAhead, daysKept])
}

const apiLogStatement = sql(
  'delivery_keep_api_request_days',
  'select keep_api_request_days($1, $2)',
)

/** The same for the API log. Locks `api_request` for a moment when it does. */
export async function keepApiLogDays(
  db: Queryable,
  daysAhead: number,
  daysKept: number,
): Promise<void> {
  await db.run(apiLogStatement, [daysAhead, daysKept])
}

const deleteStatement = sql(
  'delivery_delete_ended',
  `with done as (
     select delivery_id from delivery
     where state in ('delivered', 'gone', 'cancelled')
       and ended_at < clock_now() - interval '30 days'
     order by ended_at
     limit $1
     for update skip locked
   ), dead as (
     select delivery_id from delivery
     where state in ('exhausted', 'blocked') and ended_at < clock_now() - interval '90 days'
     limit $1
     for update skip locked
   ), old as (
     select delivery_id from done union all select delivery_id from dead limit $1
   )
   delete from delivery using old where delivery.delivery_id = old.delivery_id`,
)

/** Deletes up to `limit` deliveries that ended 30 days ago, or 90 when they were given up. */
export function deleteEnded(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteStatement, [limit])
}

const deleteGoneStatement = sql(
  'delivery_delete_gone_urls',
  `with old as (
     select project_id, subject_id, url_sha256 from gone_url
     where gone_at < clock_now() - interval '400 days'
     order by gone_at
     limit $1
     for update skip locked
   )
   delete from gone_url using old
   where gone_url.project_id = old.project_id and gone_url.subject_id = old.subject_id
     and gone_url.url_sha256 = old.url_sha256`,
)

/** Deletes up to `limit` answers of 410 that are 400 days old: the lives of their subjects are over. */
export function deleteGoneUrls(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteGoneStatement, [limit])
}
