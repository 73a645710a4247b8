// Derives the history of a payment from the rows that its transitions wrote. Pure.
import { namedUuid } from '#core/identity/id.ts'
import type { PaymentState, PayoutState, RefusalReason } from '#core/payment/words.ts'
import type { AttemptOutcome } from './charge-report.ts'
import type { SettlementKind } from './transition.ts'

/** What happened, in the order in which entries of one moment are shown; payweave.payments.v1 numbers them from 1. */
export const historyTypes = [
  'payment_created',
  'attempt_started',
  'attempt_refused',
  'attempt_succeeded',
  'unexpected_money_received',
  'payment_partially_paid',
  'payment_paid',
  'payment_cancelled',
  'payment_expired',
  'payment_failed',
  'payment_refunded',
  'refund_started',
  'refund_completed',
  'refund_failed',
  'payout_scheduled',
  'payout_sent',
  'payout_completed',
  'payout_failed',
  'payout_voided',
] as const
export type HistoryType = (typeof historyTypes)[number]

/** One entry of a history. */
export type HistoryEvent = {
  eventId: string
  type: HistoryType
  time: Date
  /** The party that it is about, by number as the client sent it. */
  party?: { kind: 'payer' | 'payee'; mobileNumber: string }
  amountMinor: bigint
  attemptId?: string
  reason?: string
  refusalReason?: RefusalReason
  releaseTime?: Date
}

/** The rows of one payment that its history follows from. */
export type HistoryRows = {
  paymentId: string
  merchantId: string
  state: PaymentState
  amountMinor: bigint
  currency: string
  createTime: Date
  refundReason: string | null
  payers: { payerId: string; mobileNumber: string; amountMinor: bigint }[]
  payees: PayeeRow[]
  attempts: { attemptId: string; payerId: string; time: Date }[]
  reports: {
    attemptId: string
    payerId: string
    outcome: AttemptOutcome
    refusalReason: RefusalReason | null
    time: Date
  }[]
  settlements: SettlementRow[]
  refunds: RefundRow[]
  /** Charges that were withdrawn: with the state that the request ended in. */
  withdrawals: { reason: PaymentState; time: Date }[]
}

type PayeeRow = {
  payeeId: string
  mobileNumber: string
  netMinor: bigint
  state: PayoutState
  releaseTime: Date | null
  endTime: Date | null
}

type RefundRow = {
  refundId: string
  payerId: string
  state: string
  endTime: Date | null
  completedTime: Date | null
}

type SettlementRow = {
  settlementId: string
  kind: SettlementKind
  reversesKind: SettlementKind | null
  payerId: string | null
  payeeId: string | null
  attemptId: string | null
  amountMinor: bigint
  time: Date
}

type Entry = Omit<HistoryEvent, 'eventId'> & { key: string }

/** The history, oldest first. The id of an entry depends only on its subject, so it is the same in each response. */
export function historyOf(rows: HistoryRows): HistoryEvent[] {
  const entries = [
    ...requestEntries(rows),
    ...attemptEntries(rows),
    ...refundEntries(rows),
    ...payoutEntries(rows),
  ]
  return entries
    .map(({ key, ...entry }) => ({
      eventId: namedUuid('payment-event', rows.paymentId, entry.type, key),
      ...entry,
    }))
    .toSorted(inOrder)
}

function inOrder(one: HistoryEvent, other: HistoryEvent): number {
  const apart = one.time.getTime() - other.time.getTime()
  return apart === 0 ? historyTypes.indexOf(one.type) - historyTypes.indexOf(other.type) : apart
}

const endTypes: Partial<Record<PaymentState, HistoryType>> = {
  Cancelled: 'payment_cancelled',
  Expired: 'payment_expired',
  Failed: 'payment_failed',
}

/** What happened to the request as a whole. */
function requestEntries(rows: HistoryRows): Entry[] {
  const { amountMinor } = rows
  const entry = (type: HistoryType, time: Date | undefined): Entry[] =>
    time === undefined ? [] : [{ type, time, amountMinor, key: '' }]
  const end = endOf(rows)
  const refunded = refundTime(rows)
  return [
    ...entry('payment_created', rows.createTime),
    ...entry('payment_partially_paid', partialTime(rows)),
    ...entry('payment_paid', paidTime(rows)),
    ...(end === undefined ? [] : entry(end.type, end.time)),
    ...entry('payment_refunded', refunded).map((one) =>
      rows.refundReason === null ? one : { ...one, reason: rows.refundReason },
    ),
  ]
}

/** How and when the request ended without being paid. One that the fraud rules stopped has no charge to withdraw. */
function endOf({ state, createTime, withdrawals }: HistoryRows) {
  const [first] = withdrawals.toSorted((one, other) => one.time.getTime() - other.time.getTime())
  const type = endTypes[first?.reason ?? state]
  return type === undefined ? undefined : { type, time: first?.time ?? createTime }
}

/** Receipts of shares while the request was open, oldest first. */
function sharesPaid(rows: HistoryRows): Date[] {
  const end = endOf(rows)
  return rows.settlements
    .filter(({ kind, time }) => kind === 'payer_receipt' && (end === undefined || time < end.time))
    .map(({ time }) => time)
    .toSorted((one, other) => one.getTime() - other.getTime())
}

