// Serves a payer's hosted page and sends wallet PINs to payments; never keeps, logs or shows a PIN or link token.
import type { Client } from '@connectrpc/connect'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { paymentMethods } from '#core/payment/words.ts'
import { tokenBucket } from '#core/token-bucket.ts'
import type { CheckoutService } from '#gen/payments/v1/checkout_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import { type CheckoutMessage, checkoutView, progressOf } from './checkout-view.ts'
import { languageOf } from './language.ts'
import { formToken, isCrossSite, isFormToken, isLinkToken } from './page-guard.ts'
import { type ReceiptsClient, registerReceipts } from './receipts.ts'
import { pagePath, sendCheckout, sendMessage, sendScript } from './render.ts'

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
}

type PageRequest = FastifyRequest<{
  Params: { token: string }
  Querystring: Record<string, unknown>
}>

const formLimitBytes = 4 * 1024
const statePath = '/pay/:token/state'
const pinPattern = /^\d{4,12}$/

/** Whether a target is a page's path, even if the rest of it is malformed. */
export function isPagePath(target: string): boolean {
  return target.startsWith('/pay/') || target.startsWith('/receipts/')
}

/** Refuses a request for a page with a page: a payer cannot read an envelope. */
export function refusePage(
  reply: FastifyReply,
  kind: 'notFound' | 'unavailable' = 'notFound',
): void {
  void sendMessage(reply, kind)
}

/** Registers `/pay/<token>`, what its form posts to and its script asks, and `/receipts/<token>`. */
export async function registerPages(app: FastifyInstance, options: PagesOptions): Promise<void> {
  const mayCall = callLimit(options)
  // A limit of its own: open pages behind one address must not block the next payer from opening theirs.
  const mayWatch = callLimit(options)
  await app.register(async (scope) => {
    await scope.register(formbody, { bodyLimit: formLimitBytes })
    scope.addHook('onRequest', (request, reply, done) => {
      const isWatching = request.routeOptions.url === statePath
      if (isWatching ? mayWatch(request) : mayCall(request)) done()
      else void sendMessage(reply, 'tooMany')
    })
    scope.get('/pay/:token', (request: PageRequest, reply) =>
      answer(options, request, reply, (linkToken) => show(options, request, reply, linkToken)),
    )
    scope.get('/pay/live.js', (_request, reply) => sendScript(reply))
    scope.get(statePath, (request: PageRequest, reply) =>
      answer(options, request, reply, async (linkToken) =>
        reply.send(progressOf(await readCheckout(options, linkToken))),
      ),
    )
    scope.post('/pay/:token/wallet', (request: PageRequest, reply) =>
      answer(options, request, reply, (linkToken) => pay(options, request, reply, linkToken)),
    )
    registerReceipts(scope, options.receipts, options.log)
  })
}

function callLimit({
  callsPerS,
  clientAddress,
}: PagesOptions): (request: FastifyRequest) => boolean {
  if (callsPerS === 0) return () => true
  const buckets = tokenBucket({ ratePerS: callsPerS, burst: 4 * callsPerS })
  return (request) => buckets.take(clientAddress(request), performance.now()).ok
}

/** Answers one request; refusals become pages, since a payer cannot read an envelope. */
async function answer(
  { log }: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  work: (linkToken: string) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const { token } = request.params
  if (!isLinkToken(token)) return sendMessage(reply, 'notFound')
  try {
    return await work(token)
  } catch (error) {
    if (error instanceof Failure && error.reason === 'PAYMENT_NOT_FOUND') {
      return sendMessage(reply, 'notFound')
    }
    log.warn({ requestId: request.edge.requestId, err: error }, 'hosted page failed')
    return sendMessage(reply, 'unavailable', token)
  }
}

async function show(
  options: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  const checkout = await readCheckout(options, linkToken)
  return sendPage(options, reply, linkToken, { checkout, method: methodOf(request) })
}

/** The method that the payer chose on the page. */
function methodOf({ query: { method } }: PageRequest): string | undefined {
  return typeof method === 'string' && isMethod(method) ? method : undefined
}

async function pay(
  options: PagesOptions,
  request: PageRequest,
  reply: FastifyReply,
  linkToken: string,
): Promise<FastifyReply> {
  const { form_token: token, pin } = (request.body ?? {}) as Record<string, unknown>
  const isOurs =
    typeof token === 'string' && isFormToken(options.pageKeys().keys, linkToken, token, Date.now())
  const publicOrigin = new URL(options.publicBaseUrl).origin
  if (!isOurs || isCrossSite(request, publicOrigin)) {
    return sendMessage(reply, 'foreignForm', linkToken)
  }
  if (typeof pin !== 'string' || !pinPattern.test(pin)) {
    const checkout = await readCheckout(options, linkToken)
    const method = methodOf(request)
    return sendPage(options, reply, linkToken, { checkout, method, isPinMistaken: true })
  }
  await options.checkout.payWithWallet({ linkToken, pin })
  // See Other: reloading the page that follows must not pay again.
  const { chosen: lang } = languageOf(request)
  return reply.redirect(pagePath(linkToken, { lang, method: methodOf(request) }), 303)
}

async function readCheckout(
  { checkout }: PagesOptions,
  linkToken: string,
): Promise<CheckoutMessage> {
  const found = (await checkout.getCheckout({ linkToken })).checkout
  if (found === undefined) throw new Failure('PAYMENT_NOT_FOUND', 'no payment behind this link')
  return found
}

/** `method` is what the payer chose on the page. */
type Shown = { checkout: CheckoutMessage; method?: string | undefined; isPinMistaken?: boolean }

async function sendPage(
  options: PagesOptions,
  reply: FastifyReply,
  linkToken: string,
  { checkout, method, isPinMistaken = false }: Shown,
): Promise<FastifyReply> {
  const choice = languageOf(reply.request)
  const view = checkoutView(checkout, choice.language, method)
  return sendCheckout(reply, {
    view,
    choice,
    method,
    linkToken,
    address: `${options.publicBaseUrl}/pay/${linkToken}`,
    frameUrl: view.means === 'card' ? await openCardFrame(options, linkToken) : undefined,
    formToken: formToken(options.pageKeys().current.key, linkToken, Date.now()),
    // Meanwhile there may be nothing left to pay.
    isPinMistaken: isPinMistaken && view.means === 'wallet',
  })
}

function isMethod(text: string): boolean {
  return paymentMethods.some((method) => method === text)
}

/** The back end's card form; undefined when it cannot be had now. */
async function openCardFrame(
  { checkout, log }: PagesOptions,
  linkToken: string,
): Promise<string | undefined> {
  try {
    return (await checkout.openCardFrame({ linkToken })).frameUrl
  } catch (error) {
    log.warn({ err: error }, 'card form not available')
    return undefined
  }
}
