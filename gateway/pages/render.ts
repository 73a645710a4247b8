// Renders views as HTML answers with their security headers.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply } from 'fastify'
import { directionOf, type Language, languageCodes } from '#core/text/language.ts'
import { retryAfterOf } from '../http/failures.ts'
import type { Brand } from './brand/brands.ts'
import { coloursOf, contactsOf } from './brand/shown-brand.ts'
import type { CheckoutView } from './checkout-view.ts'
import { drawBarcode, drawQr } from './drawings.ts'
import { fill, type LanguageChoice, languageOf, languages } from './language.ts'
import type { Messages } from './messages/en.ts'
import { type Loads, protectPage } from './page-guard.ts'
import type { ReceiptView } from './receipts/receipt-view.ts'

/** What all pages of an installation share. */
export type Site = {
  /** Every page says that no real money moves. */
  isSandbox: boolean
}

const eta = new Eta({ views: join(import.meta.dirname, 'templates'), cache: true, autoTrim: false })
const script = readFileSync(join(import.meta.dirname, 'live.js'), 'utf8')
const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')
const icon = readFileSync(join(import.meta.dirname, 'icon.svg'))

type MessagePage = {
  status: number
  title: keyof Messages
  text: keyof Messages
  retryAfterS?: number | undefined
}

/** Pages that say one thing, by what they say. */
const messages = {
  notFound: { status: 404, title: 'notFoundTitle', text: 'notFoundText' },
  receiptNotFound: { status: 404, title: 'receiptNotFoundTitle', text: 'notFoundText' },
  unavailable: {
    status: 503,
    title: 'unavailableTitle',
    text: 'unavailableText',
    retryAfterS: retryAfterOf('SERVICE_UNAVAILABLE'),
  },
  notConfirmed: {
    status: 503,
    title: 'notConfirmedTitle',
    text: 'notConfirmedText',
    retryAfterS: retryAfterOf('SERVICE_UNAVAILABLE'),
  },
  notSent: {
    status: 503,
    title: 'notSentTitle',
    text: 'notSentText',
    retryAfterS: retryAfterOf('SERVICE_UNAVAILABLE'),
  },
  walletNotOffered: { status: 409, title: 'walletNotOfferedTitle', text: 'walletNotOfferedText' },
  foreignForm: { status: 403, title: 'foreignFormTitle', text: 'foreignFormText' },
  tooMany: { status: 429, title: 'tooManyTitle', text: 'tooManyText', retryAfterS: 1 },
} as const satisfies Record<string, MessagePage>

/** Names a page that says one thing. */
export type MessageKind = keyof typeof messages

/** Answers with a page that says one thing. `linkToken` leads back to the payer's page. */
export function sendMessage(
  reply: FastifyReply,
  site: Site,
  kind: MessageKind,
  linkToken?: string,
): FastifyReply {
  const { status, title, text, retryAfterS }: MessagePage = messages[kind]
  if (retryAfterS !== undefined) void reply.header('retry-after', retryAfterS)
  const { language, chosen } = languageOf(reply.request)
  const say = languages[language]
  const html = eta.render('./message', {
    frame: frameOf(reply, site, language, {}),
    title: say[title],
    text: say[text],
    openPage: say.openPage,
    pageUrl: linkToken === undefined ? undefined : pagePath(linkToken, { lang: chosen }),
  })
  return sendHtml(reply, status, language, html)
}

/** A payer's page and what the payer chose on it. */
export type PageAddress = {
  linkToken: string
  choice: LanguageChoice
  /** The payment method. */
  method: string | undefined
  /** The payer scanned the code of a point of sale. */
  isScanned: boolean
}

/** The back end's card form or our own page that waits for it, or else what is said in its place. */
export type CardForm = {
  frameUrl?: string
  problem?: 'cardUnavailable' | 'cardNotOffered'
}

/** What a checkout page is made from. */
export type CheckoutPage = PageAddress & {
  view: CheckoutView
  brand: Brand
  /** What links start with. */
  publicBaseUrl: string
  /** Of the option card alone. */
  card: CardForm
  formToken: string
  isPinMistaken: boolean
}

/** Answers with the script that renews a page. */
export function sendScript(reply: FastifyReply): FastifyReply {
  return sendFile(reply, script, 'text/javascript; charset=utf-8')
}

/** Answers with the icon of the pages. */
export function sendIcon(reply: FastifyReply): FastifyReply {
  return sendFile(reply, icon, 'image/svg+xml')
}

/** Answers with a merchant's logo; its address changes with it. */
export function sendLogo(reply: FastifyReply, png: Uint8Array): FastifyReply {
  return sendFile(reply, Buffer.from(png), 'image/png', 'private, max-age=86400')
}

