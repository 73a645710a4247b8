// Records a measurement in a folder of its own, and checks the list of the recorded ones.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../test/support/servers.ts'
import { record } from './report.ts'
import { describeTenants } from './tenants.ts'

/** The pages that the list of a folder names. */
function listed(folder: string): string[] {
  const list = fs.readFileSync(path.join(folder, 'README.md'), 'utf8')
  return [...list.matchAll(/^- \[.+\]\((.+)\)$/gm)].map(([, name = '']) => name)
}

it('a measurement that is recorded replaces its page, and a new one is listed', () => {
  const folder = temporaryFolder('results')
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
  fs.writeFileSync(path.join(folder, 'README.md'), '# Measurements\n\n')
  record('P2p transactions', ['first'], folder)
  record('Create', ['other'], folder)
  record('P2p transactions', ['| a | b |', ''], folder)
  expect(listed(folder)).toEqual(['p2p-transactions.md', 'create.md'])
  const page = fs.readFileSync(path.join(folder, 'p2p-transactions.md'), 'utf8')
  expect(page).toMatch(/^# P2p transactions\n\n\S.* UTC, .+\n\n\| a \| b \|\n$/)
})

it('the list of the recorded measurements names each of their pages', () => {
  const folder = path.join(import.meta.dirname, 'results')
  const pages = fs.readdirSync(folder).filter((name) => name !== 'README.md')
  expect(listed(folder).toSorted()).toEqual(pages.toSorted())
})

it('a quiet tenant whose p99 is more than 1.2 times as long beside a noisy one misses its goal', () => {
  const waits = (p99Ms: number) => Array.from({ length: 100 }, (_, n) => (n === 99 ? p99Ms : 10))
  const turn = (answerMs: number, pushMs: number) => ({
    alone: { answerMs: waits(20), pushMs: waits(40) },
    beside: { answerMs: waits(answerMs), pushMs: waits(pushMs) },
    noisy: { accepted: 750, refused: 8_250 },
  })
  const page = describeTenants([turn(23, 60), turn(24, 60), turn(90, 60)]).join('\n')
  expect(page).toContain('answers 1.20 times (reached), first pushes 1.50 times (missed)')
  expect(page).toContain(
    '| 1 | 10.0 / 20.0 | 10.0 / 23.0 | 10.0 / 40.0 | 10.0 / 60.0 | 750 / 8,250 |',
  )
})
