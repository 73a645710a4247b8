// Decides what the outcome of an attempt to pay does to a payment. Pure.
import { channelMethods, maxRefusedAttempts, type PaymentMethod } from '#core/payment/words.ts'
import { chargeMinor } from './fees.ts'
import { isOpen, type Payer, type Payment } from './payment.ts'
import { sendPayout } from './payout.ts'
import { failRequest, feeMovements } from './request-end.ts'
import {
  begin,
  type Draft,
  finish,
  finishSilently,
  movePayer,
  movePayment,
  movePayout,
  noticePayee,
  noticePayer,
  receive,
  refundPayer,
  refundReceipt,
  settle,
  type Transition,
  touchPayer,
} from './transition.ts'

/** Outcome of an attempt. `unknown`: the back end does not have the attempt, and will refuse it if it arrives later. */
export type AttemptOutcome = 'processing' | 'paid' | 'refused' | 'unknown'

/** The outcome of one attempt of one payer. */
export type ChargeReport = {
  payerId: string
  attemptId: string
  outcome: AttemptOutcome
  /** What was paid with; undefined: as requested. */
  paymentMethod: PaymentMethod | undefined
  /** Outcomes that were reported of the same attempt before, this one not among them. */
  earlier: AttemptOutcome[]
}

/** The transition of a report; undefined when it changes nothing. The caller passes each report once. */
export function applyReport(
  payment: Payment,
  report: ChargeReport,
  now: Date,
): Transition | undefined {
  const draft = begin(payment, now)
  const payer = payerOf(draft, report.payerId)
  if (report.outcome === 'paid') return receiveMoney(draft, payer, report)
  // An attempt that has ended keeps its outcome. Only `paid` counts at any time, because money has moved.
  if (report.earlier.includes('paid') || report.earlier.includes('refused')) return undefined
  if (report.outcome === 'processing') return startPaying(draft, payer, report.attemptId)
  return endAttempt(draft, payer, report)
}

/** Begins an attempt of ours; undefined when the payer cannot pay now, or the share has expired. */
export function beginAttempt(
  payment: Payment,
  { payerId, attemptId }: { payerId: string; attemptId: string },
  now: Date,
): Transition | undefined {
  const draft = begin(payment, now)
  const payer = payerOf(draft, payerId)
  return payer.expireTime <= now ? undefined : startPaying(draft, payer, attemptId)
}

function startPaying(draft: Draft, payer: Payer, attemptId: string): Transition | undefined {
  if (payer.state !== 'Pending' || !isOpen(draft.payment)) return undefined
  movePayer(draft, payer, 'begin')
  payer.attemptId = attemptId
  return finish(draft, 'PAYER_PROCESSING', 'none')
}

function payerOf({ payment }: Draft, payerId: string): Payer {
  const payer = payment.payers.find((one) => one.payerId === payerId)
  if (payer === undefined) throw new Error('the payer is of another payment')
  return payer
}

function receiveMoney(draft: Draft, payer: Payer, report: ChargeReport): Transition {
  if (payer.receiptId !== undefined) return refundDuplicateReceipt(draft, payer, report)
  const isPaying = payer.state === 'Pending' || payer.state === 'Processing'
  if (!isPaying) return refundLateReceipt(draft, payer, report)
  movePayer(draft, payer, 'pay')
  receive(draft, payer, 'payer_receipt', report.attemptId)
  if (!isOpen(draft.payment)) return refundAfterEnd(draft, payer)
  payer.paymentMethod = paidWith(payer, report.paymentMethod)
  noticePayer(draft, 'payment_completed', payer)
  const isLast = draft.payment.payers.every(({ state }) => state === 'paid')
  if (isLast) return completePayment(draft)
  if (draft.payment.state === 'Pending') movePayment(draft, 'pay_part')
  return finish(draft, 'PAYER_PAID', 'none')
}

