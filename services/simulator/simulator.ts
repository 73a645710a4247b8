// Puts the simulator together: RPC, pages and receivers on one port, and the loops behind them. It must not read the environment.
import type { FastifyInstance } from 'fastify'
import { Failure, reasons } from '#core/errors.ts'
import { ChargeService } from '#gen/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/backend/v1/payouts_pb.js'
import type { Database } from '#runtime/db.ts'
import { startRetention } from '#runtime/events/retention.ts'
import type { Logger } from '#runtime/log.ts'
import type { RpcMetrics } from '#runtime/rpc/call-log.ts'
import type { Identity } from '#runtime/rpc/identity.ts'
import { type RpcServer, serveRpc } from '#runtime/rpc/server.ts'
import { startActor } from './actor.ts'
import { deleteOldCardFrames } from './charge-store.ts'
import type { PagesContext } from './page.ts'
import { pageRoutes } from './pages.ts'
import { deleteOldFlaky, deleteOldReceived } from './receiver-store.ts'
import { receiverRoutes } from './receivers.ts'
import { type SendReport, startReporter } from './reporter.ts'
import { chargeService, payoutService } from './service.ts'

/** Requests that the receivers' log keeps at most. */
const receivedKept = 100_000

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
  /** Delivers a report to payments. */
  send: SendReport
  metrics?: RpcMetrics
  ready?: () => boolean | Promise<boolean>
}

/** Starts everything; closing stops taking calls first, then the loops. */
export async function startSimulator(options: SimulatorOptions): Promise<RpcServer> {
  const { db, log, host, port, identity, send } = options
  const publicUrl = options.publicUrl.replace(/\/+$/, '')
  const checkoutOrigin = new URL(options.checkoutUrl).origin
  const reporter = startReporter({ db, log, send })
  const reportsWritten = reporter.kick
  const actor = startActor({ db, log, reportsWritten })
  const retention = [
    startRetention({
      db,
      log,
      deleteOld: (tx, limit) => deleteOldReceived(tx, limit, receivedKept),
    }),
    startRetention({ db, log, deleteOld: deleteOldFlaky }),
    startRetention({ db, log, deleteOld: deleteOldCardFrames }),
  ]
  const stopLoops = async () => {
    await actor.close()
    await Promise.all([reporter.close(), ...retention.map((loop) => loop.close())])
  }

  const pages = { db, reportsWritten, checkoutOrigin, basePath: basePathOf(publicUrl) }
  const payContext = { db, reportsWritten }
  const service = { ...payContext, chargesChanged: actor.kick, publicUrl, checkoutOrigin }
  try {
    const server = await serveRpc({
      host,
      port,
      identity,
      log,
      services: [ChargeService, PayoutService],
      routes(router) {
        router.service(ChargeService, chargeService(service))
        router.service(PayoutService, payoutService(payContext))
      },
      http: (app) => httpRoutes(app, pages, log),
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      ...(options.ready === undefined ? {} : { ready: options.ready }),
    })
    return {
      port: server.port,
      async close() {
        await server.close()
        await stopLoops()
      },
    }
  } catch (error) {
    await stopLoops()
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
    await pageRoutes(scope, pages)
  })
}

/** Of our own refusals and of Fastify's; everything else is a bug. */
function statusOf(error: unknown): number {
  if (error instanceof Failure) return reasons[error.reason].http
  const { statusCode } = error as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}
