// Starts the payments service: its RPCs, its workers, its outbox.
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { actionAuditService } from '#platform/actions/action-service.ts'
import { readSettings, type SettingsOf } from '#platform/config/config.ts'
import { eventDeadLetterService } from '#platform/events/dead-letter-service.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { startProcessKeys } from '#platform/keys/key-service.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { runService } from '#platform/process/service.ts'
import { refundApprovalService } from './api/approvals.ts'
import { checkoutService } from './api/checkout.ts'
import { paymentSubjects } from './api/events.ts'
import { paymentOperationsService } from './api/operations.ts'
import { paymentsService } from './api/payments.ts'
import { chargeReportService } from './api/reports.ts'
import { routingService } from './api/routes.ts'
import { settlementService } from './api/settlements.ts'
import { startPayments } from './engine.ts'
import type { PaymentSettings } from './operations/payments.ts'
import { backendPort, connectorsOf } from './ports/backend.ts'
import { merchantFinder } from './ports/merchants.ts'
import { linkDependants } from './store/link-key-store.ts'

runService(
  'payments',
  () => readSettings('payments'),
  async ({ settings, metrics, db, log, stopping, peer, broker }) => {
    const keys = openKeys({ dir: settings.secretsDir, names: ['link.key'], log, metrics })
    const accounts = peer('accounts', settings.accountsUrl)
    const delivery = peer('delivery', settings.deliveryUrl)
    const connectors = [
      peer(settings.backendName, settings.backendUrl),
      ...Object.entries(settings.connectors).map(([name, url]) => peer(name, url)),
    ]
    const backends = connectors.map((one) => {
      return [one.name, backendPort(one.of(ChargeService), one.of(PayoutService))] as const
    })
    const consumers = { ledger: accounts.of(InboxService), delivery: delivery.of(InboxService) }
    const outbox = startOutbox({
      db,
      nats: broker(settings),
      subjects: paymentSubjects(consumers),
      log,
      metrics,
    })
    const engine = await startPayments({
      db,
      log,
      metrics,
      linkKeys: keys['link.key'],
      settings: paymentSettings(settings),
      findMerchant: merchantFinder(accounts.of(AccessService)),
      connectors: connectorsOf(new Map(backends), settings.backendName),
      publishEvent: outbox.publish,
      stopping,
    })
    const operatorKeys = startProcessKeys({ db, files: keys, log, dependants: linkDependants(db) })
    const { payments, checkouts } = engine
    return {
      routes: (router) => {
        router.service(PaymentsService, paymentsService(payments))
        router.service(CheckoutService, checkoutService(checkouts))
        router.service(ChargeReportService, chargeReportService(payments))
        router.service(SettlementService, settlementService(db, settings.backendName))
        router.service(PaymentOperationsService, paymentOperationsService(db))
        router.service(ActionAuditService, actionAuditService(db))
        router.service(RoutingService, routingService(engine.routes))
        router.service(ApprovalService, refundApprovalService(payments))
        router.service(
          EventDeadLetterService,
          eventDeadLetterService({ db, log, sides: ['outbox'], onDue: outbox.notify }),
        )
        operatorKeys.routes(router)
      },
      // Events wait in the outbox while the broker is away, so the service is ready without it.
      parts: [
        { name: 'workers', close: () => engine.close() },
        { name: 'keys', close: () => operatorKeys.close() },
        { name: 'outbox', close: () => outbox.close() },
      ],
    }
  },
)

function paymentSettings(settings: SettingsOf<'payments'>): PaymentSettings {
  return {
    feeSchedule: settings.feeSchedule,
    fraudRules: settings.fraudRules,
    refundApprovalAboveMinor: settings.refundApprovalAbove,
    timesToPayS: {
      agent: settings.paymentTtlAgentS,
      direct_pos: settings.paymentTtlDirectPosS,
      payment_link: settings.paymentTtlPaymentLinkS,
    },
    allowLoopback: settings.deliveryAllowLoopback,
    publicBaseUrl: settings.publicBaseUrl,
  }
}
