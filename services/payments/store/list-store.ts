// Reads pages of a merchant's payments, newest first.
import type { PaymentState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** Which payments to list; unset filters take any. */
export type PaymentFilter = {
  projectId: string
  merchantId: string
  transactionId: string | undefined
  mobileNumberE164: string | undefined
  state: PaymentState | undefined
  amount: { minor: bigint; currency: string } | undefined
  /** First time of creation. */
  startTime: Date | undefined
  /** Where the page begins: only payments before this cursor are on it. */
  before: ListCursor
  /** Maximum payments of the page. */
  limit: number
}

/** The cursor of the list: payments are in the order of their times of creation, and of their ids. */
export type ListCursor = { createTime: Date; paymentId: string }

/** A payment as lists show it. */
export type PaymentSummary = {
  paymentId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  description: string
  state: PaymentState
  paidMinor: bigint
  createTime: Date
  updateTime: Date
}

const shown = `select p.payment_id as "paymentId", p.transaction_id as "transactionId",
     p.amount_minor as "amountMinor", p.currency, p.description, p.state,
     coalesce(paid.minor, 0)::bigint as "paidMinor",
     p.create_time as "createTime", p.update_time as "updateTime"`
const paid = `cross join lateral (
     select sum(r.amount_minor) as minor from payer r
     where r.payment_id = p.payment_id and r.state = 'paid'
   ) paid`
/** Parameters of every list: project, merchant or number, first time, cursor, number of rows, state. */
const inWindow = (of: string) =>
  `${of}.create_time >= $3 and (${of}.create_time, ${of}.payment_id) < ($4, $5)`
const newestFirst = (of: string) =>
  `order by ${of}.create_time desc, ${of}.payment_id desc limit $6`

const pageOf = (name: string, found: string) =>
  sql(
    name,
    `${shown} from (${found} ${newestFirst('found')}) page
   join payment p on p.project_id = $1 and p.payment_id = page.payment_id ${paid}
   order by page.create_time desc, page.payment_id desc`,
  )

/** One scan of the index for each state, since the index has the state before the time. */
const listStatement = pageOf(
  'payment_list',
  `select found.* from unnest(
     case when $7::payment_state is null then enum_range(null::payment_state)
       else array[$7::payment_state] end
   ) as wanted (state) cross join lateral (
     select p.create_time, p.payment_id from payment p
     where p.merchant_id = $2 and p.state = wanted.state and ${inWindow('p')}
     ${newestFirst('p')}
   ) found`,
)

/** Maximum number of payer rows with the number that are read for one page, since few of them may match merchant and state. */
const maxScanned = 1_000
const payersOfNumber = `select r.create_time, r.payment_id, r.position from payer r
   where r.project_id = $1 and r.mobile_number_e164 = $2 and r.create_time >= $3
     and (r.create_time, r.payment_id) < ($4, $5)
   order by r.create_time desc, r.payment_id desc, r.position`

/** A payment in which several payers have the number is found once, by the first of them. */
const listOfPayerStatement = sql(
  'payment_list_of_payer',
  `${shown} from (${payersOfNumber} limit ${maxScanned}) found
   join payment p on p.project_id = $1 and p.payment_id = found.payment_id ${paid}
   where p.merchant_id = $8 and ($7::payment_state is null or p.state = $7)
   and ($9::bigint is null or p.amount_minor = $9 and p.currency = $10) and not exists (
     select 1 from payer earlier
     where earlier.payment_id = found.payment_id and earlier.position < found.position
       and earlier.mobile_number_e164 = $2
   )
   ${newestFirst('found')}`,
)

const scanEndStatement = sql(
  'payment_list_scan_end',
  `select found.create_time as "createTime", found.payment_id as "paymentId"
   from (${payersOfNumber}) found offset ${maxScanned - 1} limit 1`,
)

const listOfTransactionStatement = pageOf(
  'payment_list_of_transaction',
  `select found.create_time, found.payment_id from payment found
   where found.project_id = $1 and found.merchant_id = $2 and found.transaction_id = $8
     and ($7::payment_state is null or found.state = $7) and ${inWindow('found')}
     and ($9::text is null or exists (
       select 1 from payer r where r.payment_id = found.payment_id and r.mobile_number_e164 = $9
     )) and ($10::bigint is null or found.amount_minor = $10 and found.currency = $11)`,
)

const listOfAmountStatement = pageOf(
  'payment_list_of_amount',
  `select found.create_time, found.payment_id from payment found
   where found.merchant_id = $2 and found.amount_minor = $8 and found.currency = $9
     and ($7::payment_state is null or found.state = $7) and ${inWindow('found')}`,
)

const noLowerBound = new Date(0)

/** A page of payments. */
export type PaymentPage = {
  payments: PaymentSummary[]
  /** Where the next page begins, if there may be one: before the last of the page, or of what was read for it. */
  next: ListCursor | undefined
  /** The position may be that of another merchant's payment, so no client may see it. */
  isForeign: boolean
}

/** A page of a merchant's payments, newest first. Locks nothing. */
export async function listPayments(db: Queryable, filter: PaymentFilter): Promise<PaymentPage> {
  const { mobileNumberE164, limit } = filter
  const isScan = filter.transactionId === undefined && mobileNumberE164 !== undefined
  const found = isScan
    ? await db.rows<PaymentSummary>(listOfPayerStatement, [
        ...valuesOf(filter, mobileNumberE164),
        filter.merchantId,
        ...amountValues(filter),
      ])
    : await listByKey(db, filter)
  if (found.length > limit) {
    return { payments: found.slice(0, limit), next: found[limit - 1], isForeign: false }
  }
  const scanned = isScan ? valuesOf(filter, mobileNumberE164).slice(0, 5) : undefined
  const next = scanned && (await db.row<ListCursor>(scanEndStatement, scanned))
  return { payments: found, next, isForeign: next !== undefined }
}

function listByKey(db: Queryable, filter: PaymentFilter): Promise<PaymentSummary[]> {
  const { merchantId, transactionId, mobileNumberE164 } = filter
  const values = valuesOf(filter, merchantId)
  const amount = amountValues(filter)
  if (transactionId !== undefined) {
    const named = [...values, transactionId, mobileNumberE164 ?? null]
    return db.rows(listOfTransactionStatement, [...named, ...amount])
  }
  if (filter.amount === undefined) return db.rows(listStatement, values)
  return db.rows(listOfAmountStatement, [...values, ...amount])
}

function amountValues({ amount }: PaymentFilter) {
  return [amount?.minor ?? null, amount?.currency ?? null]
}

/** The parameters of all lists; `second` is the merchant or the number, by the index that the list reads. */
function valuesOf({ projectId, startTime, before, limit, state }: PaymentFilter, second: string) {
  const { createTime, paymentId } = before
  const start = startTime ?? noLowerBound
  return [projectId, second, start, createTime, paymentId, limit + 1, state ?? null]
}
