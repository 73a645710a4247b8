// What the log says about a start that fails: the cause with its code, host, port and file, and never a password or a URL.
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { freePorts } from '../../test/support/servers.ts'
import { openDatabase, sql } from '../db/db.ts'
import { openServiceDatabase } from '../db/service-database.ts'
import { connectNats } from '../events/nats/nats.ts'
import { readKeys } from '../process/secrets.ts'
import { readTrust } from '../rpc/auth/trust.ts'
import { createLogger, describeError, type Logger } from './log.ts'
import { createMetrics } from './metrics.ts'

const password = 'hunter2Hunter2Hunter2'
let folder: string
let home: TestDatabase
beforeAll(async () => {
  // A name drawn at random would be taken for a secret.
  folder = path.join(tmpdir(), `payweave-causes-${process.pid}`)
  await mkdir(folder)
  home = await createTestDatabase('causes', [])
})
afterAll(async () => {
  await home.drop()
  await rm(folder, { recursive: true })
})

type Line = Record<string, unknown>

/** The first line of the log with this message, while something starts; nothing in the log may hold the password. */
async function lineOf(
  message: string,
  start: (log: Logger) => { stop(): Promise<unknown> },
): Promise<Line> {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const started = start(createLogger({ part: 'test', level: 'info', destination }))
  try {
    const found = () =>
      lines.map((line) => JSON.parse(line) as Line).find((l) => l['msg'] === message)
    await eventually(() => expect(found()).toBeDefined())
    expect(lines.join('')).not.toContain(password)
    return found() ?? {}
  } finally {
    await started.stop()
  }
}

describe('a database that cannot be used', () => {
  async function problem(databaseUrl: string, passwordFile?: string): Promise<Line> {
    const [adminPort = 0] = await freePorts(1)
    return await lineOf('database not usable', (log) => {
      const stopping = new AbortController()
      const settings = {
        databaseUrl,
        databasePasswordFile: passwordFile,
        migrateAtStart: false,
        host: '127.0.0.1',
        adminPort,
      }
      const metrics = createMetrics('quotes')
      const opening = openServiceDatabase({
        service: 'quotes',
        settings,
        metrics,
        log,
        stopping: stopping.signal,
      })
      return {
        stop: () => {
          stopping.abort()
          return opening.catch(() => undefined)
        },
      }
    })
  }

  it('a database that cannot be used because nothing listens is logged with its host and port', async () => {
    const [port] = await freePorts(1)
    expect(await problem(`postgres://x:${password}@127.0.0.1:${port}/x`)).toMatchObject({
      address: `127.0.0.1:${port}`,
      err: {
        reason: 'SERVICE_UNAVAILABLE',
        cause: { code: 'ECONNREFUSED', syscall: 'connect', address: `127.0.0.1:${port}` },
      },
    })
  })

  it('a database that cannot be used because its name is not known is logged with the name', async () => {
    expect(await problem(`postgres://x:${password}@nowhere.invalid/x`)).toMatchObject({
      address: 'nowhere.invalid',
      err: { cause: { syscall: 'getaddrinfo', address: 'nowhere.invalid' } },
    })
  })

  it('a database that cannot be used because it refuses the password is logged with its SQLSTATE', async () => {
    const url = new URL(home.url)
    url.password = password
    expect(await problem(url.href)).toMatchObject({
      address: url.host,
      err: { cause: { type: 'DatabaseError', code: '28P01' } },
    })
  })

  it('a database that cannot be used because its password file is missing is logged with the file', async () => {
    const file = path.join(folder, 'absent')
    expect(await problem(home.url, file)).toMatchObject({
      err: {
        cause: {
          type: 'ConfigurationError',
          message: `password file ${file} cannot be read`,
          cause: { code: 'ENOENT', path: file },
        },
      },
    })
  })

  it('a database that cannot be used because its password file is missing leaves no connection behind', async () => {
    let connections = 0
    const server = net.createServer(() => {
      connections += 1
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const url = `postgres://x@127.0.0.1:${port}/x`
    const passwordFile = path.join(folder, 'absent')
    const log = createLogger({ part: 'test', level: 'silent' })
    const db = openDatabase({ url, passwordFile, service: 'quotes', log })
    const ping = sql('ping', 'select 1')
    await expect(db.rows(ping, [])).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    await expect(db.rows(ping, [])).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(connections).toBe(0)
    await db.close()
    server.close()
  })
})

describe('a broker that cannot be used', () => {
  const problem = (url: string, access: { passwordFile?: string } = {}) =>
    lineOf('broker not reachable', (log) => {
      const nats = connectNats({ url, name: 'test', log, access })
      return { stop: () => nats.close() }
    })

  it('a broker that cannot be used because nothing listens is logged with each server', async () => {
    const ports = await freePorts(2)
    const servers = ports.map((port) => `127.0.0.1:${port}`)
    const url = servers.map((server) => `nats://x:${password}@${server}`).join(',')
    const { err } = (await problem(url)) as { err: { code: string; errors: Line[] } }
    expect(err.code).toBe('CONNECTION_REFUSED')
    expect(err.errors.map(({ address }) => address).toSorted()).toEqual(servers.toSorted())
    expect(err.errors[0]).toMatchObject({ cause: { cause: { code: 'ECONNREFUSED' } } })
  })

  it('a broker that cannot be used because it refuses the password is logged with its answer', async () => {
    const url = new URL(process.env['TEST_NATS_URL'] ?? '')
    url.password = password
    expect(await problem(url.href)).toMatchObject({
      err: { code: 'AUTHORIZATION_VIOLATION', errors: [{ address: url.host }] },
    })
  })

  it('a broker that cannot be used because the password file is missing or empty is logged with the file', async () => {
    const url = new URL(process.env['TEST_NATS_URL'] ?? '')
    const absent = path.join(folder, 'absent')
    expect(await problem(`nats://${url.host}`, { passwordFile: absent })).toMatchObject({
      err: { message: `password file ${absent} cannot be read`, cause: { code: 'ENOENT' } },
    })
    const empty = path.join(folder, 'empty')
    await writeFile(empty, '\n')
    expect(await problem(`nats://${url.host}`, { passwordFile: empty })).toMatchObject({
      err: { message: `password file ${empty} is empty` },
    })
  })
})

describe('a file of secrets', () => {
  const described = (read: () => unknown) => {
    try {
      read()
    } catch (error) {
      return describeError(error)
    }
    throw new Error('it could be read')
  }

  it('a file of secrets that is missing is named', () => {
    expect(described(() => readKeys(folder, 'page.key'))).toMatchObject({
      message: `secret file ${path.join(folder, 'page.key')} cannot be read`,
      cause: { code: 'ENOENT' },
    })
    expect(described(() => readTrust(folder))).toMatchObject({
      code: 'ENOENT',
      syscall: 'open',
      path: path.join(folder, 'trust.json'),
    })
  })
})

describe('an error with several causes', () => {
  it('an error with several causes keeps those of each address and of each cause', () => {
    const refused = (address: string) =>
      Object.assign(new Error(password), {
        code: 'ECONNREFUSED',
        syscall: 'connect',
        address,
        port: 5432,
      })
    const all = new AggregateError([refused('::1'), refused('127.0.0.1')], password)
    const facts = describeError(new Error(password, { cause: all }))
    expect(facts).toMatchObject({
      cause: {
        type: 'AggregateError',
        errors: [{ address: '[::1]:5432' }, { address: '127.0.0.1:5432' }],
      },
    })
    expect(JSON.stringify(facts)).not.toContain(password)
  })
})
