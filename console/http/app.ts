// Composes the console's server: limits, headers, cookies, forms, pages and errors.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure, reasons } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Clients, Record as RecordCall } from '../clients.ts'
import { assets, sendPage } from '../pages/render.ts'
import type { Parts } from '../parts/reader.ts'
import { registerAccess } from '../routes/access.ts'
import { registerActions } from '../routes/administration/actions.ts'
import { registerAllRequests } from '../routes/administration/all-requests.ts'
import { registerCatalogue } from '../routes/administration/catalogue.ts'
import { registerEventDeadLetters } from '../routes/administration/event-dead-letters.ts'
import { registerRouting } from '../routes/administration/routing.ts'
import { registerAudit } from '../routes/audit.ts'
import { registerBalances } from '../routes/balances.ts'
import { registerBills } from '../routes/bills.ts'
import { registerBranding } from '../routes/branding/branding.ts'
import { registerCustomers } from '../routes/customers.ts'
import { registerDeadLetters } from '../routes/dead-letters.ts'
import { registerApiLog } from '../routes/developers/api-log.ts'
import { registerDevelopers } from '../routes/developers/developers.ts'
import { registerTriggers } from '../routes/developers/triggers.ts'
import { registerHome } from '../routes/home.ts'
import { registerApprovals } from '../routes/inbox/approvals.ts'
import { registerClaims } from '../routes/inbox/claims.ts'
import { registerInbox } from '../routes/inbox/inbox.ts'
import { registerOnboarding } from '../routes/inbox/onboarding.ts'
import { registerQuotes } from '../routes/institution/quotes.ts'
import { registerTransfers } from '../routes/institution/transfers.ts'
import { registerLedger } from '../routes/ledger.ts'
import { registerLedgerTransfers } from '../routes/ledger-transfers.ts'
import { registerNow } from '../routes/now.ts'
import { registerOverview } from '../routes/overview.ts'
import { registerPayment } from '../routes/payment.ts'
import { registerPayments } from '../routes/payments.ts'
import { registerPushes } from '../routes/pushes.ts'
import { registerReceivers } from '../routes/receivers/receivers.ts'
import { registerSearch, type SearchLimits } from '../routes/search.ts'
import { registerSettlements } from '../routes/settlements.ts'
import { registerStuck } from '../routes/stuck/stuck.ts'
import type { Sandbox } from '../sandbox.ts'
import { type LocalProviderOptions, registerLocalProvider } from '../sign-in/local-provider.ts'
import type { Oidc } from '../sign-in/oidc.ts'
import { openPeople } from '../sign-in/people.ts'
import { registerSignIn } from '../sign-in/routes.ts'
import { openSessions } from '../sign-in/sessions.ts'
import type { SessionLimits } from '../store/session-store.ts'
import { newNonce, protect } from './guard.ts'
import { createRequestLimits } from './request-limits.ts'
import type { Shell } from './shell.ts'
import type { ReaderLimits } from './stream.ts'
import { createWorker } from './work.ts'

declare module 'fastify' {
  interface FastifyRequest {
    shell: Shell
  }
}

/** What the console is made from. */
export type ConsoleOptions = {
  environment: Shell['environment']
  consoleUrl: string
  /** Where payers' links begin. */
  publicBaseUrl: string
  limits: SessionLimits
  db: Database
  clients: Clients
  parts: Parts
  /** What triggers call; undefined where there are none. */
  sandbox: Sandbox | undefined
  /** Writes down what a person does beside calls of services. */
  record: RecordCall
  oidc: Oidc
  /** The built-in provider; undefined: the one of the settings. */
  local: LocalProviderOptions | undefined
  /** How slowly a file or a stream may be read; the defaults otherwise. */
  readerLimits?: ReaderLimits
  /** How far a search over many projects goes; the default otherwise. */
  searchLimits?: SearchLimits
  log: Logger
}

const defaultReaderLimits = { stalledMs: 60_000, maxMs: 15 * 60_000 }
const bodyLimitBytes = 64 * 1024
/** Below the deadline of a page. */
const defaultSearchLimits = { maxProjects: 1_000, maxMs: 8_000 }
const requestTimeoutMs = 30_000

