// Statements on bills.
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

/** A bill to store. */
export type NewBill = {
  billPaymentId: string
  billerCode: string
  productCode: string
  currency: string
  amountMinor: bigint
  customerReference: string
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

const insertBillStatement = sql(
  'insert_bill',
  `with made as (
     insert into bill (bill_payment_id, biller_code, product_code, currency, amount_minor,
       customer_reference, provider_reference, state, failure_code, is_silent, settle_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
       clock_now() + $11::integer * interval '1 millisecond')
     on conflict (bill_payment_id) do nothing
     returning bill_payment_id, currency, amount_minor, state, failure_code, provider_reference,
       is_silent, enquired_at, settle_at
   ), executed as (
     insert into execution (kind, subject_id, currency, amount_minor)
     select 'bill', bill_payment_id, currency, amount_minor from made where state = 'paid'
   )
   select ${billColumns} from made`,
)
/** Stores a new bill, and its execution when it is paid; undefined when the id is known. */
export function insertBill(db: Queryable, bill: NewBill): Promise<StoredBill | undefined> {
  return db.row(insertBillStatement, [
    bill.billPaymentId,
    bill.billerCode,
    bill.productCode,
    bill.currency,
    bill.amountMinor,
    bill.customerReference,
    bill.providerReference,
    bill.state,
    bill.failureCode,
    bill.isSilent,
    bill.settleAfterMs,
  ])
}

const findBillStatement = sql(
  'find_bill',
  `select ${billColumns} from bill where bill_payment_id = $1`,
)
/** Finds a bill. Locks nothing. */
export function findBill(db: Queryable, billPaymentId: string): Promise<StoredBill | undefined> {
  return db.row(findBillStatement, [billPaymentId])
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

const settleBillsStatement = sql(
  'settle_bills',
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
export function endDueBills(db: Queryable, limit: number): Promise<number> {
  return db.run(settleBillsStatement, [limit])
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
