// A short campaign: a few faults of the table under the whole load, others each time. How to run a long one: docs/campaign.md.
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCampaign } from '../../../tools/campaign/campaign.ts'
import { faultsNamed } from '../../../tools/campaign/faults/table.ts'
import { type System, startSystem } from '../../../tools/campaign/system/system.ts'

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
/** Other tests run beside it, and a process that was killed starts late then. */
const slack = 9
const timeoutMs = 900_000

let system: System
beforeAll(async () => {
  system = await startSystem({ hasDisks: false, hasLinks: true })
})
afterAll(() => system.close())

it(
  `across faults of processes, stores and links nothing that was answered is lost or doubled (CAMPAIGN_SEED=${seed})`,
  async () => {
    const lines: string[] = []
    const plan = { seed, minutes, ratePerS: 4, rows, slack }
    const outcome = await runCampaign(system, plan, (line) => lines.push(line))
    expect(outcome.findings, lines.join('\n')).toEqual([])
    expect(outcome.steps.length).toBeGreaterThan(0)
    expect(outcome.records.operations.length).toBeGreaterThan(10)
  },
  timeoutMs,
)
