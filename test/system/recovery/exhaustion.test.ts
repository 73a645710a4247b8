// Resource exhaustion by one client without credentials: memory and log stay bounded, and others are answered.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'

let mesh: Mesh
beforeAll(async () => {
  mesh = await startMesh({ name: 'exhaustion' })
})
afterAll(() => mesh.remove())

const sockets: net.Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

const mebibyte = 1024 * 1024
const maxGrowthBytes = 120 * mebibyte

function residentBytes(): number {
  const status = fs.readFileSync(`/proc/${mesh.pid('gateway')}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

function connect(): net.Socket {
  const socket = net.connect(Number(new URL(mesh.sandbox.base_url).port), '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  return socket
}

const livez = async () => (await fetch(`${mesh.sandbox.base_url}/livez`)).status

/** The maximal growth of the gateway's resident memory during an attack, while /livez answers. */
async function growthDuring(attack: () => void, looks: number): Promise<number> {
  const before = residentBytes()
  attack()
  let maxBytes = before
  for (let look = 0; look < looks; look += 1) {
    expect(await livez()).toBe(200)
    await sleep(100)
    maxBytes = Math.max(maxBytes, residentBytes())
  }
  return maxBytes - before
}

function request(path: string, headers: Record<string, string> = {}): string {
  const all = { Host: 'localhost', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

const anonymous = request('/payments/status?version=2024-10-01&api_key=x&payment_details_id=y', {
  'PW-subscription-key': 'pwk_test_NOBODYNOBODYNOBODYNOBOD',
  'PW-origin-country': 'TT',
  'PW-request-date': '2026-01-01 12:00:00',
  'PW-ip-address': '203.0.113.7',
  'User-Agent': 'system-test/1.0',
})

it('documents are made before the first request for them', async () => {
  const log = path.join(mesh.dataDir, 'logs', 'gateway.log')
  await eventually(
    () => fs.readFileSync(log, 'utf8'),
    (text) => {
      expect(text).toContain('"API documents built"')
      expect(text).not.toContain('/docs')
    },
  )
})

describe('a connection that pipelines 100,000 requests', () => {
  it('a connection that pipelines 100,000 requests for documents costs little, whether it reads the answers or not', async () => {
    const documents = ['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json']
    const all = documents.map((path) => request(path)).join('')
    for (const isTaken of [false, true]) {
      const growth = await growthDuring(() => {
        const socket = connect()
        if (isTaken) socket.resume()
        socket.write(all.repeat(33_334))
      }, 30)
      expect(growth).toBeLessThan(maxGrowthBytes)
      for (const socket of sockets.splice(0)) socket.destroy()
    }
    await eventually(livez, (status) => expect(status).toBe(200))
  }, 180_000)

  it('a connection that pipelines 100,000 requests costs little beside a stopped service, and others are answered', async () => {
    const thaw = await freeze(mesh.pid('accounts'))
    try {
      const growth = await growthDuring(() => connect().write(anonymous.repeat(100_000)), 60)
      expect(growth).toBeLessThan(maxGrowthBytes)
    } finally {
      thaw()
    }
    for (const socket of sockets.splice(0)) socket.destroy()
    await mesh.ready()
  }, 180_000)
})

it('1,500 bodies without a key that stall cost little, and others are answered', async () => {
  const length = { 'Content-Type': 'application/json', 'Content-Length': '65000' }
  const head = request('/payments/request?version=2024-10-01', length).replace('GET', 'POST')
  const growth = await growthDuring(() => {
    for (let count = 0; count < 1_500; count += 1) connect().write(head + ' '.repeat(60_000))
  }, 40)
  expect(growth).toBeLessThan(75 * mebibyte)
}, 120_000)

it('50,000 refusals without a key add little to the log', async () => {
  const logBytes = () => fs.statSync(path.join(mesh.dataDir, 'logs', 'gateway.log')).size
  const before = logBytes()
  const count = 50_000
  const socket = connect()
  const answerStart = 'HTTP/1.1 400'
  let answers = 0
  let rest = ''
  socket.on('data', (chunk) => {
    const text = rest + chunk.toString('latin1')
    answers += text.split(answerStart).length - 1
    // Too short for a whole one: the start of an answer may be cut in two.
    rest = text.slice(1 - answerStart.length)
  })
  socket.write(request('/payments/status').repeat(count))
  await eventually(
    () => answers,
    (seen) => expect(seen).toBeGreaterThan(count - 100),
    90_000,
  )
  expect(logBytes() - before).toBeLessThan(100 * 1024)
}, 120_000)
