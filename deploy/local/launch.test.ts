// Starts the real launcher with stand-in parts and checks its output.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../test/support/eventually.ts'
import {
  freePortBlock,
  freePorts,
  ownPostgres,
  temporaryFolder,
} from '../../test/support/servers.ts'
import type { ProcessTable } from './process/supervise.ts'
import type { SandboxFile } from './sandbox-file.ts'

let folder: string
let dataDir: string
let env: NodeJS.ProcessEnv
const launchers: ChildProcess[] = []

// One data folder for all, as on a person's machine: the making of a cluster takes most of a first start.
beforeAll(async () => {
  folder = temporaryFolder('launch')
  dataDir = path.join(folder, 'a data folder')
  const [port = 0] = await freePorts(1)
  const portBase = await freePortBlock()
  env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    PORT: String(port),
    PORT_BASE: String(portBase),
    PAYWEAVE_DATA_DIR: dataDir,
  }
  fs.writeFileSync(path.join(folder, 'stand-in.mjs'), standIn)
  fs.writeFileSync(path.join(folder, 'start.ts'), starter())
})

afterEach(async () => {
  for (const launcher of launchers.splice(0)) {
    if (launcher.exitCode === null && launcher.signalCode === null) {
      launcher.kill('SIGTERM')
      await once(launcher, 'exit')
    }
  }
})
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

/** Answers 200 on its ports, and ends as the real parts do. */
const standIn = `import http from 'node:http'
  import { once } from 'node:events'
  const message = once(process, 'message')
  process.on('disconnect', () => process.exit(0))
  process.on('SIGTERM', () => process.exit(0))
  await message
  for (const port of process.env.STAND_IN_PORTS.split(',')) {
    await once(http.createServer((_, answer) => answer.end()).listen(Number(port), '127.0.0.1'), 'listening')
  }
  process.send({ ready: true })`

function starter(): string {
  const from = (file: string) => JSON.stringify(path.resolve('deploy/local', file))
  return `import { runInForeground } from ${from('foreground.ts')}
    import { nodeParts } from ${from('process/parts.ts')}
    await runInForeground((settings, stores) =>
      nodeParts(settings, stores, process.env).map((part) => ({
        ...part,
        script: ${JSON.stringify(path.join(folder, 'stand-in.mjs'))},
        env: { ...part.env, STAND_IN_PORTS: part.ports.join(',') },
      })))`
}

type Launcher = { child: ChildProcess; output(): string; exit: Promise<number | null> }

function launcher(changes: NodeJS.ProcessEnv = {}): Launcher {
  const child = spawn(process.execPath, [path.join(folder, 'start.ts')], {
    env: { ...env, ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  launchers.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += String(text)
    })
  }
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  return { child, output: () => output, exit }
}

async function ready({ output }: Launcher): Promise<void> {
  await eventually(() => expect(output()).toContain('Ctrl-C stops it all'), 90_000)
}

function read(name: string): unknown {
  return JSON.parse(fs.readFileSync(path.join(dataDir, name), 'utf8'))
}

function readProcesses(): ProcessTable {
  return read('processes.json') as ProcessTable
}

function readSandbox(): SandboxFile {
  return read('sandbox.json') as SandboxFile
}

