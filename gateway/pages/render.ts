// Renders views as HTML answers with their security headers.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply } from 'fastify'
import { retryAfterOf } from '../http/failures.ts'
import type { CheckoutView } from './checkout-view.ts'
import {
  directionOf,
  fill,
  type Language,
  type LanguageChoice,
  languageCodes,
  languageOf,
  languages,
} from './language.ts'
import type { Messages } from './messages/en.ts'
import { protectPage } from './page-guard.ts'

const eta = new Eta({ views: import.meta.dirname, cache: true, autoTrim: false })
const script = readFileSync(join(import.meta.dirname, 'live.js'), 'utf8')
const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')

type MessagePage = {
  status: number
  title: keyof Messages
  text: keyof Messages
  retryAfterS?: number | undefined
}

/** Pages that say one thing, by what they say. */
const messages = {
  notFound: { status: 404, title: 'notFoundTitle', text: 'notFoundText' },
  unavailable: {
    status: 503,
    title: 'unavailableTitle',
    text: 'unavailableText',
    retryAfterS: retryAfterOf('SERVICE_UNAVAILABLE'),
  },
  foreignForm: { status: 403, title: 'foreignFormTitle', text: 'foreignFormText' },
  tooMany: { status: 429, title: 'tooManyTitle', text: 'tooManyText', retryAfterS: 1 },
} as const satisfies Record<string, MessagePage>

/** Answers with a page that says one thing. `linkToken` leads back to the payer's page. */
export function sendMessage(
  reply: FastifyReply,
  kind: keyof typeof messages,
  linkToken?: string,
): FastifyReply {
  const { status, title, text, retryAfterS }: MessagePage = messages[kind]
  if (retryAfterS !== undefined) void reply.header('retry-after', retryAfterS)
  const { language, chosen } = languageOf(reply.request)
  const say = languages[language]
  const html = eta.render('./message', {
    frame: frameOf(language, protectPage(reply, {})),
    title: say[title],
    text: say[text],
    openPage: say.openPage,
    pageUrl: linkToken === undefined ? undefined : pagePath(linkToken, { lang: chosen }),
  })
  return sendHtml(reply, status, language, html)
}

/** What a checkout page is made from. */
export type CheckoutPage = {
  view: CheckoutView
  choice: LanguageChoice
  /** The method that the payer chose on the page. */
  method: string | undefined
  linkToken: string
  /** Full address of the page, which its QR code shows. */
  address: string
  /** The back end's card form; undefined when the page shows none or it cannot be had. */
  frameUrl: string | undefined
  formToken: string
  isPinMistaken: boolean
}

/** Answers with the script that renews a page. */
export function sendScript(reply: FastifyReply): FastifyReply {
  return reply
    .headers({
      'cache-control': 'public, max-age=300',
      'content-security-policy': "default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    .type('text/javascript; charset=utf-8')
    .send(script)
}

/** Answers with a payer's page. */
export async function sendCheckout(reply: FastifyReply, page: CheckoutPage): Promise<FastifyReply> {
  const { view, address, frameUrl, formToken, isPinMistaken } = page
  const { language } = page.choice
  const say = languages[language]
  const qrSvg = view.showsQr ? await drawQr(address) : undefined
  const html = eta.render('./checkout', {
    ...linksOf(page),
    frame: frameOf(language, protectPage(reply, { frameUrl, runsScript: view.isLive })),
    say,
    view,
    address,
    frameUrl,
    formToken,
    isPinMistaken,
    qrSvg,
    // An emoji or accented letter is one.
    initial: [...new Intl.Segmenter(language).segment(view.businessName.trim())][0]?.segment ?? '',
    payLabel: fill(say.pay, { total: `${view.total} ${view.currency}` }),
    backLabel: fill(say.backTo, { merchant: view.businessName }),
  })
  return sendHtml(reply, isPinMistaken ? 400 : 200, language, html)
}

/** Where a page leads. The language that a payer chose goes along. */
function linksOf({ view, choice, method, linkToken }: CheckoutPage) {
  const { language, chosen: lang } = choice
  const { payWith } = languages[language]
  return {
    pageUrl: pagePath(linkToken, { lang, method }),
    live: view.isLive && {
      page: pagePath(linkToken, { lang, method }),
      watch: `/pay/${linkToken}/state`,
      stamp: view.stamp,
    },
    walletUrl: pagePath(`${linkToken}/wallet`, { lang, method }),
    otherMeans: view.otherMeans.map((other) => ({
      label: fill(payWith, { method: other.label }),
      href: pagePath(linkToken, { lang, method: other.method }),
    })),
    languageLinks: languageCodes.map((code) => ({
      code,
      name: languages[code].languageName,
      href: pagePath(linkToken, { lang: code, method }),
      isCurrent: code === language,
    })),
  }
}

/** The path of a payer's page, with what of its query is set. */
export function pagePath(
  linkToken: string,
  { lang, method }: { lang: string | undefined; method?: string | undefined },
): string {
  const query = new URLSearchParams()
  if (lang !== undefined) query.set('lang', lang)
  if (method !== undefined) query.set('method', method)
  return `/pay/${linkToken}${query.size > 0 ? `?${query.toString()}` : ''}`
}

function frameOf(language: Language, nonce: string) {
  return { language, direction: directionOf(language), nonce, style }
}

function sendHtml(
  reply: FastifyReply,
  status: number,
  language: Language,
  html: string,
): FastifyReply {
  return reply
    .code(status)
    .headers({ 'content-language': language, vary: 'accept-language' })
    .type('text/html; charset=utf-8')
    .send(html)
}

/** What draws is read with the first page that shows one: many gateways show none. */
async function drawQr(text: string): Promise<string> {
  const { default: qrCode } = await import('qrcode')
  return await qrCode.toString(text, { type: 'svg', margin: 2 })
}
