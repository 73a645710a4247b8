// Tests that parts that die are restarted and that everything stops in order.
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../test/support/eventually.ts'
import { temporaryFolder } from '../../../test/support/servers.ts'
import { type Part, type ProcessTable, type Supervisor, supervise } from './supervise.ts'
import { spawnTied } from './tied-process.ts'
import type { Check } from './watch-health.ts'

let folder: string
let supervisor: Supervisor
let table: ProcessTable
let lines: string[]

beforeEach(() => {
  folder = temporaryFolder('supervise')
  table = {}
  lines = []
  supervisor = supervisorWhere(1_000)
})

function supervisorWhere(healthyAfterMs: number): Supervisor {
  return supervise({
    checkEveryMs: 10,
    log: (line) => lines.push(line),
    onChange: (processes) => {
      table = processes
    },
    firstDelayMs: 20,
    maxDelayMs: 80,
    healthyAfterMs,
  })
}

afterEach(async () => {
  await supervisor.stop([])
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A stand-in that runs a script; it writes its name to the file `order` when it is asked to stop. */
function part(name: string, script = 'setInterval(() => {}, 1000)', graceMs = 5_000): Part {
  const order = JSON.stringify(path.join(folder, 'order'))
  const file = path.join(folder, `${name}.mjs`)
  const said = JSON.stringify(`${name}\n`)
  fs.writeFileSync(
    file,
    `import fs from 'node:fs'
     process.on('SIGTERM', () => { fs.appendFileSync(${order}, ${said}); process.exit(0) })
     fs.writeFileSync(${JSON.stringify(`${file}.up`)}, String(process.pid))
     ${script}`,
  )
  return {
    name,
    ports: [1],
    start: async () => {
      const child = await spawnTied({
        command: [process.execPath, file],
        deathSignal: 'TERM',
        env: {},
        stdio: 'ignore',
      })
      return { ...child, stop: () => child.end('SIGTERM', graceMs) }
    },
  }
}

async function isUp(name: string): Promise<number> {
  return eventually(() => {
    const pid = Number(fs.readFileSync(path.join(folder, `${name}.mjs.up`), 'utf8'))
    if (pid !== table[name]?.pid) throw new Error(`${name} is not up`)
    return pid
  })
}

describe('the supervisor', () => {
  it('the supervisor starts a killed part again and lists its new process', async () => {
    await supervisor.start([part('one'), part('two')])
    const [before, other] = [await isUp('one'), await isUp('two')]
    process.kill(before, 'SIGKILL')
    await eventually(() => expect(table.one?.pid).not.toBe(before))
    const after = await isUp('one')
    expect(after).not.toBe(before)
    expect(table).toEqual({ one: { pid: after, ports: [1] }, two: { pid: other, ports: [1] } })
    expect(supervisor.endings('one')).toBe(1)
  })

  it('the supervisor waits longer after each end, up to a longest delay', async () => {
    // However long a start takes here.
    supervisor = supervisorWhere(60_000)
    await supervisor.start([part('short', 'process.exit(3)')])
    await eventually(() => expect(lines.length).toBeGreaterThanOrEqual(5))
    const delays = lines.map((line) => Number(/in (\d+) ms/.exec(line)?.[1]))
    expect(delays.slice(0, 5)).toEqual([20, 40, 80, 80, 80])
    expect(lines[0]).toContain('exit code 3')
  })

  it('the supervisor forgets earlier ends of a part that then ran well', async () => {
    await supervisor.start([part('steady', 'setTimeout(() => process.exit(1), 1_200)')])
    await eventually(() => expect(lines.length).toBeGreaterThanOrEqual(2))
    const delays = lines.map((line) => Number(/in (\d+) ms/.exec(line)?.[1]))
    expect(delays.slice(0, 2)).toEqual([20, 20])
  })

  it('the supervisor ends a part whose check has a problem, waits longer each time, and keeps it once there is none', async () => {
    supervisor = supervisorWhere(0)
    const problems = [undefined, 'no answer', undefined, 'no answer', undefined]
    const check = vi.fn<Check>(async () => problems.shift())
    await supervisor.start([{ ...part('idle'), check }])
    await eventually(() => expect(check.mock.calls.length).toBeGreaterThan(8))
    expect(lines).toEqual([
      'idle runs and does not work: no answer; ending it',
      expect.stringMatching(/^idle ended \(.*\); starting it again in 20 ms$/),
      'idle runs and does not work: no answer; ending it',
      expect.stringMatching(/^idle ended \(.*\); starting it again in 40 ms$/),
    ])
    expect(supervisor.endings('idle')).toBe(2)
    expect(Object.keys(table)).toEqual(['idle'])
    // Each run has its own beginning.
    expect(new Set(check.mock.calls.map(([startedMs]) => startedMs)).size).toBe(3)
  })

  it('the supervisor asks no more about a part that has ended', async () => {
    let asked = 0
    const check = async () => {
      asked += 1
      return undefined
    }
    await supervisor.start([{ ...part('asked'), check }])
    await eventually(() => expect(asked).toBeGreaterThan(2))
    await supervisor.stop([['asked']])
    const atEnd = asked
    await eventually(() => expect(table).toEqual({}))
    await new Promise(setImmediate)
    expect(asked).toBe(atEnd)
  })

  it('the supervisor stops group after group and leaves nothing running', async () => {
    const names = ['edge', 'service', 'base']
    await supervisor.start(names.map((name) => part(name)))
    const pids = await Promise.all(names.map(isUp))
    await supervisor.stop([['edge'], ['service'], ['base']])
    expect(fs.readFileSync(path.join(folder, 'order'), 'utf8')).toBe('edge\nservice\nbase\n')
    expect(table).toEqual({})
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it('the supervisor ends a part that is being started while everything stops', async () => {
    const slow = part('slow')
    let pid = 0
    const stopping = Promise.withResolvers<void>()
    const starting = supervisor.start([
      {
        ...slow,
        start: async () => {
          await stopping.promise
          const running = await slow.start()
          pid = running.pid
          return running
        },
      },
    ])
    const stopped = supervisor.stop([['slow']])
    stopping.resolve()
    await Promise.all([stopped, starting])
    expect(pid).toBeGreaterThan(0)
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it('the supervisor kills a part that does not stop when it is asked to', async () => {
    const script =
      "process.removeAllListeners('SIGTERM').on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
    await supervisor.start([part('deaf', script, 200)])
    const pid = await isUp('deaf')
    await supervisor.stop([['deaf']])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it('the supervisor says so when a part cannot be started at all', async () => {
    const broken = {
      name: 'broken',
      ports: [],
      start: () => Promise.reject(new Error('no such file')),
    }
    await expect(supervisor.start([broken])).rejects.toThrow('no such file')
  })
})
