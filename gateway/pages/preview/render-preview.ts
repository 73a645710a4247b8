// Renders every state of a payer's page and of a receipt with a merchant's branding, as files to look at.
import { createHash, randomBytes } from 'node:crypto'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import Fastify from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { keyRing, newKeyOf } from '#core/identity/key-ring.ts'
import type { Language } from '#core/text/language.ts'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import type { Brand } from '../brand/brands.ts'
import { registerPages } from '../index.ts'
import {
  noCardForms,
  previewStates,
  receiptStates,
  receiptTokenOf,
  type Shown,
  sampleCheckout,
  sampleShare,
} from './samples.ts'

/** A page as a file. */
export type PreviewPage = { file: string; html: string }

/**
 * Renders sample payments of a merchant in every state, or `only` in one, with what `npm start` and sandboxes say of
 * themselves. Pages find the logo at `logoUrl`.
 */
export async function renderPreview(
  { businessName, brand }: { businessName: string; brand: Brand },
  language: Language,
  { only, logoUrl = 'logo.png' }: { only?: string; logoUrl?: string } = {},
): Promise<PreviewPage[]> {
  const wanted = previewStates.filter(([name]) => only === undefined || name === only)
  const samples = wanted.map(([name, shown, query = '']) => {
    const token = createHash('sha256').update(name).digest('base64url')
    const isReceipt = receiptStates.some(([other]) => other === name)
    const path = isReceipt ? `/receipts/${receiptTokenOf(token)}` : `/pay/${token}`
    const separator = query === '' ? '?' : `${query}&`
    return {
      name,
      token,
      shown: { ...shown, businessName },
      url: `${path}${separator}lang=${language}`,
    }
  })
  const app = Fastify()
  await servePages(app, brand, new Map(samples.map(({ token, shown }) => [token, shown])))
  const pages: PreviewPage[] = []
  for (const { name, url } of samples) {
    const { body } = await app.inject({ url })
    const html = body.replaceAll(/"\/(?:pay|receipts)\/[\w-]+\/logo\?v=\w+"/g, `"${logoUrl}"`)
    pages.push({ file: `${name.replaceAll(/\W+/g, '-').toLowerCase()}.html`, html })
  }
  await app.close()
  return pages
}

async function servePages(
  app: ReturnType<typeof Fastify>,
  brand: Brand,
  samples: ReadonlyMap<string, Shown>,
): Promise<void> {
  const find = (token: string) => {
    const shown = samples.get(token)
    if (shown === undefined) throw new Failure('PAYMENT_NOT_FOUND', 'no such sample')
    return shown
  }
  const transport = createRouterTransport(({ service }) => {
    service(CheckoutService, {
      getCheckout: ({ linkToken }) => ({ checkout: sampleCheckout(find(linkToken), linkToken) }),
      getReceipt: ({ receiptToken }) => {
        const linkToken = receiptToken.slice(0, 43)
        const share = sampleShare(find(linkToken), linkToken)
        return share === undefined ? {} : { share }
      },
      openCardFrame: ({ linkToken }) => {
        const isMissing = find(linkToken).description === noCardForms
        if (isMissing) throw new Failure('SERVICE_UNAVAILABLE', 'a sample without a card form')
        return { frameUrl: 'about:blank' }
      },
    })
  })
  const key = newKeyOf(randomBytes(32), 'current', undefined)
  await registerPages(app, {
    checkout: createClient(CheckoutService, transport),
    receipts: createClient(BillingService, transport),
    publicBaseUrl: 'https://pay.example',
    pageKeys: () => keyRing([key]),
    log: createLogger({ part: 'preview', level: 'silent' }),
    clientAddress: ({ ip }) => ip,
    callsPerS: 0,
    changes: { isLive: () => false, subscribe: () => () => undefined },
    brands: {
      find: () => Promise.resolve(brand),
      logo: () => Promise.resolve(undefined),
      drop: () => undefined,
    },
    site: { isSandbox: true },
  })
}
