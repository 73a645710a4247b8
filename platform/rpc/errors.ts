// The one mapping between a Failure and the error of an RPC.

import { create } from '@bufbuild/protobuf'
import { DurationSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { Failure, isReason, type Reason, type RpcStatus, reasons } from '#core/errors/errors.ts'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '#gen/google/rpc/error_details_pb.js'

/** Domain of every ErrorInfo of ours; those of others are not read. */
export const errorDomain = 'payweave'

const codes: Record<RpcStatus, Code> = {
  canceled: Code.Canceled,
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
  const fieldViolations = fieldViolationsOf(failure)
  if (fieldViolations.length > 0) {
    details.push({ desc: BadRequestSchema, value: { fieldViolations } })
  }
  if (failure.retryAfterS !== undefined) {
    const retryDelay = create(DurationSchema, durationOf(failure.retryAfterS))
    details.push({ desc: RetryInfoSchema, value: { retryDelay } })
  }
  const code = codes[reasons[failure.reason].rpc]
  return new ConnectError(failure.message, code, undefined, details, failure)
}

/** Reasons of errors that Connect makes by itself, or that were thrown without one. */
const reasonsByCode: Partial<Record<Code, Reason>> = {
  [Code.Canceled]: 'CANCELLED',
  [Code.InvalidArgument]: 'MALFORMED_REQUEST',
  [Code.DeadlineExceeded]: 'TIMEOUT',
  [Code.PermissionDenied]: 'PERMISSION_DENIED',
  [Code.ResourceExhausted]: 'MESSAGE_TOO_LARGE',
  [Code.Unimplemented]: 'METHOD_UNIMPLEMENTED',
  [Code.Unavailable]: 'SERVICE_UNAVAILABLE',
  [Code.Unauthenticated]: 'UNAUTHENTICATED',
}

/** Whether an error says its reason by an ErrorInfo, as each that leaves a server does. */
export function hasReason(error: ConnectError): boolean {
  return error.details.some((detail) =>
    'desc' in detail
      ? detail.desc.typeName === ErrorInfoSchema.typeName
      : detail.type === ErrorInfoSchema.typeName,
  )
}

/** The error with an ErrorInfo: its own, or the one that follows from its code. Its code and message stay. */
export function withReason(error: ConnectError): ConnectError {
  if (hasReason(error)) return error
  const reason = reasonsByCode[error.code] ?? 'INTERNAL_ERROR'
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: errorDomain } })
  return error
}

/** The `retry-after` header of an error that says when to try again, in whole seconds. */
export function retryAfterOf(error: ConnectError): { 'retry-after'?: string } {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  if (delay === undefined) return {}
  return { 'retry-after': String(Math.ceil(Number(delay.seconds) + delay.nanos / 1e9)) }
}

/** What a call that cannot be decoded is refused with. */
export function malformed(message: string, cause?: unknown): Failure {
  return new Failure('MALFORMED_REQUEST', message, { cause })
}

/** What a call ends with whose caller went away. */
export function callerGone(cause?: unknown): Failure {
  return new Failure('CANCELLED', 'the caller went away', { cause })
}

function fieldViolationsOf({ message, reason, details, violations }: Failure) {
  const field = details['field']
  if (violations === undefined) {
    return field === undefined ? [] : [{ field, description: message, reason }]
  }
  return violations.map((violation) => ({
    field: violation.field,
    description: `${violation.field} ${violation.rule}`,
    reason: violation.reason,
  }))
}

/** How a bug leaves a server: nothing of it is shown. */
export function internalConnectError(cause: unknown): ConnectError {
  const shown = toConnectError(new Failure('INTERNAL_ERROR', 'internal error'))
  shown.cause = cause
  return shown
}

/**
 * What reasons about the call itself mean to the code that made it: a fault of our own, or an outcome that is open. They
 * are not passed on, since the next caller would take them for a judgement on its own call.
 */
const reasonsOfCalls: Partial<Record<Reason, Undecided>> = {
  UNAUTHENTICATED: 'INTERNAL_ERROR',
  PERMISSION_DENIED: 'INTERNAL_ERROR',
  METHOD_UNIMPLEMENTED: 'INTERNAL_ERROR',
  RPC_SERVICE_NOT_FOUND: 'INTERNAL_ERROR',
  MALFORMED_REQUEST: 'INTERNAL_ERROR',
  COMPRESSION_UNSUPPORTED: 'INTERNAL_ERROR',
  MESSAGE_TOO_LARGE: 'INTERNAL_ERROR',
  SERVER_OVERLOADED: 'SERVICE_UNAVAILABLE',
  CANCELLED: 'TIMEOUT',
}

/**
 * What a caller makes of an error that it received. The reason comes from our ErrorInfo; without one the
 * callee never decided, so only "not reachable" and "too late" are distinguished.
 */
export function toFailure(error: ConnectError): Failure {
  const info = error.findDetails(ErrorInfoSchema).find((found) => found.domain === errorDomain)
  if (info === undefined || !isReason(info.reason)) {
    return new Failure(reasonOf(error.code), messages[reasonOf(error.code)], { cause: error })
  }
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  const wait = delay === undefined ? {} : { retryAfterS: Number(delay.seconds) + delay.nanos / 1e9 }
  const meant = reasonsOfCalls[info.reason]
  if (meant !== undefined) return new Failure(meant, messages[meant], { ...wait, cause: error })
  return new Failure(info.reason, error.rawMessage, {
    details: { ...info.metadata },
    ...wait,
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
  // Cancelled means that our caller has gone: the outcome is as unknown as after a time-out.
  if (code === Code.DeadlineExceeded || code === Code.Canceled) return 'TIMEOUT'
  return 'INTERNAL_ERROR'
}

function durationOf(delayS: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(delayS)
  return { seconds: BigInt(seconds), nanos: Math.round((delayS - seconds) * 1e9) }
}
