// Which errors of a back end refuse a transfer.
import { Code, ConnectError } from '@connectrpc/connect'
import { Failure, reasons } from '#core/errors/errors.ts'

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
