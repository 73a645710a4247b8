// Serves a payer's hosted page and sends wallet PINs to payments; never keeps, logs or shows a PIN or link token.
import type { Client } from '@connectrpc/connect'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { paymentMethods } from '#core/payment/words.ts'
import { limitKeyOf } from '#core/text/address.ts'
import { tokenBucket } from '#core/token-bucket.ts'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Brands } from './brand/brands.ts'
import { openCardForm, openCardFormOrWait } from './card-forms.ts'
import { type CheckoutMessage, checkoutView, type Phase, progressOf } from './checkout-view.ts'
import { languageOf } from './language.ts'
import { createLiveStreams, type LiveStreams, type PaymentChanges } from './live-streams.ts'
import { formToken, isCrossSite, isFormToken, isLinkToken } from './page-guard.ts'
import { type ReceiptsClient, registerReceipts } from './receipts/routes.ts'
import {
  type PageAddress,
  pagePath,
  type Site,
  sendCancel,
  sendCardFrame,
  sendCheckout,
  sendIcon,
  sendLogo,
  sendMessage,
  sendScript,
} from './render.ts'
import { walletFailure } from './wallet-failure.ts'

/** What the pages are made from. */
export type PagesOptions = {
  checkout: Client<typeof CheckoutService>
  receipts: ReceiptsClient
  /** What payers' links start with, without a slash at its end. */
  publicBaseUrl: string
  /** Keys of the tokens in forms. */
  pageKeys: KeySource
  log: Logger
  /** Address of the payer's browser, behind trusted proxies. */
  clientAddress: (request: FastifyRequest) => string
  /** Calls a second and address, burst four times that. 0: no limit. */
  callsPerS: number
  /** Where changes of payments are heard of. */
  changes: PaymentChanges
  /** How pages of merchants look. */
  brands: Brands
  site: Site
}

type PageRequest = FastifyRequest<{
  Params: { token: string }
  Querystring: Record<string, unknown>
}>

/** Works on a link and answers. */
type Work = (request: PageRequest, reply: FastifyReply, linkToken: string) => Promise<FastifyReply>

const formLimitBytes = 4 * 1024
const statePath = '/pay/:token/state'
const eventsPath = '/pay/:token/events'
const pinPattern = /^\d{4,12}$/

/** Every path of the pages, with what may be done there. */
export const pagePaths = [
  { pattern: /^\/pay\/[^/]+$/, allow: 'GET' },
  { pattern: /^\/pay\/[^/]+\/(state|events|card|logo)$/, allow: 'GET' },
  { pattern: /^\/pay\/[^/]+\/cancel$/, allow: 'GET, POST' },
  { pattern: /^\/pay\/[^/]+\/wallet$/, allow: 'POST' },
  { pattern: /^\/receipts\/[^/]+(\/(pdf|logo))?$/, allow: 'GET' },
  { pattern: /^\/(favicon\.ico)?$/, allow: 'GET' },
]

/** Whether a target is a page's path, even if the rest of it is malformed. */
export function isPagePath(target: string): boolean {
  return target.startsWith('/pay/') || target.startsWith('/receipts/')
}

/** Refuses a request for a page with a page: a payer cannot read an envelope. */
export function refusePage(
  reply: FastifyReply,
  site: Site,
  kind: 'notFound' | 'unavailable' = 'notFound',
): void {
  void sendMessage(reply, site, kind)
}

/**
 * Registers `/pay/<token>`, what its forms post to and its script asks, and `/receipts/<token>`. Returns the streams that
 * pages watch their payments by.
 */
