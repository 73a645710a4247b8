// `npm run soak`: steady mixed traffic for hours, with samples of memory, latency and data. docs/soak.md says what it does.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { checkAnswers } from '../check/answers.ts'
import { checkPromisedBalances, readBack, readBalances } from '../check/api.ts'
import { type Finding, merged } from '../check/finding.ts'
import { checkPushes, lateOf } from '../check/pushes.ts'
import { checkBalances, checkTables, settle } from '../check/tables.ts'
import { type Load, startLoad } from '../load/load.ts'
import type { Operation, Records } from '../load/records.ts'
import { watchStandstills } from '../standstill.ts'
import { type System, startSystem } from '../system/system.ts'
import { writeSoakReport } from './report.ts'
import { judgeRetention, watchRetention } from './retention.ts'
import { type Sample, takeSample } from './samples.ts'
import { judge } from './verdict.ts'

type Options = {
  hours: number
  ratePerS: number
  seed: number
  report: string
  data: string | undefined
}

const usage = `npm run soak -- [options]
  --hours n         how long it runs (1); at least 0.07 for a verdict
  --rate n          operations that begin each second (10)
  --seed n          of kinds and amounts (1)
  --report folder   where soak.html and soak.json go (.payweave/soak)
  --data folder     goes on with the data of an earlier run, or makes it there; it stays`

const samplesWanted = 240
const minSampleMs = 12_000
const settleWithinMs = 240_000
/** Time for which operations with all of their pushes stay in the records; others stay until they are late. */
const verifiedAfterMs = 60_000
const pushedWithinMs = 300_000

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)
}

function above(name: string, text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new Error(`--${name} wants a number above 0, not "${text}"`)
}

function readOptions(words: string[]): Options {
  const { values } = parseArgs({
    args: words,
    options: {
      hours: { type: 'string', default: '1' },
      rate: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      report: { type: 'string', default: '.payweave/soak' },
      data: { type: 'string' },
    },
  })
  const [hours, ratePerS] = [above('hours', values.hours), above('rate', values.rate)]
  const seed = above('seed', values.seed)
  return { hours, ratePerS, seed, report: values.report, data: values.data }
}

/**
 * Takes finished operations out of the records, so that a long soak keeps few, and checks them. `verified` gets the subjects of
 * their pushes: one that is sent again later is known by it.
 */
function verifyFinished(records: Records, findings: Finding[], verified: Set<string>): Operation[] {
  const nowMs = Date.now()
  const late = new Set(lateOf(records).map(({ operation }) => operation))
  const finished = records.operations.filter((operation) => {
    const { doneMs = Infinity } = operation
    return doneMs < nowMs - (late.has(operation) ? pushedWithinMs : verifiedAfterMs)
  })
  const subjects = new Set(
    finished.flatMap(({ id, onboarding }) => [id, ...(onboarding ? [onboarding.requestId] : [])]),
  )
  const pushes = records.pushes.filter(({ subject }) => subjects.has(subject))
  findings.push(...checkPushes({ operations: finished, pushes }))
  for (const subject of subjects) verified.add(subject)
  const gone = new Set(finished)
  records.operations.splice(0, Infinity, ...records.operations.filter((one) => !gone.has(one)))
  records.pushes.splice(
    0,
    Infinity,
    ...records.pushes.filter(({ subject }) => !verified.has(subject)),
  )
  return finished
}

/** Everything at the end that needs the whole system at rest. Pushes come until it is. */
async function checkAtRest(
  system: System,
  client: Client,
  { records: { operations, pushes } }: Load,
  verified: ReadonlySet<string>,
): Promise<Finding[]> {
  const unfinished = await settle(client, settleWithinMs)
  const left = pushes.filter(({ subject }) => !verified.has(subject))
  const records = { operations, pushes: left }
  return [
    ...unfinished,
    ...(await checkTables(client, records)),
    ...checkPushes(records),
    ...(await readBack(system, records)),
    ...(await checkBalances(system.mesh.databaseUrl())),
  ]
}

