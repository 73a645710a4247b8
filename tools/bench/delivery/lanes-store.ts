// Statement of the measurement of lanes, outside the measured part: how late retries were.
import { onDatabase } from '../store/on-database.ts'

/** First retries that were sent, and how long after their time. */
export type Retries = {
  count: number
  /** How many of them were due by now; those that came are `count`. */
  due: number
  p95LateMs: number
  maxLateMs: number
}

/** Reads the first retries of a project's pushes. */
export function readRetries(databaseUrl: string, projectId: string): Promise<Retries> {
  return onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<Retries>(
      `with late as (
         select extract(epoch from retry.started_at - first.next_attempt_at) * 1000 as ms
         from delivery.delivery as d
           join delivery.attempt as first on first.delivery_id = d.delivery_id and first.number = 1
           left join delivery.attempt as retry
             on retry.delivery_id = d.delivery_id and retry.number = 2
         where d.project_id = $1 and first.next_attempt_at < now() - interval '1 second'
       )
       select count(ms)::integer as count, count(*)::integer as due,
         coalesce(percentile_cont(0.95) within group (order by ms), 0)::float8 as "p95LateMs",
         coalesce(max(ms), 0)::float8 as "maxLateMs"
       from late`,
      [projectId],
    )
    const [row] = rows
    if (row === undefined) throw new Error('a count has no row')
    return row
  })
}
