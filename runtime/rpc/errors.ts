// The one mapping between a Failure and the error that travels by RPC; it must not log or retry.

import { create } from '@bufbuild/protobuf'
import { DurationSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { Failure, isReason, type Reason, type RpcStatus, reasons } from '#core/errors.ts'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '#gen/google/rpc/error_details_pb.js'

/** Domain of every ErrorInfo of ours; those of others are not read. */
export const errorDomain = 'payweave'

const codes: Record<RpcStatus, Code> = {
  invalid_argument: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  aborted: Code.Aborted,
  resource_exhausted: Code.ResourceExhausted,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
}

const statusNames = Object.fromEntries(
  Object.entries(Code)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => [value, name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()]),
) as Record<Code, string>

/** The gRPC status name of a code in lower snake case, for logs and metrics. */
export function statusName(code: Code): string {
  return statusNames[code]
}

type Details = NonNullable<ConstructorParameters<typeof ConnectError>[3]>

/** How a refusal leaves a server: gRPC status, ErrorInfo, and what is known of the field and the wait. */
export function toConnectError(failure: Failure): ConnectError {
  const details: Details = [
    {
      desc: ErrorInfoSchema,
      value: { reason: failure.reason, domain: errorDomain, metadata: failure.details },
    },
  ]
  const field = failure.details['field']
  if (field !== undefined) {
    const fieldViolations = [{ field, description: failure.message, reason: failure.reason }]
    details.push({ desc: BadRequestSchema, value: { fieldViolations } })
  }
  if (failure.retryAfterS !== undefined) {
    const retryDelay = create(DurationSchema, durationOf(failure.retryAfterS))
    details.push({ desc: RetryInfoSchema, value: { retryDelay } })
  }
  const code = codes[reasons[failure.reason].rpc]
  return new ConnectError(failure.message, code, undefined, details, failure)
}

/** How a bug leaves a server: nothing of it is shown. */
export function internalConnectError(cause: unknown): ConnectError {
  const shown = toConnectError(new Failure('INTERNAL_ERROR', 'internal error'))
  shown.cause = cause
  return shown
}

/**
 * What a caller makes of an error that it received. The reason comes from our ErrorInfo; without one the
 * callee never decided, so only "not reachable" and "too late" are told apart.
 */
export function toFailure(error: ConnectError): Failure {
  const info = error.findDetails(ErrorInfoSchema).find((found) => found.domain === errorDomain)
  if (info === undefined || !isReason(info.reason)) {
    return new Failure(reasonOf(error.code), messages[reasonOf(error.code)], { cause: error })
  }
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  return new Failure(info.reason, error.rawMessage, {
    details: { ...info.metadata },
    ...(delay === undefined ? {} : { retryAfterS: Number(delay.seconds) + delay.nanos / 1e9 }),
    cause: error,
  })
}

type Undecided = Extract<Reason, 'SERVICE_UNAVAILABLE' | 'TIMEOUT' | 'INTERNAL_ERROR'>

const messages: Record<Undecided, string> = {
  SERVICE_UNAVAILABLE: 'a part of the service is not reachable now, retry later',
  TIMEOUT: 'the answer did not come in time, retry later',
  INTERNAL_ERROR: 'something failed on our side, retry later',
}

function reasonOf(code: Code): Undecided {
  if (code === Code.Unavailable) return 'SERVICE_UNAVAILABLE'
  // Cancelled means that whoever waited for us has gone: the outcome is as open as after a time-out.
  if (code === Code.DeadlineExceeded || code === Code.Canceled) return 'TIMEOUT'
  return 'INTERNAL_ERROR'
}

function durationOf(delayS: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(delayS)
  return { seconds: BigInt(seconds), nanos: Math.round((delayS - seconds) * 1e9) }
}
