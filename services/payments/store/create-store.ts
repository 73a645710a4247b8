// Inserts new payments in one round trip, and counts for the fraud rules.
import { type ArrayType, arrayParameter, isArrayType } from '#platform/db/arrays.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { leasedUntil } from '#platform/events/outbox.ts'
import type { DraftPayer, DraftPayment } from '../domain/new-payment.ts'
import type { Payee } from '../domain/payment.ts'
import type { StoredEvent } from '../domain/stored-event.ts'
import { taskLeasedUntil } from './task-store.ts'

/** Names and types of the columns of a row set that is passed as a parameter. */
type Columns = readonly (readonly [name: string, type: string])[]

const payerColumns: Columns = [
  ['payer_id', 'uuid'],
  ['position', 'smallint'],
  ['mobile_number', 'text'],
  ['mobile_number_e164', 'text'],
  ['first_name', 'text'],
  ['last_name', 'text'],
  ['email', 'text'],
  ['payment_channel', 'payment_channel'],
  ['payment_method', 'payment_method'],
  ['amount_minor', 'bigint'],
  ['fee_minor', 'bigint'],
  ['state', 'payer_state'],
  ['link_token_hash', 'bytea'],
  ['link_key_id', 'text'],
  ['connector', 'text'],
  ['ttl_s', 'integer'],
]

const payeeColumns: Columns = [
  ['payee_id', 'uuid'],
  ['position', 'smallint'],
  ['mobile_number', 'text'],
  ['mobile_number_e164', 'text'],
  ['amount_minor', 'bigint'],
  ['fee_minor', 'bigint'],
  ['net_minor', 'bigint'],
  ['delay_days', 'smallint'],
]

const commonParameters = 31

// One payer and one payee, the common case, are plain parameters: it saves the server 15 % against JSON.
const plainPayer = plainRow('payer_row', payerColumns, commonParameters + 1)
const plainPayee = plainRow('payee_row', payeeColumns, commonParameters + 1 + payerColumns.length)
const createOne = sql('payment_create_one', createText(plainPayer, plainPayee))
const createMany = sql(
  'payment_create_many',
  createText(
    jsonRows('payer_row', payerColumns, commonParameters + 1),
    jsonRows('payee_row', payeeColumns, commonParameters + 2),
  ),
)
// For a group: the inserted payments with their positions in the arrays.
const madeText = `, made as materialized (
       select array_position($1::uuid[], payment_id) as i, create_time from new_payment
     )`
const createGroup = groupStatement()

/** A payment that is to be stored. */
export type NewRows = {
  draft: DraftPayment
  event: StoredEvent
  /** By payer; null for one without a link. */
  tokenHashes: (Buffer | null)[]
  /** Time of creation, by the database clock, if the event contains it already; otherwise the statement reads the clock. */
  time?: Date | undefined
}

/**
 * Inserts a payment with its payers, payees, event and announcements in one transaction; event and announcements are
 * leased to this process. Returns the time of creation; undefined when the merchant has a payment with this transaction id.
 */
export async function insertPayment(db: Queryable, rows: NewRows): Promise<Date | undefined> {
  const { payers, payees } = peopleOf(rows)
  const people = isPlain(rows)
    ? [...payers, ...payees].flat()
    : [jsonOf(payerColumns, payers), jsonOf(payeeColumns, payees)]
  const statement = isPlain(rows) ? createOne : createMany
  const row = await db.row<{ create_time: Date }>(statement, [...commonValues(rows), ...people])
  return row?.create_time
}

/** True for a payment of one payer and one payee: only such payments are inserted in groups. */
export function isPlain({ draft }: NewRows): boolean {
  return draft.payers.length === 1 && draft.payees.length === 1
}

/**
 * Inserts plain payments in one statement: all of them or, if the database refuses one, none. Returns the times of creation in
 * their order; undefined where the transaction id exists, also if another payment of the group has it.
 */
export async function insertPaymentGroup(
  db: Queryable,
  group: readonly NewRows[],
): Promise<(Date | undefined)[]> {
  const rows = group.map((one) => {
    const { payers, payees } = peopleOf(one)
    return [...commonValues(one), ...payers.flat(), ...payees.flat()]
  })
  const columns = createGroup.types.map((type, index) =>
    arrayParameter(
      type,
      rows.map((row) => row[index]),
    ),
  )
  const made = await db.rows<{ payment_id: string; create_time: Date }>(
    createGroup.statement,
    columns,
  )
  const times = new Map(made.map((row) => [row.payment_id, row.create_time]))
  return group.map(({ draft }) => times.get(draft.paymentId))
}

