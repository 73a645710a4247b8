// Shows how a stream ends.
import { afterEach, expect, it } from 'vitest'
import { startInbox } from '../../testing/rpc/harness.ts'

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