function sendFile(
  reply: FastifyReply,
  content: string | Buffer,
  type: string,
  cacheControl = 'public, max-age=300',
): FastifyReply {
  return reply
    .headers({
      'cache-control': cacheControl,
      'content-security-policy': "default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    .type(type)
    .send(content)
}

/** Answers with a payer's page. */
export async function sendCheckout(
  reply: FastifyReply,
  site: Site,
  page: CheckoutPage,
): Promise<FastifyReply> {
  const { view, card, formToken, isPinMistaken, publicBaseUrl } = page
  const { language } = page.choice
  const say = languages[language]
  const links = linksOf(page)
  const scanAddress = `${publicBaseUrl}${links.scanUrl}`
  const values = { merchant: view.businessName, payer: view.payer, total: totalOf(view) }
  const html = eta.render('./checkout', {
    ...links,
    ...headOf(page),
    frame: frameOf(
      reply,
      site,
      language,
      { frameUrl: card.frameUrl, runsScript: true },
      page.brand,
    ),
    ...brandOf(page.brand, `/pay/${page.linkToken}`),
    say,
    view,
    scanAddress,
    card,
    formToken,
    isPinMistaken,
    qrSvg: view.isDisplay ? await drawQr(scanAddress) : undefined,
    barcodeSvg: view.option === 'cash_code' ? await drawBarcode(view.cashCode) : undefined,
    initial: initialOf(view, language),
    payLabel: fill(say.pay, values),
    walletOf: fill(say.walletOf, values),
    notYouText: fill(say.notYouText, values),
  })
  return sendHtml(reply, isPinMistaken ? 400 : 200, language, html)
}

/** A receipt, what is chosen on it, and what links start with. */
export type ReceiptPage = {
  token: string
  choice: LanguageChoice
  view: ReceiptView
  brand: Brand
  publicBaseUrl: string
}

/** Answers with the page of a receipt. */
export async function sendReceipt(
  reply: FastifyReply,
  site: Site,
  { token, choice, view, brand, publicBaseUrl }: ReceiptPage,
): Promise<FastifyReply> {
  const { language, chosen: lang } = choice
  const say = languages[language]
  // Readers of the paper have languages of their own.
  const address = `${publicBaseUrl}${receiptPath(token, undefined)}`
  const html = eta.render('./receipt', {
    frame: frameOf(reply, site, language, { runsScript: true }, brand),
    ...brandOf(brand, `/receipts/${token}`),
    pageTitle: titleOf(`${say.receiptTitle} · ${view.title}`, view, language),
    script: { page: receiptPath(token, lang) },
    say,
    view,
    address,
    qrSvg: await drawQr(address),
    pdfUrl: receiptPath(`${token}/pdf`, language),
    fileName: `${view.number}.pdf`,
    initial: initialOf(view, language),
    languageLinks: languageLinks(language, (code) => receiptPath(token, code)),
  })
  return sendHtml(reply, 200, language, html)
}

/** The path of a receipt, in a language that was chosen. */
function receiptPath(token: string, lang: string | undefined): string {
  return `/receipts/${token}${lang === undefined ? '' : `?lang=${lang}`}`
}

/** Answers with the question whether to cancel. */
export function sendCancel(
  reply: FastifyReply,
  site: Site,
  page: PageAddress & { view: CheckoutView; brand: Brand; formToken: string },
): FastifyReply {
  const { view, brand, formToken, choice } = page
  const { language } = choice
  const say = languages[language]
  const html = eta.render('./cancel', {
    ...linksOf(page),
    frame: frameOf(reply, site, language, {}, brand),
    ...brandOf(brand, `/pay/${page.linkToken}`),
    pageTitle: titleOf(say.cancelTitle, view, language),
    say,
    view,
    formToken,
    initial: initialOf(view, language),
  })
  return sendHtml(reply, 200, language, html)
}

/**
 * Answers with a page for the frame of a payer's page, which shows the card form in a frame of its own: a form that is slow
 * to open keeps only this page waiting.
 */
export function sendCardFrame(
  reply: FastifyReply,
  { linkToken, choice }: Pick<PageAddress, 'linkToken' | 'choice'>,
  card: CardForm,
): FastifyReply {
  const { language } = choice
  const loads = { frameUrl: card.frameUrl, runsScript: true, isFramed: true }
  const html = eta.render('./card-frame', {
    frame: frameOf(reply, { isSandbox: false }, language, loads),
    say: languages[language],
    card,
    again: cardPath(linkToken, choice),
  })
  return sendHtml(reply, card.problem === 'cardUnavailable' ? 503 : 200, language, html)
}

/** The path of the page that `sendCardFrame` answers with. */
export function cardPath(linkToken: string, { language }: LanguageChoice): string {
  return pagePath(`${linkToken}/card`, { lang: language })
}

/** The head of a page: what a tab, a link preview and the script are given. */
function headOf({ view, isPinMistaken, linkToken, choice, ...address }: CheckoutPage) {
  const { language } = choice
  const say = languages[language]
  const parts = [totalOf(view), view.businessName, view.description].filter(Boolean)
  const page = pagePath(linkToken, { lang: choice.chosen, ...address })
  const watch = view.isLive ? { watch: `/pay/${linkToken}/state`, stamp: view.stamp } : {}
  return {
    pageTitle: titleOf(isPinMistaken ? say.mistakeTitle : view.title, view, language),
    summary: parts.map((part) => isolated(part, language)).join(' · '),
    script: { page, ...watch },
    live: view.isLive && { changed: say.changed, showChange: say.showChange, pageUrl: page },
  }
}

function titleOf(
  title: string,
  view: Pick<CheckoutView, 'total' | 'currency' | 'businessName'>,
  language: Language,
): string {
  const parts = [totalOf(view), view.businessName].map((part) => isolated(part, language))
  return [title, ...parts].join(' · ')
}

/** Where no markup can hold an amount or a name together between words that are read from right to left. */
function isolated(text: string, language: Language): string {
  return directionOf(language) === 'rtl' ? `\u2068${text}\u2069` : text
}

function totalOf({ total, currency }: Pick<CheckoutView, 'total' | 'currency'>): string {
  return `${total.text} ${currency}`
}

/** The first letter of a name; an emoji or accented letter is one. */
function initialOf({ businessName }: { businessName: string }, language: Language): string {
  return [...new Intl.Segmenter(language).segment(businessName.trim())][0]?.segment ?? ''
}

/** The logo and contacts on a page. The logo's address changes with the logo, so that browsers may keep it. */
function brandOf(brand: Brand, path: string) {
  const { logoVersion } = brand
  const logoUrl = logoVersion === '' ? undefined : `${path}/logo?v=${logoVersion}`
  return { logoUrl, contacts: contactsOf(brand) }
}

/** Where a page leads. The language that a payer chose goes along. */
function linksOf({ view, choice, linkToken, ...address }: PageAddress & { view: CheckoutView }) {
  const { language, chosen: lang } = choice
  return {
    pageUrl: pagePath(linkToken, { lang, ...address }),
    scanUrl: pagePath(linkToken, { lang, isScanned: true }),
    walletUrl: pagePath(`${linkToken}/wallet`, { lang, ...address }),
    cancelUrl: pagePath(`${linkToken}/cancel`, { lang, ...address }),
    otherOptions: view.otherOptions.map((other) => ({
      label: other.label,
      href: pagePath(linkToken, { lang, ...address, method: other.method }),
    })),
    receiptUrl: view.receiptToken === '' ? undefined : receiptPath(view.receiptToken, lang),
    languageLinks: languageLinks(language, (lang) => pagePath(linkToken, { lang, ...address })),
  }
}

/** Every language, with where the page is in it. */
function languageLinks(current: Language, hrefOf: (code: Language) => string) {
  return languageCodes.map((code) => ({
    code,
    name: languages[code].languageName,
    href: hrefOf(code),
    isCurrent: code === current,
  }))
}

type PathOptions = Partial<Pick<PageAddress, 'method' | 'isScanned'>> & {
  lang: string | undefined
}

/** The path of a payer's page, with what of its query is set. */
export function pagePath(
  linkToken: string,
  { lang, method, isScanned = false }: PathOptions,
): string {
  const query = new URLSearchParams()
  if (lang !== undefined) query.set('lang', lang)
  if (method !== undefined) query.set('method', method)
  if (isScanned) query.set('scanned', '1')
  return `/pay/${linkToken}${query.size > 0 ? `?${query.toString()}` : ''}`
}

/** What every page begins with. Its answer gets the headers that let it load what it names, and nothing else. */
function frameOf(
  reply: FastifyReply,
  { isSandbox }: Site,
  language: Language,
  loads: Loads,
  brand?: Brand,
) {
  const { sandbox, sandboxMark } = languages[language]
  return {
    language,
    direction: directionOf(language),
    nonce: protectPage(reply, loads),
    style,
    colours: brand === undefined ? '' : coloursOf(brand),
    isFramed: loads.isFramed ?? false,
    ...(isSandbox && { sandbox, sandboxMark }),
  }
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
