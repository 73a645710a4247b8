// The card form: a page with Stripe's fields in it, and what its script asks. Stripe's frames have the card; no entry of it comes here.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure, reasons } from '#core/errors/errors.ts'
import { hashToken } from '#core/identity/digest.ts'
import { isUuid } from '#core/identity/id.ts'
import { directionOf, type Language, localMoney } from '#core/text/language.ts'
import { refusals } from '#core/text/refusals.ts'
import { tokenBucket } from '#core/token-bucket.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import { type CardTexts, cardTexts } from '../../kit/http/card-texts.ts'
import { readFrameQuery } from '../../kit/http/frame-query.ts'
import { startAttempt } from '../../kit/operations/attempts.ts'
import { hastenWork } from '../../kit/store/work-store.ts'
import { stripeAmount } from '../domain/amount.ts'
import type { StripeAccount } from '../operations/account.ts'
import { collectKind, collectWork } from '../operations/collect.ts'
import { type CardFrame, findCardFrame, findFrameAttempt } from '../store/frame-store.ts'

const folder = join(import.meta.dirname, 'pages')
const tokenPattern = /^ctoken_[A-Za-z0-9_]{1,200}$/
/** Stripe.js of the API version that the library is made for; it must come from Stripe itself. */
const stripeJs = 'https://js.stripe.com/endive/stripe.js'
const stripeOrigins = 'https://js.stripe.com https://*.js.stripe.com'
/** Requests about one charge that lead to calls: Stripe limits those of the account, so one payer must not use them up. */
const rate = { ratePerS: 1, burst: 20 }

/** Registers the card form, what its script asks, and its files. */
export async function cardPages(
  app: FastifyInstance,
  context: ConnectorContext,
  account: StripeAccount,
): Promise<void> {
  const { db, log, notify } = context
  const files = { '/card.css': 'text/css', '/card.js': 'text/javascript' }
  app.addHook('onRequest', async (_request, reply) => {
    // The URL of a card form is a secret of its payer. A payer's page may isolate itself from other origins and still show the form.
    reply.headers({
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'cross-origin',
    })
  })
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error)
    if (status >= 500) log.error({ err: error }, 'card form failed')
    return reply.code(status).send({ message: status >= 500 ? 'try again' : 'refused' })
  })
  for (const [path, type] of Object.entries(files)) {
    const file = readFileSync(join(folder, path))
    app.get(path, (_request, reply) => reply.type(type).send(file))
  }
  const send = pageSender(account)
  const calls = tokenBucket(rate)
  const frameOfCall = async (request: FastifyRequest, reply: FastifyReply) => {
    const frame = await knownFrame(db, request)
    const { ok, resetS } = calls.take(frame.chargeId, performance.now())
    if (ok) return frame
    reply.header('retry-after', resetS)
    throw new Failure('RATE_LIMIT_EXCEEDED', 'too many requests about this charge')
  }
  app.get('/card/:token', async (request, reply) =>
    send(reply, request, await frameOf(db, request)),
  )
  app.post('/card/:token/attempts', async (request, reply) => {
    const { chargeId } = await frameOfCall(request, reply)
    const { attemptId, token } = readAttempt(request.body)
    const work = collectWork(chargeId, attemptId, token)
    await startAttempt(db, chargeId, attemptId, work)
    notify()
    return {}
  })
  app.get('/card/:token/attempts/:attempt', async (request) => {
    const { chargeId } = await knownFrame(db, request)
    const { enquire } = request.query as Record<string, unknown>
    // The payer has answered their bank.
    if (enquire !== undefined && (await hastenWork(db, [collectKind], chargeId))) notify()
    const { outcome, refusal, needsAction } = await attemptOf(db, request, chargeId)
    if (outcome === 'processing') return { outcome: needsAction ? 'action' : outcome }
    const { language } = readFrameQuery(request.query)
    return outcome === 'paid' ? { outcome } : { outcome, message: whyRefused(language, refusal) }
  })
  app.post('/card/:token/attempts/:attempt/action', async (request, reply) => {
    const { chargeId } = await frameOfCall(request, reply)
    const { outcome, intentId } = await attemptOf(db, request, chargeId)
    if (outcome !== 'processing' || intentId === null) return {}
    return { client_secret: await account.stripe.clientSecret(intentId) }
  })
}

type Db = ConnectorContext['db']

function frameOf(db: Db, { params }: FastifyRequest): Promise<CardFrame | undefined> {
  return findCardFrame(db, hashToken((params as { token: string }).token))
}

