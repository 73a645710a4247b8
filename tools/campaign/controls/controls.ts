// Negative controls: runs a short campaign on a copy of the project with one planted defect at a time, and reports which it finds.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { choose, copyProject, type Finding } from '../../../test/defects/plant.ts'
import { type Control, controls } from './table.ts'

/** Which of the table. */
export type Controls = {
  count: number
  seed: number
  only: string
  /** Begins no more when the next one may end later than this many seconds after the start. */
  withinS: number
  slack: number
}

/** What became of one: the rules that were broken, or what was printed when it did not run. */
type Tried = { finding: Finding; output: string; faults: number }

/** Longer than any campaign of the table, on a machine that is busy with other work. */
const withinMs = 900_000
const defaults = { faults: 'none', minutes: 0.06, ratePerS: 8, patienceS: 30, seed: 1 }

/** Runs them one after the other; returns how many were missed or did not run. */
export async function runControls(
  { count, seed, only, withinS, slack }: Controls,
  say: (line: string) => void,
): Promise<number> {
  const wanted = choose(
    controls.filter(({ defect }) => defect.name.includes(only)),
    count,
    seed,
  )
  say(`${wanted.length} controls; the same again: --control-seed ${seed}`)
  const beganMs = performance.now()
  const copy = copyProject()
  let [longestS, tried, faults, missed] = [0, 0, 0, 0]
  try {
    for (const control of wanted) {
      const startedS = (performance.now() - beganMs) / 1_000
      if (startedS + longestS > withinS) break
      const { name, file } = control.defect
      const result = await copy.runWith(control.defect, (folder) =>
        campaignOn(folder, control, slack),
      )
      const tookS = (performance.now() - beganMs) / 1_000 - startedS
      say(`${result.finding}: ${name} (${file}, ${tookS.toFixed(0)} s)`)
      say(`  ${result.output}`)
      longestS = Math.max(longestS, tookS)
      tried += 1
      faults += result.faults
      if (result.finding !== 'found') missed += 1
    }
  } finally {
    copy.remove()
  }
  say(`${tried - missed} of ${tried} defects found, ${faults} faults injected`)
  return missed
}

/** Runs the campaign that the table gives. Only its own rule finds the defect. */
function campaignOn(folder: string, control: Control, slack: number): Promise<Tried> {
  const report = path.join(folder, '.payweave', 'campaign')
  fs.rmSync(report, { recursive: true, force: true })
  const { kinds, rule } = control
  const { faults, minutes, ratePerS, patienceS, seed } = { ...defaults, ...control }
  const options = { minutes, seed, faults, slack, report, rate: ratePerS, patience: patienceS }
  const words = Object.entries({ ...options, kinds: kinds.join(), 'ends-at': rule })
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
          resolve({ finding: 'not run', output, faults: 0 })
          return
        }
        const outcome = JSON.parse(fs.readFileSync(file, 'utf8')) as {
          faults: number
          findings: { rule: string; examples: string[] }[]
        }
        const found = outcome.findings.find((one) => one.rule === rule)
        const broken = outcome.findings.map((one) => one.rule).join('; ')
        resolve({
          finding: found === undefined ? 'missed' : 'found',
          output:
            found === undefined
              ? `wanted: ${rule}; found: ${broken}`
              : `${rule}: ${found.examples[0]}`,
          faults: outcome.faults,
        })
      },
    )
  })
}
