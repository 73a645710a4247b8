// Billing on its own database, with a fake ledger and biller that record calls and fail on demand, for this folder's tests.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { seedBillers } from '../../deploy/local/seed/billers.ts'
import type { BillerAnswer, BillMoney, BillOrder } from '../../services/billing/domain/bill.ts'
import { type Engine, startBilling } from '../../services/billing/engine.ts'
import { payBill } from '../../services/billing/operations/pay.ts'
import type { Billers } from '../../services/billing/ports/backend.ts'
import type { Ledger } from '../../services/billing/ports/ledger.ts'
import { createTestDatabase, silentLog, whenConnected } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'

const paidAnswer: BillerAnswer = { state: 'paid', providerReference: 'provider-internal-7' }

/** A biller that executes each id once, refuses for ever what it once called unknown, and can be made to fail. */
export function newBillers() {
  const executed: string[] = []
  const outcomes = new Map<string, BillerAnswer>()
  const unknown = new Set<string>()
  const billers = {
    executed,
    asked: 0,
    /** What the next payments lead to. */
    decides: (_order: BillOrder): BillerAnswer => paidAnswer,
    /** Runs before a payment is taken in, and after it: throw to lose the request or the answer. */
    before: async (): Promise<void> => {},
    after: async (): Promise<void> => {},
    beforeEnquiry: async (): Promise<void> => {},
    async pay(id: string, order: BillOrder): Promise<BillerAnswer> {
      await billers.before()
      if (unknown.has(id)) return { state: 'not_found' }
      let outcome = outcomes.get(id)
      if (outcome === undefined) {
        outcome = billers.decides(order)
        outcomes.set(id, outcome)
        if (outcome.state === 'paid') executed.push(id)
      }
      await billers.after()
      return outcome
    },
    async enquire(id: string): Promise<BillerAnswer> {
      billers.asked += 1
      await billers.beforeEnquiry()
      const outcome = outcomes.get(id)
      if (outcome !== undefined) return outcome
      unknown.add(id)
      return { state: 'not_found' }
    },
  }
  return billers satisfies Billers
}

/** A float with holds, idempotent by id as the real ledger is. */
export function newLedger(initialMinor: bigint) {
  let fundsMinor = initialMinor
  const holds = new Map<string, { amountMinor: bigint; state: 'open' | 'posted' | 'voided' }>()
  const ledger = {
    holds,
    before: async (_call: 'hold' | 'post' | 'release'): Promise<void> => {},
    /** Runs when a hold was made or refused: throw to lose the answer. */
    afterHold: async (): Promise<void> => {},
    /** Puts money on the float. */
    fund(amountMinor: bigint): void {
      fundsMinor += amountMinor
    },
    available(): bigint {
      let left = fundsMinor
      for (const { amountMinor, state } of holds.values()) {
        if (state !== 'voided') left -= amountMinor
      }
      return left
    },
    async hold({ billPaymentId, amountMinor }: BillMoney): Promise<boolean> {
      await ledger.before('hold')
      const isMade = holds.has(billPaymentId) || ledger.available() >= amountMinor
      if (isMade && !holds.has(billPaymentId)) {
        holds.set(billPaymentId, { amountMinor, state: 'open' })
      }
      await ledger.afterHold()
      return isMade
    },
    post: (money: BillMoney) => close(money, 'posted'),
    release: (money: BillMoney) => close(money, 'voided'),
  }
  async function close({ billPaymentId }: BillMoney, state: 'posted' | 'voided'): Promise<void> {
    await ledger.before(state === 'posted' ? 'post' : 'release')
    const hold = holds.get(billPaymentId)
    if (hold === undefined) throw new Failure('HOLD_NOT_FOUND', 'no such hold')
    if (hold.state !== 'open' && hold.state !== state) throw new Failure('HOLD_CLOSED', 'closed')
    hold.state = state
  }
  return ledger satisfies Ledger
}

const projectId = randomUUID()

/** An order that every part takes. */
export function order(more: Partial<BillOrder> = {}): BillOrder {
  return {
    projectId,
    idempotencyKey: randomUUID(),
    fingerprint: Buffer.alloc(32, 1),
    billerCode: 'DEMO_POWER',
    productCode: 'PREPAID',
    amountMinor: 2_000n,
    currency: 'USD',
    customerReference: '12345678',
    customerMobileNumber: '',
    externalReference: undefined,
    clientReceiptId: undefined,
    idType: '',
    idNumber: '',
    description: '',
    otherData: '',
    metadataJson: '',
    ...more,
  }
}

/** Starts everything that the tests of a file share. */
export async function startHarness({
  fundsMinor = 1_000_000n,
  enquiryScheduleS = [30, 300],
  linkKeys = fixedKeys(),
} = {}) {
  const database = await createTestDatabase('billing', migrationFolders('billing'))
  const testClock = createTestClock()
  const db = database.open({ testClock })
  const owner = database.open({ service: undefined })
  await seedBillers(db, 'local')
  const billers = newBillers()
  const ledger = newLedger(fundsMinor)
  const engines: Engine[] = []
  /** A further process of billing on the same tables. */
  const startProcess = (): Engine => {
    const engine = startBilling({
      db,
      log: silentLog,
      metrics: new Registry(),
      linkKeys,
      ledger,
      billers,
      billerTimeoutMs: 1_000,
      enquiryScheduleS,
    })
    engines.push(engine)
    return engine
  }
  const engine = startProcess()
  return {
    db,
    testClock,
    projectId,
    billers,
    ledger,
    billing: engine.billing,
    catalogue: engine.catalogue,
    startProcess,
    pay: (more: Partial<BillOrder> = {}) => {
      const one = order(more)
      return whenConnected(() => payBill(engine.billing, one))
    },
    rows: () => readRows(db),
    /** Runs statements with the rights of the tables' owner. */
    async asOwner(...texts: string[]): Promise<void> {
      for (const text of texts) {
        await owner.run(sql(`as_owner_${randomUUID().replaceAll('-', '')}`, text), [])
      }
    },
    async stop() {
      await Promise.all(engines.map((one) => one.close()))
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** What the tests read of the table. */
export type BillRow = {
  id: string
  key: string
  state: string
  failureCode: string | null
  receiptId: string | null
  enquiries: number
  settled: boolean
}

const rowsStatement = sql(
  'test_bill_rows',
  `select bill_payment_id as id, idempotency_key as key, state, failure_code as "failureCode",
     receipt_id as "receiptId", enquiries, settle_time is null as settled
   from bill_payment order by create_time`,
)

function readRows(db: Queryable): Promise<BillRow[]> {
  return db.rows<BillRow>(rowsStatement, [])
}
