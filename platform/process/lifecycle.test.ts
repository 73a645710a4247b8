// The life of a process, seen from outside: real processes, real signals.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../test/support/eventually.ts'
import { waitForStart } from './lifecycle.ts'

const sample = path.join(import.meta.dirname, '../../test/support/sample-process.ts')

type Sample = {
  child: ChildProcess
  output(): string
  /** Resolves when a line of the output contains this. */
  says(text: string): Promise<void>
  exited: Promise<number | null>
}

function startSample(
  behaviour: string,
  env: Record<string, string> = {},
  words: string[] = [],
): Sample {
  const child = fork(sample, [behaviour, ...words], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'], ...env },
  })
  let output = ''
  const add = (chunk: Buffer): void => {
    output += String(chunk)
  }
  child.stdout?.on('data', add)
  child.stderr?.on('data', add)
  return {
    child,
    output: () => output,
    says: async (text) => {
      await eventually(() => expect(output).toContain(text))
    },
    exited: endOf(child),
  }
}

/** The exit code, once all output is here too. (`close` does not come after `disconnect`.) */
async function endOf(child: ChildProcess): Promise<number | null> {
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null)
  const [[code]] = await Promise.all([
    once(child, 'exit'),
    ...streams.map((stream) => once(stream, 'end')),
  ])
  return code as number | null
}

async function startReady(behaviour: string): Promise<Sample> {
  const started = startSample(behaviour)
  const [message] = (await once(started.child, 'message')) as [unknown]
  expect(message).toEqual({ ready: true })
  return started
}

describe('a process', () => {
  it('a process closes its parts in order and exits 0 on SIGTERM and SIGINT', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const started = await startReady('plain')
      started.child.kill(signal)
      expect(await started.exited).toBe(0)
      const said = started
        .output()
        .match(/^(stop requested|door closed|work closing|store closed)$/gm)
      expect(said).toEqual(['stop requested', 'door closed', 'work closing', 'store closed'])
    }
  })

  it('a process closes the parts of a list together', async () => {
    const started = await startReady('together')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
  })

  it('a process stops when its supervisor is gone', async () => {
    const started = await startReady('plain')
    started.child.disconnect()
    expect(await started.exited).toBe(0)
    expect(started.output()).toContain('store closed')
  })

  it('a process takes Ctrl-C and the supervisor’s SIGTERM after it for one request', async () => {
    const started = await startReady('plain')
    started.child.kill('SIGINT')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
  })

  it('a process leaves a part that does not close, closes the rest, and exits 1', async () => {
    const started = await startReady('hangs')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(1)
    expect(started.output()).toContain('store closed')
    expect(started.output()).toContain('"step":"work"')
  })

  it('a process exits at once at the same signal again', async () => {
    const started = await startReady('hangs-on')
    started.child.kill('SIGTERM')
    await started.says('work closing')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(1)
    expect(started.output()).not.toContain('store closed')
  })

  it('a process begins when its supervisor says so, however early that was said', async () => {
    const started = startSample('plain', {}, [waitForStart])
    started.child.send('begin')
    const [message] = (await once(started.child, 'message')) as [unknown]
    expect(message).toEqual({ ready: true })
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
  })

  it('a process has begun nothing when it is stopped before it was started', async () => {
    const started = startSample('slow-start', {}, [waitForStart])
    await started.says('loaded')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
    expect(started.output()).not.toContain('starting')
    expect(started.output()).not.toContain('store closed')
  })

  it('a process closes the rest when one part fails to close, and exits 1', async () => {
    const started = await startReady('bad-close')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(1)
    expect(started.output()).toContain('store closed')
    expect(started.output()).not.toContain('secret words')
  })

  it('a process closes what it has started when it is stopped during its start', async () => {
    const started = startSample('slow-start')
    await started.says('starting')
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
    expect(started.output()).toContain('store closed')
  })

  it('a process ends although the reader of its log is gone', async () => {
    const { child } = await startReady('')
    child.stdout?.destroy()
    // Its own output fails too, which is an uncaught error: the last lines are fatal ones.
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).not.toBeNull()
  })

  it('a process exits 1 and logs an uncaught error', async () => {
    for (const behaviour of ['rejects', 'throws', 'bad-start']) {
      const started = startSample(behaviour)
      expect(await started.exited).toBe(1)
      expect(started.output()).toContain('"level":"fatal"')
      expect(started.output()).not.toContain('secret words')
    }
  })

  it('a process says to a person which settings are bad, and exits 1', async () => {
    const started = startSample('bad-settings', { QUOTE_TTL_S: '10abc' })
    expect(await started.exited).toBe(1)
    expect(started.output()).toContain('QUOTE_TTL_S must be a whole number')
    expect(started.output()).toContain('DATABASE_URL must be set')
    expect(started.output()).not.toContain('10abc')
  })
})
