// Decides what a payer reads when a call to pay with their wallet has failed. Pure.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'
import type { Phase } from './checkout-view.ts'
import type { MessageKind } from './render.ts'

/** What payments refuses without having called the wallet. */
const refused: Partial<Record<Reason, MessageKind>> = {
  UNSUPPORTED_CHANNEL_METHOD: 'walletNotOffered',
  PAYMENT_NOT_PAYABLE: 'notSent',
  INVALID_PARAMETER: 'notSent',
}

/**
 * The message about a call that failed, or undefined where the payer's page itself shows the outcome. `phase` is what the page
 * was about after the call; undefined when it could not be read.
 */
export function walletFailure(error: unknown, phase: Phase | undefined): MessageKind | undefined {
  const certain = error instanceof Failure ? refused[error.reason] : undefined
  if (certain !== undefined) return certain
  // Another call may have begun an attempt, which the page shows.
  if (phase === 'processing' || phase === 'ended') return undefined
  // If the call was sent, it may still arrive, and money may move.
  return wasNotSent(error) ? 'notSent' : 'notConfirmed'
}