/** Makes the server; it does not listen yet. */
export async function createConsole(options: ConsoleOptions): Promise<FastifyInstance> {
  const { environment, consoleUrl, publicBaseUrl, limits, db, clients, oidc, local, log } = options
  const { readerLimits = defaultReaderLimits, sandbox } = options
  const { searchLimits = defaultSearchLimits } = options
  const { host, origin, protocol } = new URL(consoleUrl)
  const app = Fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: 200 },
    forceCloseConnections: true,
  })
  await app.register(cookie)
  await app.register(formbody)
  app.setNotFoundHandler((_, reply) => sendError(reply, 404, 'There is no such page.'))
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, log))
  app.decorateRequest('shell')
  app.addHook('onRequest', (request, reply, done) => {
    const nonce = newNonce()
    request.shell = { nonce, environment, path: request.url.split('?')[0] ?? '/' }
    protect(reply, nonce, protocol === 'https:')
    // A page of another name that leads to this address must not read its answers.
    if (request.headers.host === host) done()
    else void reply.code(421).type('text/plain').send('misdirected request')
  })
  serveAssets(app)
  const sessions = openSessions(db, consoleUrl, limits)
  const people = openPeople(db)
  const requestLimits = createRequestLimits()
  const worker = createWorker({ sessions, people, clients, origin, requestLimits, readerLimits })
  if (local !== undefined) registerLocalProvider(app, local)
  registerSignIn(app, { oidc, sessions, worker, consoleUrl, log })
  registerHome(app, { worker, clients })
  registerOverview(app, { worker, clients })
  registerSearch(app, { worker, clients, limits: searchLimits })
  registerPayments(app, { worker, clients })
  registerPayment(app, { worker, clients, publicBaseUrl })
  registerPushes(app, { worker, clients })
  registerReceivers(app, { worker, clients })
  registerApiLog(app, { worker, clients })
  registerDevelopers(app, { worker, clients, hasTriggers: sandbox !== undefined })
  if (sandbox !== undefined)
    registerTriggers(app, { worker, clients, sandbox, record: options.record })
  registerAccess(app, { worker, clients })
  await registerBranding(app, { worker, clients })
  registerBalances(app, { worker, clients })
  registerSettlements(app, { worker, clients })
  registerCustomers(app, { worker, clients })
  registerBills(app, { worker, clients })
  registerNow(app, { worker, parts: options.parts })
  registerTransfers(app, { worker, clients })
  registerQuotes(app, { worker, clients })
  registerApprovals(app, { worker, clients })
  registerClaims(app, { worker, clients })
  registerInbox(app, { worker, clients })
  registerOnboarding(app, { worker, clients })
  registerStuck(app, { worker, clients })
  registerDeadLetters(app, { worker, clients })
  registerEventDeadLetters(app, { worker, clients })
  registerAllRequests(app, { worker, clients })
  registerLedger(app, { worker, clients })
  registerLedgerTransfers(app, { worker, clients })
  registerCatalogue(app, { worker, clients })
  registerRouting(app, { worker, clients })
  registerAudit(app, { worker, clients, db, people })
  registerActions(app, { worker, clients, people })
  return app
}

/** Serves the files that every page loads. */
function serveAssets(app: FastifyInstance): void {
  for (const { path, type, content } of Object.values(assets)) {
    app.get(path, (_, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(content),
    )
  }
  app.get('/favicon.ico', (_, reply) => reply.code(204).send())
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  if (error instanceof Failure) {
    const { http } = reasons[error.reason]
    if (http >= 500) log.warn({ reason: error.reason, err: error }, 'page failed')
    return sendError(reply, http, http < 500 ? error.message : undefined)
  }
  const status = (error as { statusCode?: number }).statusCode
  if (status !== undefined && status < 500) return sendError(reply, status)
  log.error({ route: request.routeOptions.url, err: error }, 'page failed unexpectedly')
  return sendError(reply, 500)
}

const titles: Record<number, string> = {
  400: 'That cannot be read',
  403: 'You may not do that',
  404: 'Not found',
  409: 'Not possible now',
  429: 'Too many requests',
}

function sendError(reply: FastifyReply, status: number, text?: string): FastifyReply {
  const title = titles[status] ?? (status < 500 ? 'That is not possible' : 'Something went wrong')
  return sendPage(reply, 'message', { title, text: text ?? 'Try again later.' }, status)
}
