// Shows colours, tables and progress bars on a terminal, and that a pipe gets plain text.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { eventually } from '../../../test/support/eventually.ts'
import { runCommandLine } from '../main.ts'
import { painterFor } from './paint.ts'
import { openProgress } from './progress.ts'
import { openTable } from './table.ts'

const program = path.resolve(import.meta.dirname, '../payweave.mjs')
const escape = '\u001b['

/** A stream that is a terminal as far as programs can see. */
function terminal() {
  const { hasColors, getColorDepth } = WriteStream.prototype
  return Object.assign(new PassThrough(), { isTTY: true, columns: 120, hasColors, getColorDepth })
}

const textOf = (stream: PassThrough) => String(stream.read() ?? '')

it.each([
  ['a terminal has colours', terminal(), { TERM: 'xterm-256color' }, true],
  [
    'a terminal with NO_COLOR has none',
    terminal(),
    { TERM: 'xterm-256color', NO_COLOR: '1' },
    false,
  ],
  ['a dumb terminal has none', terminal(), { TERM: 'dumb' }, false],
  ['a pipe has none', new PassThrough(), { TERM: 'xterm-256color' }, false],
])('%s, in the help too', async (_title, stdout, env, isColored) => {
  const paint = painterFor(stdout, env)
  expect(paint('bad', 'failed')).toBe(isColored ? `${escape}31mfailed${escape}39m` : 'failed')
  await runCommandLine(['--help'], { env, stdout, stderr: new PassThrough() })
  expect(textOf(stdout).includes(escape)).toBe(isColored)
})

it('a table has its headings once, columns as wide as the widest cell, and colours by state', () => {
  const lines: string[] = []
  const paint = painterFor(terminal(), { TERM: 'xterm-256color' })
  const table = openTable({ print: (line) => lines.push(line), paint }, ['ID', 'STATE', 'NAME'])
  table.rows([
    ['1', 'paid', 'delivered'],
    ['22', 'exhausted', ''],
  ])
  table.row(['3', 'moon', 'Ama'])
  expect(lines.map(stripVTControlCharacters)).toEqual([
    'ID  STATE      NAME',
    '1   paid       delivered',
    '22  exhausted',
    '3   moon       Ama',
  ])
  expect(lines[1]).toContain(`${escape}32mpaid${escape}39m`)
  expect(lines[1]).not.toContain(`${escape}32mdelivered`)
  expect(lines[2]).toContain(`${escape}31mexhausted${escape}39m`)
})

it('a progress bar shows share, count, rate and remaining time on a terminal, and nothing in a pipe', async () => {
  const [screen, pipe] = [terminal(), new PassThrough()]
  const [onScreen, inPipe] = [screen, pipe].map((stream) => openProgress(stream, 'resealed'))
  expect([onScreen?.isShown, inPipe?.isShown]).toEqual([true, false])
  let shown = ''
  for (const [count, share] of [
    [100, 0.25],
    [200, 0.5],
  ] as const) {
    for (const progress of [onScreen, inPipe]) progress?.update(count, share)
    await eventually(() => {
      shown += textOf(screen)
      expect(shown).toContain(`resealed ${count}`)
    })
  }
  for (const progress of [onScreen, inPipe]) progress?.stop()
  shown += textOf(screen)
  expect(shown).toMatch(/\u2588{6}\u2591{18} 25% {2}resealed 100 {2}\d+\/s {2}\S+ left/)
  expect(shown).toMatch(/\u2588{12}\u2591{12} 50% {2}resealed 200 {2}\d+\/s {2}0:\d\d left/)
  // The cursor is back and the line is empty.
  expect(shown.lastIndexOf(`${escape}?25h`)).toBeGreaterThan(shown.lastIndexOf(`${escape}?25l`))
  expect(shown.endsWith(`${escape}2K`)).toBe(true)
  expect(textOf(pipe)).toBe('')
})

it('payweave colours what a person reads at a terminal, and nothing that goes into a pipe', () => {
  const command = `${process.execPath} ${program} trigger --list`
  const env = { ...process.env, TERM: 'xterm-256color', NO_COLOR: undefined, CI: undefined }
  const typed = execFileSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' })
  expect(typed).toContain(`${escape}1mOUTCOME${escape}22m`)
  const piped = execFileSync('sh', ['-c', command], { env, encoding: 'utf8' })
  expect(piped).not.toContain(escape)
  expect(stripVTControlCharacters(typed).replaceAll('\r', '')).toBe(piped)
})
