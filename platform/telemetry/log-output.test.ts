// Proves that lines are written in batches, urgent ones at once, and that none is lost when a process exits.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { bufferedOutput, createLogger } from './log.ts'

function listening() {
  const writes: string[] = []
  const first = Promise.withResolvers<void>()
  const output = bufferedOutput((text) => {
    writes.push(text)
    first.resolve()
  })
  const log = createLogger({ part: 'payments', level: 'info', destination: output })
  return { writes, written: first.promise, log }
}

const messagesOf = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)

describe('the output of logs', () => {
  it('the output of logs writes lines of one moment together, without being asked', async () => {
    const { writes, written, log } = listening()
    log.info('one')
    log.info('two')
    expect(writes).toEqual([])
    await written
    expect(writes.map(messagesOf)).toEqual([['one', 'two']])
  })

  it.each(['warn', 'error', 'fatal'] as const)(
    'the output of logs writes a line of %s at once, in order',
    (level) => {
      const { writes, log } = listening()
      log.info('before')
      log[level]('trouble')
      expect(writes.map(messagesOf)).toEqual([['before', 'trouble']])
    },
  )

  it('the output of logs holds no more back than some kilobytes', () => {
    const { writes, log } = listening()
    for (let line = 0; line < 1_000; line += 1) log.info('one of many')
    expect(writes.length).toBeGreaterThan(1)
    expect(writes.every((text) => text.length < 40_000)).toBe(true)
  })

  it.each([
    ['ends', ''],
    ['exits', 'process.exit(3)'],
    ['throws', "throw new Error('unforeseen')"],
  ])('the output of logs loses nothing when the process %s', (_, last) => {
    const script = `import { createLogger } from './log.ts'
      const log = createLogger({ part: 'payments', level: 'info' })
      log.info('the last line')
      ${last}`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: path.join(import.meta.dirname),
      encoding: 'utf8',
    })
    expect(messagesOf(stdout)).toEqual(['the last line'])
  })
})
