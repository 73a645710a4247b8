// Puts the simulator together: RPCs on one port, pages and receivers on another, and the workers behind them. The environment is
// read in main.ts.
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import type { Environment } from '#platform/config/setting.ts'
import type { Database } from '#platform/db/db.ts'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import type { RpcMetrics } from '#platform/rpc/server/served-call.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { billerService } from './api/bills.ts'
import { chargeService, payoutService } from './api/charges.ts'
import { rateService } from './api/rates.ts'
import { reviewService } from './api/reviews.ts'
import { transferService } from './api/transfers.ts'
import { executionRoutes } from './http/executions.ts'
import { pageRoutes } from './http/pages.ts'
import { openPublicPort } from './http/public-port.ts'
import { receiverRoutes } from './http/receivers.ts'
import type { Peers } from './ports/peers.ts'
import { billContext } from './workers/pay-bill.ts'
import { startWorkers } from './workers/workers.ts'

const publicPaths = [
  { pattern: /^\/receivers\/log$/, allow: 'GET' },
  { pattern: /^\/receivers\/[^/]+\/[^/]+$/, allow: 'POST' },
  { pattern: /^\/executions$/, allow: 'GET' },
  { pattern: /^\/simulator\.css$/, allow: 'GET' },
  { pattern: /^\/card\.js$/, allow: 'GET' },
  { pattern: /^\/card\/[^/]+$/, allow: 'GET, POST' },
  { pattern: /^\/agent$/, allow: 'GET, POST' },
  { pattern: /^\/agent\/collect$/, allow: 'POST' },
]

export type SimulatorOptions = {
  db: Database
  log: Logger
  identity: Identity
  /** Outside a local one the tags of receivers are secrets. */
  environment: Environment
  host: string
  /** Of the RPCs. 0 takes a free port. */
  port: number
  /** Of the pages and receivers. 0 takes a free port. */
  publicPort: number
  /** Where browsers and pushes reach the public port. */
  publicUrl: string
  /** Where browsers reach the pages that show our card form. */
  checkoutUrl: string
  /** Clients of the services that receive reports. */
  peers: Peers
  metrics?: RpcMetrics
  ready?: () => boolean | Promise<boolean>
  callStreams?: boolean
}

/** A simulator that listens. */
export type Simulator = { close(): Promise<void>; closeWithinMs: number }

/** Starts everything; closing stops taking calls first, then the workers. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { db, log, host, port, publicPort, identity, environment } = options
  const publicUrl = options.publicUrl.replace(/\/+$/, '')
  const checkoutOrigin = new URL(options.checkoutUrl).origin
  const workers = startWorkers(options)
  const stopping = new AbortController()

  const payContext = { db, reportsWritten: workers.reporters.payments.notify }
  const pages = { ...payContext, checkoutOrigin, basePath: basePathOf(publicUrl) }
  const { notifyIn: chargesAnnounced, notify: chargesWithdrawn } = workers.actor
  const actContext = { ...payContext, chargesAnnounced, chargesWithdrawn }
  const charges = chargeService({ ...actContext, publicUrl, checkoutOrigin })
  const reviews = reviewService({
    db,
    reviewsWritten: workers.reviewer.notify,
    consentsWritten: workers.consenter.notify,
  })
  const transfers = transferService({
    db,
    transfersWritten: workers.transfers.notify,
    reportsWritten: workers.reporters.institution.notify,
  })
  const bills = billerService(billContext(db, workers.biller.notify, stopping.signal))
  try {
    const server = await serveRpc({
      host,
      port,
      identity,
      log,
      routes(router) {
        router.service(ChargeService, charges)
        router.service(PayoutService, payoutService(payContext))
        router.service(ReviewService, reviews)
        router.service(BillerService, bills)
        router.service(RateService, rateService())
        router.service(TransferService, transfers)
      },
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      ...(options.ready === undefined ? {} : { ready: options.ready }),
      ...(options.callStreams === undefined ? {} : { callStreams: options.callStreams }),
    })
    const open = await openPublicPort({
      host,
      port: publicPort,
      publicUrl,
      log,
      paths: publicPaths,
      async routes(app, admission) {
        await receiverRoutes(app, { db, environment, admission, stopping: stopping.signal })
        await executionRoutes(app, db)
        await pageRoutes(app, pages)
      },
    }).catch(async (error: unknown) => {
      await server.close()
      throw error
    })
    return {
      closeWithinMs: Math.max(server.closeWithinMs, open.closeWithinMs),
      async close() {
        stopping.abort()
        await Promise.all([server.close(), open.close()])
        await workers.close()
      },
    }
  } catch (error) {
    await workers.close()
    throw error
  }
}

function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}
