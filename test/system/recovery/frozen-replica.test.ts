// One of two replicas of accounts stands still: no key waits for it. Both, and a gateway that knows both, run beside a whole system.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { spawnTied, type TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { freePorts } from '../../support/servers.ts'
import { merchant } from '../harness.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const lookups = 60

let mesh: Mesh
let gatewayUrl: string
let metricsUrl: string
let replica: TiedProcess
const started: TiedProcess[] = []

beforeAll(async () => {
  mesh = await startMesh({ name: 'frozen-replica' })
  const [port = 0, adminPort = 0, gatewayPort = 0, gatewayAdmin = 0] = await freePorts(4)
  replica = await startAlike('accounts', 'services/accounts/main.ts', {
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
  })
  const { ACCOUNTS_URL: first = '' } = environmentOf('gateway')
  const second = new URL(first)
  second.port = String(port)
  await startAlike('gateway', 'gateway/main.ts', {
    PORT: String(gatewayPort),
    ADMIN_PORT: String(gatewayAdmin),
    ACCOUNTS_URL: `${first},${second.origin}`,
  })
  gatewayUrl = `http://127.0.0.1:${gatewayPort}`
  metricsUrl = `http://127.0.0.1:${gatewayAdmin}/metrics`
  await isReady(`http://127.0.0.1:${adminPort}`)
  await isReady(gatewayUrl)
})
afterAll(async () => {
  await Promise.all(started.map((one) => one.end('SIGTERM', 10_000)))
  await mesh.remove()
})

function environmentOf(part: string): Record<string, string> {
  const text = fs.readFileSync(`/proc/${mesh.pid(part)}/environ`, 'utf8')
  // Its channel to the launcher is its own.
  const entries = text
    .split('\0')
    .filter((entry) => entry !== '' && !entry.startsWith('NODE_CHANNEL_'))
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
}

/** Starts a further process of a part of the system. */
async function startAlike(
  part: string,
  script: string,
  changed: Record<string, string>,
): Promise<TiedProcess> {
  const log = fs.openSync(path.join(mesh.dataDir, 'logs', `${part}-2.log`), 'a')
  const running = await spawnTied({
    command: [process.execPath, path.join(root, script)],
    deathSignal: 'TERM',
    cwd: mesh.dataDir,
    env: { ...environmentOf(part), ...changed },
    stdio: ['ignore', log, log],
  })
  started.push(running)
  fs.closeSync(log)
  return running
}

async function isReady(url: string): Promise<void> {
  await eventually(
    async () => (await fetch(`${url}/readyz`)).status,
    (status) => expect(status).toBe(200),
    60_000,
  )
}

/** Look-ups that the other replica answered in place of the one that was asked first. */
async function hedgesWon(): Promise<number> {
  const text = await (await fetch(metricsUrl)).text()
  return Number(/^payweave_rpc_hedges_total\{.*outcome="won".*\} (\d+)$/m.exec(text)?.[1])
}

it('no key waits for a replica that stands still', async () => {
  const { sandbox } = mesh
  const shop = merchant({ sandbox: { ...sandbox, base_url: gatewayUrl } })
  /** Asks accounts for a key that nobody remembers, and so is refused. A look-up without a response within a second is a 503. */
  const lookUp = async (number: number) => {
    const key = `pwk_test_${String(number).padStart(23, 'A')}`
    const { status } = await shop.call('GET', '/payments/status', {
      headers: { 'PW-subscription-key': key },
    })
    return status
  }
  for (let number = 0; number < lookups; number += 1) expect(await lookUp(number)).toBe(401)
  const wonBefore = await hedgesWon()
  const thaw = await freeze(replica.pid)
  try {
    for (let number = lookups; number < 2 * lookups; number += 1) {
      expect(await lookUp(number)).toBe(401)
    }
    // It was asked, and the other replica answered.
    expect(await hedgesWon()).toBeGreaterThan(wonBefore)
  } finally {
    thaw()
  }
}, 120_000)
