// Claims keys, reads bill payments and writes their outcomes.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Bill, BillEnd, BillOrder } from '../domain/bill.ts'

/** Columns of a `BillRow`. */
export const billColumns = `bill_payment_id, project_id, request_fingerprint, transaction_id, biller_code, product_code,
  customer_reference, amount_minor, currency, external_reference, client_receipt_id, state, receipt_id,
  link_key_id, failure_code, retry_category, enquiries, review_time, create_time, end_time`

/** A payment as its row is read. */
export type BillRow = {
  bill_payment_id: string
  project_id: string
  request_fingerprint: Buffer
  transaction_id: string
  biller_code: string
  product_code: string
  customer_reference: string
  amount_minor: bigint
  currency: string
  external_reference: string | null
  client_receipt_id: string | null
  state: Bill['state']
  receipt_id: string | null
  link_key_id: string | null
  failure_code: string | null
  retry_category: Bill['retryCategory'] | null
  enquiries: number
  review_time: Date | null
  create_time: Date
  end_time: Date | null
}

/** The payment of a row. */
export function billOf(row: BillRow): Bill {
  return {
    billPaymentId: row.bill_payment_id,
    projectId: row.project_id,
    fingerprint: row.request_fingerprint,
    transactionId: row.transaction_id,
    billerCode: row.biller_code,
    productCode: row.product_code,
    customerReference: row.customer_reference,
    amountMinor: row.amount_minor,
    currency: row.currency,
    externalReference: row.external_reference ?? undefined,
    clientReceiptId: row.client_receipt_id ?? undefined,
    state: row.state,
    receiptId: row.receipt_id ?? undefined,
    linkKeyId: row.link_key_id,
    failureCode: row.failure_code ?? undefined,
    retryCategory: row.retry_category ?? undefined,
    enquiries: row.enquiries,
    reviewTime: row.review_time ?? undefined,
    createTime: row.create_time,
    endTime: row.end_time ?? undefined,
  }
}

async function billWhere(
  db: Queryable,
  statement: Sql,
  values: unknown[],
): Promise<Bill | undefined> {
  const row = await db.row<BillRow>(statement, values)
  return row === undefined ? undefined : billOf(row)
}

// The "offset 0" keeps the look-up of a known payment apart, so that it runs for the keys alone that were not claimed.
const claimStatement = sql(
  'bill_claim',
  `with claimed as (
     insert into bill_payment (bill_payment_id, project_id, idempotency_key, request_fingerprint,
       transaction_id, biller_code, product_code, customer_reference, customer_mobile_number,
       amount_minor, currency, external_reference, client_receipt_id, description, other_data,
       metadata_json, lease_token, next_time)
     select id, project, key, fingerprint, transaction, biller, product, reference, mobile, amount,
       currency, external, receipt, description, other, metadata, token,
       clock_now() + lease_ms * interval '1 millisecond'
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[],
       $15::text[], $16::text[], $17::uuid[], $18::integer[]) with ordinality
       as a(id, project, key, fingerprint, transaction, biller, product, reference, mobile, amount,
         currency, external, receipt, description, other, metadata, token, lease_ms, n)
     order by n
     on conflict (project_id, idempotency_key) do nothing
     returning bill_payment_id, create_time
   ), made as materialized (
     select array_position($1::uuid[], bill_payment_id) as n, create_time from claimed
   )
   select a.n::integer as n, m.create_time as "claimTime", known.*
   from unnest($2::uuid[], $3::text[]) with ordinality as a(project, key, n)
   left join made m on m.n = a.n
   left join lateral (
     select ${billColumns} from bill_payment b
     where m.n is null and b.project_id = a.project and b.idempotency_key = a.key offset 0
   ) known on true`,
)

/** Ids and lease of a claim, and the order that it is for. */
export type Claim = {
  order: BillOrder
  billPaymentId: string
  transactionId: string
  leaseToken: string
  leaseMs: number
}

/** The payment of a key, and whether the key was taken for it just now. */
export type Claimed = { bill: Bill; isNew: boolean }

/**
 * Takes keys, or finds the payments that have them, in one statement; until a lease ends no other worker changes a new one. Undefined when
 * a concurrent claim took the key. Waits for concurrent claims of the same keys, in the order of the keys.
 */
