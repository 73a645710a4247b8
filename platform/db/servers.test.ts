// Connections of the pool while their server ends, changes its role or ends a session, against real PostgreSQL servers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyOfDatabase, silentLog } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { ownPostgres } from '../../test/support/servers.ts'
import { clientBy, connectClient } from './client.ts'
import { type Database, type DatabaseOptions, openDatabase, sql } from './db.ts'
import { migrate } from './migrate.ts'

const backendPid = sql('backend_pid', 'select pg_backend_pid() as pid')
let url: string
let db: Database

/** The only value that a statement returns, also of a standby. */
async function ask<T>(connectionString: string, statement: string): Promise<T> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    const [row = {}] = (await client.query<Record<string, T>>(statement)).rows
    return Object.values(row)[0] as T
  } finally {
    await client.end()
  }
}

/** A port whose queue of connections is full, so that the system drops what comes: as to a machine that is lost. */
async function lostServer(): Promise<{ port: number; end(): void }> {
  const listen = `require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () { console.log(this.address().port) })`
  const server = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(server.stdout, 'data')) as [Buffer]
  const port = Number(line.toString())
  server.kill('SIGSTOP')
  const queued = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  await Promise.all(queued.map((socket) => once(socket, 'connect')))
  return {
    port,
    end() {
      for (const socket of queued) socket.destroy()
      server.kill('SIGKILL')
    },
  }
}

const open = (options: Partial<DatabaseOptions> & { url: string }) =>
  openDatabase({ service: undefined, log: silentLog, ...options })

beforeAll(async () => {
  url = await copyOfDatabase('db servers', async () => {})
  db = open({ url })
})
afterAll(() => db.close())

describe('a pool', () => {
  it('a pool works again after PostgreSQL was killed and started', async () => {
    const server = await ownPostgres()
    const own = open({ url: server.url, limits: { acquireMs: 10_000 } })
    try {
      expect(await own.ready()).toBe(true)
      await server.kill()
      // A session outlives its killed server for the moment that it takes to notice.
      await eventually(async () => expect(await own.ready()).toBe(false))
      await expect(own.run(backendPid, [])).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
      await server.start()
      await eventually(async () => expect(await own.ready()).toBe(true))
    } finally {
      await own.close()
      await server.remove()
    }
  }, 60_000)

  it('a pool finds the primary among the servers of its URL, before and after a switchover', async () => {
    const [first, second] = await Promise.all([ownPostgres(), ownPostgres()])
    const { host: a } = new URL(first.url)
    const both = first.url.replace(a, `${new URL(second.url).host},${a}`)
    const signal = join(await ask<string>(second.url, 'show data_directory'), 'standby.signal')
    const { password } = new URL(first.url)
    await ask(second.url, `alter role current_user password '${decodeURIComponent(password)}'`)
    await second.stop()
    writeFileSync(signal, '')
    await second.start()
    const own = open({ url: `${both}?target_session_attrs=primary`, poolSize: 2 })
    const whichPort = sql('server_port', "select current_setting('port') as port")
    const portOf = ({ url: one }: { url: string }) => new URL(one).port
    try {
      expect(await own.row(whichPort, [])).toEqual({ port: portOf(first) })
      await first.kill()
      await ask(both.replace(`,${a}`, ''), 'select pg_promote()')
      await eventually(async () =>
        expect(await own.row(whichPort, [])).toEqual({ port: portOf(second) }),
      )
      expect(await own.ready()).toBe(true)
    } finally {
      await own.close()
      await Promise.all([first.remove(), second.remove()])
    }
  }, 60_000)

  it('a pool goes to the next server when the machine of one answers nothing, which has an error of its own', async () => {
    const lost = await lostServer()
    const { host } = new URL(url)
    const own = open({
      url: url.replace(host, `127.0.0.1:${lost.port},${host}`),
      // The system itself gives up after two minutes.
      limits: { acquireMs: 60_000 },
    })
    try {
      expect(await own.run(backendPid, [])).toBe(1)
      const alone = connectClient({ url: url.replace(host, `127.0.0.1:${lost.port}`) }, {})
      const reached = { code: 'ETIMEDOUT', address: '127.0.0.1', port: lost.port }
      await expect(alone).rejects.toMatchObject(reached)
    } finally {
      lost.end()
      await own.close()
    }
  })

  it('a server that was reached has more time for the login than for the connection', async () => {
    const { hostname, port, host } = new URL(url)
    const slow = createServer((socket) => {
      socket.on('error', () => undefined)
      setTimeout(() => {
        const server = connect(Number(port), hostname).on('error', () => undefined)
        socket.pipe(server).pipe(socket)
      }, 2_000)
    })
    await once(slow.listen(0, '127.0.0.1'), 'listening')
    const { port: slowPort } = slow.address() as AddressInfo
    const client = await connectClient({ url: url.replace(host, `127.0.0.1:${slowPort}`) }, {})
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
    slow.close()
  })

  it('a connection that was completed while this process stalled is used', async () => {
    const client = new (clientBy({ url }))({})
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const stall = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
    // Timers follow immediates, before the connection is noticed.
    setImmediate(() => {
      client.connection.stream.once('connectionAttempt', () => process.nextTick(stall))
      client.connect().then(resolve, reject)
    })
    await promise
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
  })

  it('a pool uses no connection to a standby, not even for reading', async () => {
    const server = await ownPostgres()
    const own = open({ url: server.url, poolSize: 1 })
    const addTable = sql('add_table', 'create table if not exists kept (id int)')
    try {
      expect(await own.ready()).toBe(true)
      await own.run(addTable, [])
      const directory = sql('data_directory', "select current_setting('data_directory') as path")
      const signal = join(
        (await own.row<{ path: string }>(directory, []))?.path ?? '',
        'standby.signal',
      )
      await server.stop()
      writeFileSync(signal, '')
      await server.start()
      // The server would answer reads now, perhaps with what is no longer true.
      const reading = () => own.run(backendPid, []).catch((error: unknown) => error)
      await eventually(async () =>
        expect(await reading()).toMatchObject({
          reason: 'SERVICE_UNAVAILABLE',
          cause: { code: '25006', message: 'the database server is a standby' },
        }),
      )
      expect(await own.ready()).toBe(false)
      await expect(
        migrate({ adminUrl: server.url, service: 'pool', directories: [], log: silentLog }),
      ).rejects.toThrow('the database server is a standby')
      await server.stop()
      rmSync(signal)
      await server.start()
      await eventually(async () => expect(await own.ready()).toBe(true))
      await own.run(addTable, [])
    } finally {
      await own.close()
      await server.remove()
    }
  }, 60_000)
})

describe('a session', () => {
  const lock = sql('lock_session', 'select pg_try_advisory_lock(4711) as held')

  it('a database session keeps its locks until it is closed, also while it waits', async () => {
    const session = await db.session()
    expect(await session.row(lock, [])).toEqual({ held: true })
    expect(await db.row(lock, [])).toEqual({ held: false })
    const waiting = session.run(sql('wait_long', 'select pg_sleep(60)'), [])
    session.close()
    await expect(waiting).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    await session.closed
  })

  it('a database session says when its connection is lost, and its place in the pool is free', async () => {
    const own = open({ url, poolSize: 1 })
    const session = await own.session()
    const backend = await session.row<{ pid: number }>(backendPid, [])
    await db.run(sql('end_session', 'select pg_terminate_backend($1)'), [backend?.pid])
    await session.closed
    expect(await own.ready()).toBe(true)
    session.close()
    await own.close()
  })
})
