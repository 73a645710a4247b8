// Tests that each planted defect still has its place in the source and a test that exists.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { defects } from './defects.ts'
import { choose, withDefect } from './plant.ts'

const root = path.resolve(import.meta.dirname, '../..')

it.each(defects)('the place of the defect is there once: $name', (defect) => {
  const text = readFileSync(path.join(root, defect.file), 'utf8')
  expect(withDefect(text, defect)).not.toBe(text)
  expect(existsSync(path.join(root, defect.foundBy))).toBe(true)
})

it('a run with a seed has as many different defects as wanted', () => {
  expect(defects.length).toBeGreaterThanOrEqual(20)
  for (let seed = 0; seed < defects.length; seed += 1) {
    expect(new Set(choose(defects, 4, seed)).size).toBe(4)
  }
})
