// Starts the accounts service: access to the API, customers and their accounts, the ledger.
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { ItemClaimService } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { readSettings, type SettingsOf } from '#platform/config/config.ts'
import { eventDeadLetterService } from '#platform/events/dead-letter-service.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { startRetention } from '#platform/events/retention.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { runService } from '#platform/process/service.ts'
import { accessService } from './access/api/access.ts'
import { itemClaimService } from './access/api/claims.ts'
import { accountKeyFiles, accountSecrets } from './access/domain/credentials.ts'
import { startAccountKeys } from './access/operations/key-administration.ts'
import { accessSubject, onboardingSubject, publishAccessChanged } from './access/ports/events.ts'
import { deleteOldClaims } from './access/store/claim-store.ts'
import { startCustomers } from './customers/engine.ts'
import type { CustomerSettings } from './customers/operations/customers.ts'
import { reviewBackend } from './customers/ports/backend.ts'
import { startLedger } from './ledger/engine.ts'
import { startSettlements } from './ledger/settlements.ts'

runService(
  'accounts',
  () => readSettings('accounts'),
  ({ settings, metrics, db, log, peer, broker }) => {
    const nats = broker(settings)
    const names = [...accountKeyFiles, 'session.key'] as const
    const keys = openKeys({ dir: settings.secretsDir, names, log, metrics })
    const secrets = accountSecrets(keys)
    const delivery = peer('delivery', settings.deliveryUrl)
    const payments = peer('payments', settings.paymentsUrl)
    const backend = peer(settings.backendName, settings.backendUrl)
    const subjects = {
      [accessSubject]: { consumers: {} },
      [onboardingSubject]: { consumers: { delivery: delivery.of(InboxService) } },
    }
    const outbox = startOutbox({ db, nats, subjects, log, metrics })
    const settled = payments.of(SettlementService)
    const settlements = startSettlements({ db, nats, payments: settled, log, metrics })
    const customers = startCustomers({
      db,
      log,
      registry: metrics,
      secrets,
      sessionKeys: keys['session.key'],
      settings: customerSettings(settings),
      backend: reviewBackend(backend.of(ReviewService)),
      publishAccessChanged,
      notifyOutbox: outbox.notify,
    })
    const operatorKeys = startAccountKeys({ db, files: keys, log })
    const claims = startRetention({ db, log, deleteOld: deleteOldClaims })
    const ledger = startLedger({ db, settings, log, registry: metrics })
    return {
      routes: (router) => {
        const administration = { db, secrets, publishAccessChanged, notify: outbox.notify }
        settlements.routes(router)
        router.service(AccessService, accessService(administration))
        router.service(ItemClaimService, itemClaimService(db))
        customers.routes(router)
        ledger.routes(router)
        router.service(
          EventDeadLetterService,
          eventDeadLetterService({
            db,
            log,
            sides: ['outbox', 'inbox'],
            onDue: outbox.notify,
          }),
        )
        operatorKeys.routes(router)
      },
      parts: [
        { name: 'customers', close: () => customers.close() },
        { name: 'ledger', close: () => ledger.close() },
        { name: 'settlements', close: () => settlements.close() },
        { name: 'claims', close: () => claims.close() },
        { name: 'keys', close: () => operatorKeys.close() },
        { name: 'outbox', close: () => outbox.close() },
      ],
    }
  },
)

function customerSettings(settings: SettingsOf<'accounts'>): CustomerSettings {
  const { backendName, sessionTtlS, challengeTtlS, userLimits } = settings
  const allowLoopback = settings.deliveryAllowLoopback
  return { backendName, sessionTtlS, challengeTtlS, userLimits, allowLoopback }
}
