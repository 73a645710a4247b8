// Processes of payments as far as changes go, which can end at any statement, and what they have stored.
import { Registry } from 'prom-client'
import { newId } from '#core/identity/id.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { CommittedEvent } from '#platform/events/outbox.ts'
import type { BackendCall } from '../../services/payments/domain/backend-call.ts'
import type { Payment } from '../../services/payments/domain/payment.ts'
import { routingOf } from '../../services/payments/domain/routing.ts'
import { paymentMetrics } from '../../services/payments/metrics.ts'
import { batchingChanger } from '../../services/payments/operations/change.ts'
import {
  batchingReader,
  batchingStore,
  checkedStore,
  createPayment,
  type PaymentContext,
} from '../../services/payments/operations/payments.ts'
import { silentLog } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { settings } from './harness.ts'

export const projectId = newId()
const merchantId = newId()
const routing = routingOf([], 'simulator')
const merchant = { merchantId, businessName: 'Demo Store', mobileNumber: '+12025550199' }

/** A process, with what it did. */
export type Spied = PaymentContext & {
  statements: string[]
  published: CommittedEvent[]
  calls: BackendCall[]
  /** Ends the connection at this statement of a transaction, once. */
  dieAt: number | undefined
}

const asSuperuser = sql('test_reset_role', 'set role none')
const die = sql('test_die', 'select pg_terminate_backend(pg_backend_pid())')

/** Ends the connection of a transaction, as the end of its process does. */
async function crash(tx: Queryable): Promise<void> {
  await Promise.all([tx.run(asSuperuser, []), tx.run(die, [])])
}

/** A process of payments as far as changes go: what it publishes and calls is kept. */
export function processOn(bare: Database): Spied {
  const spied = { statements: [] as string[], dieAt: undefined as number | undefined }
  const db: Database = {
    ...bare,
    transaction: (work) =>
      bare.transaction(async (tx) => {
        const count = { done: 0 }
        const result = await work(spyOn(tx, count))
        await before(tx, count)
        return result
      }),
  }
  async function before(tx: Queryable, count: { done: number }): Promise<void> {
    count.done += 1
    if (count.done !== spied.dieAt) return
    spied.dieAt = undefined
    await crash(tx)
  }
  function spyOn(tx: Queryable, count: { done: number }): Queryable {
    const noted = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
      spied.statements.push(name)
      const ending = before(tx, count)
      const [result] = await Promise.all([call(), ending])
      return result
    }
    return {
      row: (statement, values) => noted(statement.name, () => tx.row(statement, values)),
      rows: (statement, values) => noted(statement.name, () => tx.rows(statement, values)),
      run: (statement, values) => noted(statement.name, () => tx.run(statement, values)),
    }
  }
  const published: CommittedEvent[] = []
  const calls: BackendCall[] = []
  return Object.assign(spied, {
    db,
    storePayment: batchingStore(bare),
    storeChecked: checkedStore(bare),
    findPayment: batchingReader(bare),
    changeInBatch: batchingChanger(db),
    log: silentLog,
    linkKeys: fixedKeys(),
    settings,
    findMerchant: () => Promise.resolve(merchant),
    metrics: paymentMetrics(new Registry(), {
      backlog: () => Promise.resolve([]),
      oldestUnreportedRefundS: () => Promise.resolve(0),
    }),
    routing: () => routing,
    publish: (event: CommittedEvent) => void published.push(event),
    callBackend: (some: BackendCall[]) => void calls.push(...some),
    published,
    calls,
  })
}

/** Makes a payment of some payers, and a payee. */
export async function paymentBy(context: PaymentContext, payers: number): Promise<Payment> {
  const amountMinor = 6_000n
  const mobileNumber = '+12025550108'
  const { payment } = await createPayment(context, {
    projectId,
    merchantId,
    transactionId: newId(),
    amountMinor,
    currency: 'USD',
    description: '',
    fraudCheck: false,
    feeTerms: { paysFees: false, payerCoversPercent: 100 },
    payers: Array.from({ length: payers }, () => ({
      mobileNumber,
      mobileNumberE164: mobileNumber,
      firstName: 'Kofi',
      lastName: 'Boateng',
      email: '',
      paymentChannel: 'payment_link' as const,
      paymentMethod: 'wallet' as const,
      amountMinor: amountMinor / BigInt(payers),
    })),
    payees: [],
    urls: { success: '', error: '', notify: 'https://shop.example/notify', callback: '' },
    fingerprint: Buffer.alloc(32, 7),
  })
  return payment
}

/** Makes payments of one payer. */
export function paymentsBy(context: PaymentContext, count: number): Promise<Payment[]> {
  return Promise.all(Array.from({ length: count }, () => paymentBy(context, 1)))
}

/** The id of a payer. */
export function payerOf({ payers }: Payment, index = 0): string {
  return payers[index]?.payerId ?? ''
}

/** The id of the payee. */
export function payeeOf({ payees }: Payment): string {
  return payees[0]?.payeeId ?? ''
}

/** Names a payment. */
export const key = ({ paymentId }: Payment) => ({ projectId, paymentId })

const rowsOf = sql(
  'test_rows_of',
  `select p.state::text as state,
     (select string_agg(r.state::text, ' ' order by r.position) from payer r
      where r.payment_id = p.payment_id) as payers,
     (select string_agg(e.payout_state::text, ' ') from payee e
      where e.payment_id = p.payment_id) as payouts,
     (select string_agg(s.kind::text, ' ' order by s.kind) from settlement s
      where s.payment_id = p.payment_id) as moved,
     (select string_agg(t.kind::text, ' ' order by t.kind) from task t
      where t.payment_id = p.payment_id and t.kind <> 'announce') as tasks,
     (select count(*)::integer from charge_report c join payer r on r.payer_id = c.payer_id
      where r.payment_id = p.payment_id) as reports,
     (select count(*)::integer from outbox o
      where position(convert_to(p.payment_id::text, 'UTF8') in o.payload) > 0) as events
   from payment p where p.payment_id = $1`,
)

/** Everything that is stored of a payment. */
export async function storedIn({ db }: PaymentContext, { paymentId }: Payment): Promise<unknown> {
  return db.row(rowsOf, [paymentId])
}

export const untouched = {
  state: 'Pending',
  payers: 'Pending',
  payouts: 'waiting',
  moved: null,
  tasks: null,
  reports: 0,
  events: 1,
}
export const paidAndSent = {
  state: 'paid',
  payers: 'paid',
  payouts: 'sent',
  moved: 'payer_receipt fee payout',
  tasks: 'payout',
  reports: 1,
  events: 2,
}
