// Handles Acme's webhooks: ends what they are about, and owes Payweave the report in the same transaction.
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { chargeReport, payoutReport, refundReport } from '../../kit/api/report-messages.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import type { ReadEvent } from '../../kit/http/webhook-port.ts'
import { insertWork } from '../../kit/store/work-store.ts'
import { endAttempt, endCredit } from '../store/payment-store.ts'

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
    const isWhole = [event?.id, event?.reference, event?.status].every(
      (one) => typeof one === 'string',
    )
    const isKnown = event?.type === 'debit.ended' || event?.type === 'credit.ended'
    return isWhole && isKnown ? (event as AcmeEvent) : undefined
  } catch {
    return undefined
  }
}

/** Ends an attempt, payout or refund. A second event about it changes nothing. */
export async function handleEvent(
  { payload }: Work,
  { db, notify }: ConnectorContext,
): Promise<void> {
  const event = parse(Buffer.from(payload))
  if (event === undefined) return
  const { type, reference, status } = event
  await db.transaction(async (tx) => {
    if (type === 'debit.ended') {
      const isPaid = status === 'paid'
      const chargeId = await endAttempt(tx, reference, isPaid ? 'paid' : 'refused')
      if (chargeId === undefined) return
      const outcome = isPaid ? ChargeOutcome.PAID : ChargeOutcome.REFUSED
      await insertWork(tx, chargeReport({ chargeId, attemptId: reference, outcome }))
      return
    }
    const isCompleted = status === 'completed'
    const kind = await endCredit(tx, reference, isCompleted ? 'completed' : 'failed')
    const outcome = isCompleted ? TransferOutcome.COMPLETED : TransferOutcome.FAILED
    if (kind === 'payout') await insertWork(tx, payoutReport({ payoutId: reference, outcome }))
    if (kind === 'refund') await insertWork(tx, refundReport({ refundId: reference, outcome }))
  })
  notify()
}
