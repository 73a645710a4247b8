// One of two replicas of accounts stands still: no key waits for it. Both, and a gateway that knows both, run beside a whole system.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { freeze } from '../../support/freeze.ts'
import { environmentOf, startAlike } from '../../support/further-process.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { freePorts } from '../../support/servers.ts'
import { merchant } from '../harness.ts'

const lookups = 60

let mesh: Mesh
let gatewayUrl: string
let metricsUrl: string
let replica: TiedProcess
let gateway: TiedProcess

beforeAll(async () => {
  mesh = await startMesh({ name: 'frozen-replica' })
  const [port = 0, adminPort = 0, gatewayPort = 0, gatewayAdmin = 0] = await freePorts(4)
  const { ACCOUNTS_URL: first = '' } = environmentOf(mesh, 'gateway')
  const second = new URL(first)
  second.port = String(port)
  replica = await startAlike(mesh, 'accounts', {
    script: 'services/accounts/main.ts',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
  })
  gateway = await startAlike(mesh, 'gateway', {
    script: 'gateway/main.ts',
    PORT: String(gatewayPort),
    ADMIN_PORT: String(gatewayAdmin),
    ACCOUNTS_URL: `${first},${second.origin}`,
  })
  gatewayUrl = `http://127.0.0.1:${gatewayPort}`
  metricsUrl = `http://127.0.0.1:${gatewayAdmin}/metrics`
})
afterAll(async () => {
  await Promise.all([replica, gateway].map((one) => one.end('SIGTERM', 10_000)))
  await mesh.remove()
})

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
