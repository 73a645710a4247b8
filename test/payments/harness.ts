// Payments on a database of its own, served over RPC between a back end and callers, for the tests of this folder.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  type TransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import {
  NoticeKind,
  PaymentEventSchema,
  PaymentTransition,
} from '#gen/payweave/payments/v1/payment_event_pb.js'
import {
  type CreatePaymentRequestSchema,
  PayerState,
  type Payment,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PaymentsService,
  PayoutState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { type Queryable, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import type { CommittedEvent } from '#platform/events/outbox.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { refundApprovalService } from '../../services/payments/api/approvals.ts'
import { checkoutService } from '../../services/payments/api/checkout.ts'
import { paymentOperationsService } from '../../services/payments/api/operations.ts'
import { paymentsService } from '../../services/payments/api/payments.ts'
import { chargeReportService } from '../../services/payments/api/reports.ts'
import { routingService } from '../../services/payments/api/routes.ts'
import { settlementService } from '../../services/payments/api/settlements.ts'
import { startPayments } from '../../services/payments/engine.ts'
import type { PaymentSettings } from '../../services/payments/operations/payments.ts'
import { merchantFinder } from '../../services/payments/ports/merchants.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys } from '../support/keys.ts'
import { newAccounts } from './backend.ts'
import { second, serveConnectors } from './connectors.ts'

const host = '127.0.0.1'
/** Of an operator, for every RPC. */
export const bearer = 'operator-credential-0123456789'

export const settings: PaymentSettings = {
  feeSchedule: {
    cardProcessingPercent: '2.90',
    platformProcessingPercent: '0.50',
    agentProcessingPercent: '1.00',
    conveniencePercent: '0',
  },
  fraudRules: {
    velocityPerMin: 30,
    ceilingsMinor: { USD: 1_000_000n, TTD: 7_000_000n },
    blockedMobileNumbers: ['+12025550106'],
  },
  refundApprovalAboveMinor: { USD: 100_000n, TTD: 700_000n },
  timesToPayS: { agent: 259_200, direct_pos: 900, payment_link: 86_400 },
  allowLoopback: true,
  publicBaseUrl: 'https://pay.test',
}

/** A request for a payment, in part. */
export type Order = Extract<
  MessageInitShape<typeof CreatePaymentRequestSchema>,
  { $typeName?: undefined }
>

/** A payer by link and wallet. */
export function payer(amountMinor = 0n, more: object = {}) {
  return {
    mobileNumberE164: '+12025550100',
    mobileNumber: '202 555 0100',
    firstName: 'Ama',
    lastName: 'Mensah',
    paymentChannel: PaymentChannel.PAYMENT_LINK,
    paymentMethod: PaymentMethod.WALLET,
    amountMinor,
    ...more,
  }
}

/** Starts everything that the tests of a file share. */
export async function startHarness(
  overrides: Partial<PaymentSettings> = {},
  linkKeys: KeySource = fixedKeys(),
) {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-payments-'))
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  const names = ['payments', 'simulator', second, 'gateway', 'accounts', 'console']
  writeIdentities(secrets, names, [{ name: 'operator', sha256, rpcs: ['*'] }])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const database = await createTestDatabase('payments', migrationFolders('payments'))
  const testClock = createTestClock()
  const db = database.open({ testClock })
  const projectId = randomUUID()
  const merchantId = randomUUID()
  const otherMerchantId = randomUUID()
  const accounts = newAccounts(
    new Map([
      [merchantId, { projectId, businessName: 'Demo Store' }],
      [otherMerchantId, { projectId, businessName: 'Second Store' }],
    ]),
  )
  const accountsServer = await serveRpc({
    host,
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => router.service(AccessService, { getMerchant: accounts.getMerchant }),
  })
  const pools: RpcPool[] = []
  const client = (name: string, audience: string, port: number | undefined) => {
    const pool = createRpcPool(`http://${host}:${port}`)
    pools.push(pool)
    return { url: `http://${host}:${port}`, audience, identity: identityOf(name), pool }
  }
  const { backend, secondBackend, toCharges, connectors, ...served } = await serveConnectors(
    identityOf,
    client,
  )
  const servers = [...served.servers, accountsServer]
  let publish: ((event: CommittedEvent) => void) | undefined
  const metrics = new Registry()
  const engine = await startPayments({
    db,
    log: silentLog,
    metrics,
    linkKeys,
    settings: { ...settings, ...overrides },
    findMerchant: merchantFinder(
      createRpcClient(AccessService, client('payments', 'accounts', accountsServer.port)),
    ),
    connectors,
    publishEvent: (event) => publish?.(event),
  })
  const server = await serveRpc({
    host,
    port: 0,
    identity: identityOf('payments'),
    log: silentLog,
    routes: (router) => {
      router.service(PaymentsService, paymentsService(engine.payments))
      router.service(CheckoutService, checkoutService(engine.checkouts))
      router.service(ChargeReportService, chargeReportService(engine.payments))
      router.service(SettlementService, settlementService(db, 'simulator'))
      router.service(PaymentOperationsService, paymentOperationsService(db))
      router.service(RoutingService, routingService(engine.routes))
      router.service(ApprovalService, refundApprovalService(engine.payments))
    },
  })
  const payments = createRpcClient(PaymentsService, client('gateway', 'payments', server.port))
  const reports = createRpcClient(ChargeReportService, client('simulator', 'payments', server.port))
  const calls = callers({ payments, reports, projectId, merchantId })
  const read = readers(db)
  return {
    db,
    testClock,
    metrics,
    projectId,
    merchantId,
    otherMerchantId,
    backend,
    accounts,
    payments,
    reports,
    settlementList: createRpcClient(SettlementService, client('accounts', 'payments', server.port)),
    secondBackend,
    /** Where payments is served. */
    url: `http://${host}:${server.port}`,
    secondReports: createRpcClient(ChargeReportService, client(second, 'payments', server.port)),
    operations: createRpcClient(
      PaymentOperationsService,
      client('console', 'payments', server.port),
    ),
    routes: createRpcClient(RoutingService, client('console', 'payments', server.port)),
    approvals: createRpcClient(ApprovalService, client('console', 'payments', server.port)),
    byHand: createRpcClient(PaymentsService, client('console', 'payments', server.port)),
    checkouts: createRpcClient(CheckoutService, client('gateway', 'payments', server.port)),
    ...calls,
    ...read,
    /** Sets the timeout of calls to the back end, from the next charge on. */
    waitForCharges(timeoutMs: number) {
      toCharges.timeoutMs = timeoutMs
    },
    /** Has events carried on from now on; until then they stay in their table. */
    publishBy(next: (event: CommittedEvent) => void) {
      publish = next
    },
    /** Makes a request of several payers. */
    async shared(...amounts: bigint[]) {
      const amountMinor = amounts.reduce((sum, amount) => sum + amount, 0n)
      const payers = amounts.map((amount) => payer(amount))
      const made = await calls.create({ amountMinor, payers })
      return { paymentId: made.paymentId, payerIds: made.payers.map(({ payerId }) => payerId) }
    },
    /** Makes a request of one payer. */
    async one() {
      const made = await calls.create()
      return { paymentId: made.paymentId, payerId: at(made.payers).payerId }
    },
    /** States of a request and its payers, in words. */
    stateOf: async (paymentId: string) => states(await calls.get(paymentId)),
    async lastEvent(paymentId: string) {
      const events = await read.events(paymentId)
      return at(events, events.length - 1)
    },
    /** Moves the clock past the payers' time and waits for the worker. */
    async expireNow(paymentId: string) {
      testClock.advance(25 * 3_600_000)
      await eventually(async () => expect(states(await calls.get(paymentId))[0]).toBe('EXPIRED'))
    },
    /** The refunds of a charge that the back end was asked for. */
    refundsOf: (payerId: string) =>
      [...backend.received.refunds.values()].filter(({ chargeId }) => chargeId === payerId),
    async stop() {
      await engine.close()
      await server.close()
      await Promise.all(pools.map((pool) => pool.close()))
      await Promise.all(servers.map((one) => one.close()))
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

type Clients = {
  payments: ReturnType<typeof createRpcClient<typeof PaymentsService>>
  reports: ReturnType<typeof createRpcClient<typeof ChargeReportService>>
  projectId: string
  merchantId: string
}

/** Calls with everything filled in that a test does not care about. */
function callers({ payments, reports, projectId, merchantId }: Clients) {
  const order = (more: Order = {}): Order => ({
    projectId,
    merchantId,
    transactionId: randomUUID(),
    amountMinor: 10_000n,
    currency: 'USD',
    payers: [payer()],
    urls: { notify: 'https://shop.example/notify', callback: 'https://shop.example/callback' },
    ...more,
  })
  const given = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the answer is empty')
    return value
  }
  return {
    order,
    create: async (more: Order = {}): Promise<Payment> =>
      given((await payments.createPayment(order(more))).payment),
    get: async (paymentId: string): Promise<Payment> =>
      given((await payments.getPayment({ projectId, merchantId, paymentId })).payment),
    cancel: async (paymentId: string): Promise<Payment> =>
      given((await payments.cancelPayment({ projectId, merchantId, paymentId })).payment),
    refund: async (paymentId: string): Promise<Payment> =>
      given((await payments.refundPayment({ projectId, paymentId })).payment),
    report: async (chargeId: string, outcome: ChargeOutcome, attemptId: string = randomUUID()) =>
      PayerState[(await reports.reportCharge({ chargeId, attemptId, outcome })).payerState],
    reportPayout: async (payoutId: string, outcome: TransferOutcome) =>
      PayoutState[(await reports.reportPayout({ payoutId, outcome })).payoutState],
  }
}

type SettlementRow = {
  kind: string
  payer_id: string | null
  payee_id: string | null
  amount_minor: bigint
}

/** What the outside cannot ask payments for: its events and its money movements. */
function readers(db: Queryable) {
  const outbox = sql(
    'test_outbox',
    `select payload, occurred_at from outbox
     where position(convert_to($1, 'UTF8') in payload) > 0 order by occurred_at, event_id`,
  )
  const settlements = sql(
    'test_settlements',
    `select kind, payer_id, payee_id, amount_minor from settlement where payment_id = $1
     order by create_time, kind, amount_minor`,
  )
  return {
    /** The events of a payment that clients hear of, in words; a worker moves money at any time. */
    async events(paymentId: string) {
      const rows = await db.rows<{ payload: Buffer; occurred_at: Date }>(outbox, [paymentId])
      const events = rows.map(({ payload, occurred_at: occurredAt }) => {
        const { transition, notices, callbackSequence, payment } = fromBinary(
          PaymentEventSchema,
          payload,
        )
        return {
          transition: PaymentTransition[transition],
          notices: notices.map(({ kind, about }) => `${NoticeKind[kind]} ${about.value}`),
          callbackSequence,
          payment,
          occurredAt,
        }
      })
      return events.filter(({ transition }) => transition !== 'MONEY_MOVED')
    },
    /** The money movements of a payment as "kind amount". */
    async movements(paymentId: string): Promise<string[]> {
      const rows = await db.rows<SettlementRow>(settlements, [paymentId])
      return rows.map(({ kind, amount_minor: minor }) => `${kind} ${minor}`).toSorted()
    },
  }
}

const counts = sql(
  'test_counts',
  `select (select count(*) from payment) as payments, (select count(*) from payer) as payers,
     (select count(*) from payee) as payees, (select count(*) from outbox) as events,
     (select count(*) from task) as tasks,
     (select count(*) from task where done_time is null) as open`,
)

/** The rows there are. */
export async function rowCounts({ db }: Harness) {
  return await db.row<{ tasks: bigint; open: bigint }>(counts, [])
}

/** The rows there are once nothing is left to be announced: an announcement's row goes when it was made. */
export async function quietCounts(harness: Harness) {
  return await eventually(async () => {
    const found = await rowCounts(harness)
    return found?.open === 0n && found
  })
}

/** States of a payment in words: the request's, then its payers'. */
export function states({ state, payers }: Payment): string[] {
  return [PaymentState[state] ?? '', ...payers.map((one) => PayerState[one.state] ?? '')]
}

/** The reason of a refusal, and the field that it names. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error
  return [error.reason, error.details['field']].filter((part) => part !== undefined).join(' ')
}

/** The payer or payee at an index. */
export function at<T>(items: T[], index = 0): T {
  const item = items[index]
  if (item === undefined) throw new Error(`there is no item ${index}`)
  return item
}
