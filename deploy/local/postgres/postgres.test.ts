// Tests that our PostgreSQL starts for every kind of user and survives a kill.
import fs from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  freePorts,
  ownPostgres,
  type TestServer,
  temporaryFolder,
} from '../../../test/support/servers.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'

const folders: string[] = []
const ended: Array<() => Promise<unknown>> = []

let shared: TestServer

beforeAll(async () => {
  shared = await ownPostgres()
})

afterAll(() => shared.remove())

afterEach(async () => {
  for (const end of ended.splice(0)) await end()
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

async function own(): Promise<TestServer> {
  const server = await ownPostgres()
  ended.push(() => server.remove())
  return server
}

async function startIn(dataDir: string): Promise<PostgresServer> {
  const [port = 0] = await freePorts(1)
  const server = await startPostgres({ dataDir, port, log: () => {} })
  ended.push(() => server.stop())
  return server
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

describe('the local PostgreSQL', () => {
  it('the local PostgreSQL keeps every committed row when it is killed', async () => {
    const server = await own()
    await query(server.url, 'create table kept (id int primary key)')
    await query(server.url, 'insert into kept select generate_series(1, 1000)')
    await server.kill()
    await server.start()
    expect(await query(server.url, 'select count(*)::int as rows from kept')).toEqual([
      { rows: 1000 },
    ])
  })

  it('the local PostgreSQL starts over a pid file whose process is another program', async () => {
    const folder = temporaryFolder('stale')
    folders.push(folder)
    const first = await startIn(folder)
    await first.stop()
    const pidFile = path.join(folder, 'cluster', 'postmaster.pid')
    fs.writeFileSync(
      pidFile,
      `${process.pid}\n${path.join(folder, 'cluster')}\n0\n1\n\n\n\nready\n`,
    )
    const second = await startIn(folder)
    expect(await query(second.adminUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('the local PostgreSQL takes over from a server that an earlier start left running', async () => {
    const folder = temporaryFolder('orphan')
    folders.push(folder)
    const first = await startIn(folder)
    const second = await startIn(folder)
    await first.exited
    expect(await query(second.adminUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('the local PostgreSQL is durable and speaks UTF-8 without locale surprises', async () => {
    const names = [
      'fsync',
      'synchronous_commit',
      'full_page_writes',
      'server_encoding',
      'max_connections',
    ]
    const list = names.map((name) => `current_setting('${name}') as ${name}`).join(', ')
    expect(await query(shared.url, `select ${list}`)).toEqual([
      {
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
        server_encoding: 'UTF8',
        max_connections: '200',
      },
    ])
  })

  it('the local PostgreSQL refuses connections without the password', async () => {
    const url = new URL(shared.url)
    url.password = 'guess'
    await expect(query(url.href, 'select 1')).rejects.toThrow(/password authentication failed/)
  })

  it('the local PostgreSQL runs from a folder with spaces that its owner alone can enter', async () => {
    const folder = temporaryFolder('closed')
    folders.push(folder)
    fs.chmodSync(folder, 0o700)
    const inside = path.join(folder, 'a folder', 'data')
    const server = await startIn(inside)
    expect(await query(server.adminUrl, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(fs.statSync(path.join(inside, 'password')).mode & 0o777).toBe(0o600)
  })

  it('the local PostgreSQL never runs with the rights of root', async () => {
    const status = fs.readFileSync(`/proc/${shared.pid()}/status`, 'utf8')
    expect(/^CapEff:\s*0+$/m.test(status)).toBe(true)
  })
})
