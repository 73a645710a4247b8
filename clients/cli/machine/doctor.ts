// The command that checks whether this machine can run the system; the checks are in preflight.ts.
import path from 'node:path'
import type { Command, CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import type { CheckResult } from './check-result.ts'
import {
  clockResult,
  folderResults,
  limitResults,
  portsResult,
  settingsResult,
} from './preflight.ts'
import { natsResult, nodeResults, packagesResult, postgresResult, toolsResult } from './programs.ts'

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
  const results = await resultsOf(given)
  const width = Math.max(...results.map(({ name }) => name.length))
  for (const checked of results) {
    const { name, result, says, advice } = checked
    if (json) print(JSON.stringify(checked))
    else {
      const todo = advice === undefined ? '' : ` → ${advice}`
      const word = paint(kindOfState(result), result.padEnd(7))
      print(`${word}  ${name.padEnd(width)}  ${says}${todo}`)
    }
  }
  return results.some(({ result }) => result === 'failed') ? 1 : 0
}

async function resultsOf(env: NodeJS.ProcessEnv): Promise<CheckResult[]> {
  const [settingsLine, settings] = settingsResult(env)
  const dataDir = settings?.dataDir ?? path.resolve(env['PAYWEAVE_DATA_DIR'] ?? '.payweave')
  return [
    ...nodeResults(),
    packagesResult(),
    postgresResult(env, dataDir),
    await natsResult(env, dataDir),
    toolsResult(),
    settingsLine,
    ...(settings === undefined ? [] : [await portsResult(settings)]),
    ...folderResults(dataDir),
    ...limitResults(),
    clockResult(),
  ]
}