function paidTime(rows: HistoryRows): Date | undefined {
  const shares = sharesPaid(rows)
  return shares.length === rows.payers.length ? shares.at(-1) : undefined
}

function partialTime(rows: HistoryRows): Date | undefined {
  return rows.payers.length > 1 ? sharesPaid(rows)[0] : undefined
}

/** When the paid request was refunded; shares of a request that ended otherwise are refunded with its end. */
function refundTime(rows: HistoryRows): Date | undefined {
  if (paidTime(rows) === undefined) return undefined
  return rows.settlements.find(
    ({ kind, reversesKind }) => kind === 'refund' && reversesKind === 'payer_receipt',
  )?.time
}

function attemptEntries(rows: HistoryRows): Entry[] {
  const started = new Map<string, Entry>()
  const starts = [
    ...rows.attempts,
    ...rows.reports.filter(({ outcome }) => outcome === 'processing'),
  ].toSorted((one, other) => one.time.getTime() - other.time.getTime())
  for (const { attemptId, payerId, time } of starts) {
    const key = `${payerId} ${attemptId}`
    if (started.has(key)) continue
    started.set(key, { ...ofPayer(rows, payerId), type: 'attempt_started', time, attemptId, key })
  }
  const refused = rows.reports
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ attemptId, payerId, refusalReason, time }): Entry => {
      const key = `${payerId} ${attemptId}`
      const why = refusalReason === null ? {} : { refusalReason }
      return { ...ofPayer(rows, payerId), ...why, type: 'attempt_refused', time, attemptId, key }
    })
  const received = rows.settlements.flatMap((settlement): Entry[] => {
    const type = receiptTypes[settlement.kind]
    return type === undefined ? [] : [settlementEntry(rows, type, settlement)]
  })
  return [...started.values(), ...refused, ...received]
}

const receiptTypes: Partial<Record<SettlementKind, HistoryType>> = {
  payer_receipt: 'attempt_succeeded',
  late_receipt: 'unexpected_money_received',
  duplicate_receipt: 'unexpected_money_received',
}

function refundEntries(rows: HistoryRows): Entry[] {
  return rows.settlements.flatMap((settlement): Entry[] => {
    if (settlement.kind === 'refund_returned') {
      return [settlementEntry(rows, 'refund_failed', settlement)]
    }
    if (settlement.kind !== 'refund') return []
    const start = settlementEntry(rows, 'refund_started', settlement)
    const refund = rows.refunds.find(({ refundId }) => refundId === settlement.settlementId)
    const completed = refund && completedTime(refund)
    if (completed === undefined) return [start]
    return [start, { ...start, type: 'refund_completed', time: completed ?? start.time }]
  })
}

/** When a refund was completed, also if the money came back later; undefined if it was not, null if the time is not known. */
function completedTime({ state, completedTime, endTime }: RefundRow): Date | null | undefined {
  return completedTime ?? (state === 'completed' ? endTime : undefined)
}

function settlementEntry(rows: HistoryRows, type: HistoryType, settlement: SettlementRow): Entry {
  const { settlementId, payerId, attemptId, amountMinor, time } = settlement
  const attempt = attemptId === null ? {} : { attemptId }
  return { ...ofPayer(rows, payerId), ...attempt, type, time, amountMinor, key: settlementId }
}

function ofPayer({ payers }: HistoryRows, id: string | null): Pick<Entry, 'party' | 'amountMinor'> {
  const payer = payers.find(({ payerId }) => payerId === id)
  if (payer === undefined) throw new Error('a row is about a payer of another payment')
  const { mobileNumber, amountMinor } = payer
  return { party: { kind: 'payer', mobileNumber }, amountMinor }
}

function payoutEntries(rows: HistoryRows): Entry[] {
  const paid = paidTime(rows)
  if (paid === undefined) return []
  return rows.payees.flatMap((payee): Entry[] => {
    const { payeeId, mobileNumber, netMinor, releaseTime, state, endTime } = payee
    const entry = (type: HistoryType, time: Date | null | undefined): Entry[] => {
      const party = { kind: 'payee', mobileNumber } as const
      return time == null ? [] : [{ type, time, party, amountMinor: netMinor, key: payeeId }]
    }
    const of = (wanted: SettlementKind) =>
      rows.settlements.find(({ kind, payeeId: id }) => kind === wanted && id === payeeId)?.time
    const sent = of('payout')
    const end = endTime ?? sent ?? paid
    return [
      ...(releaseTime === null
        ? []
        : entry('payout_scheduled', paid).map((one) => ({ ...one, releaseTime }))),
      ...entry('payout_sent', sent),
      ...(state === 'completed' ? entry('payout_completed', end) : []),
      ...(state === 'failed' ? entry('payout_failed', of('payout_returned') ?? end) : []),
      ...(state === 'voided' ? entry('payout_voided', endTime ?? refundTime(rows)) : []),
    ]
  })
}
