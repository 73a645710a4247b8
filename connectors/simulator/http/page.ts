// Shared by the card form and the till: sends pages and reads forms.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Language, localMoney } from '#core/text/language.ts'
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

/** A page to send: a template and what it shows. */
export type Page = { status: number; view: string; title: string; data: object }

/**
 * Makes a function that sends pages, which only `frameAncestors` (a CSP source list) may show in a frame. A page that
 * `runsScript` may run our own files.
 */
export function pageSender(
  { basePath }: PagesContext,
  frameAncestors: string,
  { runsScript = false } = {},
) {
  const eta = new Eta({ views: pagesFolder, cache: true })
  return (reply: FastifyReply, { status, view, title, data }: Page): FastifyReply => {
    const nonce = randomBytes(16).toString('base64')
    const policy = [
      "default-src 'none'",
      `style-src 'self' 'nonce-${nonce}'`,
      ...(runsScript ? ["script-src 'self'"] : []),
      "form-action 'self'",
      "base-uri 'none'",
      `frame-ancestors ${frameAncestors}`,
    ].join('; ')
    return reply
      .code(status)
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(eta.render(view, { basePath, nonce, title, ...data }))
  }
}

/** A field of a submitted form; empty when it is absent or repeated. */
export function formField(request: FastifyRequest, name: string): string {
  const value = (request.body as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' ? value : ''
}

/** The amount of a charge with its currency, such as "20.00 USD"; empty when it has none. */
export function priceOf({ amountMinor, currency }: StoredCharge, language: Language): string {
  if (amountMinor === null || currency === null) return ''
  return localMoney(amountMinor, currency, language)
}
