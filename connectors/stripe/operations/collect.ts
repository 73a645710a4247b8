// Moves an attempt on by one call to Stripe, until its PaymentIntent has succeeded or is cancelled. What an answer does not prove is not believed.
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { endAttempt } from '../../kit/operations/attempts.ts'
import { findAttempt, findCharge } from '../../kit/store/payment-store.ts'
import { holdWork } from '../../kit/store/work-store.ts'
import { NotYet, Refused } from '../../kit/workers/worker.ts'
import { stripeAmount } from '../domain/amount.ts'
import {
  type IntentProgress,
  type IntentState,
  mayAct,
  mayStart,
  nextStep,
  pauseMs,
} from '../domain/intent.ts'
import { refusalOf, refusalOfRequest } from '../domain/reasons.ts'
import { type IntentOrder, type StripeCalls, StripeFailure } from '../ports/stripe.ts'
import {
  findIntent,
  recordAction,
  recordConfirmed,
  recordIntent,
  recordIntentRefusal,
  renewIntentKey,
} from '../store/intent-store.ts'
import type { StripeAccount } from './account.ts'

/** Kind of the work that collects; its key is the attempt, and its subject the charge. */
export const collectKind = 'stripe.collect'

type Setting = ConnectorContext & { work: Work; stripe: StripeCalls; attemptId: string }
type Progress = IntentProgress & { order: IntentOrder | undefined; round: number }

/** The work that collects an attempt with the ConfirmationToken that Stripe.js has made for it. */
export function collectWork(chargeId: string, attemptId: string, token: string) {
  return { kind: collectKind, key: attemptId, subject: chargeId, payload: Buffer.from(token) }
}

/** Moves an attempt on. Rejects with NotYet as long as it has not ended. */
export async function collect(
  work: Work,
  context: ConnectorContext,
  { stripe }: StripeAccount,
): Promise<void> {
  const { key: attemptId } = work
  const setting: Setting = { ...context, work, stripe, attemptId }
  const progress = await progressOf(setting)
  if (progress === undefined) return
  try {
    await advance(setting, progress)
  } catch (error) {
    const isRepeated = error instanceof StripeFailure && error.isRepeated
    if (isRepeated) await renewIntentKey(context.db, attemptId)
    throw error
  }
}

async function progressOf({ db, attemptId }: Setting): Promise<Progress | undefined> {
  const attempt = await findAttempt(db, attemptId)
  if (attempt?.outcome !== 'processing' || attempt.chargeId === null) return undefined
  const charge = await findCharge(db, attempt.chargeId)
  if (charge === undefined) return undefined
  const { chargeId, currency, amountMinor, businessName: name } = charge
  const amount = stripeAmount(amountMinor, currency)
  const order = amount === undefined ? undefined : { attemptId, chargeId, amount, currency, name }
  const isPayable = charge.state === 'open' && !charge.isExpired
  return { ...(await findIntent(db, attemptId)), ageMs: attempt.ageMs, isPayable, order }
}

async function advance(setting: Setting, progress: Progress): Promise<void> {
  const { db, stripe, work, attemptId } = setting
  const { intentId, round } = progress
  const step = nextStep(progress)
  if (intentId === null) {
    if (step === 'never') return await end(setting, { outcome: 'refused', refusal: 'unavailable' })
    return await create(setting, progress)
  }
  if (step === 'enquire') return await settle(setting, progress, await stripe.enquire(intentId))
  if (step === 'cancel') {
    const cancelled = await stripe.cancel(intentId, `${attemptId}-cancel-${work.attempts}`)
    return await settle(setting, progress, cancelled)
  }
  // Another worker may have found it unconfirmed after our lease, and given it up: then it must not be confirmed.
  await db.transaction(async (tx) => {
    await holdWork(tx, work)
    await recordConfirmed(tx, attemptId, true)
  })
  const token = Buffer.from(work.payload).toString()
  const answer = await stripe.confirm(intentId, token, `${attemptId}-confirm-${round}`)
  if ('rejected' in answer) return await refuse(setting, refusalOfRequest(answer.rejected))
  await settle(setting, progress, answer)
}

/** Creates the intent. Without one nothing can be charged, so that a refusal ends the attempt. */
async function create(setting: Setting, { order, round }: Progress): Promise<void> {
  const { db, stripe, attemptId } = setting
  if (order === undefined)
    return await end(setting, { outcome: 'refused', refusal: 'not_permitted' })
  const answer = await stripe.create(order, `${attemptId}-${round}`)
  if ('rejected' in answer) {
    const refusal = refusalOfRequest(answer.rejected)
    return await end(setting, { outcome: 'refused', refusal })
  }
  await recordIntent(db, attemptId, answer.intentId)
  throw new NotYet(0)
}

/** Acts on what Stripe has. */
async function settle(setting: Setting, progress: Progress, state: IntentState): Promise<void> {
  const { db, attemptId } = setting
  const { status, failure, amountReceived } = state
  await recordAction(db, attemptId, status === 'action')
  if (status === 'succeeded') {
    if (amountReceived !== progress.order?.amount)
      throw new Refused(`Stripe received another amount for attempt ${attemptId}`)
    return await end(setting, { outcome: 'paid', method: 'card' })
  }
  const { refusal } = progress
  if (status === 'canceled') {
    const known = failure === undefined ? 'unavailable' : refusalOf(failure)
    return await end(setting, { outcome: 'refused', refusal: refusal ?? known })
  }
  if (refusal === null) {
    // Cancelled first: with the client secret another card could still pay it.
    if (status === 'failed') return await refuse(setting, refusalOf(failure ?? ''))
    if (status === 'action' && !mayAct(progress)) return await refuse(setting, 'not_confirmed')
    if (status === 'unpaid') return await confirmAgain(setting, progress)
  }
  throw new NotYet(pauseMs(progress.ageMs))
}

/** Stripe has not executed the confirmation that was sent. */
async function confirmAgain(setting: Setting, progress: Progress): Promise<never> {
  if (!mayStart(progress)) return await refuse(setting, 'unavailable')
  await recordConfirmed(setting.db, setting.attemptId, false)
  throw new NotYet(0)
}

async function refuse(
  { db, attemptId }: Setting,
  refusal: Parameters<typeof recordIntentRefusal>[2],
): Promise<never> {
  await recordIntentRefusal(db, attemptId, refusal)
  throw new NotYet(0)
}

async function end(
  { db, work, attemptId, notify }: Setting,
  outcome: Parameters<typeof endAttempt>[2],
): Promise<void> {
  await endAttempt(db, attemptId, outcome, work)
  notify()
}
