// Handles Acme's webhooks: ends what they are about, of which Payweave is owed a report.
import { isUuid } from '#core/identity/id.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import type { ReadEvent } from '../../kit/http/webhook-port.ts'
import { endAttempt } from '../../kit/operations/attempts.ts'
import { endCredit } from '../../kit/operations/credits.ts'
import { endOfCredit, endOfDebit } from '../domain/status.ts'

/** An event of Acme. */
type AcmeEvent = {
  id: string
  type: 'debit.ended' | 'credit.ended'
  reference: string
  status: string
}

/** Reads the body of a webhook; undefined when it is no event of Acme's. */
export function readEvent(body: Buffer): ReadEvent | undefined {
  const event = parse(body)
  return event === undefined ? undefined : { eventId: event.id, subject: event.reference }
}

function parse(body: Buffer): AcmeEvent | undefined {
  try {
    const event = JSON.parse(body.toString()) as Partial<AcmeEvent> | null
    const isText = [event?.id, event?.status].every((one) => typeof one === 'string')
    // A reference is one of our ids: another is no reason to ask the database again and again.
    const isReference = typeof event?.reference === 'string' && isUuid(event.reference)
    const isKnown = event?.type === 'debit.ended' || event?.type === 'credit.ended'
    return isText && isReference && isKnown ? (event as AcmeEvent) : undefined
  } catch {
    return undefined
  }
}

/** Ends an attempt, payout or refund. A second event about it changes nothing, nor does one whose status is no end. */
export async function handleEvent(
  { payload }: Work,
  { db, notify }: ConnectorContext,
): Promise<void> {
  const event = parse(Buffer.from(payload))
  if (event === undefined) return
  const { type, reference, status } = event
  const debit = type === 'debit.ended' ? endOfDebit(status) : undefined
  if (debit !== undefined) await endAttempt(db, reference, debit)
  const credit = type === 'credit.ended' ? endOfCredit(status) : undefined
  if (credit !== undefined) await endCredit(db, reference, credit)
  notify()
}
