// The yardstick of payments: one Fastify program on the same tables that does the edge work and the same write without a mesh.
// For a fair comparison it makes the same checks as payments, and no more.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Registry } from 'prom-client'
import { request } from 'undici'
import { type PaymentView, renderCreated, renderStatus } from '#core/payment/snapshot.ts'
import { EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openDatabase } from '#platform/db/db.ts'
import type { CommittedEvent } from '#platform/events/outbox.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { refusal } from '../../../gateway/http/envelope.ts'
import { paymentRoutes } from '../../../gateway/routes/payments/routes.ts'
import { findMerchant } from '../../../services/accounts/access/store/project-store.ts'
import { deliveriesOf } from '../../../services/delivery/operations/event-intake.ts'
import { linkTokenOf } from '../../../services/payments/domain/links.ts'
import type { Merchant } from '../../../services/payments/domain/new-payment.ts'
import type { Payment } from '../../../services/payments/domain/payment.ts'
import { routingOf } from '../../../services/payments/domain/routing.ts'
import { paymentMetrics } from '../../../services/payments/metrics.ts'
import { batchingChanger } from '../../../services/payments/operations/change.ts'
import {
  createPayment,
  getPayment,
  type PaymentContext,
} from '../../../services/payments/operations/payments.ts'
import { insertPayment } from '../../../services/payments/store/create-store.ts'
import { readPayment } from '../../../services/payments/store/payment-store.ts'
import { type AskedPayment, newPayment } from './asked-payment.ts'
import { edge, remembering, rowOf, serveEdge } from './yardstick-edge.ts'

const settings = readSettings('payments')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const db = openDatabase({ url: settings.databaseUrl, service: 'payments', log })
const accounts = openDatabase({ url: settings.databaseUrl, service: 'accounts', log, poolSize: 2 })
const { 'link.key': linkKeys } = openKeys({
  dir: settings.secretsDir,
  names: ['link.key'],
  log,
})
// As long as payments remembers them.
const merchants = remembering<Merchant>(60_000)

const routing = routingOf([], settings.backendName)
const payments: PaymentContext = {
  db,
  // Each alone, as a program would do it.
  storePayment: (rows) => insertPayment(db, rows),
  storeChecked: (work) => db.transaction(work),
  findPayment: (key) => readPayment(db, key.projectId, key.paymentId),
  changeInBatch: batchingChanger(db),
  log,
  linkKeys,
  settings: {
    feeSchedule: settings.feeSchedule,
    fraudRules: settings.fraudRules,
    refundApprovalAboveMinor: settings.refundApprovalAbove,
    timesToPayS: {
      agent: settings.paymentTtlAgentS,
      direct_pos: settings.paymentTtlDirectPosS,
      payment_link: settings.paymentTtlPaymentLinkS,
    },
    allowLoopback: edge.allowLoopback,
    publicBaseUrl: edge.publicBaseUrl,
  },
  findMerchant: async (projectId, merchantId) =>
    merchants.get(`${projectId} ${merchantId}`, () => loadMerchant(projectId, merchantId)),
  metrics: paymentMetrics(new Registry(), {
    backlog: () => Promise.resolve([]),
    oldestUnreportedRefundS: () => Promise.resolve(0),
  }),
  routing: () => routing,
  publish: process.env['BENCH_PUSHES'] === '1' ? postPushes : () => undefined,
  callBackend: () => undefined,
}

await serveEdge(accounts, [
  {
    row: rowOf(paymentRoutes, '/payments/request'),
    async operate(asked, { projectId, merchantId }) {
      const request = newPayment(asked as AskedPayment, projectId, merchantId)
      const { payment, linkTokens } = await createPayment(payments, request)
      const payment_details = renderCreated(viewOf(payment, linkTokens), edge.publicBaseUrl)
      const message = 'Payment request created successfully.'
      return { code: 200, message, fields: { payment_details } }
    },
  },
  {
    row: rowOf(paymentRoutes, '/payments/status'),
    async operate(paymentId, owner) {
      const payment = await getPayment(payments, { ...owner, paymentId: paymentId as string })
      const fields = renderStatus(viewOf(payment))
      return { code: 200, message: 'Payment status retrieved successfully.', fields }
    },
  },
])

/** Posts the pushes of an event right after its commit, as a program without other processes would. */
function postPushes({
  eventId,
  subject,
  projectId = '',
  payload,
  occurredAt,
}: CommittedEvent): void {
  const occurredTime = timestampFromDate(occurredAt)
  const event = create(EventSchema, { eventId, subject, projectId, payload, occurredTime })
  for (const { url, body } of deliveriesOf(event)) {
    request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      .then((answer) => answer.body.dump())
      .catch((error: unknown) => log.error({ err: error }, 'push failed'))
  }
}

async function loadMerchant(projectId: string, merchantId: string): Promise<Merchant> {
  const found = await findMerchant(accounts, projectId, merchantId)
  if (found === undefined) throw refusal('PW_INVALID_API_KEY')
  return found
}

function viewOf(payment: Payment, linkTokens?: ReadonlyMap<string, string>): PaymentView {
  const { payers, payees } = payment
  return {
    ...payment,
    payers: payers.map((payer) => ({
      ...payer,
      linkToken: payer.hasLink
        ? (linkTokens?.get(payer.payerId) ?? linkTokenOf(linkKeys(), payer))
        : '',
    })),
    payees: payees.map((payee) => ({ ...payee, feesCovered: payee.feeMinor === 0n })),
  }
}
