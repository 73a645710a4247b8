// The yardstick of bill payments: one Fastify program that pays with two transactions over the tables of billing and accounts.
// It must not leave out a check or a row of theirs, nor do more than they do.
import { Registry } from 'prom-client'
import { Failure } from '#core/errors.ts'
import { newId, randomId } from '#core/id.ts'
import { BillerService } from '#gen/backend/v1/billers_pb.js'
import { readSettings } from '#runtime/config.ts'
import { openDatabase } from '#runtime/db.ts'
import { createLogger } from '#runtime/log.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { openIdentity } from '#runtime/rpc/identity.ts'
import { openKeys } from '#runtime/secrets.ts'
import type { Call } from '../gateway/route.ts'
import { billPaymentRoutes } from '../gateway/routes/bill-payments.ts'
import { createHold, postHold, voidHold } from '../services/accounts/ledger/hold.ts'
import type { Line } from '../services/accounts/ledger/lines.ts'
import { billersOver } from '../services/billing/backend.ts'
import { type Bill, type BillOrder, newTransactionId } from '../services/billing/bill.ts'
import { claimKey } from '../services/billing/bill-store.ts'
import { checkOffered } from '../services/billing/catalogue.ts'
import { catalogueCache } from '../services/billing/catalogue-cache.ts'
import { billingMetrics } from '../services/billing/metrics.ts'
import { writeOutcome } from '../services/billing/outcome.ts'
import { billMessage } from '../services/billing/service.ts'
import { type Asker, rowOf, serveEdge } from './yardstick-edge.ts'

/** What the gateway's route makes of a body. */
type AskedBill = Omit<BillOrder, 'projectId' | 'idempotencyKey' | 'amountMinor' | 'currency'> & {
  amount: { currency: string; minorUnits: bigint }
}

const settings = readSettings('billing')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const keys = openKeys({ dir: settings.secretsDir, names: ['link.key'], log })
// Of nobody's role: the search path of the database finds the tables of both services in one transaction.
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
