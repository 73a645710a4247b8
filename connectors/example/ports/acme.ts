// Calls Acme Pay, the invented provider of the example. Each call names our reference, by which Acme executes it once.
import type { Credit } from '../../kit/domain/payment.ts'
import { Refused } from '../../kit/workers/worker.ts'

/** A debit of a wallet. */
export type Debit = { mobileNumber: string; pin: string; currency: string; amountMinor: bigint }

export type Acme = {
  /** Returns its status (domain/status.ts). Rejects when Acme did not answer: that proves nothing. */
  debit(reference: string, debit: Debit): Promise<string>
  /** Returns the status of a debit; one that has not arrived is void from now on, which is never executed. */
  settleDebit(reference: string): Promise<string>
  /** Accepts a credit; a webhook reports its end. Rejects with Refused when Acme never executes it, by no earlier call either. */
  credit(credit: Credit): Promise<void>
}

/** Below the 10 s for which Payweave waits. */
export const timeoutMs = 8_000

const statusOf = (answer: unknown) => (answer as { status: string }).status

/** The client of one Acme account. */
export function acmeAt(baseUrl: string, apiKey: string): Acme {
  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A redirect would show the PIN to another host.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    // 422: Acme has executed nothing by this reference and never will. After any other status, also one about our key, try again.
    if (response.status === 422) throw new Refused('Acme answered 422')
    if (!response.ok) throw new Error(`Acme answered ${response.status}`)
    return await response.json()
  }
  return {
    async debit(reference, { mobileNumber, pin, currency, amountMinor }) {
      const body = { mobile_number: mobileNumber, pin, currency, minor_units: String(amountMinor) }
      return statusOf(await call('PUT', `/debits/${reference}`, body))
    },
    async settleDebit(reference) {
      return statusOf(await call('DELETE', `/debits/${reference}`))
    },
    async credit({ reference, mobileNumber, currency, amountMinor }) {
      const body = { mobile_number: mobileNumber, currency, minor_units: String(amountMinor) }
      await call('PUT', `/credits/${reference}`, body)
    },
  }
}