/**
 * The statement of one payment with an array in place of every parameter, and the element types of the arrays. Each payment reads
 * its elements by position: as JSON, or joined with the inserted rows, they cost the server a third more.
 */
function groupStatement(): { statement: Sql; types: ArrayType[] } {
  const types: ArrayType[] = []
  const text = createText(plainPayer, plainPayee, 'group').replaceAll(
    /\$(\d+)::(\w+)\b(?!\[)/g,
    (_, parameter: string, type: string) => {
      const sent = isArrayType(type) ? type : 'text'
      types[Number(parameter) - 1] = sent
      const element = `($${parameter}::${sent}[])[i]`
      return sent === type ? element : `${element}::${type}`
    },
  )
  return { statement: sql('payment_create_group', text), types }
}

/** The insert of a payment. For a group it is run for each `i` from 1 to the number of payments. */
function createText(payers: string, payees: string, group?: 'group'): string {
  const made = group ? 'made' : 'new_payment'
  return `with at_time as (
       select ${group ? 'i,' : ''}
         coalesce($31::timestamptz, date_trunc('milliseconds', business_now())) as now
       ${group ? 'from generate_series(1, cardinality($1::uuid[])) as i' : ''}
     ), new_payment as (
       insert into payment (payment_id, project_id, merchant_id, transaction_id,
         request_fingerprint, amount_minor, currency, description, business_name, state,
         fraud_check_status, fee_card_processing_minor, fee_platform_processing_minor,
         fee_agent_processing_minor, fee_convenience_minor, fee_payer_pays_minor,
         fee_payee_pays_minor, fee_merchant_pays_minor, success_url, error_url, notify_url,
         callback_url, callback_sequence, create_time, update_time, expire_time, expiry_check_time)
       select $1::uuid, $2::uuid, $3::uuid, $4::text, $5::bytea, $6::bigint, $7::text, $8::text,
         $9::text, $10::payment_state, $11::fraud_check_status, $12::bigint, $13::bigint,
         $14::bigint, $15::bigint, $16::bigint, $17::bigint, $18::bigint, $19::text, $20::text,
         $21::text, $22::text, $23::integer, now, now, now + $24::integer * interval '1 second',
         case when $25::boolean then now + $24::integer * interval '1 second' end
       from at_time
       on conflict (project_id, merchant_id, transaction_id) do nothing
       returning payment_id, create_time
     )${group ? madeText : ''}, new_event as (
       insert into outbox (event_id, subject, project_id, payload, traceparent, request_id,
         occurred_at, next_at)
       select $26::uuid, $27::text, $2::uuid, $28::bytea, $29::text, $30::text, create_time,
         ${leasedUntil}
       from ${made}
     ), new_payer as (
       insert into payer (project_id, payment_id, payer_id, position, mobile_number,
         mobile_number_e164, first_name, last_name, email, payment_channel, payment_method,
         amount_minor, fee_minor, state, link_token_hash, link_key_id, connector, expire_time,
         create_time)
       select $2::uuid, $1::uuid, payer_id, position, mobile_number, mobile_number_e164,
         first_name, last_name, email, payment_channel, payment_method, amount_minor, fee_minor,
         state, link_token_hash, link_key_id, connector, create_time + ttl_s * interval '1 second',
         create_time
       from ${made}, lateral ${payers}
     ), new_payee as (
       insert into payee (project_id, payment_id, payee_id, position, mobile_number,
         mobile_number_e164, amount_minor, fee_minor, net_minor, delay_days, payout_state)
       select $2::uuid, $1::uuid, payee_id, position, mobile_number, mobile_number_e164,
         amount_minor, fee_minor, net_minor, delay_days, 'waiting'::payout_state
       from ${made}, lateral ${payees}
     ), announcement as (
       insert into task (subject_id, kind, project_id, payment_id, create_time, next_time,
         attempts)
       select payer_id, 'announce'::task_kind, $2::uuid, $1::uuid, create_time,
         ${taskLeasedUntil}, 1
       from ${made}, lateral ${payers} where $25::boolean
     )
     select payment_id, create_time from new_payment`
}

function plainRow(alias: string, columns: Columns, first: number): string {
  const names = columns.map(([name]) => name).join(', ')
  const values = columns.map(([, type], index) => `$${first + index}::${type}`).join(', ')
  return `(values (${values})) as ${alias} (${names})`
}

function jsonRows(alias: string, columns: Columns, parameter: number): string {
  const fields = columns.map(([name, type]) => `${name} ${type}`).join(', ')
  return `json_to_recordset($${parameter}::json) as ${alias} (${fields})`
}

function jsonOf(columns: Columns, rows: unknown[][]): string {
  return JSON.stringify(
    rows.map((row) =>
      Object.fromEntries(columns.map(([name], index) => [name, jsonValue(row[index])])),
    ),
  )
}

// A bigint and bytes are passed as text: JSON would lose digits of a bigint, and has no form for bytes.
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
}

