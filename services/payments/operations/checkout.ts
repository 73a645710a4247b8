// Payers' actions on their page: view, pay with a wallet, open a card form.
import { Failure, invalid } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { channelMethods, type PaymentChannel, type RefusalReason } from '#core/payment/words.ts'
import type { Queryable } from '#platform/db/db.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'
import { type AttemptOutcome, beginAttempt } from '../domain/charge-report.ts'
import { isReceiptToken, linkTokenHash, receiptIdOf } from '../domain/links.ts'
import { isOpen, type Payer, type Payment } from '../domain/payment.ts'
import { cancelByPayer } from '../domain/request-end.ts'
import {
  announcementOf,
  type CardFrame,
  type Connectors,
  isUnimplemented,
} from '../ports/backend.ts'
import { enquireAfter, readRefusal } from '../store/attempt-store.ts'
import { findPayerOfLink, type PayerKey, readPayment } from '../store/payment-store.ts'
import { type PaidShare, readPaidShare } from '../store/receipt-store.ts'
import { countAttempt, readCharges } from '../store/task-store.ts'
import { change } from './change.ts'
import { notFound, type PaymentContext } from './payments.ts'
import { reportCharge } from './reports.ts'

/** The dependencies of payers' pages. */
export type CheckoutContext = { payments: PaymentContext; connectors: Connectors }

/** What a page shows: a payment as one of its payers sees it, with their receipt or why they were refused. */
export type CheckoutView = {
  payment: Payment
  payer: Payer
  receipt?: PaidShare | undefined
  refusalReason?: RefusalReason | undefined
}

const tokenLength = 43
// Longer than the call may take, so that the enquiry worker does not enquire about a call in flight.
const attemptLeaseMs = 15_000
const firstEnquiryMs = 2_000
// A charge is announced within milliseconds of its creation. In a younger one the announcement may still be in flight.
const announcedWithinMs = 5_000

/** Reads what a link's page shows. PAYMENT_NOT_FOUND for an unknown token. */
export async function getCheckout(
  checkouts: CheckoutContext,
  token: string,
): Promise<CheckoutView> {
  const { db } = checkouts.payments
  const payerKey = await payerKeyOf(checkouts.payments, token)
  const reading = await readPayment(db, payerKey.projectId, payerKey.paymentId)
  if (reading === undefined) throw notFound()
  const view = viewFor(reading.payment, payerKey)
  const ageMs = reading.now.getTime() - view.payment.createTime.getTime()
  const isFreshCode = view.payer.paymentChannel === 'agent' && ageMs < announcedWithinMs
  // The payer may be at the agent's counter before the back end has the charge with its cash code.
  if (isFreshCode && view.payer.state === 'Pending') await announceNow(checkouts, payerKey.payerId)
  const { receiptId } = view.payer
  if (receiptId === undefined) return withRefusal(db, view)
  return { ...view, receipt: await readPaidShare(db, receiptId) }
}

/** Reads the share that a receipt's link shows. PAYMENT_NOT_FOUND for a token that we did not make. */
export async function getReceipt(
  { payments: { db } }: CheckoutContext,
  token: string,
): Promise<PaidShare> {
  const receiptId = receiptIdOf(token)
  const share = receiptId === undefined ? undefined : await readPaidShare(db, receiptId)
  if (share === undefined || !isReceiptToken(token, share.receiptId, share.linkTokenHash)) {
    throw notFound()
  }
  return share
}

/**
 * Tries to pay with a wallet. A share that is not pending is returned as it is, so that only one of two submissions
 * becomes an attempt. `refused` is true when this attempt was refused. UNSUPPORTED_CHANNEL_METHOD when the connector takes no
 * wallets, PAYMENT_NOT_PAYABLE when the back end cannot be reached or does not have the charge yet: no money moved, the share is
 * pending again, and the attempt does not count.
 */
export async function payWithWallet(
  { payments, connectors }: CheckoutContext,
  token: string,
  pin: string,
): Promise<CheckoutView & { refused: boolean }> {
  const payerKey = await payerKeyOf(payments, token)
  const attempt = { ...payerKey, attemptId: newId() }
  const { payment: claimed } = await change(payments, {
    target: payerKey,
    absent: notFound,
    decide({ payment, now }) {
      const { payer } = viewFor(payment, payerKey)
      if (!channelMethods[payer.paymentChannel].includes('wallet')) {
        throw invalid('link_token', 'is of a channel without wallets')
      }
      const transition = beginAttempt(payment, attempt, now)
      return transition === undefined
        ? {}
        : {
            transition,
            begins: { ...attempt, connector: payer.connector, leaseMs: attemptLeaseMs, time: now },
          }
    },
  })
  const { attemptId, connector } = viewFor(claimed, payerKey).payer
  if (attemptId !== attempt.attemptId) return { ...viewFor(claimed, payerKey), refused: false }
  const outcome = await tryWallet({ payments, connectors }, { ...attempt, connector }, pin)
  const view = await viewOf(payments, payerKey)
  return { ...(await withRefusal(payments.db, view)), refused: outcome === 'refused' }
}

