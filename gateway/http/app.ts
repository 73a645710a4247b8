// Assembles the HTTP server of the gateway: options, body parsers, hooks, routes, error handlers.
import fastifyMultipart from '@fastify/multipart'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { healthPaths, registerHealth } from '../health.ts'
import { documentPaths, registerDocuments } from '../openapi/documents.ts'
import type { GatewayOptions, PageServices } from '../options.ts'
import { isPagePath, pagePaths, refusePage, registerPages } from '../pages/index.ts'
import type { LiveStreams } from '../pages/live-streams.ts'
import type { Site } from '../pages/render.ts'
import { accountRoutes } from '../routes/account/routes.ts'
import { billPaymentRoutes } from '../routes/bill-payments/routes.ts'
import { institutionRoutes } from '../routes/institution/routes.ts'
import { merchantDeliveryRoutes } from '../routes/merchant/deliveries.ts'
import { merchantPaymentRoutes } from '../routes/merchant/payments.ts'
import { paymentRoutes } from '../routes/payments/routes.ts'
import { quoteRoutes } from '../routes/quote/routes.ts'
import { bodyLimits, parseBodies } from './body/body-parsers.ts'
import { isMediaType } from './body/media-type.ts'
import { formParser } from './body/multipart.ts'
import { clientErrorHandler, handleClientErrors } from './client-error-handler.ts'
import { refusal } from './envelope.ts'
import { errorHandler, type OpenPaths, pathOf, type RouteTable, routeTable } from './failures.ts'
import { clientIpReader } from './headers.ts'
import { createInFlight, type InFlight, wasRefused } from './in-flight.ts'
import { requestLog, requestStart } from './request-start.ts'
import { callContext, deadlineOf, type RouteRow, routeRunner } from './route.ts'
import { createHttpServer, maxHeaderBytes, requestTimeoutMs } from './server.ts'

/** Every route of the contract and of its extension. */
export const routeRows: readonly RouteRow[] = [
  ...paymentRoutes,
  ...accountRoutes,
  ...institutionRoutes,
  ...quoteRoutes,
  ...billPaymentRoutes,
  ...merchantPaymentRoutes,
  ...merchantDeliveryRoutes,
]

const openPaths: OpenPaths = [
  { pattern: /^\/(livez|readyz)$/, allow: 'GET' },
  ...pagePaths,
  ...documentPaths,
]
// As long as headers may be, so that the router passes any token on: the page answers for an unknown one.
const maxParamLength = maxHeaderBytes
const pageCallsPerS = 5
// Less than the shutdown timeout of the process: responses that take longer are cut off.
const stopGraceMs = 7_000
/** An app that does not listen yet. `makeDocuments` makes the API documents ahead of the first request for them. */
export type Gateway = {
  app: FastifyInstance
  inFlight: InFlight
  /** Closes each connection after the answers to its present requests, from now on, and ends the streams. */
  drain: () => void
  makeDocuments: () => Promise<void>
}

type Done = (error?: Error) => void

/** Makes the app; the caller listens and closes. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { settings, log, metrics, services } = options
  const table = routeTable(routeRows, openPaths)
  const site = siteOf(settings)
  const inFlight = createInFlight(settings.inFlightLimits, metrics.connectionShed)
  metrics.watchInFlight(inFlight.count)
  const readClientIp = clientIpReader(settings.trustedProxies)
  const requests = requestLog(log)
  const clientErrors = { table, settings, requests, metrics, readClientIp, inFlight }
  const refuse = errorHandler(table, settings, log)
  const logged = { apiLog: options.apiLog, access: services.access }
  const begin = requestStart({ settings, metrics, requests, inFlight, readClientIp, ...logged })

  const app = fastify({
    logger: false,
    bodyLimit: bodyLimits.bytes,
    forceCloseConnections: 'idle',
    // A request that arrives during the shutdown is answered like any other, and then its connection is closed.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength },
    serverFactory: (handle) =>
      createHttpServer(inFlight.listener(handle), settings.requestTimeoutMs ?? requestTimeoutMs),
    clientErrorHandler: clientErrorHandler(clientErrors),
    frameworkErrors(error, request, reply) {
      begin(request, reply)
      if (options.pages !== undefined && isPagePath(request.url)) refusePage(reply, site)
      else refuse(error, request, reply)
      inFlight.answered(request.raw)
    },
  })
  handleClientErrors(app.server, clientErrors)

  function refuseOverload(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    if (options.pages === undefined || !isPagePath(request.url))
      done(refusal('SERVICE_UNAVAILABLE'))
    else refusePage(reply, site, 'unavailable')
  }

  app.decorateRequest('edge')
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    nameMalformedType(request)
    const refused = refusalAtStart(request, table)
    if (refused === undefined && isTooMuch(request, inFlight)) refuseOverload(request, reply, done)
    else done(refused)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (typeof payload === 'string') request.edge.answer = payload
    inFlight.answered(request.raw)
    done()
  })
  app.addHook('onClose', (_app, done) => {
    requests.flush()
    done()
  })
  app.setErrorHandler(refuse)
  parseBodies(app, options, clientErrors)
  registerHealth(app, options.ready)
  const makeDocuments = registerDocuments(app, routeRows, settings)
  await registerRoutes(app, routeRunner(settings, services, options.nowMs))
  const streams = options.pages && (await servePages(app, options.pages, options))
  const drain = () => {
    streams?.close()
    inFlight.drain()
  }
  closeConnectionsOnStop(app, drain, settings.stopGraceMs ?? stopGraceMs)
  return { app, inFlight, drain, makeDocuments }
}

/** Gives a body with a malformed type one that no parser takes: Fastify would refuse it before its size, which comes first. */
function nameMalformedType({ headers }: FastifyRequest): void {
  const type = headers['content-type']
  if (type !== undefined && !isMediaType(type)) headers['content-type'] = 'application/octet-stream'
}

