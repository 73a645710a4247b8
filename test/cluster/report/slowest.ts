// Says where the slowest pushes of a load spent their time, by the times that the database has of each step.
import { connectClient } from '#platform/db/client.ts'
import type { Records } from '../load/records.ts'

/** Seconds after the commit of the event, and how often it was published. */
type Steps = {
  id: string
  committed: string
  publications: number
  published: string | null
  taken: string
  posted: string
}

const slowest = `
  select d.delivery_id as id, to_char(d.occurred_at at time zone 'UTC', 'HH24:MI:SS') as committed,
    o.attempts as publications,
    round(extract(epoch from o.published_at - d.occurred_at), 1)::text as published,
    round(extract(epoch from i.taken_at - d.occurred_at), 1)::text as taken,
    round(extract(epoch from a.first_post - d.occurred_at), 1)::text as posted
  from delivery.delivery as d
  join payments.outbox as o on o.event_id = d.event_id
  join delivery.inbox as i on i.event_id = d.event_id
  join lateral (
    select min(started_at) as first_post from delivery.attempt where delivery_id = d.delivery_id
  ) as a on true
  where d.subject_id = any($1)
  order by a.first_post - d.occurred_at desc limit 5`

/** One line for each of the five slowest pushes. */
export async function slowestPushes(databaseUrl: string, records: Records): Promise<string[]> {
  const ids = records.operations.flatMap(({ kind, resultId }) =>
    kind === 'create' && resultId !== undefined ? [resultId] : [],
  )
  const client = await connectClient({ url: databaseUrl }, {})
  try {
    const { rows } = await client.query<Steps>(slowest, [ids])
    return rows.map(
      ({ id, committed, publications, published, taken, posted }) =>
        `push ${id}, committed at ${committed}: published again ${publications} times, last after ${published ?? 'none'} s, taken in after ${taken} s, posted after ${posted} s`,
    )
  } finally {
    await client.end()
  }
}
