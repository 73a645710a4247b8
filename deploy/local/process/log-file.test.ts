// Shows that a log is bounded while its writer holds it open, and that the writer continues in it.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { boundLog } from './log-file.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-log-'))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

it('a log over its size is rotated to .1, and later lines are in a new file', () => {
  const file = path.join(folder, 'part.log')
  const writer = fs.openSync(file, 'a')
  fs.writeSync(writer, 'before\n')
  boundLog(file, 7)
  expect(fs.existsSync(`${file}.1`)).toBe(false)
  fs.writeSync(writer, 'more\n')
  boundLog(file, 7)
  fs.writeSync(writer, 'after\n')
  fs.closeSync(writer)
  expect(fs.readFileSync(`${file}.1`, 'utf8')).toBe('before\nmore\n')
  expect(fs.readFileSync(file, 'utf8')).toBe('after\n')
})
