// Serves receipts at their unguessable links: of payers' shares as pages and PDF, of bill payments as PDF. Never logs a token.
import type { Client } from '@connectrpc/connect'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { printReceipt } from '#platform/pdf/print.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Brands } from '../brand/brands.ts'
import { languageOf } from '../language.ts'
import { isLinkToken, isReceiptToken } from '../page-guard.ts'
import { type Site, sendLogo, sendMessage, sendReceipt } from '../render.ts'
import { printedReceipt } from './printed-receipt.ts'
import { type PaidShareMessage, receiptView } from './receipt-view.ts'

/** Reads the receipt of a bill payment by the token of its link. */
export type ReceiptsClient = Pick<Client<typeof BillingService>, 'readReceipt'>

type ReceiptsOptions = {
  checkout: Pick<Client<typeof CheckoutService>, 'getReceipt'>
  receipts: ReceiptsClient
  brands: Brands
  publicBaseUrl: string
  log: Logger
  site: Site
}

type ReceiptRequest = FastifyRequest<{ Params: { token: string } }>

/** Registers `/receipts/<token>` and what lies below it. */
export function registerReceipts(app: FastifyInstance, options: ReceiptsOptions): void {
  const answered =
    (work: typeof showReceipt) =>
    (request: ReceiptRequest, reply: FastifyReply): Promise<FastifyReply> =>
      answer(options, request, reply, work)
  app.get('/receipts/:token', answered(showReceipt))
  app.get('/receipts/:token/pdf', answered(sendPrinted))
  app.get('/receipts/:token/logo', answered(showLogo))
}

/** Answers one request; refusals become pages. */
async function answer(
  options: ReceiptsOptions,
  request: ReceiptRequest,
  reply: FastifyReply,
  work: typeof showReceipt,
): Promise<FastifyReply> {
  try {
    return await work(options, request, reply)
  } catch (error) {
    const isUnknown =
      error instanceof Failure &&
      (error.reason === 'PAYMENT_NOT_FOUND' || error.reason === 'BILL_PAYMENT_NOT_FOUND')
    if (isUnknown) return sendMessage(reply, options.site, 'receiptNotFound')
    options.log.warn({ requestId: request.edge.requestId, err: error }, 'receipt page failed')
    return sendMessage(reply, options.site, 'unavailable')
  }
}

async function showReceipt(
  options: ReceiptsOptions,
  request: ReceiptRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { token } = request.params
  if (isLinkToken(token)) {
    const { pdf, receiptId } = await options.receipts.readReceipt({ token })
    return sendPdf(reply, receiptId, pdf)
  }
  const share = await readShare(options, token)
  const { publicBaseUrl, site, brands } = options
  const choice = languageOf(request)
  const view = receiptView(share, choice.language)
  return sendReceipt(reply, site, {
    token,
    choice,
    view,
    brand: await brands.find(share),
    publicBaseUrl,
  })
}

async function sendPrinted(
  options: ReceiptsOptions,
  request: ReceiptRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { token } = request.params
  const share = await readShare(options, token)
  const { language } = languageOf(request)
  const view = receiptView(share, language)
  const brand = await options.brands.find(share)
  const printed = printedReceipt(view, {
    language,
    brand,
    logo: brand.logoVersion === '' ? undefined : await options.brands.logo(share),
    url: `${options.publicBaseUrl}/receipts/${token}`,
    isSandbox: options.site.isSandbox,
  })
  void reply.headers({ 'content-language': language, vary: 'accept-language' })
  return sendPdf(reply, view.number, await printReceipt(view.number, printed))
}

async function showLogo(
  options: ReceiptsOptions,
  request: ReceiptRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const logo = await options.brands.logo(await readShare(options, request.params.token))
  return logo === undefined
    ? sendMessage(reply, options.site, 'receiptNotFound')
    : sendLogo(reply, logo)
}

async function readShare({ checkout }: ReceiptsOptions, token: string): Promise<PaidShareMessage> {
  const { share } = isReceiptToken(token) ? await checkout.getReceipt({ receiptToken: token }) : {}
  if (share === undefined) throw new Failure('PAYMENT_NOT_FOUND', 'no receipt behind this link')
  return share
}

function sendPdf(reply: FastifyReply, receiptId: string, pdf: Uint8Array): FastifyReply {
  return reply
    .headers({
      'content-type': 'application/pdf',
      'content-disposition': `inline; filename="${receiptId}.pdf"`,
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    })
    .send(Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength))
}
