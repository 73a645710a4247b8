// Starts the delivery service: intake of events, the worker that posts, and the RPCs.
import type { ConnectRouter } from '@connectrpc/connect'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { readSettings } from '#platform/config/config.ts'
import type { Database } from '#platform/db/db.ts'
import { eventDeadLetterService } from '#platform/events/dead-letter-service.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { streamAnswers } from '#platform/events/stream-health.ts'
import { runService } from '#platform/process/service.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { apiLogService } from './api/api-log.ts'
import { deadLetterService } from './api/dead-letters.ts'
import { deliveryService } from './api/deliveries.ts'
import { merchantDeliveryService } from './api/merchant-deliveries.ts'
import { endpointService, replayService } from './api/replays.ts'
import { startDeliveries } from './engine.ts'
import { subjects } from './operations/event-intake.ts'

runService(
  'delivery',
  () => readSettings('delivery'),
  ({ settings, metrics, db, log, stopping, peer, broker }) => {
    const nats = broker(settings)
    const accounts = peer('accounts', settings.accountsUrl)
    const deliveries = startDeliveries({
      access: accounts.of(AccessService),
      db,
      settings,
      log,
      metrics,
      nats,
      version: packageJson.version,
    })
    const { takeIn } = deliveries
    const consumer = startConsumer({
      db,
      nats,
      durable: 'delivery',
      subjects,
      takeIn,
      log,
      metrics,
    })
    return {
      routes: (router) => {
        addRoutes(router, db, deliveries, stopping)
        inboxRoutes(router, db, consumer)
        const deadLetters = eventDeadLetterService({ db, log, sides: ['inbox'] })
        router.service(EventDeadLetterService, deadLetters)
      },
      // With the broker down the service is ready, since due pushes are still sent.
      healthApart: { 'delivery.events': () => streamAnswers(nats) },
      parts: [
        { name: 'consumer', close: () => consumer.close() },
        { name: 'deliveries', close: () => deliveries.close(), closeWithinMs: 22_000 },
      ],
    }
  },
)

function addRoutes(
  router: ConnectRouter,
  db: Database,
  { tail, notify, notifyReplays }: ReturnType<typeof startDeliveries>,
  stopping: AbortSignal,
): void {
  // A tail ends when the process does.
  const lasting = { shutdownSignal: stopping }
  router.service(DeliveryService, deliveryService({ db, tail, onDue: notify }), lasting)
  router.service(MerchantDeliveryService, merchantDeliveryService({ db, onDue: notify }))
  router.service(ReplayService, replayService({ db, onJob: notifyReplays }))
  router.service(EndpointService, endpointService(db, notify))
  router.service(DeadLetterService, deadLetterService(db))
  router.service(ApiLogService, apiLogService(db))
}
