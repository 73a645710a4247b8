// Runs the load and the checks of the API on a deployment that somebody else runs: no faults, no pushes, no look at tables.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxFile } from '../../deploy/local/sandbox-file.ts'
import type { Outcome, Plan } from './campaign.ts'
import { checkAnswers } from './check/answers.ts'
import { readBack } from './check/api.ts'
import { carriedOut, type Finding, merged } from './check/finding.ts'
import { institutionName, openApi } from './load/api.ts'
import { startLoad } from './load/load.ts'
import { type Kind, kinds, type Records } from './load/records.ts'
import { watchSlack } from './slack.ts'
import { watchStandstills } from './standstill.ts'

/** Keys of a deployment, in the form of `.payweave/sandbox.json`: what is not there leaves out the kinds that need it. */
export type Keys = Partial<Omit<SandboxFile, 'projects'>> & {
  projects: Pick<SandboxFile['projects'], 'demo'> & Partial<SandboxFile['projects']>
}

/** Without pushes nothing is known of them. */
const noReceivers = { all: [{ urls: {} }], pushes: [], onboarding: {} }
const defaultPatienceS = 240
/** Within it payers of a sandbox have acted, and transfers have ended. */
const endWithinMs = 60_000
const readAgainMs = 1_000
/** Payments that live for as long as the deployment says, and consents, which nobody asks for without a callback. */
const ofCampaignAlone: readonly Kind[] = ['expired', 'consent']

/** Reads keys. Throws an Error when the file is missing or has no keys of a project. */
export function readKeys(file: string): Keys {
  const keys = JSON.parse(readFileSync(file, 'utf8')) as Partial<Keys>
  const { projects } = keys
  if (projects?.demo?.api_key === undefined || projects.demo.subscription_key === undefined)
    throw new Error(`${file} has no projects.demo with api_key and subscription_key`)
  return { ...keys, projects }
}

/** The kinds of operations that are possible with the keys. */
export function kindsFor({ institutions, simulator_url }: Keys, wanted: readonly Kind[] = kinds) {
  const sealed: readonly Kind[] = institutions?.[institutionName] ? [] : ['transfer', 'race']
  const paidThere: readonly Kind[] = simulator_url ? [] : ['by card', 'by cash']
  const out = new Set([...ofCampaignAlone, ...sealed, ...paidThere])
  return wanted.filter((kind) => !out.has(kind))
}

/** Runs it. What goes wrong is a finding. */
export async function runOnDeployment(
  url: string,
  keys: Keys,
  plan: Plan,
  say: (line: string) => void,
): Promise<Outcome> {
  const { seed, ratePerS, minutes, patienceS = defaultPatienceS } = plan
  const sandbox = { ...keys, base_url: url } as SandboxFile
  const api = openApi(sandbox)
  const stranger = keys.projects.other === undefined ? undefined : openApi(sandbox, 'other')
  const beganMs = Date.now()
  const slack = watchSlack()
  const standstills = watchStandstills()
  const records: Records = { operations: [], pushes: [] }
  const only = kindsFor(keys, plan.only)
  say(`${url}: ${only.join(', ')}`)
  const load = startLoad(api, noReceivers, { ratePerS, seed, only, records })
  try {
    load.beginEach(0)
    await sleep(minutes * 60_000)
    await load.stop(patienceS)
    const endedMs = Date.now()
    say(`${records.operations.length} operations; reading them back`)
    const findings = [
      ...checkAnswers(records, standstills.windows),
      ...(await untilEnded(() =>
        carriedOut('the reading back', () =>
          readBack({ api, ...(stranger && { stranger }) }, records),
        ),
      )),
    ]
    return {
      seed,
      ratePerS,
      beganMs,
      endedMs,
      steps: [],
      standstills: standstills.windows,
      slack: slack.between(beganMs, endedMs),
      records,
      findings: merged(findings),
    }
  } finally {
    standstills.stop()
    slack.stop()
    await Promise.all([api.close(), stranger?.close()])
  }
}

/** Reads again until nothing is found: what was accepted last has not ended yet. */
async function untilEnded(read: () => Promise<Finding[]>): Promise<Finding[]> {
  const untilMs = Date.now() + endWithinMs
  for (;;) {
    const found = await read()
    if (found.length === 0 || Date.now() > untilMs) return found
    await sleep(readAgainMs)
  }
}