/** Keeps what the balances are made of when operations leave the records. */
function sumChanges(total: Operation, operations: readonly Operation[]): void {
  total.transfers ??= []
  const [sum = { id: '', body: {}, receiptId: '', state: '', changes: {} }] = total.transfers
  for (const { transfers = [] } of operations)
    for (const { changes } of transfers)
      for (const [who, minor] of Object.entries(changes))
        sum.changes[who] = (sum.changes[who] ?? 0) + minor
  total.transfers = [sum]
}

async function watch(system: System, load: Load, client: Client, hours: number) {
  const samples: Sample[] = []
  const findings: Finding[] = []
  const total: Operation = { kind: 'transfer', id: 'all', begunMs: 0, tries: [] }
  const everyMs = Math.max(minSampleMs, (hours * 3_600_000) / samplesWanted)
  const beganMs = Date.now()
  const standstills = watchStandstills()
  const verified = new Set<string>()
  const retention = watchRetention(client)
  await retention.start()
  let verifiedPushes = 0
  for (let lastMs = beganMs; Date.now() < beganMs + hours * 3_600_000; ) {
    await sleep(everyMs)
    const { operations, pushes } = load.records
    const ended = operations.filter(({ doneMs = 0 }) => doneMs >= lastMs)
    lastMs = Date.now()
    const atS = (lastMs - beganMs) / 1_000
    await retention.backdate()
    samples.push(await takeSample(client, system.mesh, { atS, operations: load.done(), ended }))
    findings.push(...checkAnswers({ operations: ended, pushes: [] }, standstills.windows))
    const before = pushes.length
    sumChanges(total, verifyFinished(load.records, findings, verified))
    verifiedPushes += before - pushes.length
    const { p50Ms, p99Ms, waiting, databaseMb } = samples.at(-1) as Sample
    say(
      `${Math.round(atS)} s: ${load.done()} operations, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${waiting} rows wait, ${databaseMb.toFixed(0)} MB, ${retention.gone()} old rows are gone`,
    )
  }
  standstills.stop()
  const retained = await retention.outcome()
  findings.push(...judgeRetention(retained, 60 * hours))
  return { samples, retained, findings, total, pushes: verifiedPushes, verified }
}

async function run(options: Options): Promise<number> {
  say(`soak of ${options.hours} h, ${options.ratePerS} operations/s`)
  const system = await startSystem({ hasDisks: false, hasLinks: false, data: options.data })
  const client = new Client({ connectionString: system.mesh.databaseUrl() })
  await client.connect()
  try {
    return await soakOn(system, client, options)
  } finally {
    await client.end()
    await system.close()
  }
}

async function soakOn(system: System, client: Client, options: Options): Promise<number> {
  const { hours, ratePerS, seed, report } = options
  const balances = await readBalances(system.api)
  const load = startLoad(system.api, system.receivers, { ratePerS, seed })
  const watched = await watch(system, load, client, hours)
  const { samples, retained, findings, total, pushes, verified } = watched
  say('the load ends; checking')
  await load.stop()
  findings.push(...(await checkAtRest(system, client, load, verified)))
  sumChanges(total, load.records.operations)
  const sums = { operations: [total], pushes: [] }
  findings.push(...(await checkPromisedBalances(system.api, sums, balances)), ...judge(samples))
  const outcome = {
    hours,
    ratePerS,
    seed,
    operations: load.done(),
    pushes: pushes + load.records.pushes.length,
    samples,
    retained,
    findings: merged(findings),
  }
  say(`report: ${writeSoakReport(report, outcome)}`)
  for (const { rule, count, examples } of outcome.findings)
    process.stdout.write(`\n${count} ${rule}\n${examples.map((one) => `  ${one}\n`).join('')}`)
  const verdict = outcome.findings.length === 0 ? 'passed' : 'failed'
  say(`${outcome.operations} operations, ${outcome.pushes} pushes: ${verdict}`)
  return outcome.findings.length === 0 ? 0 : 1
}

async function main(): Promise<number> {
  try {
    return await run(readOptions(process.argv.slice(2)))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
}

// A load that nobody stopped would go on for ever.
process.exit(await main())
