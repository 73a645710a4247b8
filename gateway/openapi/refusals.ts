// The refusals of each route in OpenAPI form: one named response for each set of error codes of a status.
import { STATUS_CODES } from 'node:http'
import { type Reason, reasons } from '#core/errors/errors.ts'
import { envelopes, errorBody, refusal } from '../http/envelope.ts'
import type { RouteRow } from '../http/route.ts'
import type { JsonSchema } from './described-schema.ts'
import { refusalName } from './envelopes.ts'
import type { Operation } from './operation.ts'
import { headersOf, limitHeaders } from './parameters.ts'
import { pascal } from './type-names.ts'

/** The refusals of a route by HTTP status, each with the name of its component. Routes share those of equal names. */
export function refusalResponses(
  row: RouteRow,
  operation: Operation,
  publicBaseUrl: string,
): Record<string, { name: string; response: JsonSchema }> {
  return Object.fromEntries(
    [...refusalsOf(row, operation)].map(([code, found]) => [
      code,
      {
        name: responseName(row, operation, code, found),
        response: {
          description: found
            .map((reason) => `\`${reason}\`: ${reasons[reason].meaning}`)
            .join('\n\n'),
          headers: headersOf([
            'PW-request-id',
            'PW-Warning',
            ...limitHeaders,
            ...found.flatMap((reason) => headerOf(reason, code)),
          ]),
          content: {
            'application/json': {
              schema: narrowedRefusal(row, code, found, operation),
              examples: Object.fromEntries(
                found.map((reason) => [
                  reason,
                  { value: exampleOf(row, reason, { code, publicBaseUrl }, operation) },
                ]),
              ),
            },
          },
        },
      },
    ]),
  )
}

/** Named after the status and the codes that not every route has; after the operation where they are many. */
function responseName(
  { envelope }: RouteRow,
  { id, reasonsInData = [] }: Operation,
  code: number,
  found: readonly Reason[],
): string {
  const own = found.filter((reason) => !everywhere.includes(reason))
  if (own.length > 2) return `${pascal(id)}${phraseOf(code)}`
  const status = own.length === found.length ? '' : phraseOf(code)
  const group = refusalName(envelope).replace('Refusal', '')
  const suffix = own.some((reason) => reasonsInData.includes(reason)) ? 'InData' : ''
  return `${group}${status}${own.map((reason) => pascal(reason.toLowerCase())).join('')}${suffix}`
}

function phraseOf(code: number): string {
  return pascal((STATUS_CODES[code] ?? '').replaceAll(' ', '_'))
}

/** What the gateway sends, with a fixed id and time. */
function exampleOf(
  { envelope: form, method }: RouteRow,
  reason: Reason,
  rendering: { code: number; publicBaseUrl: string },
  { reasonsInData = [] }: Operation,
): unknown {
  const requestId = '152b418c-ebd0-4df8-8c0d-4d15f56c3119'
  const details: Record<string, string> = reasonsInData.includes(reason)
    ? { lookup_type: 'MOBILE' }
    : {}
  const clientIp = undefined
  const facts = { form, method, requestId, clientIp }
  const body = JSON.parse(errorBody(facts, refusal(reason, details), rendering)) as object
  return { ...body, ...('timestamp' in body && { timestamp: '2026-11-21T10:05:30.000Z' }) }
}

function headerOf(reason: Reason, code: number): string[] {
  if (reason === 'METHOD_NOT_ALLOWED') return ['Allow']
  const isRetried = 'retryAfterS' in reasons[reason] || code === 503 || code === 504
  return isRetried ? ['Retry-After'] : []
}

/** The refusals of one status of a route: its codes, and the fields that hold them. */
function narrowedRefusal(
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
  const variants = [
    ...(atTop.length > 0
      ? [{ properties: { errorCode: { enum: atTop } }, required: ['errorCode'] }]
      : []),
    ...(inData.length > 0
      ? [
          {
            properties: {
              data: {
                allOf: [
                  { $ref: '#/components/schemas/RefusalData' },
                  { properties: { errorCode: { enum: inData } } },
                ],
              },
            },
            required: ['data'],
          },
        ]
      : []),
  ]
  const [only] = variants
  return {
    allOf: [base, status, variants.length === 1 && only !== undefined ? only : { oneOf: variants }],
  }
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
function refusalsOf(row: RouteRow, { reasons: own }: Operation): Map<number, Reason[]> {
  const all = new Set<Reason>([
    ...everywhere,
    ...(row.needsAccountAccess === true ? (['PW_ACCOUNT_ACCESS_REQUIRED'] as const) : []),
    ...(row.institution === undefined ? [] : (['PW_INSTITUTION_ENDPOINT_NOT_ALLOWED'] as const)),
    ...(row.credential.kind === 'api_key' ? (['PW_INVALID_API_KEY'] as const) : []),
    ...(row.credential.kind === 'session' ? (['SESSION_INVALID', 'SESSION_EXPIRED'] as const) : []),
    ...(row.idempotencyKey === 'required' ? (['IDEMPOTENCY_KEY_REQUIRED'] as const) : []),
    ...own,
  ])
  const byStatus = new Map<number, Reason[]>([[reasons.TIMEOUT.httpOfSlowClient, ['TIMEOUT']]])
  for (const reason of all) {
    const { http } = reasons[reason]
    byStatus.set(http, [...(byStatus.get(http) ?? []), reason])
  }
  return new Map([...byStatus].toSorted(([one], [other]) => one - other))
}
