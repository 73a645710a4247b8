// Shows how a stream ends.
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  bearerCredential,
  listeningLog,
  newSecrets,
  startInbox,
} from '../../testing/rpc/harness.ts'
import { errorOf } from '../../testing/rpc/raw-calls.ts'
import { openIdentity } from '../auth/identity.ts'

let close: (() => Promise<void>) | undefined
afterEach(() => close?.())

it('a stream says that its deadline ended it, also when its handler just ends', async () => {
  const { url, server } = await startInbox(() => ({ known: [] }))
  close = () => server.close()
  const envelope = Buffer.from([0, 0, 0, 0, 2, ...Buffer.from('{}')])
  const response = await fetch(`${url}/grpc.health.v1.Health/Watch`, {
    method: 'POST',
    headers: {
      'content-type': 'application/connect+json',
      'connect-protocol-version': '1',
      'connect-timeout-ms': '150',
    },
    body: envelope,
  })
  expect(await response.text()).toMatch(/SERVING.*"error":\{"code":"deadline_exceeded"/s)
})

it('a stream takes a deadline of more than the minute that other calls have', async () => {
  const dir = newSecrets({ rpcs: ['*'] })
  const { server } = await startInbox(() => ({ known: [] }), {
    identity: openIdentity({
      name: 'delivery',
      dir: join(dir, 'delivery'),
      log: listeningLog().log,
    }),
    routes: (router) =>
      router.service(DeliveryService, {
        async *tailDeliveries() {
          yield {}
        },
      }),
  })
  close = () => server.close()
  const error = await errorOf('gRPC over HTTP/2', {
    port: server.port,
    path: '/payweave.delivery.v1.DeliveryService/TailDeliveries',
    headers: { authorization: `Bearer ${bearerCredential}`, 'grpc-timeout': '2M' },
  })
  expect(error).toMatchObject({ code: 'ok', status: 200 })
})
