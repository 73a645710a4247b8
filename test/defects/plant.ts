// Plants defects in a copy of the project, one at a time, and runs the tests that have to find them.
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Defect, Planted } from './defects.ts'

/** What a test made of a defect: it failed, it passed, or it did not run. */
export type Finding = 'found' | 'missed' | 'not run'

/** What was made of a defect, and what was printed. */
export type Tried = { finding: Finding; output: string }

/** A copy of the project to plant defects in. */
export type Copy = {
  folder: string
  /** Runs the defect's test on the copy with the defect in place. */
  tryDefect(defect: Defect): Promise<Tried>
  /** Runs a defect's test on the copy without the defect: it must not find anything. */
  tryWithout(defect: Pick<Defect, 'foundBy'>): Promise<Tried>
  /** Runs what is given on the folder of the copy with the defect in place. */
  runWith<T>(defect: Planted, run: (folder: string) => Promise<T>): Promise<T>
  remove(): void
}

const root = path.resolve(import.meta.dirname, '../..')
const withinMs = 300_000
const leftOut = new Set(['node_modules', '.git', '.payweave'])

/** Copies the project; its packages are shared. */
export function copyProject(): Copy {
  const folder = mkdtempSync(path.join(tmpdir(), 'payweave-defects-'))
  cpSync(root, folder, {
    recursive: true,
    filter: (source) => !leftOut.has(path.relative(root, source)),
  })
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const runWith: Copy['runWith'] = async (defect, run) => {
    const file = path.join(folder, defect.file)
    const good = readFileSync(file, 'utf8')
    writeFileSync(file, withDefect(good, defect))
    try {
      return await run(folder)
    } finally {
      writeFileSync(file, good)
    }
  }
  return {
    folder,
    runWith,
    tryWithout: ({ foundBy }) => runTest(folder, foundBy),
    tryDefect: (defect) => runWith(defect, (place) => runTest(place, defect.foundBy)),
    remove: () => rmSync(folder, { recursive: true, maxRetries: 5 }),
  }
}

/** The text with the defect. Throws unless its place is there exactly once. */
export function withDefect(text: string, { name, file, find, replace }: Planted): string {
  const parts = text.split(find)
  if (parts.length !== 2) throw new Error(`${name}: ${parts.length - 1} places in ${file}`)
  return parts.join(replace)
}

/** As many of all, chosen by a seed. */
export function choose<T>(all: readonly T[], count: number, seed: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count))
  return Array.from({ length: Math.min(count, all.length) }, (_, n) => {
    const place = (seed + n * step) % all.length
    return all.slice(place, place + 1)
  }).flat()
}

function runTest(folder: string, test: string): Promise<Tried> {
  const config = test.startsWith('test/system/') ? ['--config', 'test/system/vitest.config.ts'] : []
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    ...config,
    '--reporter=json',
    '--bail=1',
    test,
  ]
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, env, timeout: withinMs, maxBuffer: 2 ** 26 },
      (_error, stdout, stderr) =>
        resolve({ finding: findingOf(stdout), output: `${stdout}\n${stderr}` }),
    )
  })
}

/** Reads vitest's report, which other output may come before. */
function findingOf(output: string): Finding {
  const report = output.slice(output.indexOf('{"numTotalTestSuites"'))
  try {
    const { numFailedTests, numPassedTests } = JSON.parse(report) as Record<string, number>
    if (numFailedTests === undefined || numPassedTests === undefined) return 'not run'
    if (numFailedTests > 0) return 'found'
    return numPassedTests > 0 ? 'missed' : 'not run'
  } catch {
    return 'not run'
  }
}
