// The outcome of a transfer, by the account that it goes to. Pure.

export type TransferType = 'inttransfer' | 'deposit' | 'cashout'
export type TransferState = 'pending' | 'completed' | 'failed' | 'cancelled' | 'not_found'

/** How a transfer ends by itself. */
export type TransferEnd = 'completed' | 'failed'

/** From the arrival of a transfer to its end. */
export const endAfterMs = 1_000

/** Why a transfer fails, for people. */
export const failedReason = 'the account to be credited cannot take the money'

/** How a transfer to an account ends by itself; undefined: it stays pending. */
export function endOf(creditAccountNumber: string): TransferEnd | undefined {
  if (creditAccountNumber.endsWith('0504')) return undefined
  return creditAccountNumber.endsWith('0402') ? 'failed' : 'completed'
}