/** Whether a request exceeds the limit of the process. Health checks never do. */
function isTooMuch({ routeOptions, raw }: FastifyRequest, inFlight: InFlight): boolean {
  return !healthPaths.has(routeOptions.url ?? '') && !inFlight.startWork(raw)
}

/** Closes each connection after its response during a shutdown: the process would wait for the idle connections of clients. */
function closeConnectionsOnStop(app: FastifyInstance, drain: () => void, graceMs: number): void {
  app.addHook('preClose', (done) => {
    drain()
    // Once the server closes, Node no longer times slow clients out: one of them would keep the process from ending.
    setTimeout(() => app.server.closeAllConnections(), graceMs).unref()
    done()
  })
}

/** Step 1 (path and method), and the rules of RFC 9112 for `Host`. */
function refusalAtStart(request: FastifyRequest, table: RouteTable): Failure | undefined {
  if (request.is404) {
    const allow = table.allowed(pathOf(request.url))
    if (allow === undefined) return refusal('ENDPOINT_NOT_FOUND')
    return refusal('METHOD_NOT_ALLOWED', { allow })
  }
  const { raw } = request
  const hosts = countHosts(raw.rawHeaders)
  if (hosts > 1 || (hosts === 0 && raw.httpVersion !== '1.0')) {
    return new Failure('INVALID_HEADER', 'Missing or malformed: Host.')
  }
  return undefined
}

/** Node silently keeps the first of several Host headers; a proxy may have kept another one. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

/** What all pages show: outside production, that no real money moves. */
function siteOf({ environment }: GatewayOptions['settings']): Site {
  return { isSandbox: environment !== 'production' }
}

/** Registers the payers' pages. Their RPCs carry the request id, as those of API routes do. */
async function servePages(
  app: FastifyInstance,
  { checkout, receipts, pageKeys, changes, brands }: PageServices,
  { settings, log }: GatewayOptions,
): Promise<LiveStreams | undefined> {
  const site = siteOf(settings)
  let streams: LiveStreams | undefined
  await app.register(async (scope) => {
    scope.addHook('preHandler', (request, reply, done) => {
      // The payer already got 408: the gateway must not execute the request after that.
      if (wasRefused(request.raw)) refusePage(reply, site, 'unavailable')
      else runWithContext(callContext(request, deadlineOf({}, settings)), done)
    })
    streams = await registerPages(scope, {
      checkout,
      receipts,
      pageKeys,
      changes,
      brands,
      publicBaseUrl: settings.publicBaseUrl,
      log,
      clientAddress: (request) => request.edge.clientIp.request_ip,
      callsPerS: settings.rateLimitRps === 0 ? 0 : pageCallsPerS,
      site,
    })
  })
  return streams
}

async function registerRoutes(
  app: FastifyInstance,
  handlerOf: ReturnType<typeof routeRunner>,
): Promise<void> {
  const add = (scope: FastifyInstance, row: RouteRow) =>
    scope.route({ method: row.method, url: row.path, config: { row }, handler: handlerOf(row) })
  for (const row of routeRows) if (row.form === undefined) add(app, row)
  // The parser of forms adds hooks of its own, so it is registered only for the routes that take a form.
  await app.register(async (scope) => {
    await scope.register(fastifyMultipart, formParser)
    for (const row of routeRows) if (row.form !== undefined) add(scope, row)
  })
}