export async function registerPages(
  app: FastifyInstance,
  options: PagesOptions,
): Promise<LiveStreams> {
  const streams = createLiveStreams(options.changes, options.log)
  const mayCall = callLimit(options)
  // A limit of its own: open pages behind one address must not block the next payer from opening theirs.
  const mayWatch = callLimit(options)
  await app.register(async (scope) => {
    await scope.register(formbody, { bodyLimit: formLimitBytes })
    scope.addHook('onRequest', (request, reply, done) => {
      const { url } = request.routeOptions
      const isWatching = url === statePath || url === eventsPath
      if (isWatching ? mayWatch(request) : mayCall(request)) done()
      else void sendMessage(reply, options.site, 'tooMany')
    })
    const answered = (work: Work) => (request: PageRequest, reply: FastifyReply) =>
      answer(options, request, reply, work)
    scope.get(
      '/pay/:token',
      answered(async (_request, reply, linkToken) =>
        sendPage(options, reply, { checkout: await readCheckout(options, linkToken), linkToken }),
      ),
    )
    scope.get('/pay/live.js', (_request, reply) => sendScript(reply))
    scope.get('/favicon.ico', (_request, reply) => sendIcon(reply))
    // Relative, so that it also leads there behind a prefix.
    scope.get('/', (_request, reply) => reply.redirect('docs', 302))
    scope.get(
      statePath,
      answered(async (_request, reply, linkToken) =>
        reply.send(progressOf(await readCheckout(options, linkToken))),
      ),
    )
    scope.get(
      eventsPath,
      answered((request, reply, linkToken) => watch(options, streams, request, reply, linkToken)),
    )
    scope.get(
      '/pay/:token/card',
      answered(async (_request, reply, linkToken) => showCardFrame(options, reply, linkToken)),
    )
    scope.get(
      '/pay/:token/logo',
      answered(async (_request, reply, linkToken) => {
        const logo = await options.brands.logo(await readCheckout(options, linkToken))
        return logo === undefined
          ? sendMessage(reply, options.site, 'notFound')
          : sendLogo(reply, logo)
      }),
    )
    scope.post(
      '/pay/:token/wallet',
      answered((request, reply, linkToken) => pay(options, request, reply, linkToken)),
    )
    scope.get(
      '/pay/:token/cancel',
      answered((request, reply, linkToken) => askToCancel(options, request, reply, linkToken)),
    )
    scope.post(
      '/pay/:token/cancel',
      answered((request, reply, linkToken) => cancel(options, request, reply, linkToken)),
    )
    registerReceipts(scope, options)
  })
  return streams
}

function callLimit({
  callsPerS,
  clientAddress,
}: PagesOptions): (request: FastifyRequest) => boolean {
  if (callsPerS === 0) return () => true
  const buckets = tokenBucket({ ratePerS: callsPerS, burst: 4 * callsPerS })
  return (request) => buckets.take(limitKeyOf(clientAddress(request)), performance.now()).ok
}

/** Answers one request; refusals become pages, since a payer cannot read an envelope. */
async function answer(
  { log, site }: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  work: Work,
): Promise<FastifyReply> {
  const { token } = request.params
  if (!isLinkToken(token)) return sendMessage(reply, site, 'notFound')
  try {
    return await work(request, reply, token)
  } catch (error) {
    if (error instanceof Failure && error.reason === 'PAYMENT_NOT_FOUND') {
      return sendMessage(reply, site, 'notFound')
    }
    log.warn({ requestId: request.edge.requestId, err: error }, 'hosted page failed')
    return sendMessage(reply, site, 'unavailable', token)
  }
}

/** The page of a request with what the payer chose on it. */
function addressOf(request: PageRequest, linkToken: string): PageAddress {
  const { method, scanned } = request.query
  return {
    linkToken,
    choice: languageOf(request),
    method: typeof method === 'string' && isMethod(method) ? method : undefined,
    isScanned: scanned === '1',
  }
}

/** Back to the payer's page. See Other: reloading it must not send the form again. */
function redirectToPage(request: PageRequest, reply: FastifyReply, linkToken: string) {
  const { choice, ...address } = addressOf(request, linkToken)
  return reply.redirect(pagePath(linkToken, { ...address, lang: choice.chosen }), 303)
}

/** Whether a form is of this page, was made lately, and was sent from our own origin. */
function isOwnForm(options: PagesOptions, request: PageRequest, linkToken: string): boolean {
  const { form_token: token } = (request.body ?? {}) as Record<string, unknown>
  const { keys } = options.pageKeys()
  const isOurs = typeof token === 'string' && isFormToken(keys, linkToken, token, Date.now())
  return isOurs && !isCrossSite(request, new URL(options.publicBaseUrl).origin)
}

function formTokenOf({ pageKeys }: PagesOptions, linkToken: string): string {
  return formToken(pageKeys().current.key, linkToken, Date.now())
}

