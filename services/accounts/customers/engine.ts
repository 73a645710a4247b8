// Wires the parts of customers: context, workers, handlers.
import type { ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { BackendTaskService, OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { startRetention } from '#platform/events/retention.ts'
import { accountsService } from './api/accounts.ts'
import { backendTaskService } from './api/backend-tasks.ts'
import { customerService } from './api/customers.ts'
import { onboardingService } from './api/onboardings.ts'
import { reviewReportService } from './api/reviews.ts'
import { customerMetrics } from './metrics.ts'
import type { Customers } from './operations/customers.ts'
import type { ReviewBackend } from './ports/backend.ts'
import { oldRows } from './store/retention-store.ts'
import { taskBacklog } from './store/task-store.ts'
import { startChallengeExpiry, startSweeper, startTasks } from './workers/workers.ts'

/** What customers are started with. */
export type CustomerOptions = Omit<Customers, 'metrics' | 'notify'> & {
  registry: Registry
  backend: ReviewBackend
  /** Notifies the outbox: an event was committed. */
  notifyOutbox(): void
}

/** Customers at work. */
export type CustomerEngine = {
  customers: Customers
  /** Registers the handlers of its services. */
  routes(router: ConnectRouter): void
  /** Has the orphans of uploads removed now. */
  sweep(): void
  /** Lets what is under way end. */
  close(): Promise<void>
}

/** Starts the workers. */
export function startCustomers(options: CustomerOptions): CustomerEngine {
  const { registry, backend, notifyOutbox, ...rest } = options
  const customers: Customers = {
    ...rest,
    metrics: customerMetrics(registry, () => taskBacklog(rest.db)),
    notify() {
      tasks.notify()
      notifyOutbox()
    },
  }
  const tasks = startTasks(customers, backend)
  const sweeper = startSweeper(customers)
  const { db, log } = customers
  const retention = Object.values(oldRows).map((deleteOld) =>
    startRetention({ db, log, deleteOld }),
  )
  const loops = [tasks, sweeper, startChallengeExpiry(customers), ...retention]
  return {
    customers,
    routes(router) {
      router.service(AccountsService, accountsService(customers))
      router.service(ReviewReportService, reviewReportService(customers))
      router.service(OnboardingService, onboardingService(customers))
      router.service(BackendTaskService, backendTaskService({ db, onDue: tasks.notify }))
      router.service(CustomerService, customerService(customers))
    },
    sweep: () => sweeper.notify(),
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}
