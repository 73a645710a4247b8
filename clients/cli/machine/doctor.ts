// The command that checks whether this machine can run the system; the checks are in preflight.ts.
import path from 'node:path'
import type { Command, CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import type { Finding } from './check-result.ts'
import {
  clockFinding,
  folderFindings,
  limitFindings,
  portsFinding,
  settingsFinding,
} from './preflight.ts'
import {
  natsFinding,
  nodeFindings,
  packagesFinding,
  postgresFinding,
  toolsFinding,
} from './programs.ts'

/** `doctor`. */
export const doctorCommand: Command = {
  name: 'doctor',
  operands: '',
  summary: 'Checks whether this machine can run the system; exits with 1 if it cannot.',
  options: { 'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)' },
  run: doctor,
}

async function doctor({ options, env, json, print, paint }: CommandContext): Promise<number> {
  const asked = options['data-dir']
  const given = asked === undefined ? env : { ...env, PAYWEAVE_DATA_DIR: asked }
  const findings = await findingsOf(given)
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const finding of findings) {
    const { name, result, says, advice } = finding
    if (json) print(JSON.stringify(finding))
    else {
      const todo = advice === undefined ? '' : ` → ${advice}`
      const word = paint(kindOfState(result), result.padEnd(7))
      print(`${word}  ${name.padEnd(width)}  ${says}${todo}`)
    }
  }
  return findings.some(({ result }) => result === 'failed') ? 1 : 0
}

async function findingsOf(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const [settingsLine, settings] = settingsFinding(env)
  const dataDir = settings?.dataDir ?? path.resolve(env['PAYWEAVE_DATA_DIR'] ?? '.payweave')
  return [
    ...nodeFindings(),
    packagesFinding(),
    postgresFinding(env, dataDir),
    await natsFinding(env, dataDir),
    toolsFinding(),
    settingsLine,
    ...(settings === undefined ? [] : [await portsFinding(settings)]),
    ...folderFindings(dataDir),
    ...limitFindings(),
    clockFinding(),
  ]
}
