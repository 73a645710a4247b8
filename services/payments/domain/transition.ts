// Builds one transition of a payment step by step on a copy, with everything that is written with it.
import { newId } from '#core/identity/id.ts'
import { next } from '#core/machine.ts'
import type { NoticeKind, PayerState, PaymentState, PayoutState } from '#core/payment/words.ts'
import { chargeMinor } from './fees.ts'
import {
  isOpen,
  type Payee,
  type Payer,
  type PayerStep,
  type Payment,
  type PaymentStep,
  type PayoutStep,
  payerMachine,
  paymentMachine,
  payoutMachine,
} from './payment.ts'

/** Kinds of transitions, as events name them. */
export type TransitionKind =
  | 'CREATED'
  | 'PAYER_PROCESSING'
  | 'PAYER_REFUSED'
  | 'PAYER_PAID'
  | 'CANCELLED'
  | 'EXPIRED'
  | 'FAILED'
  | 'REFUNDED'
  | 'LATE_MONEY'
  | 'PAYOUT_COMPLETED'
  | 'PAYOUT_FAILED'
  | 'MONEY_MOVED'

/** A notify push to make: its kind and the index of the payer or payee. */
export type Notice = { kind: NoticeKind; index: number }

/** Kinds of settlements; the README of payments says which accounts the ledger debits and credits for each. */
export type SettlementKind =
  | 'payer_receipt'
  | 'late_receipt'
  | 'duplicate_receipt'
  | 'fee'
  | 'merchant_fee'
  | 'fee_returned'
  | 'merchant_fee_returned'
  | 'refund'
  | 'refund_returned'
  | 'payout'
  | 'payout_returned'
  | 'payout_recovery'

/** One movement of money. */
export type Settlement = {
  settlementId: string
  kind: SettlementKind
  payerId?: string
  payeeId?: string
  attemptId?: string
  reversesId?: string
  /** Kind of the settlement that it reverses, which determines the account of a refund and of a returned payout. */
  reversesKind?: SettlementKind
  amountMinor: bigint
}

/** Money on its way back to a payer. */
export type Refund = { refundId: string; payerId: string; amountMinor: bigint }

/** A call to the back end that is still to be made. */
export type Task = {
  subjectId: string
  kind: 'announce' | 'withdraw' | 'refund' | 'payout'
  /** For a withdrawal, the state that the request ended in. */
  reason?: PaymentState
}

/** A transition that is being built. `payment` is a copy that has the changes made so far. */
export type Draft = {
  payment: Payment
  readonly now: Date
  readonly fromState: PaymentState
  payers: Map<string, [PayerState, ...PayerState[]]>
  payees: Map<string, [PayoutState, ...PayoutState[]]>
  settlements: Settlement[]
  refunds: Refund[]
  tasks: Task[]
  notices: Notice[]
}

/** What the event of a transition contains besides the payment. */
export type Fact = {
  kind: TransitionKind
  notices: Notice[]
  /** Sequence number of the callback to push; zero: none. */
  callbackSequence: number
}

/** A finished transition: all that must be written in one transaction. */
export type Transition = Draft & {
  /** Undefined when there is nothing to publish. */
  fact: Fact | undefined
}

/** Starts a transition at a time of the database clock. */
export function begin(payment: Payment, now: Date): Draft {
  return {
    payment: {
      ...payment,
      payers: payment.payers.map((payer) => ({ ...payer })),
      payees: payment.payees.map((payee) => ({ ...payee })),
    },
    now,
    fromState: payment.state,
    payers: new Map(),
    payees: new Map(),
    settlements: [],
    refunds: [],
    tasks: [],
    notices: [],
  }
}

/** Ends a transition with its one event, numbering the callback when one is due. */
export function finish(
  draft: Draft,
  kind: TransitionKind,
  callback: 'callback' | 'none',
): Transition {
  if (callback === 'callback') draft.payment.callbackSequence += 1
  const callbackSequence = callback === 'callback' ? draft.payment.callbackSequence : 0
  // A payout does not change the state of the request, so GET status keeps the update time of the last callback.
  if (kind !== 'PAYOUT_COMPLETED' && kind !== 'PAYOUT_FAILED') draft.payment.updateTime = draft.now
  return { ...draft, fact: { kind, notices: draft.notices, callbackSequence } }
}

/**
 * Ends a transition that clients do not see, such as a duplicate receipt that is refunded, or a payout that is sent. Its event is
 * for the ledger only.
 */
