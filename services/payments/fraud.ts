// The fraud rules of a new request; it must not count or look up anything itself.

/** What the rules go by. */
export type FraudRules = {
  /** Requests a minute that may name one payer, this one included. */
  velocityPerMin: number
  /** Largest amount per currency; a currency that is not here has none. */
  ceilingsMinor: Readonly<Record<string, bigint>>
  /** E.164 with plus sign. */
  blockedMobileNumbers: readonly string[]
}

/** Why a request was stopped. */
export type FraudFinding = 'blocked_number' | 'ceiling' | 'velocity'

/** What a check looks at. */
export type FraudSubject = {
  amountMinor: bigint
  currency: string
  /** E.164 numbers of the payers, each once. */
  payerNumbers: string[]
  /** The most requests of the last minute that name one of them already. */
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
