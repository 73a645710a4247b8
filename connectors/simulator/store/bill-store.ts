// Statements on bills.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { BillRefusal, BillState } from '../domain/bill.ts'

/** A bill as it stands. */
export type StoredBill = {
  state: BillState
  failureCode: BillRefusal | null
  providerReference: string | null
  /** Nothing is said about it until somebody enquires. */
  isSilent: boolean
  /** Milliseconds until it is paid; null unless it is pending. */
  waitMs: number | null
}

/** A bill as the caller sends it. */
export type BillOrder = {
  billPaymentId: string
  billerCode: string
  productCode: string
  currency: string
  amountMinor: bigint
  customerReference: string
}

/** A bill to store. */
export type NewBill = BillOrder & {
  providerReference: string
  state: 'pending' | 'paid' | 'refused'
  failureCode?: BillRefusal
  isSilent: boolean
  /** For a pending one. */
  settleAfterMs?: number
}

const billColumns = `state, failure_code as "failureCode",
  provider_reference as "providerReference", is_silent and enquired_at is null as "isSilent",
  greatest(0, ceil(extract(epoch from settle_at - clock_now()) * 1000))::int as "waitMs"`

const insertBillsStatement = sql(
  'insert_bill',
  `with made as (
     insert into bill (bill_payment_id, biller_code, product_code, currency, amount_minor,
       customer_reference, provider_reference, state, failure_code, is_silent, settle_at)
     select id, biller, product, currency, amount, customer, provider, state,
       failure, silent, clock_now() + settle_ms * interval '1 millisecond'
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[],
       $7::text[], $8::text[], $9::text[], $10::boolean[], $11::integer[]) with ordinality
       as b(id, biller, product, currency, amount, customer, provider, state, failure, silent,
         settle_ms, n)
     order by n
     on conflict (bill_payment_id) do nothing
     returning bill_payment_id, currency, amount_minor, state, failure_code, provider_reference,
       is_silent, enquired_at, settle_at
   ), executed as (
     insert into execution (kind, subject_id, currency, amount_minor)
     select 'bill', bill_payment_id, currency, amount_minor from made where state = 'paid'
   )
   select bill_payment_id as "billPaymentId", ${billColumns} from made`,
)
/** Stores new bills, and the executions of those that are paid, in one statement; undefined for each whose id is known. */
export async function insertBills(
  db: Queryable,
  bills: readonly NewBill[],
): Promise<(StoredBill | undefined)[]> {
  const ordered = bills.toSorted((a, b) => (a.billPaymentId < b.billPaymentId ? -1 : 1))
  const column = (type: ArrayType, value: (bill: NewBill) => unknown) =>
    arrayParameter(type, ordered.map(value))
  const rows = await db.rows<StoredBill & { billPaymentId: string }>(insertBillsStatement, [
    column('uuid', ({ billPaymentId }) => billPaymentId),
    column('text', ({ billerCode }) => billerCode),
    column('text', ({ productCode }) => productCode),
    column('text', ({ currency }) => currency),
    column('bigint', ({ amountMinor }) => amountMinor),
    column('text', ({ customerReference }) => customerReference),
    column('text', ({ providerReference }) => providerReference),
    column('text', ({ state }) => state),
    column('text', ({ failureCode }) => failureCode),
    column('boolean', ({ isSilent }) => isSilent),
    column('integer', ({ settleAfterMs }) => settleAfterMs),
  ])
  const made = new Map(rows.map(({ billPaymentId, ...bill }) => [billPaymentId, bill]))
  return bills.map(({ billPaymentId }) => {
    const bill = made.get(billPaymentId)
    // A second call with the same id in one batch finds the bill of the first.
    made.delete(billPaymentId)
    return bill
  })
}

const findBillStatement = sql(
  'find_bill',
  `select ${billColumns} from bill where bill_payment_id = $1`,
)
/** Finds a bill. Locks nothing. */
export function findBill(db: Queryable, billPaymentId: string): Promise<StoredBill | undefined> {
  return db.row(findBillStatement, [billPaymentId])
}

const isOtherBillStatement = sql(
  'is_other_bill',
  `select from bill where bill_payment_id = $1 and state <> 'not_found'
     and (biller_code, product_code, currency, amount_minor, customer_reference)
     is distinct from ($2::text, $3::text, $4::text, $5::bigint, $6::text)`,
)
/** Whether the id is known with other content. Locks nothing. */
export async function isOtherBill(db: Queryable, bill: BillOrder): Promise<boolean> {
  const { billPaymentId, billerCode, productCode, currency, amountMinor, customerReference } = bill
  const values = [billPaymentId, billerCode, productCode, currency, amountMinor, customerReference]
  return (await db.row(isOtherBillStatement, values)) !== undefined
}

const enquireBillStatement = sql(
  'enquire_bill',
  `insert into bill as b (bill_payment_id, state, enquired_at) values ($1, 'not_found', clock_now())
   on conflict (bill_payment_id) do update set enquired_at = coalesce(b.enquired_at, clock_now())
   returning ${billColumns}`,
)
/** Returns the state of a bill and records the enquiry; an unknown bill is recorded as such. */
export async function enquireBill(db: Queryable, billPaymentId: string): Promise<StoredBill> {
  const bill = await db.row<StoredBill>(enquireBillStatement, [billPaymentId])
  if (bill === undefined) throw new Error('an enquiry left no row')
  return bill
}

const payDueBillsStatement = sql(
  'pay_due_bills',
  `with due as (
     select bill_payment_id from bill where settle_at <= clock_now()
     order by settle_at limit $1 for update skip locked
   ), paid as (
     update bill b set state = 'paid', settle_at = null
     from due where b.bill_payment_id = due.bill_payment_id
     returning b.bill_payment_id, b.currency, b.amount_minor
   )
   insert into execution (kind, subject_id, currency, amount_minor)
   select 'bill', bill_payment_id, currency, amount_minor from paid`,
)
/** Pays pending bills that are due, with their executions. Locks their rows. Returns how many. */
export function payDueBills(db: Queryable, limit: number): Promise<number> {
  return db.run(payDueBillsStatement, [limit])
}

const waitForNextBillStatement = sql(
  'wait_for_next_bill',
  `select greatest(0, ceil(extract(epoch from settle_at - clock_now()) * 1000))::int as "waitMs"
   from bill where settle_at is not null order by settle_at limit 1`,
)
/** Milliseconds until a bill is due; undefined when none is pending. */
export async function waitForNextBill(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ waitMs: number }>(waitForNextBillStatement, []))?.waitMs
}