/** Streams the progress of a payment; refused (503) where the page has to poll instead. */
async function watch(
  options: PagesOptions,
  streams: LiveStreams,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  const checkout = await readCheckout(options, linkToken)
  const isOpen = streams.open(reply, {
    token: linkToken,
    paymentId: checkout.paymentId,
    now: progressOf(checkout),
    read: async () => progressOf(await readCheckout(options, linkToken)),
  })
  if (!isOpen) return reply.code(503).header('retry-after', 5).send()
  request.edge.streamedMs = performance.now()
  return reply
}

async function pay(
  options: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  if (!isOwnForm(options, request, linkToken)) {
    return sendMessage(reply, options.site, 'foreignForm', linkToken)
  }
  const { pin } = request.body as Record<string, unknown>
  if (typeof pin !== 'string' || !pinPattern.test(pin)) {
    const checkout = await readCheckout(options, linkToken)
    return sendPage(options, reply, { checkout, linkToken, isPinMistaken: true })
  }
  try {
    await options.checkout.payWithWallet({ linkToken, pin })
  } catch (error) {
    if (error instanceof Failure && error.reason === 'PAYMENT_NOT_FOUND') throw error
    const { requestId } = request.edge
    options.log.warn({ requestId, err: error }, 'wallet payment failed')
    const kind = walletFailure(error, await phaseOf(options, linkToken))
    if (kind !== undefined) return sendMessage(reply, options.site, kind, linkToken)
  }
  return redirectToPage(request, reply, linkToken)
}

/** What a page is about now; undefined when that cannot be read. */
async function phaseOf(options: PagesOptions, linkToken: string): Promise<Phase | undefined> {
  try {
    return progressOf(await readCheckout(options, linkToken)).phase
  } catch {
    return undefined
  }
}

async function askToCancel(
  options: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  const checkout = await readCheckout(options, linkToken)
  const address = addressOf(request, linkToken)
  const view = checkoutView(checkout, address.choice.language)
  if (!view.isCancellable) return redirectToPage(request, reply, linkToken)
  const brand = await options.brands.find(checkout)
  const formToken = formTokenOf(options, linkToken)
  return sendCancel(reply, options.site, { ...address, view, brand, formToken })
}

async function cancel(
  options: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  if (!isOwnForm(options, request, linkToken)) {
    return sendMessage(reply, options.site, 'foreignForm', linkToken)
  }
  try {
    await options.checkout.cancelCheckout({ linkToken })
  } catch (error) {
    // Too late: the page shows what has happened meanwhile.
    const isLate = error instanceof Failure && error.reason === 'PAYMENT_NOT_CANCELLABLE'
    if (!isLate) throw error
  }
  return redirectToPage(request, reply, linkToken)
}

async function readCheckout(
  { checkout }: PagesOptions,
  linkToken: string,
): Promise<CheckoutMessage> {
  const found = (await checkout.getCheckout({ linkToken })).checkout
  if (found === undefined) throw new Failure('PAYMENT_NOT_FOUND', 'no payment behind this link')
  return found
}

type Shown = { checkout: CheckoutMessage; linkToken: string; isPinMistaken?: boolean }

async function sendPage(
  options: PagesOptions,
  reply: FastifyReply,
  { checkout, linkToken, isPinMistaken = false }: Shown,
): Promise<FastifyReply> {
  const address = addressOf(reply.request as PageRequest, linkToken)
  const { language } = address.choice
  const view = checkoutView(checkout, language, address)
  const brand = options.brands.find(checkout)
  const card = view.option === 'card' ? openCardFormOrWait(options, address, brand) : undefined
  return sendCheckout(reply, options.site, {
    ...address,
    view,
    brand: await brand,
    publicBaseUrl: options.publicBaseUrl,
    card: (await card) ?? {},
    formToken: formTokenOf(options, linkToken),
    // Meanwhile there may be nothing left to pay.
    isPinMistaken: isPinMistaken && view.option === 'wallet',
  })
}

function isMethod(text: string): boolean {
  return paymentMethods.some((method) => method === text)
}

async function showCardFrame(
  options: PagesOptions,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  const address = addressOf(reply.request as PageRequest, linkToken)
  const brand = await options.brands.find(await readCheckout(options, linkToken))
  return sendCardFrame(reply, address, await openCardForm(options, address, brand))
}
