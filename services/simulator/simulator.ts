// Puts the simulator together: RPC, pages and receivers on one port, and the loops behind them. It must not read the environment.
import type { FastifyInstance } from 'fastify'
import { Failure, reasons } from '#core/errors.ts'
import { BillerService } from '#gen/backend/v1/billers_pb.js'
import { ChargeService } from '#gen/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/backend/v1/payouts_pb.js'
import { RateService } from '#gen/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/backend/v1/transfers_pb.js'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { RpcMetrics } from '#runtime/rpc/call-log.ts'
import type { Identity } from '#runtime/rpc/identity.ts'
import { type RpcServer, serveRpc } from '#runtime/rpc/server.ts'
import { billerService } from './bill-service.ts'
import { executionRoutes } from './executions.ts'
import { startLoops } from './loops.ts'
import type { Outside } from './outside.ts'
import type { PagesContext } from './page.ts'
import { pageRoutes } from './pages.ts'
import { rateService } from './rate-service.ts'
import { receiverRoutes } from './receivers.ts'
import { reviewService } from './review-service.ts'
import { chargeService, payoutService } from './service.ts'
import { transferService } from './transfer-service.ts'

const services = [
  ChargeService,
  PayoutService,
  ReviewService,
  BillerService,
  RateService,
  TransferService,
]

export type SimulatorOptions = {
  db: Database
  log: Logger
  identity: Identity
  host: string
  /** 0 takes a free port. */
  port: number
  /** Where browsers reach this process. */
  publicUrl: string
  /** Where browsers reach the pages that show our card form. */
  checkoutUrl: string
  /** The ways to the services that are told what happened. */
  outside: Outside
  metrics?: RpcMetrics
  ready?: () => boolean | Promise<boolean>
  links?: boolean
}

/** Starts everything; closing stops taking calls first, then the loops. */
export async function startSimulator(options: SimulatorOptions): Promise<RpcServer> {
  const { db, log, host, port, identity } = options
  const publicUrl = options.publicUrl.replace(/\/+$/, '')
  const checkoutOrigin = new URL(options.checkoutUrl).origin
  const loops = startLoops(options)
  const stopping = new AbortController()

  const payContext = { db, reportsWritten: loops.reporters.payments.kick }
  const pages = { ...payContext, checkoutOrigin, basePath: basePathOf(publicUrl) }
  const chargesChanged = loops.actor.kick
  const charges = chargeService({ ...payContext, chargesChanged, publicUrl, checkoutOrigin })
  const reviews = reviewService({
    db,
    reviewsWritten: loops.reviewer.kick,
    consentsWritten: loops.consenter.kick,
  })
  const transfers = transferService({
    db,
    transfersWritten: loops.carrier.kick,
    reportsWritten: loops.reporters.institution.kick,
  })
  const bills = billerService({ db, billsWritten: loops.biller.kick, stopping: stopping.signal })
  try {
    const server = await serveRpc({
      host,
      port,
      identity,
      log,
      services,
      routes(router) {
        router.service(ChargeService, charges)
        router.service(PayoutService, payoutService(payContext))
        router.service(ReviewService, reviews)
        router.service(BillerService, bills)
        router.service(RateService, rateService())
        router.service(TransferService, transfers)
      },
      http: (app) => httpRoutes(app, pages, log),
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      ...(options.ready === undefined ? {} : { ready: options.ready }),
      ...(options.links === undefined ? {} : { links: options.links }),
    })
    return {
      port: server.port,
      closeWithinMs: server.closeWithinMs,
      async close() {
        stopping.abort()
        await server.close()
        await loops.close()
      },
    }
  } catch (error) {
    await loops.close()
    throw error
  }
}

function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}

async function httpRoutes(app: FastifyInstance, pages: PagesContext, log: Logger): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      const status = statusOf(error)
      if (status >= 500) {
        const route = request.routeOptions.url
        log.error({ err: error, status, method: request.method, route }, 'request failed')
      }
      const message = status >= 500 ? 'Something failed; try again.' : 'The request is malformed.'
      return reply.code(status).send({ message })
    })
    await receiverRoutes(scope, pages.db)
    await executionRoutes(scope, pages.db)
    await pageRoutes(scope, pages)
  })
}

/** Of our own refusals and of Fastify's; everything else is a bug. */
function statusOf(error: unknown): number {
  if (error instanceof Failure) return reasons[error.reason].http
  const { statusCode } = error as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}