/** Calls the back end with no transaction open. Without a response the enquiry worker asks for the outcome later. */
async function tryWallet(
  { payments, connectors }: CheckoutContext,
  attempt: PayerKey & { attemptId: string; connector: string | null },
  pin: string,
) {
  const { db, log } = payments
  const { attemptId, payerId, connector } = attempt
  let outcome: AttemptOutcome | undefined
  try {
    const answer = await withAnnouncedCharge({ payments, connectors }, payerId, async () =>
      connectors.of(connector).payWithWallet(payerId, attemptId, pin),
    ).catch((error: unknown) => {
      if (!wasNotSent(error)) throw error
      log.warn({ err: error, payerId }, 'wallet attempt not sent')
      return undefined
    })
    outcome = answer?.outcome
    if (outcome === 'processing') await enquireAfter(db, attemptId, firstEnquiryMs)
    await reportCharge(payments, payerId, {
      attemptId,
      outcome: outcome ?? 'unknown',
      refusalReason: answer?.refusalReason,
      paymentMethod: outcome === 'paid' ? 'wallet' : undefined,
    })
  } catch (error) {
    log.warn({ err: error, payerId }, 'wallet attempt without a response')
    await enquireAfter(db, attemptId, firstEnquiryMs)
    return 'processing'
  }
  if (outcome === 'unknown') {
    const name = connector ?? connectors.defaultName
    log.warn({ payerId, connector: name }, 'the connector takes no wallets')
    throw notOffered('a wallet')
  }
  if (outcome !== undefined) return outcome
  throw new Failure('PAYMENT_NOT_PAYABLE', 'the back end does not have the attempt')
}

function notOffered(means: string, cause?: unknown): Failure {
  return new Failure('UNSUPPORTED_CHANNEL_METHOD', `the share cannot be paid by ${means}`, {
    cause,
  })
}

/**
 * Opens a card form of the back end. PAYMENT_NOT_PAYABLE unless the share is pending and its channel takes cards here,
 * UNSUPPORTED_CHANNEL_METHOD when its connector takes none.
 */
export async function openCardFrame(
  { payments, connectors }: CheckoutContext,
  token: string,
  look: Pick<CardFrame, 'language' | 'theme'>,
): Promise<string> {
  const payerKey = await payerKeyOf(payments, token)
  const { payment, payer } = await viewOf(payments, payerKey)
  // In channel `agent` the agent's device reads the card, not this page.
  const takesCards = payer.paymentChannel !== 'agent'
  if (!takesCards || payer.state !== 'Pending' || !isOpen(payment)) {
    throw new Failure('PAYMENT_NOT_PAYABLE', 'the share cannot be paid by card here now')
  }
  const page = pageOfCards(look.language, payer.paymentChannel)
  const returnUrl = `${payments.settings.publicBaseUrl}/pay/${token}?${page}`
  const backend = connectors.of(payer.connector)
  const frameUrl = await withAnnouncedCharge({ payments, connectors }, payer.payerId, () =>
    backend.openCardFrame(payer.payerId, { returnUrl, ...look }),
  ).catch((error: unknown) => {
    throw isUnimplemented(error) ? notOffered('card', error) : error
  })
  if (frameUrl !== undefined) return frameUrl
  throw new Failure('SERVICE_UNAVAILABLE', 'the charge is not ready yet')
}

/**
 * The query of the page with the form: its language, the card as the chosen means, and at a point of sale the
 * payer's page instead of the display.
 */
function pageOfCards(language: string, channel: PaymentChannel): string {
  return new URLSearchParams({
    ...(language !== '' && { lang: language }),
    method: 'card',
    ...(channel === 'direct_pos' && { scanned: '1' }),
  }).toString()
}

/** Cancels the request for its only payer. PAYMENT_NOT_CANCELLABLE when there are other payers, or it is too late. */
export async function cancelCheckout(
  { payments }: CheckoutContext,
  token: string,
): Promise<CheckoutView> {
  const payerKey = await payerKeyOf(payments, token)
  const { payment } = await change(payments, {
    target: payerKey,
    absent: notFound,
    decide: ({ payment, now }) => ({ transition: cancelByPayer(payment, now) }),
  })
  return viewFor(payment, payerKey)
}

/** Calls the back end about a charge. If it does not know the charge yet, announces the charge and calls once more. */
async function withAnnouncedCharge<T>(
  checkouts: CheckoutContext,
  payerId: string,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const answer = await ask()
  if (answer !== undefined) return answer
  return (await announceNow(checkouts, payerId)) ? ask() : undefined
}

/** Announces a charge ahead of the worker; false when the back end is unavailable. Its task stays: announcing again changes nothing. */
async function announceNow(
  { payments: { db, linkKeys }, connectors }: CheckoutContext,
  payerId: string,
): Promise<boolean> {
  try {
    // Before the connector is read: after this it does not change.
    await countAttempt(db, [payerId])
    for (const call of await readCharges(db, [payerId])) {
      await connectors.of(call.connector).announce([announcementOf(call, linkKeys())])
    }
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

async function payerKeyOf({ db }: PaymentContext, token: string): Promise<PayerKey> {
  if (token.length !== tokenLength) throw notFound()
  const payerKey = await findPayerOfLink(db, linkTokenHash(token))
  if (payerKey === undefined) throw notFound()
  return payerKey
}

async function viewOf({ db }: PaymentContext, payerKey: PayerKey): Promise<CheckoutView> {
  const reading = await readPayment(db, payerKey.projectId, payerKey.paymentId)
  if (reading === undefined) throw notFound()
  return viewFor(reading.payment, payerKey)
}

/** Adds why the last attempt was refused, unless the share is paid. */
async function withRefusal(db: Queryable, view: CheckoutView): Promise<CheckoutView> {
  const { payerId, refusedAttempts, receiptId } = view.payer
  if (refusedAttempts === 0 || receiptId !== undefined) return view
  return { ...view, refusalReason: await readRefusal(db, payerId) }
}

function viewFor(payment: Payment, { payerId }: PayerKey): CheckoutView {
  const payer = payment.payers.find((one) => one.payerId === payerId)
  if (payer === undefined) throw notFound()
  return { payment, payer }
}
