// Tests that a page waits for its merchant's brand and for the card form at the same time, and whose calls a limit counts together.
import { type Client, createClient, createRouterTransport } from '@connectrpc/connect'
import Fastify from 'fastify'
import { afterEach, expect, it, vi } from 'vitest'
import { keyRing, newKeyOf } from '#core/identity/key-ring.ts'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import { noBrand } from './brand/brands.ts'
import { registerPages } from './index.ts'
import { sampleCheckout } from './preview/samples.ts'
import type { ReceiptsClient } from './receipts/routes.ts'

afterEach(() => void vi.useRealTimers())

const noBrands = {
  find: () => Promise.resolve(noBrand),
  logo: () => Promise.resolve(undefined),
  drop: () => undefined,
}

async function startPages(more: Partial<Parameters<typeof registerPages>[1]>) {
  const app = Fastify()
  const key = newKeyOf(Buffer.alloc(32, 1), 'current', undefined)
  await registerPages(app, {
    checkout: {} as Client<typeof CheckoutService>,
    receipts: {} as ReceiptsClient,
    publicBaseUrl: 'https://pay.example',
    pageKeys: () => keyRing([key]),
    log: createLogger({ part: 'test', level: 'silent' }),
    clientAddress: ({ ip }) => ip,
    callsPerS: 0,
    changes: { isLive: () => false, subscribe: () => () => undefined },
    brands: noBrands,
    site: { isSandbox: true },
    ...more,
  })
  return app
}

it('a page whose brand and card form are both slow is there once the longer of the two waits ends', async () => {
  const brand = Promise.withResolvers<typeof noBrand>()
  const isAsked = Promise.withResolvers<void>()
  const transport = createRouterTransport(({ service }) => {
    service(CheckoutService, {
      getCheckout: ({ linkToken }) => ({ checkout: sampleCheckout({ method: 'card' }, linkToken) }),
      openCardFrame: () => new Promise<never>(() => undefined),
    })
  })
  const app = await startPages({
    checkout: createClient(CheckoutService, transport),
    brands: {
      ...noBrands,
      find: () => {
        isAsked.resolve()
        return brand.promise
      },
    },
  })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const answer = app.inject({ url: `/pay/${'A'.repeat(43)}` })
  await isAsked.promise
  await vi.advanceTimersByTimeAsync(700)
  // From here on nothing is waited for any more.
  brand.resolve(noBrand)
  const { statusCode, body } = await answer
  expect(statusCode).toBe(200)
  expect(body).toContain(`src="/pay/${'A'.repeat(43)}/card?lang=en"`)
  await app.close()
})

it('calls of pages from all addresses of a /64 of IPv6 have one limit, those from others their own', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const app = await startPages({ callsPerS: 0.25 })
  const statusFrom = async (remoteAddress: string) =>
    (await app.inject({ url: '/pay/live.js', remoteAddress })).statusCode
  expect(await statusFrom('2001:db8:0:1::1')).toBe(200)
  expect(await statusFrom('2001:db8:0:1:ffff::2')).toBe(429)
  expect(await statusFrom('2001:db8:0:2::1')).toBe(200)
  expect(await statusFrom('192.0.2.1')).toBe(200)
  expect(await statusFrom('::ffff:192.0.2.1')).toBe(429)
  await app.close()
})
