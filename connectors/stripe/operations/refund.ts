// Moves a refund on by one call to Stripe, until it has succeeded or failed.
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { endCredit, returnRefund } from '../../kit/operations/credits.ts'
import { findCredit } from '../../kit/store/payment-store.ts'
import { holdWork } from '../../kit/store/work-store.ts'
import { NotYet, Refused } from '../../kit/workers/worker.ts'
import { stripeAmount } from '../domain/amount.ts'
import {
  afterAbsence,
  isFinalRefusal,
  nextRefundStep,
  type RefundProgress,
  type RefundState,
  refundPauseMs,
  waitsForBalance,
} from '../domain/refund.ts'
import { type RefundOrder, type StripeCalls, StripeFailure } from '../ports/stripe.ts'
import { findPaidIntent } from '../store/intent-store.ts'
import {
  findRefund,
  recordKeySpent,
  recordRefund,
  recordRefundRefusal,
  recordRefundSent,
  recordRefundUnfunded,
  renewRefundKey,
} from '../store/refund-store.ts'
import type { StripeAccount } from './account.ts'

/** Kind of the work that refunds; its subject is the refund. */
export const refundKind = 'stripe.refund'

type Setting = ConnectorContext & {
  work: Work
  stripe: StripeCalls
  order: RefundOrder
  ageMs: number
}
type Progress = RefundProgress & { round: number }

/** Moves a refund on. Rejects with NotYet as long as it has not ended. */
export async function refund(
  work: Work,
  context: ConnectorContext,
  { stripe }: StripeAccount,
): Promise<void> {
  const { db } = context
  const { subject: reference } = work
  const credit = await findCredit(db, reference)
  if (credit?.state !== 'pending') return
  const intentId = credit.chargeId === null ? undefined : await findPaidIntent(db, credit.chargeId)
  if (intentId === undefined) throw new Refused(`refund ${reference} is of no payment by card`)
  const amount = stripeAmount(credit.amountMinor, credit.currency)
  if (amount === undefined) return await end({ ...context, work }, 'amount')
  const order = { reference, intentId, amount }
  const setting = { ...context, work, stripe, order, ageMs: credit.ageMs }
  const progress = await findRefund(db, reference)
  const { refundId } = progress
  if (refundId !== null) return await settle(setting, await stripe.enquireRefund(refundId))
  if (nextRefundStep(progress) === 'send') return await send(setting, progress)
  const found = await stripe.findRefund(order)
  if (found !== undefined) return await settle(setting, found)
  const next = afterAbsence(progress)
  if (next === 'fail') return await end(setting, progress.refusal)
  if (next === 'repeat') return await send(setting, progress)
  if (next === 'renew') {
    // Another worker may have sent it with a new key after our lease: a third key could refund again.
    await db.transaction(async (tx) => {
      await holdWork(tx, work)
      await renewRefundKey(tx, reference)
    })
  }
  throw new NotYet(next === 'renew' ? 0 : refundPauseMs(credit.ageMs))
}

/** Reports a completed refund as returned when Stripe says that it has failed. Rejects with StripeFailure. */
export async function recordReturn(
  reference: string,
  { db, log, notify }: ConnectorContext,
  { stripe }: StripeAccount,
): Promise<void> {
  const { refundId } = await findRefund(db, reference)
  if (refundId === null) return
  const { status } = await stripe.enquireRefund(refundId)
  if (status !== 'failed' && status !== 'unfunded') return
  log.warn({ kind: refundKind, reason: 'returned' }, 'refund failed at Stripe')
  if (await returnRefund(db, reference)) notify()
}

async function send(setting: Setting, progress: Progress): Promise<void> {
  const { db, work, stripe, order, ageMs } = setting
  const { reference } = order
  const isFirst = progress.sentAgeMs === null && progress.round === 0
  // Another worker may have looked for it after our lease, and given it up: then it must not be sent.
  await db.transaction(async (tx) => {
    await holdWork(tx, work)
    await recordRefundSent(tx, reference)
  })
  const answer = await stripe
    .refund(order, `${reference}-${progress.round}`)
    .catch(async (error: unknown) => {
      if (error instanceof StripeFailure && error.isRepeated) await recordKeySpent(db, reference)
      throw error
    })
  if (!('rejected' in answer)) return await settle(setting, answer)
  const { rejected } = answer
  if (!isFinalRefusal(rejected)) {
    // Stripe may repeat its answer for the same key.
    await recordKeySpent(db, reference)
    if (waitsForBalance(rejected)) return waitForBalance(setting, rejected)
    throw new StripeFailure(400, rejected)
  }
  if (isFirst) return await end(setting, rejected)
  // An earlier call that had no answer may have been executed, though this one is refused.
  await recordRefundRefusal(db, reference, rejected)
  throw new NotYet(refundPauseMs(ageMs))
}

/** Acts on what Stripe has. */
async function settle(setting: Setting, { refundId, status }: RefundState): Promise<void> {
  const { db, work, order, ageMs } = setting
  if (status === 'unfunded') {
    // Another worker may have made the next refund after our lease, and recorded that one.
    await db.transaction(async (tx) => {
      await holdWork(tx, work)
      await recordRefundUnfunded(tx, order.reference)
    })
    return waitForBalance(setting, status)
  }
  await recordRefund(db, order.reference, refundId)
  if (status === 'pending') throw new NotYet(refundPauseMs(ageMs))
  await end(setting, status === 'failed' ? status : null)
}

function waitForBalance({ log, ageMs }: Setting, reason: string): never {
  log.warn({ kind: refundKind, reason }, 'refund waits for our balance at Stripe')
  throw new NotYet(refundPauseMs(ageMs))
}

async function end(
  { db, log, work, notify }: Pick<Setting, 'db' | 'log' | 'work' | 'notify'>,
  failure: string | null,
): Promise<void> {
  // Payweave's report has no reason: this is where an operator finds it.
  if (failure !== null) log.warn({ kind: refundKind, reason: failure }, 'refund failed at Stripe')
  await endCredit(db, work.subject, failure === null ? 'completed' : 'failed', work)
  notify()
}
