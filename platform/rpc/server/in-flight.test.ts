// Shows that a server counts the calls in flight, over every protocol.
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { Registry } from 'prom-client'
import { afterEach, expect, it } from 'vitest'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { createRpcClient } from '../client/client.ts'
import { rpcMetrics } from './served-call.ts'

let close: (() => Promise<void>) | undefined
afterEach(() => close?.())

it('a server shows how many calls are in flight, until each has its answer or its error', async () => {
  const registry = new Registry()
  const shown = async () =>
    Number(/^payweave_rpc_requests_in_flight (\d+)$/m.exec(await registry.metrics())?.[1])
  const releases: Array<() => void> = []
  const { url, server, identityOf } = await startInbox(
    ({ eventIds }) => {
      const { promise, resolve, reject } = Promise.withResolvers<object>()
      releases.push(() => (eventIds.includes('bad') ? reject(new Error('bad')) : resolve({})))
      return promise
    },
    { metrics: rpcMetrics(registry) },
  )
  close = () => server.close()
  expect(await shown()).toBe(0)
  const authorization = `Bearer ${bearerCredential}`
  const byProcess = createRpcClient(InboxService, {
    url,
    audience: 'delivery',
    identity: identityOf('payments'),
  })
  const byGrpc = createClient(InboxService, createGrpcTransport({ baseUrl: url }))
  const byHttp1 = fetch(`${url}/payweave.events.v1.InboxService/Seen`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/proto' },
    body: '',
  })
  const calls = [
    byProcess.seen({}),
    byGrpc.seen({ eventIds: ['bad'] }, { headers: { authorization } }),
    byHttp1,
  ]
  const ended = Promise.allSettled(calls)
  await eventually(() => expect(releases).toHaveLength(calls.length))
  expect(await shown()).toBe(calls.length)
  for (const release of releases) release()
  const outcomes = await ended
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await eventually(async () => expect(await shown()).toBe(0))
})
