// The yardstick of bill payments: one Fastify program that pays with two transactions over the tables of billing and accounts.
// For a fair comparison it makes the same checks and rows as they do, and no more.
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { newId, randomId } from '#core/identity/id.ts'
import { BillerService } from '#gen/backend/v1/billers_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openDatabase } from '#platform/db/db.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import type { Call } from '../../../gateway/http/route.ts'
import { billPaymentRoutes } from '../../../gateway/routes/bill-payments/routes.ts'
import type { Line } from '../../../services/accounts/ledger/domain/lines.ts'
import {
  createHold,
  postHold,
  voidHold,
} from '../../../services/accounts/ledger/operations/hold.ts'
import { billMessage } from '../../../services/billing/api/billing.ts'
import {
  type Bill,
  type BillOrder,
  newTransactionId,
} from '../../../services/billing/domain/bill.ts'
import { checkOffered } from '../../../services/billing/domain/catalogue.ts'
import { billingMetrics } from '../../../services/billing/metrics.ts'
import { catalogueCache } from '../../../services/billing/operations/catalogue-cache.ts'
import { writeOutcome } from '../../../services/billing/operations/outcome.ts'
import { billersOver } from '../../../services/billing/ports/backend.ts'
import { claimKey } from '../../../services/billing/store/bill-store.ts'
import { type Asker, rowOf, serveEdge } from './yardstick-edge.ts'

/** What the gateway's route makes of a body. */
type AskedBill = Omit<BillOrder, 'projectId' | 'idempotencyKey' | 'amountMinor' | 'currency'> & {
  amount: { currency: string; minorUnits: bigint }
}

const settings = readSettings('billing')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const keys = openKeys({ dir: settings.secretsDir, names: ['link.key'], log })
// Without a service's role: the search path of the database finds the tables of both services in one transaction.
const db = openDatabase({
  url: settings.databaseUrl,
  service: undefined,
  log,
  // Planned as the services' statements are.
  readsWholeTables: false,
})
const accounts = openDatabase({ url: settings.databaseUrl, service: 'accounts', log, poolSize: 2 })
const catalogue = catalogueCache(db)
const billerTimeoutMs = settings.billerTimeoutS * 1_000
const leaseMs = billerTimeoutMs + 30_000
const holdLifeMs = 180 * 86_400_000
const billers = billersOver(
  createRpcClient(BillerService, {
    url: settings.backendUrl,
    audience: 'simulator',
    identity: openIdentity({ name: 'billing', dir: settings.secretsDir, log }),
    pool: createRpcPool(settings.backendUrl),
  }),
  billerTimeoutMs,
)
const outcomes = {
  linkKeys: keys['link.key'],
  enquiryScheduleS: settings.enquiryScheduleS,
  metrics: billingMetrics(new Registry(), () =>
    Promise.resolve({ open: 0, unsettled: 0, review: 0, oldestReviewS: 0 }),
  ),
}

const row = rowOf(billPaymentRoutes, '/bill_payments/pay')
await serveEdge(accounts, [{ row, operate: (asked, asker) => operate(asked as AskedBill, asker) }])

/** The route's own operation, with this program where the client of billing is. */
function operate(asked: AskedBill, { projectId, idempotencyKey }: Asker) {
  const { amount, ...rest } = asked
  const order: BillOrder = {
    ...rest,
    externalReference: asked.externalReference,
    clientReceiptId: asked.clientReceiptId,
    projectId,
    idempotencyKey,
    amountMinor: amount.minorUnits,
    currency: amount.currency,
  }
  const payBill = async () => ({ payment: billMessage(await pay(order)), replayed: false })
  const call = { projectId, idempotencyKey, services: { billing: { payBill } } }
  return row.operate(asked, call as unknown as Call)
}

/** Claim and hold in one transaction, the biller, outcome and posting in another one. */
async function pay(order: BillOrder): Promise<Bill> {
  checkOffered(await catalogue.read(), order)
  const leaseToken = randomId()
  const ids = { billPaymentId: newId(), transactionId: newTransactionId(), leaseToken, leaseMs }
  const bill = await db.transaction(async (tx) => {
    const claimed = await claimKey(tx, order, ids)
    // The load never uses a key again.
    if (claimed?.isNew !== true) {
      throw new Failure('IDEMPOTENCY_KEY_CONFLICT', 'the key was used')
    }
    await createHold(tx, holdOf(claimed.bill))
    return claimed.bill
  })
  const answer = await billers.pay(bill.billPaymentId, order)
  const ended = await db.transaction(async (tx) => {
    const written = await writeOutcome({ ...outcomes, db: tx }, bill, leaseToken, answer)
    const { projectId, billPaymentId: holdId } = bill
    if (written?.state === 'succeeded') {
      await postHold(tx, { projectId, holdId, lines: linesOf(bill) })
    } else if (written?.state === 'failed') await voidHold(tx, projectId, holdId)
    return written
  })
  return ended ?? bill
}

function holdOf(bill: Bill) {
  const { billPaymentId, projectId, currency, amountMinor, transactionId, createTime } = bill
  return {
    projectId,
    holdId: billPaymentId,
    address: { floatProjectId: projectId },
    currency,
    amountMinor,
    expireTime: new Date(createTime.getTime() + holdLifeMs),
    details: { reference: transactionId, method: 'bill_payment' },
  }
}

function linesOf({ projectId, currency, amountMinor }: Bill): Line[] {
  return [
    { address: { floatProjectId: projectId }, currency, amountMinor: -amountMinor },
    { address: { internal: 'biller_clearing' }, currency, amountMinor },
  ]
}
