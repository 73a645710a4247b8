// The fraud rules of a new request. The counts are parameters.
import type { FraudRules } from '#platform/config/config.ts'

/** Why a request was stopped. */
export type FraudFinding = 'blocked_number' | 'ceiling' | 'velocity'

/** The input of a check. */
export type FraudSubject = {
  amountMinor: bigint
  currency: string
  /** E.164 numbers of the payers, each once. */
  payerNumbers: string[]
  /** Number of requests in the last minute with the same payer: the maximum over the payers. */
  recentRequests: number
}

/** The first rule that stops the request; undefined when none does. */
export function findFraud(rules: FraudRules, subject: FraudSubject): FraudFinding | undefined {
  const { amountMinor, currency, payerNumbers, recentRequests } = subject
  if (payerNumbers.some((number) => rules.blockedMobileNumbers.includes(number))) {
    return 'blocked_number'
  }
  const ceilingMinor = rules.ceilingsMinor[currency]
  if (ceilingMinor !== undefined && amountMinor > ceilingMinor) return 'ceiling'
  return recentRequests >= rules.velocityPerMin ? 'velocity' : undefined
}
