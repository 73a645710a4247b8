// What the statuses of Acme mean. Pure.
import type { AttemptEnd } from '../../kit/domain/payment.ts'

/** The end of a debit with this status, which gives no reason for a refusal; undefined for any other status: it has not ended. */
export function endOfDebit(status: string): AttemptEnd | undefined {
  if (status === 'paid') return { outcome: 'paid' }
  if (status === 'refused' || status === 'void') return { outcome: 'refused', refusal: null }
  return undefined
}

/** The end of a credit with this status; undefined for any other status: it has not ended. */
export function endOfCredit(status: string): 'completed' | 'failed' | undefined {
  return status === 'completed' || status === 'failed' ? status : undefined
}
