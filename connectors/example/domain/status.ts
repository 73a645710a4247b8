// What the statuses of Acme mean. Pure.
import type { AttemptEnd } from '../../kit/domain/payment.ts'

/** The end of a debit with this status: paid, or refused for no reason that Acme gives. */
export function endOf(status: string): AttemptEnd {
  return status === 'paid' ? { outcome: 'paid' } : { outcome: 'refused', refusal: null }
}
