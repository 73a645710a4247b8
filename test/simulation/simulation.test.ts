// Tests that the simulation repeats a seed byte for byte, and that it finds planted defects.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { type Defect, defects } from '../defects/defects.ts'
import { type Copy, copyProject } from '../defects/plant.ts'
import { copyOfDatabase, silentLog } from '../support/database.ts'

const root = path.resolve(import.meta.dirname, '../..')

type Ended = { code: number; output: string }

/** Migrated, so that no run has to. */
const migrated = (adminUrl: string) =>
  Promise.all(
    (['payments', 'delivery', 'accounts', 'billing'] as const).map((service) =>
      migrate({ adminUrl, service, directories: migrationFolders(service), log: silentLog }),
    ),
  )

/** Runs seeds in a database of its own. */
async function simulate(
  folder: string,
  first: number,
  count: number,
  part?: string,
): Promise<Ended> {
  const database = await copyOfDatabase('simulation', migrated)
  const options = { '--from': first, '--seeds': count, '--database': database }
  return run(folder, { ...options, ...(part && { '--part': part }) })
}

function run(folder: string, options: Record<string, string | number>): Promise<Ended> {
  const args = ['tools/simulation/main.ts', ...Object.entries(options).flat().map(String)]
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    )
  })
}

it('the same seeds have the same histories, one after the other or at the same time, and break no rule', async () => {
  const together = { '--from': 1, '--seeds': 6, '--jobs': 2 }
  const [one, other] = await Promise.all([simulate(root, 1, 6), run(root, together)])
  const historiesOf = ({ output }: Ended) => /^seeds: 6 from 1, histories: \w+$/m.exec(output)?.[0]
  expect(one.code, one.output).toBe(0)
  expect(historiesOf(one), one.output).toBeDefined()
  expect(historiesOf(other), other.output).toBe(historiesOf(one))
  for (const part of ['delivery', 'bills', 'payments'])
    expect(one.output).toMatch(new RegExp(`^${part}: 2 seeds, `, 'm'))
})

/** Name of the defect, and the part and seed that find it. */
const found: [name: string, part: string, seed: number][] = [
  ['a push is posted before its attempt is recorded', 'delivery', 1],
  ['waiting pushes are claimed newest first', 'delivery', 4],
  ['an event ends though its consumer has not seen it', 'delivery', 1],
  ['a worker whose lease was lost records its outcome', 'delivery', 24],
  ['a biller that may have been called counts as not called', 'bills', 5],
  ['a hold that may still come counts as released', 'bills', 8],
  ['the answers of a batch go to the wrong callers', 'bills', 1],
  ['money that comes a second time is kept', 'payments', 4],
  ['a wallet call without an answer counts as not made', 'payments', 1],
  ['each call of a refund has an id of its own', 'payments', 1],
  ['a call to a connector without an answer is not repeated', 'payments', 31],
  ['a charge that a connector may have goes to another one', 'payments', 13],
  ['the ledger posts only the first settlement of an event', 'payments', 1],
]

describe('planted defects', () => {
  let copy: Copy
  beforeAll(() => {
    copy = copyProject()
  })
  afterAll(() => copy.remove())

  it.each(found)('the simulation finds that %s', async (name, part, seed) => {
    const defect = defects.find((one): one is Defect => one.name === name)
    if (defect === undefined) throw new Error(`no defect is named ${name}`)
    const { finding, output } = await copy.runWith(defect, async (folder) => {
      const { code, output } = await simulate(folder, seed, 1, part)
      return { finding: code === 1 && output.includes('repeat it') ? 'found' : 'missed', output }
    })
    expect(finding, output).toBe('found')
  })
})
