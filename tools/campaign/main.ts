// `npm run campaign`: breaks a system of its own under load, checks everything, and writes a report. docs/campaign.md says what it does.
import { count, type Outcome, runCampaign } from './campaign.ts'
import { carriedOut } from './check/finding.ts'
import { runControls } from './controls/controls.ts'
import { readKeys, runOnDeployment } from './deployment.ts'
import { faults } from './faults/table.ts'
import { type Options, readOptions, usage } from './options.ts'
import { keepLogs, writeReport } from './report/files.ts'
import { type System, startSystem } from './system/system.ts'

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)
}

function list(): void {
  for (const { name, what } of faults) process.stdout.write(`${name.padEnd(22)} ${what}\n`)
}

async function run(options: Options): Promise<number> {
  const { minutes, seed, ratePerS } = options
  say(`seed ${seed}: ${minutes} minutes, ${ratePerS} operations/s`)
  const needed = new Set(options.rows.flatMap(({ needs }) => needs ?? []))
  const system = await startSystem({
    hasDisks: needed.has('disks'),
    hasLinks: needed.has('links'),
    data: options.data,
  })
  try {
    return await campaignOn(system, options)
  } catch (error) {
    await system.close().catch(() => undefined)
    throw error
  }
}

async function campaignOn(system: System, options: Options): Promise<number> {
  if (system.disks === undefined && options.rows.some(({ needs }) => needs === 'disks'))
    say('no disk can be mounted here, so faults of disks are left out; run it as root for them')
  const rows = options.rows.filter(({ needs }) => needs !== 'disks' || system.disks !== undefined)
  if (rows.length < Math.min(1, options.rows.length)) throw new Error('no fault is left to inject')
  const outcome = await runCampaign(system, { ...options, rows }, say)
  const { findings } = outcome
  // Its end removes them.
  if (findings.length > 0) say(`logs: ${keepLogs(options.report, system.mesh.dataDir)}`)
  const closed = await carriedOut('the end of the system', async () => {
    await system.close()
    return []
  })
  findings.push(...closed)
  return reported(options, outcome)
}

/** Writes the report of a run and says what was found; returns the exit code. */
function reported(options: Options, outcome: Outcome): number {
  const { steps, records, findings } = outcome
  say(`report: ${writeReport(options.report, outcome)}`)
  for (const { rule, count: cases, examples } of findings)
    process.stdout.write(`\n${cases} ${rule}\n${examples.map((one) => `  ${one}\n`).join('')}`)
  say(
    `seed ${options.seed}: ${count(steps)} faults in ${steps.length} steps, ${records.operations.length} operations, ` +
      `${records.pushes.length} pushes; ${findings.length === 0 ? 'nothing found' : `${findings.length} rules broken`}`,
  )
  return findings.length === 0 ? 0 : 1
}

async function main(): Promise<number> {
  try {
    const asked = readOptions(process.argv.slice(2))
    if (asked.kind === 'campaign') return await run(asked.options)
    if (asked.kind === 'deployment') {
      const { url, keysFile, options } = asked
      return reported(options, await runOnDeployment(url, readKeys(keysFile), options, say))
    }
    if (asked.kind === 'controls') return (await runControls(asked.controls, say)) === 0 ? 0 : 1
    list()
    return 0
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
}

// A load that nobody stopped would go on for ever.
process.exit(await main())
