// Tests that a change of a file is never missed.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { reloadOnChange } from './reload.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reload-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('a file that changes while it is read the first time is read again', () => {
  const path = join(folder, 'key')
  writeFileSync(path, 'old')
  let nowMs = 0
  let reads = 0
  const current = reloadOnChange({
    kind: 'key',
    paths: [path],
    read() {
      const text = readFileSync(path, 'utf8')
      reads += 1
      if (reads === 1) writeFileSync(path, 'rotated')
      return text
    },
    log: { warn: () => undefined },
    now: () => nowMs,
  })
  expect(current()).toBe('old')
  nowMs += 1_000
  expect(current()).toBe('rotated')
})