export function finishSilently(draft: Draft): Transition {
  const fact: Fact = { kind: 'MONEY_MOVED', notices: [], callbackSequence: 0 }
  return { ...draft, fact: draft.settlements.length > 0 ? fact : undefined }
}

/** Moves the request. Throws an Error when the machine has no such step, which is a bug of the caller. */
export function movePayment({ payment }: Draft, step: PaymentStep): void {
  payment.state = requireStep(next(paymentMachine, payment.state, step), payment.state, step)
}

/** Moves a payer. A step out of Processing ends the attempt. */
export function movePayer(draft: Draft, payer: Payer, step: PayerStep): void {
  const from = payer.state
  payer.state = requireStep(next(payerMachine, from, step), from, step)
  if (payer.state !== 'Processing') payer.attemptId = undefined
  const path = draft.payers.get(payer.payerId) ?? [from]
  path.push(payer.state)
  draft.payers.set(payer.payerId, path)
}

/** Marks a payer to be written without a change of state. */
export function touchPayer(draft: Draft, payer: Payer): void {
  if (!draft.payers.has(payer.payerId)) draft.payers.set(payer.payerId, [payer.state])
}

/** Moves a payout. */
export function movePayout(draft: Draft, payee: Payee, step: PayoutStep): void {
  const from = payee.payoutState
  payee.payoutState = requireStep(next(payoutMachine, from, step), from, step)
  const path = draft.payees.get(payee.payeeId) ?? [from]
  path.push(payee.payoutState)
  draft.payees.set(payee.payeeId, path)
}

function requireStep<S extends string>(to: S | undefined, from: S, step: string): S {
  if (to === undefined) throw new Error(`no step ${step} from state ${from}`)
  return to
}

/** Adds a settlement, unless its amount is zero. Returns its id. */
export function settle(draft: Draft, settlement: Omit<Settlement, 'settlementId'>): string {
  const settlementId = newId()
  if (settlement.amountMinor > 0n) draft.settlements.push({ settlementId, ...settlement })
  return settlementId
}

/** Adds the settlement of a payer's first money: a payer has one receipt. */
export function receive(
  draft: Draft,
  payer: Payer,
  kind: 'payer_receipt' | 'late_receipt',
  attemptId: string,
): void {
  payer.receiptId = settle(draft, {
    kind,
    payerId: payer.payerId,
    attemptId,
    amountMinor: chargeMinor(payer),
  })
  touchPayer(draft, payer)
}

/** Kinds of receipts. */
export type ReceiptKind = 'payer_receipt' | 'late_receipt' | 'duplicate_receipt'

/** Refunds the money of a receipt, once. */
export function refundReceipt(
  draft: Draft,
  payer: Payer,
  receiptId: string,
  receiptKind: ReceiptKind,
): void {
  const amountMinor = chargeMinor(payer)
  const { payerId } = payer
  const refundId = settle(draft, {
    kind: 'refund',
    payerId,
    reversesId: receiptId,
    reversesKind: receiptKind,
    amountMinor,
  })
  draft.refunds.push({ refundId, payerId, amountMinor })
  draft.tasks.push({ subjectId: refundId, kind: 'refund' })
}

/** Refunds a paid payer. */
export function refundPayer(draft: Draft, payer: Payer): void {
  if (payer.receiptId === undefined) throw new Error('a paid payer has no receipt')
  movePayer(draft, payer, 'refund')
  // Only `payer_receipt` makes a share paid, so that is the kind that this refund reverses.
  refundReceipt(draft, payer, payer.receiptId, 'payer_receipt')
}

/** Adds a notify push about a payer. */
export function noticePayer({ payment, notices }: Draft, kind: NoticeKind, payer: Payer): void {
  notices.push({ kind, index: payment.payers.indexOf(payer) })
}

/** Adds a notify push about a payee. */
export function noticePayee({ payment, notices }: Draft, kind: NoticeKind, payee: Payee): void {
  notices.push({ kind, index: payment.payees.indexOf(payee) })
}

/** When the expiry worker has to check a payment: at the first deadline of a pending payer. */
export function expiryCheckTime(payment: Payment): Date | undefined {
  if (!isOpen(payment)) return undefined
  const deadlines = payment.payers
    .filter((payer) => payer.state === 'Pending')
    .map((payer) => payer.expireTime.getTime())
  return deadlines.length === 0 ? undefined : new Date(Math.min(...deadlines))
}
