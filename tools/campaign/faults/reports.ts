// A back end that is wrong: it reports what nobody asked for, and outcomes that cannot follow those that it has reported.
import { Client } from 'pg'
import { wrongReportsFrom } from '../check/rules.ts'
import type { System } from '../system/system.ts'
import type { Fault } from './fault.ts'

const newest = 3
/** A subject of which every true report was taken in, so that the wrong one comes after it. */
const isReported = (id: string, kind: string): string => `exists (
    select from simulator.report as r where r.subject_id = ${id} and r.kind = '${kind}' and r.delivered_at is not null)
  and not exists (select from simulator.report as r where r.subject_id = ${id} and r.kind = '${kind}' and r.delivered_at is null)`

/** The back end's own sender takes these up. Their position distinguishes them from true ones. */
const wrongReports = `
  insert into simulator.report (subject_id, position, kind, attempt_id, outcome, reason)
  select subject_id, ${wrongReportsFrom}, kind, attempt_id, outcome, reason from (
    select gen_random_uuid() as subject_id, kind, null::uuid as attempt_id, 'completed' as outcome, null as reason
      from unnest(array['payout', 'refund', 'transfer']) as kind
    union all select gen_random_uuid(), 'charge', gen_random_uuid(), 'paid', null
    union all (select transfer_id, 'transfer', null, case state when 'completed' then 'failed' else 'completed' end,
        case state when 'completed' then 'wrong' end
      from simulator.transfer where state in ('completed', 'failed') and ${isReported('transfer_id', 'transfer')}
      order by received_at desc limit ${newest})
    union all (select a.charge_id, 'charge', a.attempt_id, 'refused', null from simulator.attempt as a
      where a.outcome = 'paid' and ${isReported('a.charge_id', 'charge')} order by a.made_at desc limit ${newest})
    union all (select review_id, 'onboarding', null, 'rejected', 'wrong' from simulator.review
      where state = 'completed' and ${isReported('review_id', 'onboarding')} order by decided_at desc limit ${newest})
    union all (select challenge_id, 'consent', null, case state when 'approved' then 'rejected' else 'approved' end, null
      from simulator.consent where state in ('approved', 'rejected') and ${isReported('challenge_id', 'consent')}
      order by asked_at desc limit ${newest})
  ) as wrong on conflict do nothing`

async function reportWrong({ mesh }: System): Promise<void> {
  const client = new Client({
    connectionString: mesh.databaseUrl(),
    options: '-c search_path=simulator',
  })
  // A fault beside this one may end it.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(wrongReports)
  } catch (error) {
    // A mistake in the statement is one of the campaign; that PostgreSQL is away is a fault beside this one.
    const { code = '' } = error as { code?: string }
    if (/^(42|22|23)/.test(code)) throw error
  } finally {
    await client.end().catch(() => undefined)
  }
}

export const reportFaults: Fault[] = [
  {
    name: 'backend-wrong',
    what: 'The back end reports unknown charges, payouts, refunds and transfers, and other outcomes than those that it has reported.',
    weight: 2,
    limitS: 0,
    draw: () => ({ title: 'wrong reports of the back end', heldS: 0, inject: reportWrong }),
  },
]
