// Tests that a page waits for its merchant's brand and for the card form at the same time.
import { createClient, createRouterTransport } from '@connectrpc/connect'
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

it('a page whose brand and card form are both slow is there once the longer of the two waits ends', async () => {
  const brand = Promise.withResolvers<typeof noBrand>()
  const isAsked = Promise.withResolvers<void>()
  const transport = createRouterTransport(({ service }) => {
    service(CheckoutService, {
      getCheckout: ({ linkToken }) => ({ checkout: sampleCheckout({ method: 'card' }, linkToken) }),
      openCardFrame: () => new Promise<never>(() => undefined),
    })
  })
  const app = Fastify()
  const key = newKeyOf(Buffer.alloc(32, 1), 'current', undefined)
  await registerPages(app, {
    checkout: createClient(CheckoutService, transport),
    receipts: {} as ReceiptsClient,
    publicBaseUrl: 'https://pay.example',
    pageKeys: () => keyRing([key]),
    log: createLogger({ part: 'test', level: 'silent' }),
    clientAddress: ({ ip }) => ip,
    callsPerS: 0,
    changes: { isLive: () => false, subscribe: () => () => undefined },
    brands: {
      find: () => {
        isAsked.resolve()
        return brand.promise
      },
      logo: () => Promise.resolve(undefined),
      drop: () => undefined,
    },
    site: { isSandbox: true },
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
