// Claims keys, reads bill payments and writes their outcomes.
import { isUniqueViolation, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Bill, BillEnd, BillOrder } from '../domain/bill.ts'

const columns = `bill_payment_id, project_id, request_fingerprint, transaction_id, biller_code, product_code,
  customer_reference, amount_minor, currency, external_reference, client_receipt_id, state, receipt_id,
  link_key_id, failure_code, retry_category, enquiries, review_time, create_time, end_time`

type Row = {
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

function billOf(row: Row): Bill {
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
  const row = await db.row<Row>(statement, values)
  return row === undefined ? undefined : billOf(row)
}

const claimStatement = sql(
  'bill_claim',
  `with claimed as (
   insert into bill_payment (bill_payment_id, project_id, idempotency_key, request_fingerprint, transaction_id,
     biller_code, product_code, customer_reference, customer_mobile_number, amount_minor, currency,
     external_reference, client_receipt_id, description, other_data, metadata_json, lease_token, next_time)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
     clock_now() + $18 * interval '1 millisecond')
   on conflict (project_id, idempotency_key) do nothing
   returning ${columns})
   select ${columns}, true as "isNew" from claimed
   union all
   select ${columns}, false from bill_payment
   where project_id = $2 and idempotency_key = $3 and not exists (select from claimed)`,
)

/** Ids and lease of a claim. */
export type Claim = {
  billPaymentId: string
  transactionId: string
  leaseToken: string
  leaseMs: number
}

/** The payment of a key, and whether the key was taken for it just now. */
export type Claimed = { bill: Bill; isNew: boolean }

/**
 * Takes the key, or finds the payment that has it; until the lease ends no other worker changes a new one. Undefined when
 * a concurrent call took the key.
 */
export async function claimKey(
  db: Queryable,
  order: BillOrder,
  claim: Claim,
): Promise<Claimed | undefined> {
  const row = await db.row<Row & { isNew: boolean }>(claimStatement, [
    claim.billPaymentId,
    order.projectId,
    order.idempotencyKey,
    order.fingerprint,
    claim.transactionId,
    order.billerCode,
    order.productCode,
    order.customerReference,
    order.customerMobileNumber,
    order.amountMinor,
    order.currency,
    order.externalReference ?? null,
    order.clientReceiptId ?? null,
    order.description,
    order.otherData,
    order.metadataJson,
    claim.leaseToken,
    claim.leaseMs,
  ])
  return row === undefined ? undefined : { bill: billOf(row), isNew: row.isNew }
}

const byKeyStatement = sql(
  'bill_by_key',
  `select ${columns} from bill_payment where project_id = $1 and idempotency_key = $2`,
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
  `select ${columns} from bill_payment where project_id = $1 and transaction_id = $2`,
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
  `select ${columns} from bill_payment where link_token_hash = $1`,
)

/** A payment by the hash of the token in its receipt's link. */
export function findByLink(db: Queryable, tokenHash: Buffer): Promise<Bill | undefined> {
  return billWhere(db, byLinkStatement, [tokenHash])
}

const renewLinkStatement = sql(
  'bill_renew_link',
  `update bill_payment set link_token_hash = $3, link_key_id = $4
   where bill_payment_id = $1 and link_key_id is not distinct from $2 and receipt_id is not null
   returning ${columns}`,
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
  `update bill_payment set state = $3, receipt_id = $4, link_token_hash = $5, failure_code = $6,
     retry_category = $7, provider_reference = $8, link_key_id = $9, end_time = clock_now(), settle_time = clock_now(),
     lease_token = null, next_time = null
   where bill_payment_id = $1 and lease_token = $2 and state in ('claimed', 'pending', 'review')
   returning ${columns}`,
)

/** What a receipt is known by. */
export type Receipt = { receiptId: string; linkTokenHash: Buffer; linkKeyId: string }

/**
 * Writes the end of a payment; undefined when the lease is no longer the caller's. `receipt` comes with a
 * success alone; 'taken' when another payment has its id.
 */
export async function writeEnd(
  db: Queryable,
  billPaymentId: string,
  leaseToken: string,
  end: BillEnd,
  receipt: Receipt | undefined,
): Promise<Bill | undefined | 'taken'> {
  const failed = end.state === 'failed' ? end : undefined
  try {
    return await billWhere(db, endStatement, [
      billPaymentId,
      leaseToken,
      end.state,
      receipt?.receiptId ?? null,
      receipt?.linkTokenHash ?? null,
      failed?.failureCode ?? null,
      failed?.retryCategory ?? null,
      end.providerReference,
      receipt?.linkKeyId ?? null,
    ])
  } catch (error) {
    if (isUniqueViolation(error, 'bill_payment_receipt_once')) return 'taken'
    throw error
  }
}

const unclearStatement = sql(
  'bill_unclear',
  `update bill_payment set state = case when $4::float8 is null then 'review' else 'pending' end::bill_state,
     enquiries = $3, lease_token = null,
     next_time = clock_now() + $4::float8 * interval '1 second',
     review_time = case when $4::float8 is null then clock_now() end
   where bill_payment_id = $1 and lease_token = $2 and state in ('claimed', 'pending')
   returning ${columns}`,
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

const dueStatement = sql(
  'bill_due',
  `with due as (
     select bill_payment_id from bill_payment
     where next_time <= clock_now() order by next_time limit $1 for update skip locked
   )
   update bill_payment b set lease_token = $2, next_time = clock_now() + $3 * interval '1 millisecond'
   from due where b.bill_payment_id = due.bill_payment_id
   returning ${columns.replace('bill_payment_id', 'b.bill_payment_id')}`,
)

/** Claims payments that are due for an enquiry, for `leaseMs`. Locked rows are skipped. */
export async function takeDue(
  db: Queryable,
  limit: number,
  leaseToken: string,
  leaseMs: number,
): Promise<Bill[]> {
  const rows = await db.rows<Row>(dueStatement, [limit, leaseToken, leaseMs])
  return rows.map(billOf)
}