function peopleOf({ draft, tokenHashes }: NewRows): { payers: unknown[][]; payees: unknown[][] } {
  const payers = draft.payers.map((payer, index) =>
    payerValues(payer, index, tokenHashes[index] ?? null),
  )
  return { payers, payees: draft.payees.map(payeeValues) }
}

function commonValues({ draft, event, time }: NewRows): unknown[] {
  const { fees, urls } = draft
  return [
    draft.paymentId,
    draft.projectId,
    draft.merchantId,
    draft.transactionId,
    draft.fingerprint,
    draft.amountMinor,
    draft.currency,
    draft.description,
    draft.businessName,
    draft.state,
    draft.fraudCheckStatus,
    fees.cardProcessingMinor,
    fees.platformProcessingMinor,
    fees.agentProcessingMinor,
    fees.convenienceMinor,
    fees.payerPaysMinor,
    fees.payeePaysMinor,
    fees.merchantPaysMinor,
    urls.success,
    urls.error,
    urls.notify,
    urls.callback,
    draft.callbackSequence,
    Math.min(...draft.payers.map((payer) => payer.ttlS)),
    draft.state === 'Pending',
    event.eventId,
    event.subject,
    event.payload,
    event.traceparent ?? null,
    event.requestId ?? null,
    time ?? null,
  ]
}

function payerValues(payer: DraftPayer, position: number, tokenHash: Buffer | null): unknown[] {
  return [
    payer.payerId,
    position,
    payer.mobileNumber,
    payer.mobileNumberE164,
    payer.firstName,
    payer.lastName,
    payer.email,
    payer.paymentChannel,
    payer.paymentMethod,
    payer.amountMinor,
    payer.feeMinor,
    payer.state,
    tokenHash,
    payer.linkKeyId,
    payer.connector,
    payer.ttlS,
  ]
}

function payeeValues(payee: Payee, position: number): unknown[] {
  return [
    payee.payeeId,
    position,
    payee.mobileNumber,
    payee.mobileNumberE164,
    payee.amountMinor,
    payee.feeMinor,
    payee.netMinor,
    payee.delayDays,
  ]
}

/** In the order of the keys, so that two checks that share payers wait for each other and do not deadlock. */
const lockPayers = sql(
  'payer_lock_numbers',
  `select pg_advisory_xact_lock(key) from (
     select hashtextextended('payweave.payments.payer ' || $1::uuid || ' ' || number, 0) as key
     from unnest($2::text[]) as number order by key
   ) keys`,
)

const countRecent = sql(
  'payer_count_recent',
  `select coalesce(max(recent.requests), 0)::integer as requests,
     date_trunc('milliseconds', business_now()) as now
   from unnest($2::text[]) as number cross join lateral (
     select count(distinct named.payment_id) as requests from (
       select payment_id from payer
       where project_id = $1 and mobile_number_e164 = number
         and create_time > business_now() - interval '1 minute'
       limit $3
     ) named
   ) recent`,
)

/**
 * The maximum over the payers of requests of the last minute that name one, counted up to a limit of rows, and the database time.
 * Until the end of the transaction it locks the numbers for other counts, so that a concurrent count waits, and then finds what this
 * transaction inserts.
 */
export async function countRecentRequests(
  tx: Queryable,
  projectId: string,
  payerNumbers: string[],
  limit: number,
): Promise<{ requests: number; now: Date }> {
  // One round trip. The count is a statement of its own, since it has to see what was committed while the lock was awaited.
  const [, row] = await Promise.all([
    tx.run(lockPayers, [projectId, payerNumbers]),
    tx.row<{ requests: number; now: Date }>(countRecent, [projectId, payerNumbers, limit]),
  ])
  if (row === undefined) throw new Error('a count has no row')
  return row
}
