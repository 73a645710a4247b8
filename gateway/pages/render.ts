// Turns views into HTML answers with their protection; it must not decide what a payer may do.
import { Eta } from 'eta'
import type { FastifyReply } from 'fastify'
import QRCode from 'qrcode'
import type { CheckoutView } from './checkout-view.ts'
import { protectPage } from './page-guard.ts'

const eta = new Eta({ views: import.meta.dirname, cache: true, autoTrim: false })

/** Pages that say one thing, by what they say. */
const messages = {
  notFound: {
    status: 404,
    title: 'Not found',
    text: 'There is nothing at this address.',
  },
  unavailable: {
    status: 503,
    title: 'Please try again',
    text: 'The page is not available at the moment.',
  },
  foreignForm: {
    status: 403,
    title: 'Please open the link again',
    text: 'This form was not sent from its own page, or it is too old.',
  },
  tooMany: {
    status: 429,
    title: 'Too many requests',
    text: 'Please wait a moment and try again.',
  },
} as const

/** Answers with a page that says one thing. */
export function sendMessage(reply: FastifyReply, kind: keyof typeof messages): FastifyReply {
  const { status, title, text } = messages[kind]
  const nonce = protectPage(reply, undefined)
  return sendHtml(reply, status, eta.render('./message', { title, text, nonce }))
}

/** What a checkout page is made from. */
export type CheckoutPage = {
  status: number
  view: CheckoutView
  linkToken: string
  /** Full address of the page, which its QR code shows. */
  address: string
  /** The back end's card form; undefined when the page shows none or it cannot be had. */
  frameUrl: string | undefined
  formToken: string
}

/** Answers with a payer's page. */
export async function sendCheckout(
  reply: FastifyReply,
  { status, address, ...shown }: CheckoutPage,
): Promise<FastifyReply> {
  const nonce = protectPage(reply, shown.frameUrl)
  const qrSvg = shown.view.showsQr
    ? await QRCode.toString(address, { type: 'svg', margin: 2 })
    : undefined
  return sendHtml(reply, status, eta.render('./checkout', { ...shown, nonce, qrSvg }))
}

function sendHtml(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(html)
}
