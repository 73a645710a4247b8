// A server of the broker that takes connections and cannot carry events: it is noticed, and one of too old a version is not used.
import { connect } from 'nats'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { connectNats, type Nats, type NatsOptions } from '#platform/events/nats/nats.ts'
import { jetStreamMetric } from '#platform/events/stream-health.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { disableJetStream, ownBroker, type TestServer } from '../support/servers.ts'
import { log, metricValue } from './harness.ts'

let server: TestServer
let opened: Nats[]
beforeEach(async () => {
  opened = []
  server = await ownBroker()
})
afterEach(async () => {
  await Promise.all(opened.map((nats) => nats.close()))
  await server.remove()
})

function open(options: Partial<NatsOptions> = {}): Nats {
  const nats = connectNats({ url: server.url, name: 'test', log, ...options })
  opened.push(nats)
  return nats
}

describe('a server without JetStream', () => {
  it('a server without JetStream takes connections, fails the check of the stream, and passes it once JetStream is back', async () => {
    const nats = open()
    const metrics = new Registry()
    jetStreamMetric(metrics, nats)
    await eventually(() => nats.checkStream())
    expect(await metricValue(metrics, 'payweave_jetstream_up')).toBe(1)
    disableJetStream(server.dataDir, server.pid())
    await eventually(async () => {
      expect(nats.ready()).toBe(true)
      await expect(nats.checkStream()).rejects.toThrow('the broker refused')
    })
    expect(await metricValue(metrics, 'payweave_jetstream_up')).toBe(0)
    await server.stop()
    await expect(nats.checkStream()).rejects.toThrow(Failure)
    await server.start()
    await eventually(() => nats.checkStream())
    expect(await metricValue(metrics, 'payweave_jetstream_up')).toBe(1)
  })
})

describe('a server that is too old', () => {
  /** What the connection logs as errors. */
  function openWatched(minVersion: string) {
    const failures = vi.fn<(fields: object, message: string) => void>()
    const watched = Object.assign(Object.create(silentLog) as typeof silentLog, { error: failures })
    return { nats: open({ log: watched, minVersion }), failures }
  }

  it('a server that is too old is not used, and the log names its version and the minimum once', async () => {
    const { host, username, password } = new URL(server.url)
    const other = await connect({ servers: host, user: username, pass: password })
    const version = other.info?.version
    await other.close()
    const { nats, failures } = openWatched('99.0.0')
    await eventually(() => expect(failures).toHaveBeenCalled())
    const [fields, message] = failures.mock.calls[0] ?? []
    expect(message).toBe('broker not usable')
    expect((fields as { err: Failure }).err.message).toBe(
      `nats-server ${version} is older than 99.0.0`,
    )
    expect(nats.ready()).toBe(false)
    await expect(nats.publish('pw.test.event', Buffer.from('x'), 'id')).rejects.toThrow(Failure)
  })

  it('a server that is too old is used where the minimum is its own version', async () => {
    const { nats, failures } = openWatched('2.9.10')
    await eventually(() => nats.checkStream())
    expect(failures).not.toHaveBeenCalled()
  })
})
