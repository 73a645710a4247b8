// Puts the parts of customers together: context, workers, handlers. It must not hold a rule.
import type { ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { AccountsService } from '#gen/accounts/v1/accounts_pb.js'
import { ReviewReportService } from '#gen/accounts/v1/review_report_pb.js'
import { startRetention } from '#runtime/events/retention.ts'
import type { ReviewBackend } from './backend.ts'
import type { Customers } from './customers.ts'
import { customerMetrics } from './metrics.ts'
import { oldRows } from './retention-store.ts'
import { accountsService } from './service.ts'
import { reviewReportService } from './service-reviews.ts'
import { taskBacklog } from './task-store.ts'
import { startLapses, startSweeper, startTasks } from './workers.ts'

/** The services that customers serve. */
export const customerServices = [AccountsService, ReviewReportService]

/** What customers are started with. */
export type CustomerOptions = Omit<Customers, 'metrics' | 'kick'> & {
  registry: Registry
  backend: ReviewBackend
  /** Wakes the relay: an event was committed. */
  kickOutbox(): void
}

/** Customers at work. */
export type CustomerEngine = {
  customers: Customers
  /** Registers the handlers of `customerServices`. */
  routes(router: ConnectRouter): void
  /** Has the orphans of uploads removed now. */
  sweep(): void
  /** Lets what is under way end. */
  close(): Promise<void>
}

/** Starts the workers. */
export function startCustomers(options: CustomerOptions): CustomerEngine {
  const { registry, backend, kickOutbox, ...rest } = options
  const customers: Customers = {
    ...rest,
    metrics: customerMetrics(registry, () => taskBacklog(rest.db)),
    kick() {
      tasks.kick()
      kickOutbox()
    },
  }
  const tasks = startTasks(customers, backend)
  const sweeper = startSweeper(customers)
  const { db, log } = customers
  const retention = Object.values(oldRows).map((deleteOld) =>
    startRetention({ db, log, deleteOld }),
  )
  const loops = [tasks, sweeper, startLapses(customers), ...retention]
  return {
    customers,
    routes(router) {
      router.service(AccountsService, accountsService(customers))
      router.service(ReviewReportService, reviewReportService(customers))
    },
    sweep: () => sweeper.kick(),
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}
