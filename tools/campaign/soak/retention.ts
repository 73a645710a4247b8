// Retention in a soak: rows are kept for days, longer than a soak. So it backdates rows that are out of use, and checks that the product deletes them.
import type { Client } from 'pg'
import { type Finding, findingOf } from '../check/finding.ts'

/** A kind of rows that are deleted some time after they are out of use. */
type Kind = {
  table: string
  /** The days for which a row stays, and the minutes within which an old one is deleted. */
  days: number
  withinMin: number
  /** Minutes after the time of a row from which on neither the product nor a check reads it. */
  unusedAfterMin: number
  only: string
  /** The SQL condition that the time of a row is more than some minutes ago. */
  before(minutes: number): string
  /** The SQL assignment that backdates a row by some minutes. */
  backdated(minutes: number): string
  /** Of a table with one partition for each day: the SQL of a partition's bound. */
  bound?(day: string): string
}

/** Result for the rows of a table: how many were backdated, how many of them are gone, and how many stayed for too long. */
export type Retained = { table: string; withinMin: number; old: number; gone: number; late: number }

const dayMin = 24 * 60
const unusedAfterMin = 2
/** Loops of retention pause for a minute and delete a thousand rows at a time; those of partitions pause for an hour. */
const rowsWithinMin = 5
const partitionsWithinMin = 65
/** A partition is dropped when its whole day is old. */
const extraDays = 2

function rowsBy(
  table: string,
  time: string,
  days: number,
  { only = 'true', ...more }: Partial<Kind> = {},
): Kind {
  return {
    table,
    days,
    withinMin: rowsWithinMin,
    unusedAfterMin,
    only,
    before: (minutes) => `${time} < now() - interval '${minutes} minutes'`,
    backdated: (minutes) => `${time} = ${time} - interval '${minutes} minutes'`,
    ...more,
  }
}

/** A session may be used for 15 minutes, but the load uses it at once. */
const usedAtOnce = { unusedAfterMin: unusedAfterMin - 15 }

const idDigits = "replace(entry_id::text, '-', '')"
const timeOfId = `('x' || left(${idDigits}, 12))::bit(48)::bigint`
const hexOf = (milliseconds: string): string => `lpad(to_hex((${milliseconds})::bigint), 12, '0')`

const kinds: readonly Kind[] = [
  ...['payments', 'accounts', 'institution'].map((service) =>
    rowsBy(`${service}.outbox`, 'confirmed_at', 7),
  ),
  rowsBy('delivery.inbox', 'taken_at', 30),
  rowsBy('accounts.inbox', 'taken_at', 30),
  rowsBy('delivery.delivery', 'ended_at', 30, { only: "state = 'delivered'" }),
  rowsBy('accounts.backend_task', 'done_time', 30),
  rowsBy('accounts.session', 'expire_time', 30, { ...usedAtOnce, only: 'consumed_by is null' }),
  rowsBy('accounts.session_request', 'expire_time', 30, usedAtOnce),
  rowsBy('delivery.attempt', 'started_at', 90, {
    only: "outcome <> 'started'",
    withinMin: partitionsWithinMin,
    bound: (day) => `'${day} 00:00:00+00'`,
  }),
  // The id is a UUID of version 7: its first 48 bits are milliseconds.
  rowsBy('delivery.api_request', 'entry_id', 30, {
    withinMin: partitionsWithinMin,
    bound: (day) => `delivery.api_request_day('${day}')`,
    before: (minutes) =>
      `entry_id < (${hexOf(`extract(epoch from now()) * 1000 - ${minutes * 60_000}`)} || repeat('0', 20))::uuid`,
    backdated: (minutes) =>
      `entry_id = (${hexOf(`${timeOfId} - ${minutes * 60_000}`)} || substr(${idDigits}, 13))::uuid`,
  }),
]

const oldMin = ({ days }: Kind): number => (days + extraDays) * dayMin

/** Follows the rows of one soak. */
export function watchRetention(client: Client) {
  const rows = new Map(kinds.map((kind) => [kind, { old: 0, gone: 0, left: 0 }]))

  async function count({ table, only }: Kind, condition: string): Promise<number> {
    const text = `select count(*)::integer as count from ${table} where ${only} and ${condition}`
    const result = await client.query<{ count: number }>(text)
    return result.rows[0]?.count ?? 0
  }

  /** Makes the partition that rows go to when they are backdated, unless such rows are in the default partition already. */
  async function addPartition(kind: Kind): Promise<void> {
    const { table, bound } = kind
    if (bound === undefined || (await count(kind, kind.before(oldMin(kind)))) > 0) return
    const text = `select to_char(d, 'YYYY-MM-DD') as day, to_char(d + interval '1 day', 'YYYY-MM-DD') as next
      from (select now() at time zone 'UTC' - interval '${oldMin(kind)} minutes' as d) as old`
    const [days] = (await client.query<{ day: string; next: string }>(text)).rows
    if (days === undefined) return
    await client.query(
      `create table if not exists ${table}_${days.day.replaceAll('-', '')}
       partition of ${table} for values from (${bound(days.day)}) to (${bound(days.next)})`,
    )
  }

  return {
    /** Before the first rows are backdated. */
    async start(): Promise<void> {
      for (const kind of kinds) await addPartition(kind)
    },
    /** Rows that were backdated and are gone. */
    gone: () => [...rows.values()].reduce((sum, { gone }) => sum + gone, 0),
    /** Backdates the rows that have been out of use for some time. */
    async backdate(): Promise<void> {
      for (const [kind, seen] of rows) {
        const { table, only, before, backdated } = kind
        const left = await count(kind, before(oldMin(kind)))
        seen.gone += Math.max(0, seen.left - left)
        const { rowCount } = await client.query(
          `update ${table} set ${backdated(oldMin(kind))}
           where ${only} and ${before(kind.unusedAfterMin)} and not ${before(dayMin)}`,
        )
        seen.old += rowCount ?? 0
        seen.left = left + (rowCount ?? 0)
      }
    },
    /** Result for each table. */
    async outcome(): Promise<Retained[]> {
      const outcome: Retained[] = []
      for (const [kind, { old, gone }] of rows) {
        const { table, withinMin, before } = kind
        const late = await count(kind, before(oldMin(kind) + kind.unusedAfterMin + withinMin))
        outcome.push({ table, withinMin, old, gone, late })
      }
      return outcome
    },
  }
}

/** What is wrong with the retention of a soak of some minutes. One in which it deleted nothing says nothing about it. */
export function judgeRetention(outcome: readonly Retained[], minutes: number): Finding[] {
  const late = outcome.filter((one) => one.late > 0)
  const none = outcome.filter(({ gone, withinMin }) => gone === 0 && minutes > 2 * withinMin)
  const isIdle = outcome.every(({ gone }) => gone === 0)
  return [
    ...findingOf(
      'old rows that stayed for too long',
      late.map((one) => `${one.late} of ${one.table} for more than ${one.withinMin} minutes`),
    ),
    ...findingOf(
      'tables of which retention deleted nothing',
      isIdle ? ['all'] : none.map(({ table }) => table),
    ),
  ]
}
