// The statements that find violations of the rules of the ledger. None locks anything; each reads one snapshot.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'

/** What breaks one rule: sentences with ids and without names of people. */
export type RuleCheck = { rule: Rule; statement: Sql }

/** The rules of the ledger that can be checked. */
export const rules = ['L1', 'L2', 'L3', 'L4', 'L5', 'L6'] as const

/** Name of a rule. */
export type Rule = (typeof rules)[number]

/** Findings of one statement. */
export const maxFindings = 100

/** Longer than any worker's pause: what is open then was forgotten. */
const overdue = `interval '1 minute'`

function check(rule: Rule, name: string, findings: string): RuleCheck {
  const text = `select description from (${findings}) finding limit ${maxFindings}`
  return { rule, statement: sql(`check_${name}`, text) }
}

/** Every check, in the order of the rules. */
export const ruleChecks: readonly RuleCheck[] = [
  check(
    'L1',
    'transfers',
    `select format('transfer %s of project %s is off by %s in %s', transfer_id, project_id,
       sum(amount_minor), currency) as description
     from posting group by project_id, transfer_id, currency having sum(amount_minor) <> 0`,
  ),
  check(
    'L2',
    'balances',
    `select format('all balances in %s sum to %s', currency, sum(minor)) as description
     from (
       select currency, posted_minor::numeric as minor from ledger_account
       union all select currency, posted_minor from internal_balance
       union all select currency, amount_minor from internal_unfolded
     ) balance group by currency having sum(minor) <> 0`,
  ),
  check(
    'L3',
    'posted',
    `select format('the %s account of %s has %s in %s, its lines sum to %s', holder, holder_id,
       coalesce(a.posted_minor, 0), currency, coalesce(p.minor, 0)) as description
     from ledger_account a full join (
       select holder_id, holder, currency, sum(amount_minor) as minor from posting
       where holder_id is not null group by holder_id, holder, currency
     ) p using (holder_id, holder, currency)
     where coalesce(a.posted_minor, 0) <> coalesce(p.minor, 0)`,
  ),
  check(
    'L3',
    'held',
    `select format('the %s account of %s holds %s in %s, its open holds sum to %s', holder,
       holder_id, coalesce(a.held_minor, 0), currency, coalesce(h.minor, 0)) as description
     from ledger_account a full join (
       select holder_id, holder, currency, sum(amount_minor) as minor from hold
       where state = 'open' group by holder_id, holder, currency
     ) h using (holder_id, holder, currency)
     where coalesce(a.held_minor, 0) <> coalesce(h.minor, 0)`,
  ),
  check(
    'L3',
    'internal',
    `select format('%s of project %s has %s in %s, its lines sum to %s', internal, project_id,
       coalesce(b.minor, 0), currency, coalesce(p.minor, 0)) as description
     from (
       select project_id, internal, currency, sum(minor) as minor from (
         select project_id, internal, currency, posted_minor as minor from internal_balance
         union all select project_id, internal, currency, amount_minor from internal_unfolded
       ) part group by project_id, internal, currency
     ) b full join (
       select project_id, internal, currency, sum(amount_minor) as minor from posting
       where internal is not null group by project_id, internal, currency
     ) p using (project_id, internal, currency)
     where coalesce(b.minor, 0) <> coalesce(p.minor, 0)`,
  ),
  check(
    'L4',
    'available',
    `select format('the %s account of %s in %s has %s posted, %s held and may not fall below %s',
       holder, holder_id, currency, posted_minor, held_minor, floor_minor) as description
     from ledger_account
     where posted_minor::numeric < floor_minor::numeric + held_minor or held_minor < 0`,
  ),
  check(
    'L5',
    'lines',
    `select format('transfer %s of project %s was written with %s lines and has %s', transfer_id,
       project_id, coalesce(t.line_count, 0), coalesce(p.lines, 0)) as description
     from transfer t full join (
       select project_id, transfer_id, count(*) as lines from posting
       group by project_id, transfer_id
     ) p using (project_id, transfer_id)
     where coalesce(t.line_count, 0) <> coalesce(p.lines, 0)`,
  ),
  check(
    'L5',
    'reversed_twice',
    `select format('transfer %s of project %s was taken back %s times', reverses_id, project_id,
       count(*)) as description
     from transfer where reverses_id is not null
     group by project_id, reverses_id having count(*) > 1`,
  ),
  check(
    'L5',
    'reversals',
    `select format('transfer %s of project %s does not take back %s as it was posted',
       t.transfer_id, t.project_id, t.reverses_id) as description
     from transfer t where reverses_id is not null and (
       select count(*) from posting p join posting o on o.project_id = p.project_id
         and o.transfer_id = t.reverses_id and o.line = p.line and o.currency = p.currency
         and o.amount_minor = -p.amount_minor and o.holder_id is not distinct from p.holder_id
         and o.holder is not distinct from p.holder and o.internal is not distinct from p.internal
       where p.project_id = t.project_id and p.transfer_id = t.transfer_id
     ) <> t.line_count`,
  ),
  check(
    'L5',
    'guards',
    `select format('%s is not protected by %s', guarded, guard) as description
     from (values ('posting', 'posting_immutable'), ('posting', 'lines_sum_to_zero'),
         ('transfer', 'transfer_immutable')) as g(guarded, guard)
     where not exists (select from pg_trigger
       where tgrelid = to_regclass(guarded) and tgname = guard and tgenabled in ('O', 'A'))
     union all
     select format('%s may be changed by the service: %s', guarded, privilege)
     from (values ('posting'), ('transfer')) t(guarded)
       cross join (values ('update'), ('delete'), ('truncate')) p(privilege)
     where has_table_privilege(guarded, privilege)`,
  ),
  check(
    'L6',
    'holds',
    `select format('hold %s of project %s is %s, ran out at %s and has %s', hold_id, h.project_id,
       state, to_char(expire_time at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
       case when transfer_id is null then 'no transfer' else 'a transfer' end) as description
     from hold h left join transfer t on t.project_id = h.project_id and t.transfer_id = hold_id
     where (state = 'posted') <> (transfer_id is not null)
       or (state = 'open' and expire_time < business_now() - ${overdue})`,
  ),
]

/** What breaks a rule by one check. */
export async function findBroken(q: Queryable, { statement }: RuleCheck): Promise<string[]> {
  const rows = await q.rows<{ description: string }>(statement, [])
  return rows.map(({ description }) => description)
}

const roundingStatement = sql(
  'check_fx_rounding',
  `select currency, sum(minor)::float8 as minor from (
     select currency, posted_minor as minor from internal_balance where internal = 'fx_rounding'
     union all select currency, amount_minor from internal_unfolded where internal = 'fx_rounding'
   ) part group by currency`,
)

/** What the rounding of exchanges took in all, by currency: minor units, no longer exact above 2^53. */
export function readRounding(q: Queryable): Promise<{ currency: string; minor: number }[]> {
  return q.rows(roundingStatement, [])
}

const extentStatement = sql(
  'check_extent',
  'select count(*) as transfers, clock_now() as "checkTime" from transfer',
)

/** How much there is to check, and when. */
export async function readExtent(q: Queryable): Promise<{ transfers: bigint; checkTime: Date }> {
  const row = await q.row<{ transfers: bigint; checkTime: Date }>(extentStatement, [])
  if (row === undefined) throw new Error('a count has no row')
  return row
}
