// Two planted defects, others each time: the test that has to find each one fails.
import { randomInt } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { defects } from '../../defects/defects.ts'
import { choose, copyProject } from '../../defects/plant.ts'

const seed = Number(process.env['DEFECT_SEED'] ?? randomInt(defects.length))
const copy = copyProject()
afterAll(() => copy.remove())

describe(`planted defects (DEFECT_SEED=${seed})`, () => {
  it.each(choose(defects, 2, seed))(
    'the test of a planted defect fails: $name',
    async (defect) => {
      const { finding, output } = await copy.tryDefect(defect)
      expect(finding, output.slice(-4_000)).toBe('found')
    },
    300_000,
  )
})
