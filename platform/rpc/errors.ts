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
const errorDomain = 'payweave'

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

/** How a refusal leaves a server: its gRPC status, ErrorInfo, and BadRequest and RetryInfo where they apply. */
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

/** Whether an error has an ErrorInfo, as each that leaves a server does. */
export function hasReason(error: ConnectError): boolean {
  return error.details.some((detail) =>
    'desc' in detail
      ? detail.desc.typeName === ErrorInfoSchema.typeName
      : detail.type === ErrorInfoSchema.typeName,
  )
}

/**
 * Adds an ErrorInfo, with the reason that follows from the code, to an error without one. Its code and message stay.
 */
export function withReason(error: ConnectError): ConnectError {
  if (hasReason(error)) return error
  const reason = reasonsByCode[error.code] ?? 'INTERNAL_ERROR'
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: errorDomain } })
  return error
}

/** The `retry-after` header, in whole seconds rounded up, of an error with RetryInfo; empty for others. */
export function retryAfterOf(error: ConnectError): { 'retry-after'?: string } {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  if (delay === undefined) return {}
  return { 'retry-after': String(Math.ceil(Number(delay.seconds) + delay.nanos / 1e9)) }
}

/** Makes (does not throw) the MALFORMED_REQUEST for a call that cannot be decoded. */
export function malformed(message: string, cause?: unknown): Failure {
  return new Failure('MALFORMED_REQUEST', message, { cause })
}

/** Makes (does not throw) the CANCELLED for a call whose caller disconnected. */
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

/** How a bug leaves a server: INTERNAL_ERROR, with nothing of its cause shown. */
export function internalConnectError(cause: unknown): ConnectError {
  const shown = toConnectError(new Failure('INTERNAL_ERROR', 'internal error'))
  shown.cause = cause
  return shown
}

/**
 * Reasons about the call itself, mapped to what they mean to the process that made it: a bug of ours, or an unknown
 * outcome. They are not passed on, since the next caller would take them as being about its own call.
 */
const reasonsOfCalls: Partial<Record<Reason, Undecided>> = {
  // The call was not executed: clocks disagree, or a key is not known there yet.
  UNAUTHENTICATED: 'SERVICE_UNAVAILABLE',
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
 * Makes (does not throw) the Failure for an error that a call received. The reason comes from our ErrorInfo; without
 * one the callee made no decision: SERVICE_UNAVAILABLE for Unavailable, TIMEOUT for DeadlineExceeded and Canceled, else
 * INTERNAL_ERROR. Reasons about the call itself (such as UNAUTHENTICATED) become those three as well.
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
  // A call is cancelled when our own caller disconnects: the outcome is as unknown as after a time-out.
  if (code === Code.DeadlineExceeded || code === Code.Canceled) return 'TIMEOUT'
  return 'INTERNAL_ERROR'
}

function durationOf(delayS: number): { seconds: bigint; nanos: number } {
  const delayMs = Math.round(delayS * 1_000)
  return { seconds: BigInt(Math.floor(delayMs / 1_000)), nanos: (delayMs % 1_000) * 1_000_000 }
}
