// Takes in what a provider sends: signed events are verified and stored once, then answered; unsigned callbacks are hints. Serves the connector's own pages, if it has any.
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { tokenBucket } from '#core/token-bucket.ts'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createLogSampler } from '../domain/log-sampler.ts'
import { isSigned, type SignatureScheme } from '../domain/signature.ts'
import type { WebhookOutcome } from '../metrics.ts'
import { hastenWork, insertWork } from '../store/work-store.ts'

/** Kind of the work that a webhook becomes. */
export const webhookKind = 'webhook'

const maxBodyBytes = 256 * 1024
const readWithinMs = 10_000
const maxConnections = 1_024
/** Of an event id and of a subject, as they are stored. */
const maxTextLength = 200
/** Anybody can send hints, and each is a statement of the database: more are answered 429. The work is done without them too, only later. */
const hintRate = { ratePerS: 50, burst: 200, maxKeys: 1 }

/** What the connector reads of an event before it is stored. */
export type ReadEvent = {
  /** The provider's id of the event, 1 to 200 characters: the same one is stored once. */
  eventId: string
  /** Our reference, 1 to 200 characters: events about one reference are handled in the order of their arrival. */
  subject: string
}

/** Events that the provider signs. */
export type WebhookOptions = {
  /** Where the provider posts, for example `/webhooks/acme`. */
  path: string
  signature: SignatureScheme
  /** Reads a body whose signature is valid; undefined for one that is no event: 400. */
  read: (body: Buffer) => ReadEvent | undefined
}

/** Callbacks that nobody signs. */
export type HintOptions = {
  /** Where the provider posts or puts. */
  path: string
  /** Reads what the callback is about: our reference; undefined for a body that is no callback: 400. */
  read: (body: Buffer) => string | undefined
}

export type WebhookPortOptions = {
  db: Database
  log: Logger
  host: string
  /** 0 takes a free port. */
  port: number
  webhooks: WebhookOptions | undefined
  hints: HintOptions | undefined
  /** Registers the routes of pages for payers. Bodies come to them as bytes. */
  pages?: ((app: FastifyInstance) => Promise<void>) | undefined
  /** Kinds of the work that a hint starts at once. */
  hintedKinds: readonly string[]
  /** Called when there is work to do at once. */
  notify: () => void
  /** Counts requests by outcome. */
  count: (outcome: WebhookOutcome) => void
  /** A monotonic clock in milliseconds, by which hints are limited; that of the process by default. */
  nowMs?: () => number
}

/** The port that is open. */
export type WebhookPort = { port: number; close(): Promise<void> }

/**
 * Opens the port, which must be reachable by the provider, and by payers where the connector has pages, but by nobody else. Answers 200 once the event is stored or was before, 401
 * for a signature that is absent, wrong or old, 400 for a body that is no event or whose id or subject has a length that is not stored, 413 for one over 256 KiB, and 500 when it
 * could not be stored, so that the provider sends it again. A hint stores nothing and answers 200 whether or not its
 * reference is known, or 429 above 50 a second. Rejects without a secret or with an empty one, by which anybody could sign, and with the system's error
 * when the port cannot be opened.
 */
export async function openWebhookPort(options: WebhookPortOptions): Promise<WebhookPort> {
  const { log, host, port, webhooks, hints, pages } = options
  if (webhooks !== undefined) requireSecrets(webhooks.signature)
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: readWithinMs,
    forceCloseConnections: true,
  })
  app.server.maxConnections = maxConnections
  // The signature is of the bytes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, _request, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500
    if (status >= 500) log.error({ err: error, kind: webhookKind }, 'webhook not stored')
    return reply.code(status).send({ message: status >= 500 ? 'try again' : 'malformed' })
  })
  if (webhooks !== undefined) takeEvents(app, webhooks, options)
  if (hints !== undefined) takeHints(app, hints, options)
  if (pages !== undefined) await app.register(pages)
  await app.listen({ host, port })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
}

function requireSecrets({ secrets }: SignatureScheme): void {
  if (secrets.length === 0 || secrets.includes(''))
    throw new Error('webhooks need a secret, and none may be empty')
}

function takeEvents(
  app: FastifyInstance,
  { path, signature, read }: WebhookOptions,
  { db, log, notify, count }: WebhookPortOptions,
): void {
  const sample = createLogSampler()
  app.post(path, async (request, reply) => {
    const body = bodyOf(request)
    const header = request.headers[signature.header]
    if (typeof header !== 'string' || !isSigned(signature, header, body, Date.now())) {
      count('bad_signature')
      // Anybody can send these.
      sample('bad_signature', (times) =>
        log.warn({ kind: webhookKind, status: 401, count: times }, 'webhook with a bad signature'),
      )
      return reply.code(401).send({ message: 'bad signature' })
    }
    const event = read(body)
    if (event === undefined || ![event.eventId, event.subject].every(isStorable)) {
      count('malformed')
      sample('malformed', (times) =>
        log.warn({ kind: webhookKind, status: 400, count: times }, 'signed webhook is no event'),
      )
      return reply.code(400).send({ message: 'no event' })
    }
    const { eventId, subject } = event
    const isNew = await insertWork(db, {
      kind: webhookKind,
      key: eventId,
      subject,
      payload: body,
    })
    count(isNew ? 'stored' : 'duplicate')
    if (isNew) notify()
    return reply.send({ received: true })
  })
}

/** PostgreSQL stores no NUL. */
function isStorable(text: string): boolean {
  return text.length > 0 && text.length <= maxTextLength && !text.includes('\0')
}

function takeHints(
  app: FastifyInstance,
  { path, read }: HintOptions,
  { db, hintedKinds, notify, count, nowMs = () => performance.now() }: WebhookPortOptions,
): void {
  const hints = tokenBucket(hintRate)
  app.route({
    method: ['POST', 'PUT'],
    url: path,
    async handler(request, reply) {
      const subject = read(bodyOf(request))
      if (subject === undefined || !isStorable(subject)) {
        count('malformed')
        return reply.code(400).send({ message: 'no callback' })
      }
      if (!hints.take(path, nowMs()).ok) {
        count('hint_limited')
        return reply.code(429).send({ message: 'too many callbacks' })
      }
      count('hint')
      if (await hastenWork(db, hintedKinds, subject)) notify()
      return reply.send({ received: true })
    },
  })
}

function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
}
