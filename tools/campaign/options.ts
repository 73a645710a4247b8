// The options of `npm run campaign`.
import path from 'node:path'
import { parseArgs } from 'node:util'
import { defects } from '../../test/defects/defects.ts'
import type { Controls } from './controls.ts'
import type { Fault } from './faults/fault.ts'
import { faultsNamed } from './faults/table.ts'

/** What a run shall do. */
export type Options = {
  minutes: number
  seed: number
  ratePerS: number
  slack: number
  rows: Fault[]
  firstStep: number
  /** Where the report is written. */
  report: string
  /** Data of an earlier run to go on with. */
  data: string | undefined
}

export const usage = `npm run campaign -- [options]
  --minutes n       how long faults are injected (10)
  --seed n          repeats the schedule of a run (a random one)
  --faults a,b      rows of the table, or groups of them such as nats (all)
  --rate n          operations that begin each second (4)
  --slack n         multiplies the limits of recovery, for a machine that is busy with other work (1)
  --from-step n     leaves out the steps before this one (1)
  --report folder   where campaign.html and campaign.json go (.payweave/campaign)
  --data folder     goes on with the data of an earlier run, or makes it there; it stays (a new folder that goes)
  --list            shows the table of faults, and runs nothing
  --controls        runs on copies of the project, each with a planted defect, and reports which are found
  --count n         so many of the defects (all)
  --control-seed n  which ones (0)
  --only words      those whose name has the words`

const maxSeed = 2 ** 31

/** What is asked for: a campaign, the table of faults, or campaigns on planted defects. */
export type Asked =
  | { kind: 'campaign'; options: Options }
  | { kind: 'list' }
  | { kind: 'controls'; controls: Controls }

/** Reads the options. Throws an Error that says what is wrong. */
export function readOptions(words: readonly string[]): Asked {
  const { values } = parseArgs({
    args: [...words],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * maxSeed)) },
      faults: { type: 'string', default: '' },
      rate: { type: 'string', default: '4' },
      slack: { type: 'string', default: '1' },
      'from-step': { type: 'string', default: '1' },
      report: { type: 'string', default: '.payweave/campaign' },
      data: { type: 'string' },
      list: { type: 'boolean', default: false },
      controls: { type: 'boolean', default: false },
      count: { type: 'string', default: String(defects.length) },
      'control-seed': { type: 'string', default: '0' },
      only: { type: 'string', default: '' },
    },
  })
  if (values.list) return { kind: 'list' }
  const options: Options = {
    minutes: above(0, 'minutes', values.minutes),
    seed: whole('seed', values.seed),
    ratePerS: above(0, 'rate', values.rate),
    slack: above(0, 'slack', values.slack),
    rows: faultsNamed(values.faults.split(',').filter((name) => name !== '')),
    firstStep: whole('from-step', values['from-step']),
    report: values.report,
    data: values.data === undefined ? undefined : path.resolve(values.data),
  }
  if (!values.controls) return { kind: 'campaign', options }
  const { minutes, seed, ratePerS, slack } = options
  const controls = {
    count: whole('count', values.count),
    seed: whole('control-seed', values['control-seed']),
    only: values.only,
    words: Object.entries({ minutes, seed, rate: ratePerS, slack, faults: values.faults }).flatMap(
      ([name, value]) => [`--${name}`, String(value)],
    ),
  }
  return { kind: 'controls', controls }
}

function above(least: number, name: string, text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > least) return value
  throw new Error(`--${name} wants a number above ${least}, not "${text}"`)
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= 0 && value < maxSeed) return value
  throw new Error(`--${name} wants a whole number from 0 to ${maxSeed - 1}, not "${text}"`)
}
