// Negative controls: runs a short campaign on copies of the project, each with a planted defect, and reports which it finds.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { defects } from '../../test/defects/defects.ts'
import { choose, copyProject, type Tried } from '../../test/defects/plant.ts'

/** Which defects, and the campaign on each. */
export type Controls = {
  count: number
  seed: number
  only: string
  /** Options of the campaign. */
  words: string[]
}

/** The start of a system and its checks, beside the minutes of the campaign. */
const withinMs = 1_800_000

/** Runs them one after the other; returns how many were missed or did not run. */
export async function runControls(
  { count, seed, only, words }: Controls,
  say: (line: string) => void,
): Promise<number> {
  const wanted = choose(
    defects.filter(({ name }) => name.includes(only)),
    count,
    seed,
  )
  const copy = copyProject()
  let missed = 0
  try {
    for (const defect of wanted) {
      const { finding, output } = await copy.tryDefect(defect, (folder) =>
        campaignOn(folder, words),
      )
      say(`${finding}: ${defect.name} (${defect.file})`)
      say(`  ${output}`)
      if (finding !== 'found') missed += 1
    }
  } finally {
    copy.remove()
  }
  say(`${wanted.length - missed} of ${wanted.length} defects found`)
  return missed
}

/** A campaign ends with 1 when it found something, and with 2 when it did not run. */
function campaignOn(folder: string, words: string[]): Promise<Tried> {
  const report = path.join(folder, '.payweave', 'campaign')
  fs.rmSync(report, { recursive: true, force: true })
  const args = ['tools/campaign/main.ts', ...words, '--report', report]
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, env, timeout: withinMs, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        const file = path.join(report, 'campaign.json')
        if (!fs.existsSync(file)) {
          resolve({ finding: 'not run', output: `${stdout}\n${stderr}`.slice(-3_000) })
          return
        }
        const { findings } = JSON.parse(fs.readFileSync(file, 'utf8')) as {
          findings: { rule: string }[]
        }
        const isFound = error !== null && findings.length > 0
        resolve({
          finding: isFound ? 'found' : 'missed',
          output: findings.map(({ rule }) => rule).join('; '),
        })
      },
    )
  })
}
