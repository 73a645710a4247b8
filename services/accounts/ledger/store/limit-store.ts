// Statements that count the use of accounts' limits.

import { type Queryable, sql } from '#platform/db/db.ts'
import type { Counted, Used } from '../domain/limits.ts'

type CountedRow = { level: number; day_minor: bigint | null; month_minor: bigint | null }

const countStatement = sql(
  'limit_count',
  `with known as (
     select a.account_id, a.level, ($6::bigint[])[a.level + 1] as single_minor,
       m.limit_day::timestamp as day
     from account a cross join movement m
     where a.account_id = $3 and m.project_id = $1 and m.movement_id = $2
   ), counted as (
     insert into limit_usage as u (account_id, currency, span, span_start, used_minor)
     select k.account_id, $4, s.span, date_trunc(s.span::text, k.day)::date, $5
     from known k cross join unnest(enum_range(null::limit_span)) as s(span)
     where $5 <= k.single_minor
     order by s.span
     on conflict (account_id, currency, span, span_start)
       do update set used_minor = u.used_minor + excluded.used_minor
     returning span, used_minor
   )
   select level, (select used_minor from counted where span = 'day') as day_minor,
     (select used_minor from counted where span = 'month') as month_minor
   from known`,
)

/**
 * Counts an amount in the UTC day and month, in real time, in which a movement began, and answers what is used then. Locks the two
 * rows, the day first, until the transaction ends: a caller that finds a limit exceeded must roll back.
 */
export async function countUse(
  tx: Queryable,
  movement: { projectId: string; movementId: string },
  use: { accountId: string; currency: string; amountMinor: bigint },
  singleLimitsMinor: readonly bigint[],
): Promise<Counted | undefined> {
  const row = await tx.row<CountedRow>(countStatement, [
    movement.projectId,
    movement.movementId,
    use.accountId,
    use.currency,
    use.amountMinor,
    singleLimitsMinor,
  ])
  if (row === undefined) return undefined
  const { level, day_minor: dayMinor, month_minor: monthMinor } = row
  return { level, dayMinor: dayMinor ?? undefined, monthMinor: monthMinor ?? undefined }
}

/** Columns `dayMinor` and `monthMinor`: what an account has used by now, both parameters being SQL; zero of no currency. */
export function usedColumns(accountId: string, currency: string): string {
  const usedIn = (span: 'day' | 'month'): string =>
    `coalesce((select u.used_minor from limit_usage u
       where u.account_id = ${accountId} and u.currency = ${currency} and u.span = '${span}'
         and u.span_start = date_trunc('${span}', clock_now() at time zone 'UTC')::date), 0)`
  return `${usedIn('day')} as "dayMinor", ${usedIn('month')} as "monthMinor"`
}

const readStatement = sql(
  'limit_read',
  `select a.level, ${usedColumns('a.account_id', '$2')}
   from account a
   where a.account_id = $1
     and exists (select from endpoint_grant g
       where g.project_id = $3 and g.institution_id = a.institution_id)`,
)

/** What an account has used of its limits; undefined when the project sees no such account. Locks nothing. */
export function readUse(
  q: Queryable,
  projectId: string,
  accountId: string,
  currency: string,
): Promise<Used | undefined> {
  return q.row(readStatement, [accountId, currency, projectId])
}

const giveBackStatement = sql(
  'limit_give_back',
  `with known as materialized (
     select u.account_id, u.currency, u.span, u.span_start, m.limit_minor
     from movement m join limit_usage u on u.account_id = m.limit_account_id
       and u.currency = m.limit_currency
       and u.span_start = date_trunc(u.span::text,
         coalesce(m.limit_day::timestamp, m.begin_time at time zone 'UTC'))::date
     where m.project_id = $1 and m.movement_id = $2
     order by u.span
     for no key update of u
   )
   update limit_usage u set used_minor = u.used_minor - k.limit_minor
   from known k
   where u.account_id = k.account_id and u.currency = k.currency and u.span = k.span
     and u.span_start = k.span_start`,
)

/** Takes back what a movement counted, where it was counted. Locks the rows in the order in which counting does. */
export async function giveBackUse(
  tx: Queryable,
  projectId: string,
  movementId: string,
): Promise<void> {
  await tx.run(giveBackStatement, [projectId, movementId])
}
