// Writes the report of a campaign: campaign.html for people, campaign.json for programs.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { count, type Outcome } from '../campaign.ts'
import { recoveredS } from '../check/recovery.ts'
import { escaped, page, table } from './html.ts'
import { faultsOf, routesOf } from './summary.ts'
import { timeLine } from './time-line.ts'

const seconds = (value: number): string => (Number.isFinite(value) ? value.toFixed(1) : '')
const whole = (value: number): string => (Number.isFinite(value) ? String(Math.round(value)) : '')

/** Writes both files into a folder, which is made if it is missing; returns the page. */
export function writeReport(folder: string, outcome: Outcome): string {
  fs.mkdirSync(folder, { recursive: true })
  const file = path.join(folder, 'campaign.html')
  fs.writeFileSync(
    path.join(folder, 'campaign.json'),
    `${JSON.stringify(jsonOf(outcome), null, 2)}\n`,
  )
  fs.writeFileSync(file, pageOf(outcome))
  return file
}

/** Copies the logs of all processes beside the report; returns their folder. */
export function keepLogs(folder: string, dataDir: string): string {
  const logs = path.join(folder, 'logs')
  fs.rmSync(logs, { recursive: true, force: true })
  fs.cpSync(path.join(dataDir, 'logs'), logs, { recursive: true })
  return logs
}

function machine(): string {
  const [load = 0] = os.loadavg()
  return `${os.availableParallelism()} processors, load average ${load.toFixed(1)} at the end`
}

function standstillsOf({ standstills }: Outcome): string {
  if (standstills.length === 0) return ''
  const lost = standstills.reduce((sum, { beganMs, overMs }) => sum + overMs - beganMs, 0)
  return `; it stood still ${standstills.length} times, for ${seconds(lost / 1_000)} s, after which requests may fail, too`
}

function jsonOf(outcome: Outcome): object {
  const { seed, ratePerS, beganMs, endedMs, steps, records, findings } = outcome
  return {
    seed,
    rate_per_s: ratePerS,
    slack: outcome.slack,
    began_time: new Date(beganMs).toISOString(),
    duration_s: (endedMs - beganMs) / 1_000,
    machine: machine(),
    standstills: outcome.standstills.map(({ beganMs: from, overMs }) => (overMs - from) / 1_000),
    faults: count(steps),
    operations: records.operations.length,
    requests: records.operations.reduce((sum, { tries }) => sum + tries.length, 0),
    pushes: records.pushes.length,
    findings,
    recovery: faultsOf(outcome),
    routes: routesOf(outcome),
    steps: steps.map(({ beganMs: from, overMs, ...step }) => ({
      ...step,
      answers_s: recoveredS(step),
      began_s: (from - beganMs) / 1_000,
      over_s: (overMs - beganMs) / 1_000,
    })),
  }
}

function pageOf(outcome: Outcome): string {
  const { seed, ratePerS, beganMs, endedMs, steps, records, findings } = outcome
  const requests = records.operations.reduce((sum, { tries }) => sum + tries.length, 0)
  const verdict =
    findings.length === 0
      ? '<p class="passed">Nothing was lost, doubled or answered otherwise than documented.</p>'
      : `<h2 class="failed">${findings.length} rules were broken</h2>\n${findings.map(findingOf).join('\n')}`
  const title = `Campaign ${seed}: ${findings.length === 0 ? 'passed' : 'failed'}`
  return page(
    title,
    `<h1>${escaped(title)}</h1>
<p>${new Date(beganMs).toISOString()}, ${Math.round((endedMs - beganMs) / 1_000)} s, ${ratePerS} operations begun each second;
${count(steps)} faults in ${steps.length} steps, ${records.operations.length} operations, ${requests} requests, ${records.pushes.length} pushes.
${escaped(machine())}${standstillsOf(outcome)}. Limits are multiplied by the slack of their step, ${seconds(outcome.slack)} over all: the time for which this process ran and waited for a processor, divided by the time for which it ran, times <code>--slack</code>. The schedule again: <code>npm run campaign -- --seed ${seed}</code></p>
${verdict}
<h2>Time line</h2>
<div class="wide">${timeLine(outcome)}</div>
<h2>Recovery</h2>
<p>Seconds after the end of a fault, of steps in which it was alone: until each route that had failed answered well again, and, of steps after which it was waited for, until all that began before it ended is answered and pushed. The limit is the shortest one of its steps, slack included.</p>
${recoveryTable(outcome)}
<h2>What clients saw</h2>
<p>Times are those of answers, without requests that failed.</p>
${routesTable(outcome)}
<h2>Steps</h2>
${stepsTable(outcome)}`,
  )
}

function findingOf({ rule, count: cases, examples }: Outcome['findings'][number]): string {
  return `<section><h3 class="failed">${cases} ${escaped(rule)}</h3><pre>${escaped(examples.join('\n'))}</pre></section>`
}

function recoveryTable(outcome: Outcome): string {
  return table(
    [
      'fault',
      'injected',
      'alone',
      'limit',
      'requests: median',
      'requests: longest',
      'all: median',
      'all: longest',
    ],
    faultsOf(outcome).map((row) => [
      escaped(row.name),
      String(row.injected),
      String(row.alone),
      whole(row.limitS),
      seconds(row.answersMedianS),
      seconds(row.answersMaxS),
      seconds(row.effectsMedianS),
      seconds(row.effectsMaxS),
    ]),
  )
}

function routesTable(outcome: Outcome): string {
  return table(
    ['route', 'requests', 'p50 ms', 'p99 ms', 'longest ms', 'answers'],
    routesOf(outcome).map((row) => [
      `<code>${escaped(row.route)}</code>`,
      String(row.requests),
      whole(row.p50Ms),
      whole(row.p99Ms),
      whole(row.maxMs),
      Object.entries(row.answers)
        .map(([name, times]) => `${escaped(name)}: ${times}`)
        .join('<br>'),
    ]),
  )
}

function stepsTable({ steps, beganMs }: Outcome): string {
  return table(
    [
      'step',
      'at s',
      'faults',
      'lasted s',
      'limit s',
      'slack',
      'requests succeed after s',
      'all is done after s',
    ],
    steps.map((step) => [
      String(step.number),
      seconds((step.beganMs - beganMs) / 1_000),
      escaped(step.faults.map(({ title }) => title).join(' + ')),
      seconds((step.overMs - step.beganMs) / 1_000),
      whole(step.limitS),
      seconds(step.slack),
      seconds(recoveredS(step)),
      seconds(step.effectsS ?? Number.NaN),
    ]),
  )
}
