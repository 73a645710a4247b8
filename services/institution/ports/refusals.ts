// Which errors of a back end refuse a transfer, and which of the ledger refuse its end.
import { Code, ConnectError } from '@connectrpc/connect'
import { Failure, type Reason, reasons } from '#core/errors/errors.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'

/** Refusals of a back end that sends no reason of ours. UNIMPLEMENTED is none: an instance of an older version sends it during an upgrade. */
const refusalCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.OutOfRange,
])

/** Whether an error of CreateTransfer refuses the transfer. After any other the call is repeated until the deadline of the transfer. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  if (error.cause instanceof ConnectError && refusalCodes.has(error.cause.code)) return true
  return reasons[error.reason].http < 500 && error.reason !== 'RATE_LIMIT_EXCEEDED'
}

/** Whether the back end answers that it does not have the call: it has executed nothing. */
export function isUnimplemented(error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  return error.cause instanceof ConnectError && error.cause.code === Code.Unimplemented
}

/** Whether the call that failed with this error has certainly executed nothing. */
export function executesNothing(error: unknown): boolean {
  return wasNotSent(error) || isUnimplemented(error)
}

/** Refusals of the ledger that pass by themselves: the account may get the money. */
const passingReasons: ReadonlySet<Reason> = new Set(['INSUFFICIENT_FUNDS', 'RATE_LIMIT_EXCEEDED'])

/** Whether an error of CompleteMovement or CancelMovement is a permanent refusal: a repeat meets it again until a person acts. */
export function isPermanent(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false
  return reasons[error.reason].http < 500 && !passingReasons.has(error.reason)
}
