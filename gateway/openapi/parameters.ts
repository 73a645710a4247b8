// The headers and query parameters of a route in OpenAPI form.
import type { RouteRow } from '../http/route.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'

/** Headers of requests, by the name of their component. The subscription key is the security scheme. */
export const requestHeaders: Record<string, JsonSchema> = {
  originCountry: header('PW-origin-country', {
    description:
      'ISO 3166-1 alpha-2 code, upper case, of the country where the transaction takes place; also the country by which national phone numbers are parsed.',
    schema: { type: 'string', pattern: '^[A-Z]{2}$' },
    example: 'US',
  }),
  requestDate: header('PW-request-date', {
    description:
      'Current time in UTC, `YYYY-MM-DD HH:mm:ss`; in production at most 15 minutes off.',
    schema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$' },
    example: '2026-11-21 10:05:30',
  }),
  ipAddress: header('PW-ip-address', {
    description: 'IP address of the client, 8 to 16 characters.',
    schema: { type: 'string', minLength: 8, maxLength: 16 },
    example: '127.0.0.1',
  }),
  userAgent: header('User-Agent', {
    description: 'Name of the client software. Browsers set it themselves.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'shop/1.0',
  }),
  requestId: header(
    'PW-request-id',
    {
      description:
        'A UUID that becomes the `request_id` of the response. If absent, the service creates one.',
      schema: { type: 'string', format: 'uuid' },
      example: '5f0c1f1e-3c1d-4a8e-9d55-0d7f0a1b2c3d',
    },
    false,
  ),
  requiredRequestId: header('PW-request-id', {
    description:
      'A UUID. A repeat with the same body returns the same session; with another body it is 409.',
    schema: { type: 'string', format: 'uuid' },
    example: '5f0c1f1e-3c1d-4a8e-9d55-0d7f0a1b2c3d',
  }),
  idempotencyKey: header('Idempotency-Key', {
    description:
      '1 to 255 visible ASCII characters. A key creates at most one payment, permanently.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: 'bill-1001',
  }),
  optionalIdempotencyKey: header(
    'Idempotency-Key',
    {
      description:
        '1 to 255 visible ASCII characters. A repeat with the same key within 90 days does nothing further. Without a key, each request is executed.',
      // No example: the page to send requests from would fill it in, and a second request would do nothing.
      schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    },
    false,
  ),
}

/** Headers of answers. */
export const answerHeaders: Record<string, JsonSchema> = {
  'PW-request-id': {
    description: 'Id of the request. Quote it when you contact support.',
    schema: { type: 'string', format: 'uuid' },
  },
  'PW-Warning': {
    description:
      'Paths of unknown body fields, which the endpoint ignored: percent-encoded, comma-separated, at most 10 and 1 KiB. Absent if it knows all of them.',
    schema: { type: 'string', maxLength: 1_024 },
  },
  Allow: { description: 'Methods that the endpoint supports.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'RateLimit-Policy': {
    description:
      'The limits that counted the request (draft-ietf-httpapi-ratelimit-headers): `"key"` counts all requests of the subscription key, `"session"`, `"balance"`, `"account history"` and `"institution history"` those that look up one value. At most `q` requests at once and in `w` seconds, for the gateway process that answers. Absent where no limit is set, and when the request was refused before it was counted.',
    schema: { type: 'string' },
    example: '"key";q=100;w=2',
  },
  RateLimit: {
    description:
      'What is left of each of these limits: `r` requests now, and one more in `t` seconds.',
    schema: { type: 'string' },
    example: '"key";r=99;t=1',
  },
  'Idempotency-Replayed': {
    description: '`true`: this is the stored response to an earlier call with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description:
      'Date from which this version of the contract is deprecated (RFC 9745); absent until one is set.',
    schema: { type: 'string', pattern: '^@\\d+$' },
  },
  Sunset: {
    description:
      'Date on which this version of the contract ends (RFC 8594); absent until one is set.',
    schema: { type: 'string' },
  },
}

/** The parameters of a route. */
export function parametersOf(row: RouteRow): JsonSchema[] {
  const requestId = row.requestIdRequired === true ? 'requiredRequestId' : 'requestId'
  const names = ['originCountry', 'requestDate', 'ipAddress', 'userAgent', requestId]
  if (row.idempotencyKey === 'required') names.push('idempotencyKey')
  if (row.idempotencyKey === 'optional') names.push('optionalIdempotencyKey')
  return [
    ...queryParameters(row),
    ...names.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
}

/** Headers of answers that count against a limit. */
export const limitHeaders = ['RateLimit-Policy', 'RateLimit']

/** References to headers of answers. */
export function headersOf(names: readonly string[]): JsonSchema {
  return Object.fromEntries(
    [...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

function queryParameters(row: RouteRow): JsonSchema[] {
  const { properties = {}, required = [] } = describedSchema(row.query.schema, 'query') as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    if (name === 'version') {
      const only = { type: 'string', const: row.version }
      return {
        name,
        in: 'query',
        required: true,
        description: `Always ${row.version}.`,
        schema: only,
        example: row.version,
      }
    }
    return { name, in: 'query', required: required.includes(name), description, schema }
  })
}

function header(name: string, more: JsonSchema, required = true): JsonSchema {
  return { name, in: 'header', required, ...more }
}
