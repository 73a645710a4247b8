// Renders every page that payers see and every receipt with a merchant's branding, as files to look at.
import { createHash, randomBytes } from 'node:crypto'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { keyRing, newKeyOf } from '#core/identity/key-ring.ts'
import type { Language } from '#core/text/language.ts'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import type { Brand } from '../brand/brands.ts'
import { registerPages } from '../index.ts'
import { formToken } from '../page-guard.ts'
import { printedReceipt } from '../receipts/printed-receipt.ts'
import { receiptView } from '../receipts/receipt-view.ts'
import { sendMessage } from '../render.ts'
import {
  messagePages,
  noCardForms,
  previewNames,
  receiptStates,
  receiptTokenOf,
  type Shown,
  sampleCheckout,
  sampleShare,
  states,
} from './samples.ts'

/** A page as a file. */
export type PreviewPage = { file: string; html: string }

/** A receipt as a file. */
export type PreviewPdf = { file: string; pdf: Uint8Array }

type Merchant = { businessName: string; brand: Brand }

const publicBaseUrl = 'https://pay.example'
const site = { isSandbox: true }

/**
 * Renders every page with sample payments of a merchant, or `only` the one of a name, with what `npm start` and sandboxes
 * say of themselves. Pages find the logo at `logoUrl`.
 */
export async function renderPreview(
  { businessName, brand }: Merchant,
  language: Language,
  { only, logoUrl = 'logo.png' }: { only?: string; logoUrl?: string } = {},
): Promise<PreviewPage[]> {
  const wanted = previewNames.filter((name) => only === undefined || name === only)
  const samples = new Map(
    wanted.map((name) => [tokenOf(name), { ...sampleOf(name), businessName }] as const),
  )
  const app = Fastify()
  const pageKey = randomBytes(32)
  await servePages(app, { brand, samples, pageKey })
  const pages: PreviewPage[] = []
  for (const name of wanted) {
    const { body } = await app.inject(requestOf(name, language, pageKey))
    const html = body.replaceAll(/"\/(?:pay|receipts)\/[\w-]+\/logo\?v=\w+"/g, `"${logoUrl}"`)
    pages.push({ file: `${fileNameOf(name)}.html`, html })
  }
  await app.close()
  return pages
}

/** Draws every receipt as PDF, with the merchant's logo as PNG where there is one. */
export async function drawPreview(
  { businessName, brand, logo }: Merchant & { logo: Uint8Array | undefined },
  language: Language,
): Promise<PreviewPdf[]> {
  const { drawReceipt } = await import('#platform/pdf/receipt.ts')
  const pdfs: PreviewPdf[] = []
  for (const [name, shown] of receiptStates) {
    const token = tokenOf(name)
    const share = sampleShare({ ...shown, businessName }, token)
    if (share === undefined) throw new Error('a receipt of nothing')
    const url = `${publicBaseUrl}/receipts/${receiptTokenOf(token)}`
    const view = receiptView(share, language)
    const printed = printedReceipt(view, { language, brand, logo, url, ...site })
    pdfs.push({ file: `${fileNameOf(name)}.pdf`, pdf: await drawReceipt(printed) })
  }
  return pdfs
}

function tokenOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url')
}

function fileNameOf(name: string): string {
  return name.replaceAll(/\W+/g, '-').toLowerCase()
}

function sampleOf(name: string): Shown {
  return [...states, ...receiptStates].find(([other]) => other === name)?.[1] ?? {}
}

/** What a browser would send for a page. */
function requestOf(name: string, language: Language, pageKey: Buffer): InjectOptions {
  const token = tokenOf(name)
  const [, , query = ''] = states.find(([other]) => other === name) ?? []
  const lang = `${query === '' ? '?' : `${query}&`}lang=${language}`
  if (name in messagePages) return { url: `/message/${encodeURIComponent(name)}${lang}` }
  if (receiptStates.some(([other]) => other === name)) {
    return { url: `/receipts/${receiptTokenOf(token)}${lang}` }
  }
  if (name === 'cancel') return { url: `/pay/${token}/cancel${lang}` }
  if (name !== 'mistaken PIN') return { url: `/pay/${token}${lang}` }
  const form = { form_token: formToken(pageKey, token, Date.now()), pin: '12' }
  return {
    method: 'POST',
    url: `/pay/${token}/wallet${lang}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  }
}

type Served = { brand: Brand; samples: ReadonlyMap<string, Shown>; pageKey: Buffer }

async function servePages(
  app: FastifyInstance,
  { brand, samples, pageKey }: Served,
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
  app.get<{ Params: { name: keyof typeof messagePages } }>('/message/:name', (request, reply) => {
    const kind = messagePages[request.params.name]
    const hasPayment = kind !== 'notFound' && kind !== 'receiptNotFound' && kind !== 'tooMany'
    return sendMessage(reply, site, kind, hasPayment ? tokenOf('open') : undefined)
  })
  const key = newKeyOf(pageKey, 'current', undefined)
  await registerPages(app, {
    checkout: createClient(CheckoutService, transport),
    receipts: createClient(BillingService, transport),
    publicBaseUrl,
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
    site,
  })
}
