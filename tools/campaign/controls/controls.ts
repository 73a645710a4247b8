// Negative controls: runs a short campaign on a copy of the project with one planted defect at a time, and reports which it finds.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { choose, copyProject } from '../../../test/defects/plant.ts'
import { type Control, controls } from './table.ts'

/** Which of the table. */
export type Controls = {
  count: number
  seed: number
  only: string
  /** So many are run however long they take. */
  minCount: number
  /** Begins no more when the next one may end later than this many seconds after the start. */
  withinS: number
  slack: number
}

type Campaign = Omit<Control, 'defect' | 'rule'>
/** Result of one defect: the rules that were broken, with an example, or the output of a run that failed. */
type Tried = { broken: ReadonlyMap<string, string> | undefined; output: string; faults: number }

/** Longer than any campaign of the table, on a machine that is busy with other work. */
const withinMs = 900_000
const defaults = { faults: 'none', minutes: 0.06, ratePerS: 8, patienceS: 30, seed: 1 }

/**
 * Runs them one after the other, on the copy without a defect first: a rule that is broken there finds nothing. Returns how many
 * were missed or did not run.
 */
export async function runControls(
  { count, seed, only, minCount, withinS, slack }: Controls,
  say: (line: string) => void,
): Promise<number> {
  const wanted = choose(
    controls.filter(({ defect }) => defect.name.includes(only)),
    count,
    seed,
  )
  say(`${wanted.length} controls; the same again: --control-seed ${seed}`)
  const beganMs = performance.now()
  const nowS = () => (performance.now() - beganMs) / 1_000
  const copy = copyProject()
  let [maxRunS, tried, missed] = [0, 0, 0]
  try {
    const without = await campaignOn(copy.folder, baselineOf(wanted), slack)
    let { faults } = without
    if (without.broken?.size !== 0) say(`without a defect: ${wordsOf(without)}`)
    if (without.broken === undefined) return wanted.length
    for (const { defect, rule, ...campaign } of wanted) {
      const startedS = nowS()
      if (tried >= minCount && startedS + maxRunS > withinS) break
      const result = await copy.runWith(defect, (folder) =>
        campaignOn(folder, { ...campaign }, slack, rule),
      )
      const example = result.broken?.get(rule)
      const isFound = example !== undefined && !without.broken.has(rule)
      const verdict = isFound ? 'found' : result.broken === undefined ? 'not run' : 'missed'
      maxRunS = Math.max(maxRunS, nowS() - startedS)
      say(`${verdict}: ${defect.name} (${defect.file}, ${(nowS() - startedS).toFixed(0)} s)`)
      say(isFound ? `  ${rule}: ${example}` : `  wanted: ${rule}; found: ${wordsOf(result)}`)
      tried += 1
      faults += result.faults
      if (!isFound) missed += 1
    }
    say(`${tried - missed} of ${tried} defects found, ${faults} faults injected`)
  } finally {
    copy.remove()
  }
  return missed
}

function wordsOf({ broken, output }: Tried): string {
  return broken === undefined ? output : [...broken.keys()].join('; ')
}

/** The operations and faults of all controls in one campaign. */
function baselineOf(wanted: readonly Control[]): Campaign {
  const kinds = [...new Set(wanted.flatMap((control) => control.kinds))]
  const faults = [...new Set(wanted.flatMap((control) => control.faults?.split(',') ?? []))]
  return { kinds, ...(faults.length > 0 && { faults: faults.join() }) }
}

/** Runs a campaign in a folder of the project; it ends as soon as the given rule is broken. */
function campaignOn(
  folder: string,
  campaign: Campaign,
  slack: number,
  endsAt?: string,
): Promise<Tried> {
  const report = path.join(folder, '.payweave', 'campaign')
  fs.rmSync(report, { recursive: true, force: true })
  const { kinds, slack: own = 1, ...more } = campaign
  const { faults, minutes, ratePerS, patienceS, seed } = { ...defaults, ...more }
  const words = Object.entries({
    minutes,
    seed,
    faults,
    slack: slack * own,
    report,
    rate: ratePerS,
    patience: patienceS,
    kinds: kinds.join(),
    ...(endsAt !== undefined && { 'ends-at': endsAt }),
  })
  const args = ['tools/campaign/main.ts', ...words.flatMap(([name, is]) => [`--${name}`, `${is}`])]
  const { PATH, HOME } = process.env
  // The second system is started from what the first one has compiled.
  const NODE_COMPILE_CACHE = path.join(folder, '.payweave', 'compiled')
  const env = { PATH, HOME, NODE_COMPILE_CACHE }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, env, timeout: withinMs, maxBuffer: 2 ** 26 },
      (_error, stdout, stderr) => {
        const file = path.join(report, 'campaign.json')
        if (!fs.existsSync(file)) {
          const output = `${stdout}\n${stderr}`.slice(-3_000)
          resolve({ broken: undefined, output, faults: 0 })
          return
        }
        const outcome = JSON.parse(fs.readFileSync(file, 'utf8')) as {
          faults: number
          findings: { rule: string; examples: string[] }[]
        }
        const found = outcome.findings.map(
          ({ rule, examples }) => [rule, examples[0] ?? ''] as const,
        )
        resolve({ broken: new Map(found), output: stdout, faults: outcome.faults })
      },
    )
  })
}
