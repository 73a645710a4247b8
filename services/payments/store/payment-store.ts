// Reads payments.
import type {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PayoutState,
} from '#core/payment/words.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Payee, Payer, Payment } from '../domain/payment.ts'

/** One row of a payment that was read: the payment beside its payer and its payee of one position. */
export type PaymentRow = {
  payment_id: string
  project_id: string
  merchant_id: string
  transaction_id: string
  request_fingerprint: Buffer
  amount_minor: bigint
  currency: string
  description: string
  business_name: string
  state: PaymentState
  fraud_check_status: FraudCheckStatus
  fee_card_processing_minor: bigint
  fee_platform_processing_minor: bigint
  fee_agent_processing_minor: bigint
  fee_convenience_minor: bigint
  fee_payer_pays_minor: bigint
  fee_payee_pays_minor: bigint
  fee_merchant_pays_minor: bigint
  success_url: string
  error_url: string
  notify_url: string
  callback_url: string
  callback_sequence: number
  create_time: Date
  update_time: Date
  expire_time: Date
  now: Date
} & PayerColumns &
  PayeeColumns

type PayerColumns = {
  payer_id: string | null
  payer_mobile_number: string
  payer_mobile_number_e164: string
  first_name: string
  last_name: string
  email: string
  payment_channel: PaymentChannel
  payment_method: PaymentMethod
  payer_amount_minor: bigint
  payer_fee_minor: bigint
  tip_minor: bigint
  tax_minor: bigint
  convenience_fee_minor: bigint
  payer_state: PayerState
  refused_attempts: number
  attempt_id: string | null
  receipt_id: string | null
  payer_expire_time: Date
  has_link: boolean
  link_key_id: string | null
  payer_connector: string | null
}

type PayeeColumns = {
  payee_id: string | null
  payee_mobile_number: string
  payee_mobile_number_e164: string
  payee_amount_minor: bigint
  payee_fee_minor: bigint
  net_minor: bigint
  delay_days: number
  payout_state: PayoutState
  release_time: Date | null
  recovery_id: string | null
  payee_connector: string | null
}

/**
 * A statement that reads payments from `source`, which has the table `payment` as `p`. Payers and payees are joined by
 * position, so that one of each is one row.
 */
export function readingWhere(name: string, condition: string, source = 'payment p'): Sql {
  return sql(
    name,
    `select p.payment_id, p.project_id, p.merchant_id, p.transaction_id, p.request_fingerprint,
       p.amount_minor, p.currency, p.description, p.business_name, p.state, p.fraud_check_status,
       p.fee_card_processing_minor, p.fee_platform_processing_minor, p.fee_agent_processing_minor,
       p.fee_convenience_minor, p.fee_payer_pays_minor, p.fee_payee_pays_minor,
       p.fee_merchant_pays_minor, p.success_url, p.error_url, p.notify_url, p.callback_url,
       p.callback_sequence, p.create_time, p.update_time, p.expire_time,
       date_trunc('milliseconds', business_now()) as now,
       people.*
     from ${source} cross join lateral (
       select r.payer_id, r.mobile_number as payer_mobile_number,
         r.mobile_number_e164 as payer_mobile_number_e164, r.first_name, r.last_name, r.email,
         r.payment_channel, r.payment_method, r.amount_minor as payer_amount_minor,
         r.fee_minor as payer_fee_minor, r.tip_minor, r.tax_minor, r.convenience_fee_minor,
         r.state as payer_state, r.refused_attempts, r.attempt_id, r.receipt_id,
         r.expire_time as payer_expire_time, r.link_token_hash is not null as has_link,
         r.link_key_id, r.connector as payer_connector,
         e.payee_id, e.mobile_number as payee_mobile_number,
         e.mobile_number_e164 as payee_mobile_number_e164, e.amount_minor as payee_amount_minor,
         e.fee_minor as payee_fee_minor, e.net_minor, e.delay_days, e.payout_state, e.release_time,
         e.connector as payee_connector,
         case when p.state = 'Refunded' and e.payout_state = 'sent' then (
           select s.settlement_id from settlement s
           where s.payee_id = e.payee_id and s.kind = 'payout_recovery'
         ) end as recovery_id
       from (select * from payer where payer.payment_id = p.payment_id) r
       full join (select * from payee where payee.payment_id = p.payment_id) e using (position)
       order by position
     ) people
     where ${condition}`,
  )
}

const byId = readingWhere('payment_read', 'p.project_id = $1 and p.payment_id = $2')
const byTransaction = readingWhere(
  'payment_read_by_transaction',
  'p.project_id = $1 and p.merchant_id = $2 and p.transaction_id = $3',
)

const byIds = readingWhere(
  'payment_read_group',
  'true',
  `unnest($1::uuid[], $2::uuid[]) as wanted (project_id, payment_id)
     join payment p on p.project_id = wanted.project_id and p.payment_id = wanted.payment_id`,
)

/** A payment as it was read, at a time of the database clock. */
export type Reading = { payment: Payment; now: Date }

/** Reads a payment of a project. Locks nothing. */
export async function readPayment(
  db: Queryable,
  projectId: string,
  paymentId: string,
): Promise<Reading | undefined> {
  return decode(await db.rows<PaymentRow>(byId, [projectId, paymentId]))
}

/** A payment of a project. */
export type ReadKey = { projectId: string; paymentId: string }

