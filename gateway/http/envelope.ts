// The JSON envelope of every answer of the API, by route group.
import { Failure, isPublicReason, type Reason, reasons } from '#core/errors/errors.ts'
import { formatIso } from '#core/text/time.ts'
import type { ObservedClientIp } from './headers.ts'

/** Which facts of the request a response contains. */
type Facts = { requestId: boolean; timestamp: boolean; clientIp: boolean }

type EnvelopeForm = {
  success: Facts
  /** `help`: `field` and `doc_url`. */
  error: Facts & { errorCode: boolean; help: boolean }
  /** Methods whose errors list the query parameters that are missing. */
  listsMissing: 'always' | 'on GET'
}

const all = { requestId: true, timestamp: true, clientIp: true }
const none = { requestId: false, timestamp: false, clientIp: false }
const timestampOnly = { ...none, timestamp: true }
const coded = { errorCode: true, help: true }
const billError = { ...timestampOnly, ...coded }

/** The forms of the envelope, one for each route group. */
export const envelopes = {
  full: { success: all, error: { ...all, ...coded }, listsMissing: 'always' },
  quote: {
    success: none,
    error: { ...none, errorCode: false, help: false },
    listsMissing: 'on GET',
  },
  billCreate: { success: none, error: billError, listsMissing: 'always' },
  billRead: { success: timestampOnly, error: billError, listsMissing: 'always' },
} as const satisfies Record<string, EnvelopeForm>

/** Name of a form; paths that nothing is known about use `full`. */
export type EnvelopeName = keyof typeof envelopes

/** What an envelope is filled from. */
export type EnvelopeFacts = {
  form: EnvelopeName
  method: string
  requestId: string
  /** Absent where the answer does not show it. */
  clientIp: ObservedClientIp | undefined
}

/** What a route answers when it succeeds. */
export type SuccessResponse = {
  code: number
  /** Absent on the receipt alone. */
  message?: string
  fields: Record<string, unknown>
  /** Response headers beside those of every answer. */
  headers?: Record<string, string>
}

/** The body of a success. */
export function successBody(
  facts: EnvelopeFacts,
  { code, message, fields }: SuccessResponse,
): string {
  const shown = envelopes[facts.form].success
  return JSON.stringify({
    status: 'success',
    code,
    message,
    request_id: shown.requestId ? facts.requestId : undefined,
    timestamp: shown.timestamp ? formatIso(new Date()) : undefined,
    ...fields,
    observed_client_ip: shown.clientIp ? facts.clientIp : undefined,
  })
}

/** Where the page of error codes is served, below the address of the API. */
const errorPagePath = '/docs/errors'

/** What a refusal is rendered with beside the facts of its request. */
export type ErrorRendering = {
  /** HTTP status that it is sent with. */
  code: number
  /** Address of the API, without a slash at its end. */
  publicBaseUrl: string
}

/**
 * The body of a refusal. The message of a 5xx is the fixed text of its reason: an internal message never reaches a client.
 */
export function errorBody(
  facts: EnvelopeFacts,
  failure: Failure,
  { code, publicBaseUrl }: ErrorRendering,
): string {
  const form = envelopes[facts.form]
  const shown = form.error
  const { field, missing, lookup_type } = failure.details
  const listsMissing = form.listsMissing === 'always' || facts.method === 'GET'
  const errorCode = shown.errorCode ? failure.reason : undefined
  // The contract puts the code of a look-up into `data`, beside what was looked up, and not on top. REQUEST_ID_REUSED is also
  // on top, where clients have read it before.
  const data = lookup_type === undefined ? undefined : { errorCode, details: { lookup_type } }
  return JSON.stringify({
    status: 'error',
    code,
    message: code >= 500 ? reasons[failure.reason].meaning : failure.message,
    errorCode: data === undefined || errorCode === 'REQUEST_ID_REUSED' ? errorCode : undefined,
    request_id: shown.requestId ? facts.requestId : undefined,
    timestamp: shown.timestamp ? formatIso(new Date()) : undefined,
    missing: listsMissing ? missing?.split(',') : undefined,
    field: shown.help ? (field ?? missing?.split(',')[0]) : undefined,
    doc_url: shown.help ? `${publicBaseUrl}${errorPagePath}#${failure.reason}` : undefined,
    data,
    observed_client_ip: shown.clientIp ? facts.clientIp : undefined,
  })
}

/** The refusal of a request that took too long to arrive. */
export function lateRequest(): Failure {
  return new Failure('TIMEOUT', 'The request did not arrive in time.', {
    details: { by: 'client' },
  })
}

/** The HTTP status of a refusal. A client that sent its request too slowly gets 408 and not 504; the code is TIMEOUT in both. */
export function statusOf({ reason, details }: Failure): number {
  return reason === 'TIMEOUT' && details['by'] === 'client'
    ? reasons.TIMEOUT.httpOfSlowClient
    : reasons[reason].http
}

/** A refusal whose message is the meaning of its reason. */
export function refusal(reason: Reason, details: Record<string, string> = {}): Failure {
  return new Failure(reason, reasons[reason].meaning, { details })
}

/**
 * Throws the refusal of a service with a message for clients of the API: the service's own if it names a field, with `prefix`
 * before the field's path, as the field stands in the JSON; else the meaning of the reason.
 */
export function toPublicError(prefix = ''): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Failure)) throw error
    const { reason, details, retryAfterS } = error
    const { field } = details
    const message = field === undefined ? reasons[reason].meaning : `${prefix}${error.message}.`
    const wait = retryAfterS === undefined ? {} : { retryAfterS }
    const shown: Record<string, string> = field === undefined ? {} : { field: `${prefix}${field}` }
    throw new Failure(reason, message, { ...wait, details: shown, cause: error })
  }
}

const frameworkReasons: Readonly<Record<string, Reason>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'INVALID_JSON',
  FST_ERR_BAD_URL: 'ENDPOINT_NOT_FOUND',
  FST_ERR_MAX_PARAM_LENGTH: 'ENDPOINT_NOT_FOUND',
  // The client disconnected before it had sent the whole body.
  ECONNRESET: 'INVALID_JSON',
}

/** The public part of a thrown error; an unexpected one becomes INTERNAL_ERROR. */
export function publicFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) {
    if (isPublicReason(thrown.reason)) return thrown
    return new Failure('INTERNAL_ERROR', reasons.INTERNAL_ERROR.meaning, { cause: thrown })
  }
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  const reason = Object.hasOwn(frameworkReasons, code) ? frameworkReasons[code] : undefined
  return new Failure(reason ?? 'INTERNAL_ERROR', reasons[reason ?? 'INTERNAL_ERROR'].meaning, {
    cause: thrown,
  })
}
