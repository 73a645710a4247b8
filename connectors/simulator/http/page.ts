// Shared by the card form and the till: sends pages and reads forms.
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import type { ClosedReason } from '../domain/charge.ts'
import type { PayContext } from '../operations/pay.ts'
import type { StoredCharge } from '../store/charge-store.ts'

/** What the pages need of the process. */
export type PagesContext = PayContext & {
  /** Path of this process's public URL, without a slash at the end: empty at the root. */
  basePath: string
  /** Origin of the pages that may show the card form in a frame. */
  checkoutOrigin: string
}

/** Where the templates and the style sheet are. */
export const pagesFolder = join(import.meta.dirname, 'pages')

/** Why a charge cannot be paid, in words. */
export const closedTexts: Record<ClosedReason, string> = {
  already_paid: 'This payment has been paid already.',
  withdrawn: 'This payment has been withdrawn and cannot be paid any more.',
  expired: 'The time to pay has run out.',
}

/** A page to send: a template and what it shows. */
export type Page = { status: number; view: string; title: string; data: object }

/** Makes a function that sends pages, which only `frameAncestors` (a CSP source list) may show in a frame. */
export function pageSender({ basePath }: PagesContext, frameAncestors: string) {
  const eta = new Eta({ views: pagesFolder, cache: true })
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${frameAncestors}`,
  ].join('; ')
  return (reply: FastifyReply, { status, view, title, data }: Page): FastifyReply =>
    reply
      .code(status)
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(eta.render(view, { basePath, title, ...data }))
}

/** A field of a submitted form; empty when it is absent or repeated. */
export function formField(request: FastifyRequest, name: string): string {
  const value = (request.body as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' ? value : ''
}

/** The amount of a charge with its currency, such as "20.00 USD"; empty when it has none. */
export function priceOf({ amountMinor, currency }: StoredCharge): string {
  if (amountMinor === null || currency === null) return ''
  return `${formatAmount(amountMinor, currency)} ${currency}`
}
