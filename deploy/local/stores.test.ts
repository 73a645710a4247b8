// A NATS of a local start that accepts connections but serves no JetStream: ours is restarted, an external one is reported.
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectNats } from '#platform/events/nats/nats.ts'
import { silentLog } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  disableJetStream,
  freePorts,
  ownNats,
  temporaryFolder,
} from '../../test/support/servers.ts'
import { natsPasswordFile } from './nats/users.ts'
import { type ProcessTable, type Supervisor, supervise } from './process/supervise.ts'
import { natsPort, readLaunchSettings } from './settings.ts'
import { planStores } from './stores.ts'

let folder: string
let table: ProcessTable
let lines: string[]
let supervisor: Supervisor
const ended: (() => Promise<unknown>)[] = []

beforeEach(() => {
  folder = temporaryFolder('stores')
  table = {}
  lines = []
  const log = (line: string) => lines.push(line)
  supervisor = supervise({ log, onChange: (processes) => (table = processes), checkEveryMs: 50 })
})
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end()
  await supervisor.stop([])
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Starts the broker of a local start with these settings, and answers them. */
async function startBroker(env: Record<string, string> = {}) {
  const [port = 0] = await freePorts(1)
  fs.mkdirSync(path.join(folder, 'logs'), { recursive: true })
  // NATS has the last port of the block.
  const base = { PORT: '1024', PORT_BASE: String(port - 21), PAYWEAVE_DATA_DIR: folder }
  const settings = readLaunchSettings({ ...base, ...env })
  const stopping = new AbortController().signal
  const planned = planStores(settings, supervisor, (line) => lines.push(line), stopping)
  await planned.requireGiven(silentLog)
  const stream = await planned.startBroker(silentLog)
  ended.push(() => stream.close())
  return settings
}

describe('our nats-server without JetStream', () => {
  it('our nats-server without JetStream is started again with the cause in the log, and takes events again', async () => {
    const settings = await startBroker()
    const before = table['nats']?.pid ?? 0
    const nats = connectNats({
      url: `nats://127.0.0.1:${natsPort(settings)}`,
      access: { passwordFile: natsPasswordFile(folder, 'payments') },
      name: 'payments',
      log: silentLog,
    })
    ended.push(() => nats.close())
    const publish = (id: string) => nats.publish('pw.payments.event', Buffer.from('fact'), id)
    await eventually(() => publish('before'))
    disableJetStream(path.join(folder, 'nats'), before)
    await eventually(() => {
      expect(lines.join('\n')).toMatch(
        /^nats runs and does not work: JetStream does not answer \(.*\); ending it\nnats ended \(.*\); starting it again in 100 ms$/m,
      )
      expect(table['nats']?.pid).toBeGreaterThan(0)
      expect(table['nats']?.pid).not.toBe(before)
    }, 40_000)
    await eventually(() => publish('after'))
  }, 90_000)
})

describe('a given nats-server without JetStream', () => {
  it('a given nats-server without JetStream is reported once and left running, and reported again when it works', async () => {
    const server = await ownNats()
    ended.push(() => server.remove())
    await startBroker({ NATS_URL: server.url })
    const pid = server.pid()
    disableJetStream(server.dataDir, pid)
    const { host } = new URL(server.url)
    const failing = `NATS_URL: ${host}: JetStream does not answer`
    await eventually(() => expect(lines.join('\n')).toContain(failing), 40_000)
    expect(table).toEqual({})
    expect(server.pid()).toBe(pid)
    await server.stop()
    await server.start()
    const working = `NATS_URL: ${host}: JetStream answers again`
    await eventually(() => expect(lines).toContain(working), 40_000)
    expect(lines.filter((line) => line.startsWith(failing))).toHaveLength(1)
    expect(lines.join('\n')).not.toContain(new URL(server.url).password)
  }, 120_000)

  it('a given nats-server without JetStream, or of a version that production would not use, is named at the start', async () => {
    const server = await ownNats()
    ended.push(() => server.remove())
    const { host, username, password } = new URL(server.url)
    const connection = await connect({ servers: host, user: username, pass: password })
    const version = connection.info?.version
    await connection.close()
    await startBroker({ NATS_URL: server.url })
    const warning = `warning: nats-server ${version} is older than 2.12.0, which production needs`
    expect(lines).toEqual(/^2\.(9|10|11)\./.test(version ?? '') ? [warning] : [])
  })
})
