// The options of `npm run campaign`.
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Plan } from './campaign.ts'
import type { Controls } from './controls/controls.ts'
import { controls } from './controls/table.ts'
import { faultsNamed } from './faults/table.ts'
import { type Kind, kinds } from './load/records.ts'

/** What a run shall do. */
export type Options = Plan & {
  slack: number
  /** Where the report is written. */
  report: string
  /** Data of an earlier run to go on with. */
  data: string | undefined
}

export const usage = `npm run campaign -- [options]
  --minutes n       how long faults are injected (10)
  --seed n          repeats the schedule of a run (a random one)
  --faults a,b      rows of the table, or groups of them such as nats; none (all)
  --kinds a,b       kinds of operations (all)
  --rate n          operations that begin each second (4)
  --slack n         multiplies the limits of recovery beside what is measured (1)
  --from-step n     leaves out the steps before this one (1)
  --patience n      seconds that the last operations and what they led to may take (240)
  --ends-at rule    ends at the first case against this rule
  --report folder   where campaign.html and campaign.json go (.payweave/campaign)
  --data folder     goes on with the data of an earlier run, or makes it there; it stays (a new folder that goes)
  --url address     runs the load and reads it back on a deployment of the sandbox that somebody else runs, without faults
  --keys file       its keys, in the form of .payweave/sandbox.json
  --list            shows the table of faults, and runs nothing
  --controls        runs on copies of the project, each with a planted defect, and reports which are found
  --count n         number of defects (all)
  --control-seed n  which ones (a random one)
  --only words      those whose name has the words
  --at-least n      run at least this many, however long they take (all)
  --within n        begins no more of them when they would not end within n seconds`

const maxSeed = 2 ** 31

/** What is asked for: a campaign, one without faults on a deployment, the table of faults, or campaigns on planted defects. */
export type Asked =
  | { kind: 'campaign'; options: Options }
  | { kind: 'deployment'; url: string; keysFile: string; options: Options }
  | { kind: 'list' }
  | { kind: 'controls'; controls: Controls }

/** Reads the options. Throws an Error that says what is wrong. */
export function readOptions(words: readonly string[]): Asked {
  const { values } = parseArgs({
    args: [...words],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: randomSeed() },
      faults: { type: 'string', default: '' },
      kinds: { type: 'string' },
      rate: { type: 'string', default: '4' },
      slack: { type: 'string', default: '1' },
      'from-step': { type: 'string', default: '1' },
      patience: { type: 'string', default: '240' },
      'ends-at': { type: 'string' },
      report: { type: 'string', default: '.payweave/campaign' },
      data: { type: 'string' },
      url: { type: 'string' },
      keys: { type: 'string' },
      list: { type: 'boolean', default: false },
      controls: { type: 'boolean', default: false },
      count: { type: 'string', default: String(controls.length) },
      'control-seed': { type: 'string', default: randomSeed() },
      only: { type: 'string', default: '' },
      'at-least': { type: 'string' },
      within: { type: 'string' },
    },
  })
  if (values.list) return { kind: 'list' }
  const options: Options = {
    minutes: above(0, 'minutes', values.minutes),
    seed: whole('seed', values.seed),
    ratePerS: above(0, 'rate', values.rate),
    slack: above(0, 'slack', values.slack),
    rows: values.faults === 'none' ? [] : faultsNamed(namesIn(values.faults)),
    ...(values.kinds !== undefined && { only: namesIn(values.kinds).map(kindNamed) }),
    firstStep: whole('from-step', values['from-step']),
    patienceS: above(0, 'patience', values.patience),
    ...(values['ends-at'] !== undefined && { endsAt: values['ends-at'] }),
    report: values.report,
    data: values.data === undefined ? undefined : path.resolve(values.data),
  }
  if (values.url !== undefined) {
    if (values.keys === undefined) throw new Error('--url wants --keys, the file of its keys')
    const url = new URL(values.url).href.replace(/\/$/, '')
    return { kind: 'deployment', url, keysFile: values.keys, options }
  }
  if (!values.controls) return { kind: 'campaign', options }
  return {
    kind: 'controls',
    controls: {
      count: whole('count', values.count),
      seed: whole('control-seed', values['control-seed']),
      only: values.only,
      minCount: values['at-least'] === undefined ? Infinity : whole('at-least', values['at-least']),
      withinS: values.within === undefined ? Infinity : above(0, 'within', values.within),
      slack: options.slack,
    },
  }
}

function randomSeed(): string {
  return String(Math.floor(Math.random() * maxSeed))
}

function namesIn(text: string): string[] {
  return text.split(',').filter((name) => name !== '')
}

function kindNamed(name: string): Kind {
  const kind = kinds.find((one) => one === name)
  if (kind !== undefined) return kind
  throw new Error(`no kind of operations is named ${name}; there are ${kinds.join(', ')}`)
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