export async function claimKeys(
  db: Queryable,
  claims: readonly Claim[],
): Promise<(Claimed | undefined)[]> {
  const ordered = claims.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const column = (type: ArrayType, value: (claim: Claim) => unknown) =>
    arrayParameter(type, ordered.map(value))
  type ClaimRow = BillRow & { n: number; claimTime: Date | null }
  const rows = await db.rows<ClaimRow>(claimStatement, [
    column('uuid', ({ billPaymentId }) => billPaymentId),
    column('uuid', ({ order }) => order.projectId),
    column('text', ({ order }) => order.idempotencyKey),
    column('bytea', ({ order }) => order.fingerprint),
    column('text', ({ transactionId }) => transactionId),
    column('text', ({ order }) => order.billerCode),
    column('text', ({ order }) => order.productCode),
    column('text', ({ order }) => order.customerReference),
    column('text', ({ order }) => order.customerMobileNumber),
    column('bigint', ({ order }) => order.amountMinor),
    column('text', ({ order }) => order.currency),
    column('text', ({ order }) => order.externalReference),
    column('text', ({ order }) => order.clientReceiptId),
    column('text', ({ order }) => order.description),
    column('text', ({ order }) => order.otherData),
    column('text', ({ order }) => order.metadataJson),
    column('uuid', ({ leaseToken }) => leaseToken),
    column('integer', ({ leaseMs }) => leaseMs),
  ])
  const found = new Map(rows.map((row) => [ordered[row.n - 1], row]))
  return claims.map((claim) => claimedBy(claim, found.get(claim)))
}

function keyOf({ order }: Claim): string {
  return `${order.projectId} ${order.idempotencyKey}`
}

function claimedBy(
  claim: Claim,
  row: (BillRow & { claimTime: Date | null }) | undefined,
): Claimed | undefined {
  if (row?.claimTime) return { bill: newBill(claim, row.claimTime), isNew: true }
  return row?.bill_payment_id ? { bill: billOf(row), isNew: false } : undefined
}

/** A payment as its claim leaves it. */
function newBill({ order, billPaymentId, transactionId }: Claim, createTime: Date): Bill {
  return {
    billPaymentId,
    projectId: order.projectId,
    fingerprint: order.fingerprint,
    transactionId,
    billerCode: order.billerCode,
    productCode: order.productCode,
    customerReference: order.customerReference,
    amountMinor: order.amountMinor,
    currency: order.currency,
    externalReference: order.externalReference,
    clientReceiptId: order.clientReceiptId,
    state: 'claimed',
    receiptId: undefined,
    linkKeyId: null,
    failureCode: undefined,
    retryCategory: undefined,
    enquiries: 0,
    reviewTime: undefined,
    createTime,
    endTime: undefined,
  }
}

const byKeyStatement = sql(
  'bill_by_key',
  `select ${billColumns} from bill_payment where project_id = $1 and idempotency_key = $2`,
)

/** The payment of a key. */
export function findByKey(
  db: Queryable,
  projectId: string,
  idempotencyKey: string,
): Promise<Bill | undefined> {
  return billWhere(db, byKeyStatement, [projectId, idempotencyKey])
}

const byTransactionStatement = sql(
  'bill_by_transaction',
  `select ${billColumns} from bill_payment where project_id = $1 and transaction_id = $2`,
)

/** A payment by the id that its client knows. */
export function findByTransaction(
  db: Queryable,
  projectId: string,
  transactionId: string,
): Promise<Bill | undefined> {
  return billWhere(db, byTransactionStatement, [projectId, transactionId])
}

const byLinkStatement = sql(
  'bill_by_link',
  `select ${billColumns} from bill_payment where link_token_hash = $1`,
)

/** A payment by the hash of the token in its receipt's link. */
export function findByLink(db: Queryable, tokenHash: Buffer): Promise<Bill | undefined> {
  return billWhere(db, byLinkStatement, [tokenHash])
}

const renewLinkStatement = sql(
  'bill_renew_link',
  `update bill_payment set link_token_hash = $3, link_key_id = $4
   where bill_payment_id = $1 and link_key_id is not distinct from $2 and receipt_id is not null
   returning ${billColumns}`,
)

/** Gives a receipt another link, unless a concurrent call has: then undefined. The link before ends. */
export function renewLink(
  db: Queryable,
  { billPaymentId, linkKeyId }: Pick<Bill, 'billPaymentId' | 'linkKeyId'>,
  link: { linkTokenHash: Buffer; linkKeyId: string },
): Promise<Bill | undefined> {
  const values = [billPaymentId, linkKeyId, link.linkTokenHash, link.linkKeyId]
  return billWhere(db, renewLinkStatement, values)
}

const dropStatement = sql(
  'bill_drop',
  `delete from bill_payment where bill_payment_id = $1 and lease_token = $2 and state = 'claimed'`,
)

/** Gives a key back whose payment was refused before it was accepted. */
export async function dropClaim(
  db: Queryable,
  billPaymentId: string,
  leaseToken: string,
): Promise<void> {
  await db.run(dropStatement, [billPaymentId, leaseToken])
}

