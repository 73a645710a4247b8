// Runs the real launcher where it cannot start, and checks that it exits with the reason and the remedy in one line.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  freePortBlock,
  freePorts,
  ownNats,
  ownPostgres,
  type TestServer,
  temporaryFolder,
} from '../../../test/support/servers.ts'
import { startStopwatch } from '../../../test/support/stopwatch.ts'
import { natsProgram } from '../nats/program.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const isRoot = process.getuid?.() === 0
const ended: (() => unknown)[] = []
let folder: string
let port: number
let portBase: number

beforeAll(async () => {
  folder = temporaryFolder('launch errors')
  ;[port = 0] = await freePorts(1)
  portBase = await freePortBlock()
})
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end()
})
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

/** What `npm start` gives to node. */
function startArguments(): string[] {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  return (scripts.start as string).replace(/^exec node /, '').split(' ')
}

type Failed = { line: string; tookMs: number }

/** Runs it to its end, in a shell that `prepares` first if given; answers the one line that it ends with. */
async function failedStart(env: Record<string, string>, prepares?: string[]): Promise<Failed> {
  const words = [process.execPath, ...startArguments()]
  const [program = '', ...args] = prepares === undefined ? words : [...prepares, ...words]
  const watch = startStopwatch()
  const child: ChildProcess = spawn(program, args, {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PAYWEAVE_DATA_DIR: path.join(folder, 'data'),
      PORT: String(port),
      PORT_BASE: String(portBase),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let said = ''
  child.stdout?.on('data', (text) => (output += String(text)))
  child.stderr?.on('data', (text) => (said += String(text)))
  const [code] = (await once(child, 'close')) as [number | null]
  expect([code, output + said]).toEqual([1, expect.any(String)])
  const lines = said.split('\n').filter((line) => line !== '')
  expect(lines, output + said).toHaveLength(1)
  expect(said).not.toMatch(/^\s+at /m)
  return { line: lines[0] ?? '', tookMs: watch.elapsedMs() }
}

/** Before a command: it runs without root's rights. */
const unprivileged = isRoot
  ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--']
  : undefined

/** Why a command cannot be run here; undefined when it can. */
function hindrance([program = '', ...args]: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? undefined : stderr?.trim() || String(error)
}

/** Before a command: it sees an empty disk of its own in a folder. */
function withDisk(target: string, options: string): string[] {
  const mounting = `mount -t tmpfs -o mode=1777,${options} tmpfs "$0" && exec "$@"`
  const asRoot = isRoot ? [] : ['--map-root-user']
  return ['unshare', '--mount', ...asRoot, 'sh', '-c', mounting, target]
}

describe('a data folder that cannot be used is named', () => {
  it('a data folder that cannot be used is named when it, or a folder above it, is a file', async () => {
    const file = path.join(folder, 'a file')
    fs.writeFileSync(file, '')
    for (const dataDir of [file, path.join(file, 'below')]) {
      const { line } = await failedStart({ PAYWEAVE_DATA_DIR: dataDir })
      expect(line).toBe(
        `PAYWEAVE_DATA_DIR: ${file} is a file and not a folder; remove it, or set another folder`,
      )
    }
  })

  it('a data folder that cannot be used is named when it cannot be made', async () => {
    const { line } = await failedStart({ PAYWEAVE_DATA_DIR: '/proc/payweave/data' })
    expect(line).toMatch(/^PAYWEAVE_DATA_DIR: \/proc\/payweave cannot be made|may not be/)
  })

  it('a data folder that cannot be used is named when this user may not write in it', async () => {
    const closed = path.join(folder, 'closed')
    fs.mkdirSync(closed, { mode: 0o555 })
    const { line } = await failedStart({ PAYWEAVE_DATA_DIR: closed }, unprivileged)
    expect(line).toBe(
      `${closed} may not be read or written by this user; start as the user to whom it belongs, or set ` +
        'PAYWEAVE_DATA_DIR to a folder of your own',
    )
  })

  it('a data folder that cannot be used is named when another user has started in it before', async (context) => {
    context.skip(!isRoot, 'only root can make files of another user')
    const others = path.join(folder, 'others')
    fs.mkdirSync(others)
    fs.chmodSync(others, 0o777)
    fs.writeFileSync(path.join(others, 'sandbox.json'), '{}', { mode: 0o600 })
    const { line } = await failedStart({ PAYWEAVE_DATA_DIR: others }, unprivileged)
    expect(line).toContain(`${others}/sandbox.json belongs to another user (0)`)
  })

  it.for([
    ['has no room', 'size=40m', /MiB are free on the disk of .*; make room, or set it to a folder/],
    [
      'fills up while PostgreSQL and NATS start',
      'size=400m,nr_inodes=200',
      /^(PostgreSQL|nats-server) did not start: no space is left on the disk of .*; make room, or set/,
    ],
    ['cannot be written', 'size=400m,ro', /is on a file system that cannot be written; set PAYW/],
  ] as const)(
    'a data folder that cannot be used is named when its disk %s',
    async ([, options, expected], context) => {
      const disk = fs.mkdtempSync(path.join(folder, 'disk-'))
      fs.chmodSync(disk, 0o777)
      const mounted = withDisk(disk, options)
      const why = hindrance([...mounted, 'true'])
      context.skip(why !== undefined, `no disk can be mounted here: ${why}`)
      const { line } = await failedStart({ PAYWEAVE_DATA_DIR: path.join(disk, 'data') }, mounted)
      expect(line).toMatch(expected)
    },
  )
})

describe('what PostgreSQL cannot run with is named', () => {
  it('too little shared memory for PostgreSQL is named', async (context) => {
    const mounted = withDisk('/dev/shm', 'size=4k')
    const why = hindrance([...mounted, 'true'])
    context.skip(why !== undefined, `no disk can be mounted here: ${why}`)
    const dataDir = path.join(folder, 'small memory')
    const { line } = await failedStart({ PAYWEAVE_DATA_DIR: dataDir }, mounted)
    expect(line).toMatch(
      /^PostgreSQL did not start: too little shared memory; give \/dev\/shm more/,
    )
  })

  it('a data folder with the files of another PostgreSQL version is refused', async () => {
    const dataDir = path.join(folder, 'other version')
    const cluster = path.join(dataDir, 'postgres', 'cluster')
    fs.mkdirSync(cluster, { recursive: true, mode: 0o700 })
    for (const above of [dataDir, path.dirname(cluster)]) fs.chmodSync(above, 0o711)
    fs.writeFileSync(path.join(cluster, 'PG_VERSION'), '17\n')
    fs.writeFileSync(path.join(cluster, 'postgresql.conf'), '')
    const { line } = await failedStart({ PAYWEAVE_DATA_DIR: dataDir })
    expect(line).toMatch(
      /^PostgreSQL did not start: .* was made by another version of PostgreSQL; /,
    )
  })
})

describe('a port that is taken is named', () => {
  it('a port that is taken is named with the process that listens on it and the setting that changes it', async () => {
    const holder = net.createServer().listen(port, '127.0.0.1')
    ended.push(() => holder.close())
    await once(holder, 'listening')
    const { line } = await failedStart({})
    const by =
      process.platform === 'linux' ? ` by ${path.basename(process.argv0)} (pid ${process.pid})` : ''
    expect(line).toBe(`port ${port} (gateway) is in use${by}; set PORT to another`)
  })
})

describe('a database of somebody else that cannot be used is named, without its password', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await ownPostgres({ fsync: 'off', shared_buffers: '16MB' })
  })
  afterAll(() => server.remove())

  /** The server's URL with something else in it. */
  function urlWith(change: (url: URL) => void): string {
    const url = new URL(server.url)
    change(url)
    return url.href
  }

  async function asOwner(statement: string): Promise<void> {
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query(statement)
    await client.end()
  }

  const unset = 'or unset DATABASE_URL: then a server is started here'

  it.each([
    ['nothing listens', 'nothing listens there', (url: URL) => (url.port = '1')],
    ['the password is wrong', 'the password is refused', (url: URL) => (url.password = 'hunter2')],
    ['there is none', 'there is no such database', (url: URL) => (url.pathname = '/nowhere')],
    [
      'the host is unknown',
      'the name of the host is not known',
      (url: URL) => (url.hostname = 'nowhere.invalid'),
    ],
  ])(
    'a database of somebody else that cannot be used is named, without its password, when %s',
    async (_, problem, change) => {
      const databaseUrl = urlWith(change)
      const { line } = await failedStart({ DATABASE_URL: databaseUrl })
      const { host, pathname, password } = new URL(databaseUrl)
      expect(line).toMatch(new RegExp(`^DATABASE_URL: ${problem} `))
      expect(line).toContain(`(${host}${pathname} as postgres)`)
      expect(line).toContain(unset)
      expect(line).not.toContain(password)
    },
  )

  it('a database of somebody else that cannot be used is named, without its password, when something else than PostgreSQL answers', async () => {
    const other = net.createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    ended.push(() => other.close())
    await once(other, 'listening')
    const { port: otherPort } = other.address() as net.AddressInfo
    const databaseUrl = urlWith((url) => (url.port = String(otherPort)))
    const { line } = await failedStart({ DATABASE_URL: databaseUrl })
    expect(line).toMatch(/^DATABASE_URL: (no PostgreSQL answers|the connection was closed) /)
  })

  it('a database of somebody else that cannot be used is named, without its password, when it is too old', async () => {
    const { port: realPort } = new URL(server.url)
    const old = olderServer(Number(realPort)).listen(0, '127.0.0.1')
    ended.push(() => old.close())
    await once(old, 'listening')
    const { port: oldPort } = old.address() as net.AddressInfo
    const { line } = await failedStart({
      DATABASE_URL: urlWith((url) => (url.port = String(oldPort))),
    })
    expect(line).toMatch(
      /^DATABASE_URL: PostgreSQL \S+ is too old; use 16 or newer \(\S+ as postgres\); upgrade it, or unset/,
    )
  })

  it('a database of somebody else that cannot be used is named, without its password, when its login may not make roles', async () => {
    await asOwner("create role plain login password 'hunter2'")
    await asOwner('create database plain owner plain')
    const databaseUrl = urlWith((url) => {
      url.username = 'plain'
      url.password = 'hunter2'
      url.pathname = '/plain'
    })
    const { line } = await failedStart({ DATABASE_URL: databaseUrl })
    expect(line).toBe(
      'DATABASE_URL: the login may not make roles for the services; let it (alter role plain createrole), ' +
        'or make the roles as docs/operate/README.md says and set DATABASE_ROLE_LOGINS=0',
    )
  })
})

