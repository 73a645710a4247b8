// The one error of every call that fails.
import { fromBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { type Metadata, type ServiceError, status as Status } from '@grpc/grpc-js'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '../../gen/google/rpc/status_pb.js'

export { Status }

/** Name of a gRPC status, for example `NOT_FOUND`. */
export type StatusName = keyof typeof Status

/** The facts of a failed call. */
export interface CallFailure {
  code: Status
  details: string
  reason?: string | undefined
  domain?: string | undefined
  metadata?: Record<string, string>
  fields?: FieldViolation[]
  retryDelayMs?: number | undefined
}

/** A field of the request that was refused. */
export interface FieldViolation {
  field: string
  description: string
}

/** Which call failed. */
export interface FailedCall {
  /** `pkg.Service/Method`. */
  method: string
  requestId: string
}

/** The error of every call that was refused, timed out, was cancelled or did not reach the service. */
export class PayweaveError extends Error {
  override readonly name = 'PayweaveError'
  readonly code: Status
  readonly status: StatusName
  /** The message of the service or of gRPC itself, without the name of the call. */
  readonly details: string
  /** From google.rpc.ErrorInfo, for example `PAYMENT_NOT_FOUND`. Absent when no service answered. */
  readonly reason: string | undefined
  /** The domain of the reason: `payweave`. */
  readonly domain: string | undefined
  /** The facts beside the reason. */
  readonly metadata: Readonly<Record<string, string>>
  /** From google.rpc.BadRequest. */
  readonly fields: readonly FieldViolation[]
  /** From google.rpc.RetryInfo: milliseconds to wait before the same call is repeated. */
  readonly retryDelayMs: number | undefined
  /** `pkg.Service/Method`. */
  readonly method: string
  /** UUID by which the logs of every service name the call. */
  readonly requestId: string

  constructor(failure: CallFailure, call: FailedCall, cause?: unknown) {
    const status = Status[failure.code] as StatusName
    const words = failure.reason === undefined ? status : `${status} (${failure.reason})`
    super(
      `${call.method}: ${words}: ${failure.details}`,
      cause === undefined ? undefined : { cause },
    )
    this.code = failure.code
    this.status = status
    this.details = failure.details
    this.reason = failure.reason
    this.domain = failure.domain
    this.metadata = failure.metadata ?? {}
    this.fields = failure.fields ?? []
    this.retryDelayMs = failure.retryDelayMs
    this.method = call.method
    this.requestId = call.requestId
  }
}

/** Reads the error of grpc-js with its google.rpc details. Details that cannot be decoded are left out. */
export function readServiceError(error: ServiceError): CallFailure {
  const { code, details } = error
  const detail = detailsOf(error.metadata)
  const info = detail?.info
  const delay = detail?.retry?.retryDelay
  return {
    code,
    details,
    reason: info?.reason,
    domain: info?.domain,
    metadata: { ...info?.metadata },
    fields: (detail?.bad?.fieldViolations ?? []).map(({ field, description }) => ({
      field,
      description,
    })),
    retryDelayMs: delay && Number(delay.seconds) * 1_000 + delay.nanos / 1e6,
  }
}

function detailsOf(metadata: Metadata | undefined) {
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? []
  if (!(bytes instanceof Uint8Array)) return undefined
  try {
    const { details } = fromBinary(StatusSchema, bytes)
    const find = <T>(unpack: (any: (typeof details)[number]) => T | undefined) =>
      details.map(unpack).find((found) => found !== undefined)
    return {
      info: find((any) => anyUnpack(any, ErrorInfoSchema)),
      retry: find((any) => anyUnpack(any, RetryInfoSchema)),
      bad: find((any) => anyUnpack(any, BadRequestSchema)),
    }
  } catch {
    // Details of another kind are ignored: the status remains.
    return undefined
  }
}
