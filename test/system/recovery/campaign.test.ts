// A short campaign: a few faults of the table under the whole load, others each time. How to run a long one: docs/campaign.md.
import { randomInt } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCampaign } from '../../../tools/campaign/campaign.ts'
import { wrongReportsFrom } from '../../../tools/campaign/check/rules.ts'
import { checkBalances, checkTables, settle } from '../../../tools/campaign/check/tables.ts'
import { kindsFor, runOnDeployment } from '../../../tools/campaign/deployment.ts'
import { faultsNamed } from '../../../tools/campaign/faults/table.ts'
import { seededRandom } from '../../../tools/campaign/random.ts'
import { type System, startSystem } from '../../../tools/campaign/system/system.ts'
import { eventually } from '../../support/eventually.ts'

const seed = Number(process.env['CAMPAIGN_SEED'] ?? randomInt(2 ** 31))
const minutes = 15 / 60
const rows = faultsNamed([
  'kill',
  'postgres-kill',
  'nats-wiped',
  'connections-ended',
  'answers-lost',
  'backend-answers-lost',
])
const timeoutMs = 900_000
const settledWithinMs = 120_000

let system: System
beforeAll(async () => {
  system = await startSystem({ hasDisks: false, hasLinks: true })
})
afterAll(() => system.close())

it(
  `across faults of processes, stores and links nothing that was answered is lost or doubled (CAMPAIGN_SEED=${seed})`,
  async () => {
    const lines: string[] = []
    const plan = { seed, minutes, ratePerS: 4, rows }
    const outcome = await runCampaign(system, plan, (line) => lines.push(line))
    expect(outcome.findings, lines.join('\n')).toEqual([])
    expect(outcome.steps.length).toBeGreaterThan(0)
    expect(outcome.records.operations.length).toBeGreaterThan(10)
  },
  timeoutMs,
)

it(
  'the load and the reading back run on a deployment by its address and keys alone',
  async () => {
    const { base_url, ...keys } = system.mesh.sandbox
    const plan = { seed, minutes: 0.02, ratePerS: 4, rows: [] }
    const { findings, records } = await runOnDeployment(base_url, keys, plan, () => undefined)
    expect(findings).toEqual([])
    const kinds = new Set(records.operations.map(({ kind }) => kind))
    expect([...kinds].toSorted()).toEqual(kindsFor(keys).toSorted())
    const { projects } = keys
    expect(kindsFor({ projects })).not.toContain('transfer')
  },
  timeoutMs,
)

it(
  'wrong reports of the back end are taken or refused, and change nothing',
  async () => {
    const [fault] = faultsNamed(['backend-wrong'])
    await fault?.draw(seededRandom(seed)).inject(system)
    const reports = await eventually(
      () =>
        system.mesh.rows<{ kind: string; is_over: boolean }>(
          `select kind, delivered_at is not null or parked_at is not null as is_over
           from simulator.report where position >= $1`,
          [wrongReportsFrom],
        ),
      (rows) => expect(rows.filter(({ is_over }) => !is_over)).toEqual([]),
      settledWithinMs,
    )
    const kinds = new Set(reports.map(({ kind }) => kind))
    expect([...kinds].toSorted()).toEqual(
      expect.arrayContaining(['charge', 'consent', 'onboarding', 'payout', 'refund', 'transfer']),
    )
    const client = new Client({ connectionString: system.mesh.databaseUrl() })
    await client.connect()
    try {
      expect(await settle(client, settledWithinMs)).toEqual([])
      expect(await checkTables(client, { operations: [], pushes: [] })).toEqual([])
    } finally {
      await client.end()
    }
    expect(await checkBalances(system.mesh.databaseUrl())).toEqual([])
  },
  timeoutMs,
)

/** Each is against one rule of the tables, on a system that a campaign has used. */
const planted: { rule: string; text: string }[] = [
  {
    rule: 'refunds that the back end and our records do not both have',
    text: `insert into simulator.refund (refund_id, charge_id, currency, amount_minor)
      select gen_random_uuid(), charge_id, currency, 1 from simulator.charge limit 1`,
  },
  {
    rule: 'charges that were refunded for more than was paid',
    text: `insert into simulator.refund (refund_id, charge_id, currency, amount_minor)
      select gen_random_uuid(), charge_id, currency, amount_minor + 1 from simulator.charge limit 1`,
  },
  {
    rule: 'payouts that the back end and our records do not both have',
    text: `insert into simulator.payout (payout_id, currency, amount_minor, mobile_number)
      values (gen_random_uuid(), 'TTD', 1, '+12025550100')`,
  },
  {
    rule: 'money of payers that the back end and our settlements do not both have',
    text: `insert into simulator.attempt (attempt_id, charge_id, source, outcome)
      select gen_random_uuid(), charge_id, 'wallet', 'paid' from simulator.charge where state = 'open' or state = 'withdrawn' limit 1`,
  },
  {
    rule: 'bills that the back end and our bill payments do not both have',
    text: `insert into simulator.execution (kind, subject_id, currency, amount_minor)
      values ('bill', gen_random_uuid(), 'USD', 1)`,
  },
  {
    rule: 'transfers that the back end and our transactions do not both have',
    text: `insert into simulator.execution (kind, subject_id, currency, amount_minor)
      values ('transfer', gen_random_uuid(), 'USD', 1)`,
  },
  {
    rule: 'reports of the back end that were refused',
    text: `insert into simulator.report (subject_id, position, kind, outcome, parked_at)
      values (gen_random_uuid(), 1, 'payout', 'completed', now())`,
  },
  {
    rule: 'events that were refused',
    text: `insert into institution.outbox (subject, payload, parked_at) values ('planted', '', now())`,
  },
  {
    rule: 'work that did not end',
    text: `insert into payments.refund (refund_id, project_id, payment_id, payer_id, amount_minor, currency, create_time)
      select gen_random_uuid(), project_id, payment_id, gen_random_uuid(), 1, currency, now() from payments.payment limit 1`,
  },
]

it(
  'what only the back end has, what was refused and what never ends are found in the tables',
  async () => {
    const client = new Client({ connectionString: system.mesh.databaseUrl() })
    await client.connect()
    try {
      const operations = { operations: [], pushes: [] }
      expect(await checkTables(client, operations)).toEqual([])
      for (const { rule, text } of planted) {
        await client.query('begin')
        // Defaults of the tables call functions of their own schema.
        const [, schema] = /^insert into (\w+)\./.exec(text) ?? []
        await client.query(`set local search_path to ${schema}`)
        await client.query(text)
        const findings = [...(await settle(client, 0)), ...(await checkTables(client, operations))]
        expect(findings.map((one) => one.rule)).toContain(rule)
        await client.query('rollback')
      }
    } finally {
      await client.end()
    }
  },
  timeoutMs,
)
