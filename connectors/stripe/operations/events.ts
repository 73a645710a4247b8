// Takes Stripe's events. They can come late, twice and in any order, so that what they say counts less than what Stripe answers now: they start an enquiry.
import { isUuid } from '#core/identity/id.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import type { ReadEvent } from '../../kit/http/webhook-port.ts'
import { findCredit } from '../../kit/store/payment-store.ts'
import { hastenWork } from '../../kit/store/work-store.ts'
import { NotYet } from '../../kit/workers/worker.ts'
import { refundPauseMs } from '../domain/refund.ts'
import { referencesOf } from '../ports/stripe.ts'
import type { StripeAccount } from './account.ts'
import { collectKind } from './collect.ts'
import { recordReturn, refundKind } from './refund.ts'

type Event = { id: string; type: string; charge: string | undefined; refund: string | undefined }

/** Longest pause before the next look at a refund that has failed at Stripe and has no end here yet: later events about it wait too. */
const maxOpenRefundMs = 30_000

/** An event that is about nothing of ours: stored, since it is signed, and then dropped. */
const foreign = 'foreign'

/** Reads the body of an event; undefined for an invalid one. Its subject is our charge or refund. */
export function readEvent(body: Buffer): ReadEvent | undefined {
  const event = parse(body)
  return event && { eventId: event.id, subject: event.refund ?? event.charge ?? foreign }
}

/**
 * Makes the work on the charge or refund due. A refund that fails at Stripe after it was completed is reported as returned, once
 * Stripe has confirmed that. Rejects with NotYet while such a refund has no end here, and with StripeFailure.
 */
export async function handleEvent(
  { payload }: Work,
  context: ConnectorContext,
  account: StripeAccount,
): Promise<void> {
  const { db, notify } = context
  const event = parse(Buffer.from(payload))
  if (event === undefined) return
  const { type, charge, refund } = event
  const subject = refund ?? charge
  if (subject === undefined) return
  if (await hastenWork(db, [collectKind, refundKind], subject)) notify()
  if (type !== 'refund.failed' || refund === undefined) return
  const credit = await findCredit(db, refund)
  // The work on it may have read an earlier status, and may be about to end it as completed. Or it waits for our balance.
  if (credit?.state === 'pending')
    throw new NotYet(Math.min(maxOpenRefundMs, refundPauseMs(credit.ageMs)))
  if (credit?.state === 'completed') await recordReturn(refund, context, account)
}

function parse(body: Buffer): Event | undefined {
  try {
    const event = JSON.parse(body.toString()) as {
      id?: unknown
      type?: unknown
      data?: { object?: { metadata?: Record<string, unknown> | null } }
    } | null
    const { id, type, data } = event ?? {}
    if (typeof id !== 'string' || id === '' || id.length > 200 || typeof type !== 'string')
      return undefined
    const { charge, refund } = referencesOf(data?.object?.metadata ?? {})
    return { id, type, charge: uuidOf(charge), refund: uuidOf(refund) }
  } catch {
    return undefined
  }
}

function uuidOf(value: unknown): string | undefined {
  return typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined
}
