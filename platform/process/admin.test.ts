// The operators' port over real HTTP.
import { Gauge } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { rpcMetrics } from '../rpc/server/served-call.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics, databaseMetrics, readMetrics } from '../telemetry/metrics.ts'
import { type AdminServer, serveAdmin } from './admin.ts'

const log = createLogger({ part: 'test', level: 'silent' })
const { promise: never } = Promise.withResolvers<Record<string, boolean>>()

let admin: AdminServer | undefined

afterEach(async () => {
  await admin?.close()
  admin = undefined
})

async function start(
  ready: () => Promise<Record<string, boolean>>,
  stopping?: AbortSignal,
): Promise<void> {
  const metrics = createMetrics('payments')
  rpcMetrics(metrics).observe('payweave.payments.v1.PaymentsService/CreatePayment', 'ok', 12)
  databaseMetrics(metrics, {
    stats: () => ({ total: 3, idle: 1, waiting: 0, max: 16 }),
    ready: async () => false,
  })
  void new Gauge({
    name: 'payweave_unread',
    help: 'A metric of a database that is down.',
    registers: [metrics],
    collect: () => Promise.reject(new Error('the database cannot be reached')),
  })
  const options = { host: '127.0.0.1', port: 0, metrics, ready, log }
  admin = await serveAdmin(stopping === undefined ? options : { ...options, stopping })
}

async function get(path: string, method = 'GET'): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${admin?.port}${path}`, { method })
  return { status: response.status, text: await response.text() }
}

describe('the admin port', () => {
  it('the admin port is ready when every part is', async () => {
    await start(async () => ({ database: true, nats: true }))
    const { status, text } = await get('/readyz')
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual({ status: 'ready', parts: { database: true, nats: true } })
  })

  it('the admin port names what is not ready, and is alive all the same', async () => {
    await start(async () => ({ database: false, nats: true }))
    const { status, text } = await get('/readyz')
    expect(status).toBe(503)
    expect(JSON.parse(text)).toEqual({
      status: 'not ready',
      parts: { database: false, nats: true },
    })
    expect((await get('/livez')).status).toBe(200)
  })

  it('the admin port is not ready when the question fails or hangs', async () => {
    await start(() => Promise.reject(new Error('no')))
    expect((await get('/readyz')).status).toBe(503)
    await admin?.close()
    await start(() => never)
    expect((await get('/readyz')).status).toBe(503)
  })

  it('the admin port is not ready as soon as the process is stopping', async () => {
    const stopping = new AbortController()
    await start(async () => ({ database: true }), stopping.signal)
    stopping.abort()
    expect((await get('/readyz')).status).toBe(503)
    expect((await get('/livez')).status).toBe(200)
  })

  it('the admin port shows the numbers of the process, labelled with its part', async () => {
    await start(async () => ({}))
    const { status, text } = await get('/metrics')
    expect(status).toBe(200)
    expect(text).toMatch(/process_cpu_seconds_total\{part="payments"\}/)
    expect(text).toMatch(/payweave_rpc_duration_seconds_count\{[^}]*code="ok"[^}]*\} 1/)
    expect(text).toMatch(/payweave_db_connections\{state="used",part="payments"\} 2/)
  })

  it('the admin port serves all other metrics while those of a database cannot be read', async () => {
    await start(async () => ({}))
    const { status, text } = await get('/metrics')
    expect(status).toBe(200)
    expect(text).toMatch(/payweave_db_up\{part="payments"\} 0/)
    expect(text).not.toContain('payweave_unread')
  })

  it('a metric that is not read in time is left out', async () => {
    const metrics = createMetrics('payments')
    void new Gauge({
      name: 'payweave_unread',
      help: 'A metric of a database that never answers.',
      registers: [metrics],
      collect: async () => void (await never),
    })
    const text = await readMetrics(metrics, log, 50)
    expect(text).toContain('process_cpu_seconds_total')
    expect(text).not.toContain('payweave_unread')
  })

  it('the admin port serves nothing else', async () => {
    await start(async () => ({}))
    expect((await get('/')).status).toBe(404)
    expect((await get('/metrics', 'POST')).status).toBe(405)
  })
})
