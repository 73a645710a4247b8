// The envelope of every route group as JSON Schema, for successes and refusals.
import { Type } from 'typebox'
import { publicReasons, type Reason, reasons } from '#core/errors/errors.ts'
import { type EnvelopeName, envelopes } from '../http/envelope.ts'
import type { RouteRow } from '../http/route.ts'
import { anyText, fieldsOf, isoTime, listOf, uuid } from '../routes/answer-values.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'
import type { Operation, Success } from './operation.ts'

const clientIp = () =>
  fieldsOf({
    request_ip: anyText(),
    socket_remote_address: anyText(),
    x_forwarded_for: Type.Optional(anyText()),
    cf_connecting_ip: Type.Optional(anyText()),
  })

/** The fields of an envelope beside its content. */
function facts(
  shown: { requestId: boolean; timestamp: boolean; clientIp: boolean },
  row?: RouteRow,
) {
  const isOnRequest = row === undefined || row.clientIpOnRequest === true
  return {
    ...(shown.requestId ? { request_id: uuid() } : {}),
    ...(shown.timestamp ? { timestamp: isoTime() } : {}),
    ...(shown.clientIp
      ? { observed_client_ip: isOnRequest ? Type.Optional(clientIp()) : clientIp() }
      : {}),
  }
}

/** The body of a success of a route. */
export function successSchema(row: RouteRow, code: number, success: Success): JsonSchema {
  const { fields, withoutMessage } = success
  return describedSchema(
    fieldsOf({
      status: Type.Literal('success'),
      code: Type.Literal(code),
      ...(withoutMessage === true ? {} : { message: anyText() }),
      ...facts(envelopes[row.envelope].success, row),
      ...fields,
    }),
  )
}

/** The body of any refusal of a route group. */
export function refusalSchema(form: EnvelopeName): JsonSchema {
  const shown = envelopes[form].error
  return describedSchema(
    fieldsOf({
      status: Type.Literal('error'),
      code: Type.Integer({ minimum: 400, maximum: 599 }),
      message: anyText(),
      ...(shown.errorCode
        ? { errorCode: Type.Optional(Type.Enum(Object.keys(publicReasons))) }
        : {}),
      ...facts(shown),
      missing: Type.Optional(listOf(anyText())),
      ...(shown.help ? { field: Type.Optional(anyText()), doc_url: anyText() } : {}),
      ...(shown.errorCode ? { data: Type.Optional(lookupData()) } : {}),
    }),
  )
}

const lookupData = () =>
  fieldsOf({
    errorCode: Type.Enum(['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH']),
    details: fieldsOf({ lookup_type: anyText() }),
  })

/** The refusals of one status of a route: which codes there are, and where they stand. */
export function narrowedRefusal(
  row: RouteRow,
  code: number,
  found: readonly Reason[],
  { reasonsInData = [] }: Operation,
): JsonSchema {
  const base = { $ref: `#/components/schemas/${refusalName(row.envelope)}` }
  const status = { properties: { code: { const: code } } }
  if (!envelopes[row.envelope].error.errorCode) return { allOf: [base, status] }
  const inData = found.filter((reason) => reasonsInData.includes(reason))
  const atTop = found.filter((reason) => !reasonsInData.includes(reason))
  const places = [
    ...(atTop.length > 0
      ? [{ properties: { errorCode: { enum: atTop } }, required: ['errorCode'] }]
      : []),
    ...(inData.length > 0
      ? [
          {
            properties: { data: { properties: { errorCode: { enum: inData } } } },
            required: ['data'],
          },
        ]
      : []),
  ]
  const [only] = places
  return {
    allOf: [base, status, places.length === 1 && only !== undefined ? only : { oneOf: places }],
  }
}

/** Name of the schema of a route group's refusals. */
export function refusalName(form: EnvelopeName): string {
  return {
    full: 'Refusal',
    quote: 'QuoteRefusal',
    billCreate: 'BillRefusal',
    billRead: 'BillRefusal',
  }[form]
}

/** What a client can do wrong with any route, and what can go wrong with any. */
const everywhere: readonly Reason[] = [
  'MISSING_PARAMETER',
  'INVALID_PARAMETER',
  'INVALID_HEADER',
  'INVALID_JSON',
  'VERSION_NOT_SUPPORTED',
  'PW_INVALID_SUBSCRIPTION_KEY',
  'PW_IP_NOT_ALLOWED',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'EXPECTATION_FAILED',
  'RATE_LIMIT_EXCEEDED',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
  'TIMEOUT',
]

/** The refusals of a route by status: those of all routes, those that follow from its row, and its own. */
export function refusalsOf(row: RouteRow, { reasons: own }: Operation): Map<number, Reason[]> {
  const all = new Set<Reason>([
    ...everywhere,
    ...(row.needsAccountAccess === true ? (['PW_ACCOUNT_ACCESS_REQUIRED'] as const) : []),
    ...(row.institution === undefined ? [] : (['PW_INSTITUTION_ENDPOINT_NOT_ALLOWED'] as const)),
    ...(row.credential.kind === 'api_key' ? (['PW_INVALID_API_KEY'] as const) : []),
    ...(row.credential.kind === 'session' ? (['SESSION_INVALID', 'SESSION_EXPIRED'] as const) : []),
    ...(row.idempotencyKey === true ? (['IDEMPOTENCY_KEY_REQUIRED'] as const) : []),
    ...own,
  ])
  const byStatus = new Map<number, Reason[]>([[reasons.TIMEOUT.httpOfSlowClient, ['TIMEOUT']]])
  for (const reason of all) {
    const { http } = reasons[reason]
    byStatus.set(http, [...(byStatus.get(http) ?? []), reason])
  }
  return new Map([...byStatus].toSorted(([one], [other]) => one - other))
}