const endStatement = sql(
  'bill_end',
  `update bill_payment set state = e.new_state::bill_state, receipt_id = e.receipt,
     link_token_hash = e.link_hash, failure_code = e.code,
     retry_category = e.category::retry_category, provider_reference = e.reference,
     link_key_id = e.link_key, end_time = business_now(),
     settle_time = case when e.is_posted then null else clock_now() end,
     lease_token = null, next_time = null
   from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[],
     $8::text[], $9::text[], $10::boolean[])
     as e(id, token, new_state, receipt, link_hash, code, category, reference, link_key, is_posted)
   where ${byKey('bill_payment_id', 'e.id')} and lease_token = e.token
     and state in ('claimed', 'pending', 'review')
   returning ${billColumns}`,
)

/** What a receipt is known by. */
export type Receipt = { receiptId: string; linkTokenHash: Buffer; linkKeyId: string }

/** An end of a payment that is to be written under its lease. */
export type EndDraft = {
  billPaymentId: string
  leaseToken: string
  end: BillEnd
  /** Comes with a success alone. */
  receipt: Receipt | undefined
  /** True when the ledger has the outcome. */
  isPosted: boolean
}

/**
 * Writes ends of payments in one statement, each under its lease; undefined for one whose lease is no longer the caller's. Rejects with a
 * unique violation of `bill_payment_receipt_once`, and writes none, when another payment has one of the receipt ids. Locks the payments in
 * the order of their ids.
 */
export async function writeEnds(
  db: Queryable,
  drafts: readonly EndDraft[],
): Promise<(Bill | undefined)[]> {
  const ordered = drafts.toSorted((a, b) => (a.billPaymentId < b.billPaymentId ? -1 : 1))
  const column = (type: ArrayType, value: (draft: EndDraft) => unknown) =>
    arrayParameter(type, ordered.map(value))
  const rows = await db.rows<BillRow>(endStatement, [
    column('uuid', ({ billPaymentId }) => billPaymentId),
    column('uuid', ({ leaseToken }) => leaseToken),
    column('text', ({ end }) => end.state),
    column('text', ({ receipt }) => receipt?.receiptId),
    column('bytea', ({ receipt }) => receipt?.linkTokenHash),
    column('text', ({ end }) => (end.state === 'failed' ? end.failureCode : undefined)),
    column('text', ({ end }) => (end.state === 'failed' ? end.retryCategory : undefined)),
    column('text', ({ end }) => end.providerReference),
    column('text', ({ receipt }) => receipt?.linkKeyId),
    column('boolean', ({ isPosted }) => isPosted),
  ])
  const ended = new Map(rows.map((row) => [row.bill_payment_id, row]))
  return drafts.map(({ billPaymentId }) => {
    const row = ended.get(billPaymentId)
    return row && billOf(row)
  })
}

const unclearStatement = sql(
  'bill_unclear',
  `update bill_payment set state = case when $4::float8 is null then 'review' else 'pending' end::bill_state,
     enquiries = $3, lease_token = null,
     next_time = clock_now() + $4::float8 * interval '1 second',
     review_time = case when $4::float8 is null then business_now() end
   where bill_payment_id = $1 and lease_token = $2 and state in ('claimed', 'pending')
   returning ${billColumns}`,
)

/**
 * Records that the outcome is unknown and when to enquire next; with no `waitS` an operator decides. Undefined when the lease is
 * no longer the caller's.
 */
export function writeUnclear(
  db: Queryable,
  billPaymentId: string,
  leaseToken: string,
  next: { enquiries: number; waitS: number | undefined },
): Promise<Bill | undefined> {
  const { enquiries, waitS } = next
  return billWhere(db, unclearStatement, [billPaymentId, leaseToken, enquiries, waitS ?? null])
}

const claimDueStatement = sql(
  'bill_due',
  `with due as (
     select bill_payment_id from bill_payment
     where next_time <= clock_now() order by next_time limit $1 for update skip locked
   )
   update bill_payment b set lease_token = $2, next_time = clock_now() + $3 * interval '1 millisecond'
   from due where b.bill_payment_id = due.bill_payment_id
   returning ${billColumns.replace('bill_payment_id', 'b.bill_payment_id')}`,
)

/** Claims payments that are due for an enquiry, for `leaseMs`. Locked rows are skipped. */
export async function claimDueBills(
  db: Queryable,
  limit: number,
  leaseToken: string,
  leaseMs: number,
): Promise<Bill[]> {
  const rows = await db.rows<BillRow>(claimDueStatement, [limit, leaseToken, leaseMs])
  return rows.map(billOf)
}

const bringForwardStatement = sql(
  'bill_bring_forward',
  `update bill_payment set next_time = next_time - $1 * interval '1 millisecond'
   where next_time is not null and lease_token is null`,
)

/** Brings forward the enquiries that nobody makes now. Locks those payments until the transaction ends. */
export async function bringForward(tx: Queryable, byMs: number): Promise<void> {
  await tx.run(bringForwardStatement, [byMs])
}