function completePayment(draft: Draft): Transition {
  movePayment(draft, 'pay_all')
  const fees = feeMovements(draft.payment)
  settle(draft, { kind: 'fee', amountMinor: fees.withheldMinor })
  settle(draft, { kind: 'merchant_fee', amountMinor: fees.billedMinor })
  for (const payee of draft.payment.payees) {
    payee.releaseTime = new Date(draft.now.getTime() + payee.delayDays * 86_400_000)
    noticePayee(draft, 'payout_scheduled', payee)
    // A payout of zero (fees took all) is scheduled for the payout worker, which completes it with an event of its own.
    if (payee.delayDays === 0 && payee.netMinor > 0n) sendPayout(draft, payee)
    else movePayout(draft, payee, 'schedule')
  }
  return finish(draft, 'PAYER_PAID', 'callback')
}

/** The request ended while this payer was paying: the share is paid, and refunded at once. */
function refundAfterEnd(draft: Draft, payer: Payer): Transition {
  refundPayer(draft, payer)
  noticePayer(draft, 'payment_refunded', payer)
  return finish(draft, 'LATE_MONEY', 'callback')
}

/** The payer's share had ended: the money is received in suspense and refunded. A failed share stays failed. */
function refundLateReceipt(draft: Draft, payer: Payer, report: ChargeReport): Transition {
  receive(draft, payer, 'late_receipt', report.attemptId)
  if (payer.receiptId === undefined) throw new Error('a receipt has no id')
  if (payer.state !== 'Failed') movePayer(draft, payer, 'refund')
  refundReceipt(draft, payer, payer.receiptId, 'late_receipt')
  noticePayer(draft, 'payment_refunded', payer)
  return finish(draft, 'LATE_MONEY', 'callback')
}

/** A payer paid twice: the second receipt is refunded, and the state of the share does not change. */
function refundDuplicateReceipt(
  draft: Draft,
  payer: Payer,
  { attemptId }: ChargeReport,
): Transition {
  const receiptId = settle(draft, {
    kind: 'duplicate_receipt',
    payerId: payer.payerId,
    attemptId,
    amountMinor: chargeMinor(payer),
  })
  refundReceipt(draft, payer, receiptId, 'duplicate_receipt')
  return finishSilently(draft)
}

function endAttempt(draft: Draft, payer: Payer, report: ChargeReport): Transition | undefined {
  const isActive = payer.state === 'Processing' && payer.attemptId === report.attemptId
  const isWaiting = payer.state === 'Pending' || payer.state === 'Processing'
  const isRefusal = report.outcome === 'refused'
  if (!isActive && !(isRefusal && isWaiting && isOpen(draft.payment))) return undefined
  if (isRefusal) payer.refusedAttempts = Math.min(payer.refusedAttempts + 1, maxRefusedAttempts)
  touchPayer(draft, payer)
  if (isActive) movePayer(draft, payer, 'refuse')
  if (!isOpen(draft.payment)) return endWithRequest(draft, payer)
  const isFinal = payer.state === 'Pending' && payer.refusedAttempts === maxRefusedAttempts
  return isFinal ? failRequest(draft) : finish(draft, 'PAYER_REFUSED', 'none')
}

/** The request ended during an attempt of this payer that failed: the share ends as the request did. */
function endWithRequest(draft: Draft, payer: Payer): Transition {
  if (draft.payment.state === 'Expired') {
    movePayer(draft, payer, 'expire')
    noticePayer(draft, 'payment_expired', payer)
    return finish(draft, 'EXPIRED', 'none')
  }
  movePayer(draft, payer, 'fail')
  noticePayer(draft, 'payment_failed', payer)
  return finish(draft, 'FAILED', 'none')
}

/** Methods that a back end cannot distinguish: it reports only that a card, or a wallet, was used. */
const indistinguishableMethods: readonly (readonly PaymentMethod[])[] = [
  ['card', 'credit', 'debit'],
  ['wallet', 'qr_code'],
]

/** The method that the payer used: the reported one, unless that is only a less specific name of the requested one. */
function paidWith(payer: Payer, method: PaymentMethod | undefined): PaymentMethod {
  const requested = payer.paymentMethod
  const isOffered = method !== undefined && channelMethods[payer.paymentChannel].includes(method)
  if (!isOffered) return requested
  const isSame = indistinguishableMethods.some(
    (methods) => methods.includes(method) && methods.includes(requested),
  )
  return isSame ? requested : method
}
