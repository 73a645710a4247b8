// Statements that list the transfers of a project. They lock nothing.
import { type Queryable, sql } from '#platform/db/db.ts'
import { type Address, holderKey } from '../domain/lines.ts'
import { instant, type MicrosWindow, micros } from './balance-store.ts'
import {
  type Transfer,
  type TransferRow,
  transferColumns,
  transferLines,
  transferOf,
} from './ledger-store.ts'

/** Which transfers; what is empty or undefined narrows nothing. */
export type TransferFilter = MicrosWindow & {
  projectId: string
  account: Address | undefined
  method: string
  reference: string
}

/** The cursor of the list: the time of a transfer in microseconds since 1970, and its id. */
export type TransferCursor = { timeUs: bigint; id: string }

/** Part of the list. */
export type FoundTransfers = {
  transfers: (Transfer & { cursor: TransferCursor })[]
  /** The last transfer that was looked at, while others may follow it; undefined at the end of the list. */
  end: TransferCursor | undefined
}

const isInPart = `x.post_time >= ${instant('$2')} and x.post_time < coalesce(${instant('$3')}, 'infinity')
       and x.post_time <= coalesce(${instant('$5')}, 'infinity')
       and ($5::bigint is null or (x.post_time, x.transfer_id) < (${instant('$5')}, $6::uuid))`
const newestFirst = 'order by x.post_time desc, x.transfer_id desc limit $4'

/** What is looked at, of which an index has the order: all of a project, of one reference, or of one holder. */
const sources = {
  all: `select x.transfer_id, x.post_time from transfer x
     where x.project_id = $1 and ${isInPart} ${newestFirst}`,
  reference: `select x.transfer_id, x.post_time from transfer x
     where x.project_id = $1 and x.reference = $8 and x.reference <> '' and ${isInPart} ${newestFirst}`,
  holder: `select distinct on (x.post_time, x.transfer_id) x.transfer_id, x.post_time from posting x
     where x.holder_id = $10 and x.holder = $11::ledger_holder and x.project_id = $1 and ${isInPart}
     ${newestFirst}`,
}

const lists = Object.fromEntries(
  Object.entries(sources).map(([name, source]) => [
    name,
    sql(
      `transfer_list_${name}`,
      `with looked as materialized (${source}), found as (
         select t.* from looked join transfer t on t.project_id = $1 and t.transfer_id = looked.transfer_id
         where ($7::text = '' or t.method = $7) and ($8::text = '' or t.reference = $8)
           and ($9::ledger_internal is null or exists (
             select from posting p where p.project_id = t.project_id and p.transfer_id = t.transfer_id
               and p.internal = $9))
           and ($10::uuid is null or exists (
             select from posting p where p.project_id = t.project_id and p.transfer_id = t.transfer_id
               and p.holder_id = $10 and p.holder = $11::ledger_holder))
         order by t.post_time desc, t.transfer_id desc limit $12
       ), ended as (
         select ${micros('post_time')} as end_us, transfer_id as end_id from looked
         where (select count(*) from looked) >= $4 order by post_time, transfer_id limit 1
       )
       select ended.*, listed.* from (values (1)) one left join ended on true left join lateral (
         select ${transferColumns}, l.*, ${micros('t.post_time')} as time_us
         from found t cross join lateral ${transferLines} l
       ) listed on true
       order by listed.post_time desc, listed.transfer_id desc`,
    ),
  ]),
) as Record<keyof typeof sources, ReturnType<typeof sql>>

type ListRow = { end_us: bigint | null; end_id: string | null } & (
  | ({ time_us: bigint } & TransferRow)
  | { transfer_id: null }
)

/**
 * Transfers of a project, newest first, after a cursor: at most `limit` of the `scan` that it looks at, so that no filter of the project's
 * own transfers makes it read the whole list. By a customer's account it also reads past the account's postings of other projects, which
 * `scan` does not count: that read has no bound but the number of these postings.
 */
export async function findTransfers(
  q: Queryable,
  filter: TransferFilter & { limit: number; scan: number; after: TransferCursor | undefined },
): Promise<FoundTransfers> {
  const { projectId, account, method, reference, startUs, endUs, limit, scan, after } = filter
  const internal = account !== undefined && 'internal' in account ? account.internal : null
  const holder =
    account !== undefined && !('internal' in account) ? holderKey(account, '') : undefined
  const ofHolder = holder === undefined ? 'all' : 'holder'
  const rows = await q.rows<ListRow>(lists[reference === '' ? ofHolder : 'reference'], [
    projectId,
    startUs,
    endUs ?? null,
    scan,
    after?.timeUs ?? null,
    after?.id ?? null,
    method,
    reference,
    internal,
    holder?.holderId ?? null,
    holder?.holder ?? null,
    limit,
  ])
  const { end_us: timeUs, end_id: id } = rows[0] ?? { end_us: null, end_id: null }
  return {
    transfers: rows.flatMap((row) =>
      row.transfer_id === null
        ? []
        : [
            {
              ...transferOf(projectId, row),
              cursor: { timeUs: row.time_us, id: row.transfer_id },
            },
          ],
    ),
    end: timeUs === null || id === null ? undefined : { timeUs, id },
  }
}