async function knownFrame(db: Db, request: FastifyRequest): Promise<CardFrame> {
  const frame = await frameOf(db, request)
  if (frame === undefined) throw new Failure('CHARGE_NOT_FOUND', 'no such card form')
  return frame
}

async function attemptOf(db: Db, { params }: FastifyRequest, chargeId: string) {
  const { attempt } = params as { attempt: string }
  const found = isUuid(attempt) ? await findFrameAttempt(db, attempt, chargeId) : undefined
  if (found === undefined) throw new Failure('CHARGE_NOT_FOUND', 'no such attempt on the charge')
  return found
}

function readAttempt(body: unknown): { attemptId: string; token: string } {
  try {
    const value = JSON.parse(String(body)) as Record<string, unknown> | null
    const { attempt_id: attemptId, confirmation_token: token } = value ?? {}
    const isWhole = typeof attemptId === 'string' && typeof token === 'string'
    if (isWhole && isUuid(attemptId) && tokenPattern.test(token))
      return { attemptId: attemptId.toLowerCase(), token }
  } catch {
    // As for a body of another form.
  }
  throw new Failure('INVALID_PARAMETER', 'attempt_id or confirmation_token is malformed')
}

/** The HTTP status of a Failure or of Fastify's own error; any other error is a bug and becomes 500. */
function statusOf(error: unknown): number {
  if (error instanceof Failure) return reasons[error.reason].http
  const { statusCode } = error as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}

/** That the card was declined, and as far as the payer may know it why, and what to do. */
function whyRefused(language: Language, refusal: keyof (typeof refusals)['en'] | null): string {
  const { declinedText } = cardTexts[language]
  if (refusal === null) return declinedText
  const { why, advice } = refusals[language][refusal]
  return `${declinedText} ${why} ${advice}`
}

/** Makes a function that sends the form, or why there is none. Only payers' pages may frame it, and only Stripe's script may run beside ours. */
function pageSender({ publishableKey, checkoutOrigin }: StripeAccount) {
  const eta = new Eta({ views: folder, cache: true })
  return (reply: FastifyReply, { query }: FastifyRequest, frame: CardFrame | undefined) => {
    const { language, theme } = readFrameQuery(query)
    const say = cardTexts[language]
    const nonce = randomBytes(16).toString('base64')
    const policy = [
      "default-src 'none'",
      `script-src 'self' ${stripeOrigins}`,
      `style-src 'self' 'nonce-${nonce}'`,
      "connect-src 'self' https://api.stripe.com",
      `frame-src ${stripeOrigins} https://hooks.stripe.com`,
      "form-action 'none'",
      "base-uri 'none'",
      `frame-ancestors ${checkoutOrigin}`,
    ].join('; ')
    const common = { nonce, language, direction: directionOf(language), theme, say, stripeJs }
    const settings = {
      host: checkoutOrigin,
      publishableKey,
      dark: theme?.dark,
      light: theme?.accent,
    }
    const form = frame && formOf(frame, language, say)
    return reply
      .code(frame === undefined ? 404 : 200)
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(eta.render('./card', { ...common, ...form, settings: { ...settings, ...form?.pay } }))
  }
}

/** What the form of a charge shows: the fields, or why it cannot be paid. */
function formOf(frame: CardFrame, language: Language, say: CardTexts) {
  const { returnUrl, openAttemptId } = frame
  const closed = closedReason(frame, say)
  if (closed !== undefined) return { closed, returnUrl }
  const { currency, amountMinor, businessName } = frame
  const amount = stripeAmount(amountMinor, currency)
  if (amount === undefined) return { closed: say.unavailable, returnUrl }
  const price = localMoney(amountMinor, currency, language)
  const { approved, approvedText, sending, confirm, unavailable } = say
  const locale = language === 'pt-PT' ? 'pt' : language
  const texts = { approved, approvedText, sending, confirm, unavailable }
  return {
    price,
    merchant: say.to.replace('{merchant}', () => businessName),
    payLabel: say.pay.replace('{price}', () => price),
    returnUrl,
    pay: { amount, currency: currency.toLowerCase(), locale, texts, openAttemptId },
  }
}

function closedReason({ state, isExpired }: CardFrame, say: CardTexts): string | undefined {
  if (state === 'paid') return say.already_paid
  if (state === 'withdrawn') return say.withdrawn
  return isExpired ? say.expired : undefined
}
