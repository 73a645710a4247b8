// The payments processes of a run, with the engine and the outbox of the product.
import type { DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { keyRing, newKeyOf } from '#core/identity/key-ring.ts'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import type { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import type { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { type InboxClient, startOutbox } from '#platform/events/outbox.ts'
import { defaultTimeoutMs } from '#platform/rpc/client/client.ts'
import { checkoutService } from '../../../services/payments/api/checkout.ts'
import { paymentSubjects } from '../../../services/payments/api/events.ts'
import { paymentsService } from '../../../services/payments/api/payments.ts'
import { chargeReportService } from '../../../services/payments/api/reports.ts'
import { startPayments } from '../../../services/payments/engine.ts'
import { backendPort, connectorsOf } from '../../../services/payments/ports/backend.ts'
import type { Process } from '../engine/scheduler.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import { type Callee, clientOf } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'
import type { Connector } from './connector.ts'

/** The services of a payments process. */
type Services = {
  payments: ServiceImpl<typeof PaymentsService>
  checkouts: ServiceImpl<typeof CheckoutService>
  reports: ServiceImpl<typeof ChargeReportService>
}

/** A process of payments; what it serves is undefined until it has read the routes. */
export type Payments = Member & { served(): { services: Services | undefined } }

const linkKeys = keyRing([newKeyOf(Buffer.alloc(32, 7), 'current', new Date(0))])
const feeSchedule = {
  cardProcessingPercent: '2.90',
  platformProcessingPercent: '0.50',
  agentProcessingPercent: '1.00',
  conveniencePercent: '0',
}
const fraudRules = { velocityPerMin: 30, ceilingsMinor: {}, blockedMobileNumbers: [] }
const merchant = { businessName: 'Shop', mobileNumber: '+18685550100' }

/** What payments calls, and how long a payer has to pay. */
export type Around = {
  connectors: readonly Connector[]
  timeToPayS: number
  /** Makes the client of the ledger's inbox of a process. */
  ledger(process: Process): InboxClient
}

/** Starts a payments process. The first connector is the default one. */
export function startPaymentsProcess(
  simulation: Simulation,
  name: string,
  { connectors, timeToPayS, ledger }: Around,
): Payments {
  return startMember(simulation, { name, service: 'payments' }, ({ process, db, log }) => {
    const options = { caller: process, timeoutMs: defaultTimeoutMs }
    const backends = connectors.map(({ name, charges, payouts }) => {
      const chargeClient = clientOf(simulation, ChargeService, [charges], options)
      const payoutClient = clientOf(simulation, PayoutService, [payouts], options)
      return [name, backendPort(chargeClient, payoutClient)] as const
    })
    const outbox = startOutbox({
      db,
      nats: simulation.broker.connect(process),
      subjects: subjectsWith(ledger(process)),
      log,
      metrics: new Registry(),
    })
    const started: { services: Services | undefined } = { services: undefined }
    const start = async (): Promise<void> => {
      const { payments, checkouts } = await startPayments({
        db,
        log,
        metrics: new Registry(),
        linkKeys: () => linkKeys,
        settings: {
          feeSchedule,
          fraudRules,
          timesToPayS: { agent: timeToPayS, direct_pos: timeToPayS, payment_link: timeToPayS },
          allowLoopback: false,
          publicBaseUrl: 'https://pay.example',
          refundApprovalAboveMinor: {},
        },
        findMerchant: async (_projectId, merchantId) => ({ merchantId, ...merchant }),
        connectors: connectorsOf(new Map(backends), connectors[0]?.name ?? ''),
        publishEvent: outbox.publish,
      })
      started.services = {
        payments: paymentsService(payments),
        checkouts: checkoutService(checkouts),
        reports: chargeReportService(payments),
      }
    }
    void start()
    return started
  })
}

/** The subjects of payments, of which the ledger alone confirms events: no process of delivery runs. */
function subjectsWith(ledger: InboxClient) {
  const all = Object.entries(paymentSubjects({ delivery: ledger, ledger }))
  return Object.fromEntries(
    all.map(([subject, { consumers }]) => {
      const { delivery: _, ...others } = consumers
      return [subject, { consumers: others }]
    }),
  )
}

/** The processes as those see them who call one of their services. */
export function calleesOf<S extends DescService>(
  processes: readonly Payments[],
  choose: (services: Services) => ServiceImpl<S>,
): Callee<S>[] {
  return processes.map((one) => ({
    get process() {
      return one.process
    },
    served() {
      const { services } = one.served()
      if (services === undefined) throw new Failure('SERVICE_UNAVAILABLE', 'it is starting')
      return choose(services)
    },
  }))
}
