// Shows what request bodies that never end cost a service process: little memory over each protocol, and /livez answers.
import http2 from 'node:http2'
import net from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { check, floodsOf } from './floods.ts'
import {
  bearer,
  type MeasuredService,
  type ServiceProcess,
  startServiceProcess,
} from './harness.ts'

const maxGrowthBytes = 60 * 1024 * 1024
/**
 * Chunks that were read and dropped count until V8 collects them, which it may put off until they are 64 MB: they only ever add to what
 * requests hold. What these hold is in every flood, so that the least growth of a few new processes is compared.
 */
const maxFloods = 3

const unaryPaths: Record<MeasuredService, string> = {
  quotes: '/payweave.quotes.v1.QuotesService/GetQuote',
  billing: '/payweave.billing.v1.BillingService/GetBillPayment',
}

/** Some calls of each kind, so that what they load is loaded. */
async function warmUp(port: number, ownPath: string): Promise<void> {
  for (let count = 0; count < 50; count++) {
    for (const path of [check, ownPath]) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: '{}',
      })
      await response.arrayBuffer()
    }
  }
  const session = http2.connect(`http://127.0.0.1:${port}`)
  for (let count = 0; count < 50; count++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': check,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
    })
    stream.resume()
    stream.end(Buffer.alloc(5))
    await new Promise((resolve) => stream.once('close', resolve))
  }
  session.destroy()
}

/** Whether the RPC port takes a connection and answers a small call of anybody's. */
function healthAnswers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString('latin1').startsWith('HTTP/1.1 200'))
      socket.destroy()
    })
    socket.write(
      `POST ${check} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    )
  })
}

const names = Object.keys(floodsOf(0, '', bearer))
/** The code is the same in all services: the one that was seen to grow most bears all floods. */
const floods: Record<MeasuredService, string[]> = {
  quotes: names,
  billing: names.filter((title) =>
    /^health, HTTP.*(declared length|gRPC)$|^bearer, .*(chunks|gRPC)$/.test(title),
  ),
}

describe.each(['quotes', 'billing'] as const)('%s', (name) => {
  const ownPath = unaryPaths[name]
  let database: TestDatabase
  let service: ServiceProcess | undefined

  beforeAll(async () => {
    database = await createTestDatabase(name, migrationFolders(name))
  })
  afterEach(() => service?.stop())
  afterAll(() => database.drop())

  /** By how many bytes a new process grows at most while the flood lasts. It answers /livez throughout, and calls afterwards. */
  async function growthUnder(title: string): Promise<number> {
    await service?.stop()
    service = await startServiceProcess(name, database.url)
    await warmUp(service.port, ownPath)
    const residentBytes = service.residentBytes()
    service.resetPeak()
    const flood = floodsOf(service.port, ownPath, bearer)[title]?.()
    const settled = flood?.settled.then(() => 'settled')
    // Again and again, until nothing more comes.
    do await service.alive()
    while ((await Promise.race([settled, Promise.resolve('not yet')])) === 'not yet')
    const grownBytes = service.peakBytes() - residentBytes
    flood?.stop()
    await eventually(async () => expect(await healthAnswers(service?.port ?? 0)).toBe(true))
    return grownBytes
  }

  it.each(floods[name])(`${name} survives 256 unfinished requests: %s`, async (title) => {
    let minBytes = Number.POSITIVE_INFINITY
    for (let count = 0; count < maxFloods && minBytes >= maxGrowthBytes; count += 1) {
      minBytes = Math.min(minBytes, await growthUnder(title))
    }
    expect(minBytes).toBeLessThan(maxGrowthBytes)
  })
})