describe('a broker of somebody else that cannot be used is named, without its password', () => {
  const unset = 'or unset NATS_URL: then a server is started here'

  it('a broker of somebody else that cannot be used is named, without its password, when nothing listens, within ten seconds', async () => {
    const [nowhere = 0] = await freePorts(1)
    const { line, tookMs } = await failedStart({
      NATS_URL: `nats://payweave:hunter2@127.0.0.1:${nowhere}`,
    })
    expect(line).toBe(
      `NATS_URL: nothing listens at 127.0.0.1:${nowhere}; start NATS there, ${unset}`,
    )
    expect(tookMs).toBeLessThan(10_000)
  })

  it('a broker of somebody else that cannot be used is named, without its password, when the login is refused', async () => {
    const server = await ownNats()
    ended.push(() => server.remove())
    const url = new URL(server.url)
    url.password = 'hunter2'
    const { line } = await failedStart({ NATS_URL: url.href })
    expect(line).toBe(
      `NATS_URL: the login is refused at ${url.host}; correct user and password, ${unset}`,
    )
  })

  it('a broker of somebody else that cannot be used is named, without its password, when it is older than a local start needs', async () => {
    const server = await ownNats()
    ended.push(() => server.remove())
    const proxy = changingServer(
      Number(new URL(server.url).port),
      /"version":"2\./,
      '"version":"1.',
    )
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    ended.push(async () => void proxy.close())
    const url = new URL(server.url)
    url.port = String((proxy.address() as net.AddressInfo).port)
    const { line } = await failedStart({ NATS_URL: url.href })
    expect(line).toMatch(
      /^NATS_URL: nats-server 1\.\S+ is older than 2\.9\.10 at 127\.0\.0\.1:\d+;/,
    )
    expect(line).toContain(unset)
  })

  it('a broker of somebody else that cannot be used is named, without its password, when it has no JetStream', async () => {
    const [plainPort = 0] = await freePorts(1)
    const program = await natsProgram({ fallbackDir: folder, log: () => {} })
    const server = spawn(program, ['-a', '127.0.0.1', '-p', String(plainPort)], { stdio: 'ignore' })
    ended.push(async () => {
      server.kill('SIGKILL')
      await once(server, 'exit')
    })
    const { line } = await failedStart({ NATS_URL: `nats://127.0.0.1:${plainPort}` })
    expect(line).toBe(
      `NATS_URL: the server has no JetStream at 127.0.0.1:${plainPort}; start it with "nats-server -js", ${unset}`,
    )
  })
})

/** Passes everything on to a PostgreSQL but says that it is of version 15: 180004 becomes 150004. */
const olderServer = (realPort: number) => changingServer(realPort, /\b18(\.\d)/g, '15$1')

/** Passes everything on to a server, and changes what it says to text of the same length. */
function changingServer(realPort: number, pattern: RegExp, replacement: string): net.Server {
  return net.createServer((near) => {
    const far = net.connect(realPort, '127.0.0.1')
    near.pipe(far)
    far.on('data', (bytes) => {
      near.write(Buffer.from(bytes.toString('latin1').replace(pattern, replacement), 'latin1'))
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
}