/** A process that only waits to be reaped has ended. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const everyPart = [
  'gateway',
  'payments',
  'accounts',
  'institution',
  'quotes',
  'billing',
  'delivery',
  'simulator',
  'console',
  'postgres',
  'nats',
]

describe('npm start', { timeout: 240_000 }, () => {
  it('npm start brings up every part, restarts a killed one and leaves nothing on a stop', async () => {
    const started = launcher()
    await ready(started)
    const before = readProcesses()
    expect(Object.keys(before).toSorted()).toEqual(everyPart.toSorted())
    expect(before['gateway']?.ports[0]).toBe(Number(env['PORT']))
    for (const name of ['quotes', 'postgres', 'nats']) {
      process.kill(before[name]?.pid ?? 0, 'SIGKILL')
    }
    await eventually(() => {
      const now = readProcesses()
      expect(Object.keys(now).toSorted()).toEqual(everyPart.toSorted())
      for (const name of ['quotes', 'postgres', 'nats']) {
        expect(now[name]?.pid).not.toBe(before[name]?.pid)
      }
      expect(now['gateway']).toEqual(before['gateway'])
    }, 60_000)
    const after = readProcesses()
    started.child.kill('SIGINT')
    started.child.kill('SIGINT')
    expect(await started.exit).toBe(0)
    for (const { pid } of Object.values(after)) expect(runs(pid)).toBe(false)
    expect(readProcesses()).toEqual({})
    expect(started.output()).toContain(`  docs         http://127.0.0.1:${env['PORT']}/docs\n`)
    const logs = path.join(dataDir, 'logs')
    expect(started.output()).toContain(`  logs         ${logs}, one file for each part\n`)
    for (const name of [...everyPart, 'launcher']) {
      expect(fs.existsSync(path.join(logs, `${name}.log`)), name).toBe(true)
    }
  })

  it('npm start keeps its credentials over a kill of the launcher, which leaves no part running', async () => {
    const first = launcher()
    await ready(first)
    const sandbox = readSandbox()
    const processes = readProcesses()
    first.child.kill('SIGKILL')
    await eventually(() => {
      for (const { pid } of Object.values(processes)) expect(runs(pid)).toBe(false)
    })
    const second = launcher()
    await ready(second)
    expect(readSandbox()).toEqual(sandbox)
    expect(second.output()).toContain(sandbox.projects.demo.subscription_key)
    for (const name of ['sandbox.json', 'sandbox.env']) {
      expect(fs.statSync(path.join(dataDir, name)).mode & 0o777).toBe(0o600)
    }
  })

  it('npm start refuses a second start on the same folder or ports, and says why', async () => {
    const first = launcher()
    await ready(first)
    const second = launcher()
    expect(await second.exit).toBe(1)
    expect(second.output()).toContain(`already running on ${dataDir} (launcher ${first.child.pid})`)
    const third = launcher({ PAYWEAVE_DATA_DIR: path.join(folder, 'other') })
    expect(await third.exit).toBe(1)
    expect(third.output()).toMatch(
      new RegExp(
        `^port ${env['PORT']} \\(gateway\\) is in use by \\S+ \\(pid \\d+\\); set PORT`,
        'm',
      ),
    )
    expect(third.output()).toMatch(
      /^ports \d+ \(gateway\).*\(nats\) are in use by (\S+ \(pid \d+\)(, )?)+; set PORT_BASE/m,
    )
  })

  it('npm start refuses a bad setting of any part before it makes anything', async () => {
    const unmade = path.join(folder, 'unmade')
    const changes = { PAYWEAVE_DATA_DIR: unmade, RATE_LIMIT_RPS: 'many', FEE_SCHEDULE: '{' }
    const started = launcher(changes)
    expect(await started.exit).toBe(1)
    expect(started.output()).toContain('RATE_LIMIT_RPS')
    expect(fs.existsSync(path.join(unmade, 'sandbox.json'))).toBe(false)
  })

  it('npm start shares a login that may make no roles, when they are there and the person says so', async () => {
    const server = await ownPostgres({ fsync: 'off', shared_buffers: '16MB' })
    onTestFinished(() => server.remove())
    const page = fs.readFileSync(path.resolve('docs/operate/README.md'), 'utf8')
    const [, roles = ''] = /^```sql\n(create role payweave_.*?)^```/ms.exec(page) ?? []
    const admin = new Client({ connectionString: server.url })
    await admin.connect()
    await admin.query("create role shop login password 'of the shop'")
    await admin.query(roles)
    await admin.query('create database shop owner shop')
    await admin.end()
    const url = new URL(server.url)
    Object.assign(url, { username: 'shop', password: 'of the shop', pathname: '/shop' })
    const started = launcher({ DATABASE_URL: url.href, DATABASE_ROLE_LOGINS: '0' })
    await ready(started)
    expect(Object.keys(readProcesses())).not.toContain('postgres')
  })

  it('npm start stops when npm, which started it, is killed', async () => {
    const script = '"$0" "$1" & echo "pid $!" && wait'
    const npm = spawn('/bin/sh', ['-c', script, process.execPath, path.join(folder, 'start.ts')], {
      env: { ...env, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    npm.stdout.on('data', (text) => {
      output += String(text)
    })
    await eventually(() => expect(output).toContain('PostgreSQL takes'), 60_000)
    npm.kill('SIGKILL')
    const pid = Number(/pid (\d+)/.exec(output)?.[1])
    await eventually(() => expect(runs(pid)).toBe(false), 60_000)
    expect(readProcesses()).toEqual({})
  })

  it('npm start stops while it is still starting', async () => {
    const fresh = path.join(folder, 'fresh')
    const started = launcher({ PAYWEAVE_DATA_DIR: fresh })
    await eventually(() => expect(started.output()).toContain('making a new PostgreSQL'), 60_000)
    started.child.kill('SIGTERM')
    expect(await started.exit).toBe(0)
    expect(JSON.parse(fs.readFileSync(path.join(fresh, 'processes.json'), 'utf8'))).toEqual({})
  })
})
