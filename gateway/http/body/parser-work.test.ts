// Tests that every parser of a header, a query or a path takes time at most linear in its input.
import type { IncomingMessage } from 'node:http'
import * as fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { childTraceparent } from '#platform/telemetry/spans.ts'
import { workRatio } from '../../../test/support/work.ts'
import { documentPaths } from '../../openapi/documents.ts'
import { languageOf } from '../../pages/language.ts'
import { isCrossSite, isLinkToken } from '../../pages/page-guard.ts'
import { routeRows } from '../app.ts'
import { pathOf, routeTable } from '../failures.ts'
import { clientIpReader, headerCheck } from '../headers.ts'
import { readQueriedPhone } from '../validate.ts'
import { acceptsGzip, acceptsJson, isJsonType } from './media-type.ts'

/** What a parser may find before, between and after what it does not expect. */
const starts = [
  '',
  'application/json',
  'application/json;charset=utf-8',
  'application/json;charset="utf-8"',
  'multipart/form-data;boundary=b',
  'gzip',
  'gzip;q=0',
  'en;q=0.5',
  '10.0.0.9',
  '00-',
  'http://',
  '/pay/',
  '/payments/status?version=',
  '+1868',
  '2026-01-01 ',
]
const fillers = [
  ' ',
  '\t',
  ',',
  ';',
  '"',
  "'",
  '\\',
  '=',
  '/',
  '*',
  '.',
  ':',
  '%',
  '&',
  '-',
  '(',
  '0',
  'a',
]
const ends = ['', 'x', ';x', ',x', '"', '\u0000']

const headersOf = (name: string, value: string) => ({ [name]: value }) as IncomingMessage['headers']
const rules = headerCheck(900)
const requestOf = (headers: object, query: object = {}) =>
  ({ headers, query, url: '/' }) as unknown as FastifyRequest
const readAddress = clientIpReader(['10.0.0.0/8'])
const table = routeTable(routeRows, documentPaths)

/** Runs what may refuse its input: a refusal is an outcome like any other. */
function settle(run: () => unknown): void {
  try {
    run()
  } catch {
    // The work is done.
  }
}

const addressHeader = (name: string) => (text: string) =>
  readAddress({
    socket: { remoteAddress: '10.0.0.1' } as IncomingMessage['socket'],
    headers: headersOf(name, text),
  })
const edgeHeader = (name: string) => (text: string) =>
  rules(headersOf(name, text), {
    requestIdRequired: true,
    acceptsJson: true,
    idempotencyKey: 'required',
  })

const parsers: Record<string, (text: string) => unknown> = {
  'Content-Type': isJsonType,
  Accept: acceptsJson,
  'Accept-Encoding': acceptsGzip,
  'Accept-Language': (text) => languageOf(requestOf({ 'accept-language': text })),
  '?lang': (text) => languageOf(requestOf({}, { lang: text })),
  Origin: (text) => isCrossSite(requestOf({ origin: text, host: text }), 'https://example.com'),
  traceparent: childTraceparent,
  'X-Forwarded-For': addressHeader('x-forwarded-for'),
  'CF-Connecting-IP': addressHeader('cf-connecting-ip'),
  'the path of a target': pathOf,
  'the methods of a path': (text) => table.allowed(text),
  'a link token': isLinkToken,
  'a mobile number': (text) => readQueriedPhone(text, 'TT'),
  ...Object.fromEntries(
    [
      'pw-subscription-key',
      'pw-origin-country',
      'pw-request-date',
      'pw-ip-address',
      'user-agent',
      'pw-request-id',
      'accept',
      'idempotency-key',
    ].map((name) => [`step 3 with ${name}`, edgeHeader(name)]),
  ),
  ...Object.fromEntries(
    routeRows.flatMap((row) =>
      Object.keys(row.query.schema.properties).map((name) => [
        `${row.method} ${row.path}?${name}`,
        (text: string) => row.query({ version: row.version, [name]: text, [text]: text }),
      ]),
    ),
  ),
}

/** How much more than in proportion: 15 times as long may take 20 times the work. */
const limit = 20

function ratioOf(parse: (text: string) => unknown, start: string, filler: string, end: string) {
  return workRatio(
    (length) => {
      const text = start + filler.repeat(Math.ceil(length / filler.length)) + end
      return () => settle(() => parse(text))
    },
    { enough: limit },
  )
}

describe.each(Object.keys(parsers))('the work on %s', (name) => {
  const parse = parsers[name] as (text: string) => unknown

  it(`the work on ${name} grows no faster than its length`, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...starts),
        fc.array(fc.constantFrom(...fillers), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...ends),
        (start, filler, end) => {
          expect(ratioOf(parse, start, filler.join(''), end)).toBeLessThanOrEqual(limit)
        },
      ),
      {
        numRuns: 20,
        examples: [
          ['application/json;charset=utf-8', [' '], ';x'],
          ['application/json', [' '], 'x'],
          ['gzip', [' '], 'x'],
          ['10.0.0.9', [',', '1', '0', '.', '0', '.', '0', '.', '9'], ''],
        ],
      },
    )
  })
})