/** Reads payments, in the order of their keys; undefined where there is none. Locks nothing. */
export async function readPayments(
  db: Queryable,
  keys: readonly ReadKey[],
): Promise<(Reading | undefined)[]> {
  const unique = [...new Map(keys.map((key) => [nameOf(key), key])).values()]
  const rows = await db.rows<PaymentRow>(byIds, [
    unique.map(({ projectId }) => projectId),
    unique.map(({ paymentId }) => paymentId),
  ])
  const found = new Map(readingsOf(rows).map((one) => [nameOf(one.payment), one]))
  return keys.map((key) => found.get(nameOf(key)))
}

/** The payments of rows that a statement of `readingWhere` returned. */
export function readingsOf(rows: readonly PaymentRow[]): Reading[] {
  const byPayment = Map.groupBy(rows, nameOfRow)
  return [...byPayment.values()].flatMap((rowsOfOne) => decode(rowsOfOne) ?? [])
}

function nameOfRow({ project_id: projectId, payment_id: paymentId }: PaymentRow): string {
  return nameOf({ projectId, paymentId })
}

function nameOf({ projectId, paymentId }: ReadKey): string {
  return `${projectId} ${paymentId}`.toLowerCase()
}

/** Reads the payment that a merchant's own id names, with its request's fingerprint. Locks nothing. */
export async function readByTransaction(
  db: Queryable,
  key: { projectId: string; merchantId: string; transactionId: string },
): Promise<{ payment: Payment; fingerprint: Buffer } | undefined> {
  const rows = await db.rows<PaymentRow>(byTransaction, [
    key.projectId,
    key.merchantId,
    key.transactionId,
  ])
  const reading = decode(rows)
  const [first] = rows
  if (reading === undefined || first === undefined) return undefined
  return { payment: reading.payment, fingerprint: first.request_fingerprint }
}

/** The key of a payer, with that of the payment. */
export type PayerKey = { projectId: string; paymentId: string; payerId: string }

type PayerKeyRow = { project_id: string; payment_id: string; payer_id: string }

const payerByLinkStatement = sql(
  'payer_by_link',
  'select project_id, payment_id, payer_id from payer where link_token_hash = $1',
)

/** Finds the payer of a link by the hash of its token. Locks nothing. */
export async function findPayerOfLink(
  db: Queryable,
  tokenHash: Buffer,
): Promise<PayerKey | undefined> {
  const row = await db.row<PayerKeyRow>(payerByLinkStatement, [tokenHash])
  if (row === undefined) return undefined
  return { projectId: row.project_id, paymentId: row.payment_id, payerId: row.payer_id }
}

function decode(rows: PaymentRow[]): Reading | undefined {
  const [row] = rows
  if (row === undefined) return undefined
  return {
    now: row.now,
    payment: {
      paymentId: row.payment_id,
      projectId: row.project_id,
      merchantId: row.merchant_id,
      transactionId: row.transaction_id,
      amountMinor: row.amount_minor,
      currency: row.currency,
      description: row.description,
      businessName: row.business_name,
      state: row.state,
      fraudCheckStatus: row.fraud_check_status,
      fees: decodeFees(row),
      urls: {
        success: row.success_url,
        error: row.error_url,
        notify: row.notify_url,
        callback: row.callback_url,
      },
      callbackSequence: row.callback_sequence,
      createTime: row.create_time,
      updateTime: row.update_time,
      expireTime: row.expire_time,
      payers: rows.flatMap(decodePayer),
      payees: rows.flatMap(decodePayee),
    },
  }
}

function decodeFees(row: PaymentRow): Payment['fees'] {
  const fees = {
    cardProcessingMinor: row.fee_card_processing_minor,
    platformProcessingMinor: row.fee_platform_processing_minor,
    agentProcessingMinor: row.fee_agent_processing_minor,
    convenienceMinor: row.fee_convenience_minor,
    payerPaysMinor: row.fee_payer_pays_minor,
    payeePaysMinor: row.fee_payee_pays_minor,
    merchantPaysMinor: row.fee_merchant_pays_minor,
  }
  const totalMinor = fees.payerPaysMinor + fees.payeePaysMinor + fees.merchantPaysMinor
  return { totalMinor, ...fees }
}

function decodePayer(row: PaymentRow): Payer[] {
  if (row.payer_id === null) return []
  const payer = {
    payerId: row.payer_id,
    mobileNumber: row.payer_mobile_number,
    mobileNumberE164: row.payer_mobile_number_e164,
    firstName: row.first_name,
    lastName: row.last_name,
    email: row.email,
    paymentChannel: row.payment_channel,
    paymentMethod: row.payment_method,
    amountMinor: row.payer_amount_minor,
    feeMinor: row.payer_fee_minor,
    tipMinor: row.tip_minor,
    taxMinor: row.tax_minor,
    convenienceFeeMinor: row.convenience_fee_minor,
    state: row.payer_state,
    refusedAttempts: row.refused_attempts,
    attemptId: row.attempt_id ?? undefined,
    receiptId: row.receipt_id ?? undefined,
    expireTime: row.payer_expire_time,
    hasLink: row.has_link,
    linkKeyId: row.link_key_id,
    connector: row.payer_connector,
  }
  return [payer]
}

function decodePayee(row: PaymentRow): Payee[] {
  if (row.payee_id === null) return []
  const payee = {
    payeeId: row.payee_id,
    mobileNumber: row.payee_mobile_number,
    mobileNumberE164: row.payee_mobile_number_e164,
    amountMinor: row.payee_amount_minor,
    feeMinor: row.payee_fee_minor,
    netMinor: row.net_minor,
    delayDays: row.delay_days,
    payoutState: row.payout_state,
    releaseTime: row.release_time ?? undefined,
    recoveryId: row.recovery_id ?? undefined,
    connector: row.payee_connector,
  }
  return [payee]
}
