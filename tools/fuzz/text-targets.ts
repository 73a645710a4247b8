// Parsers of texts: headers, media types, cursors, page tokens, money, times, phone numbers and URLs.
import type { IncomingMessage } from 'node:http'
import type { KeyRing } from '#core/identity/key-ring.ts'
import { formatAmount, parseAmount, parseDecimal } from '#core/money/money.ts'
import { cursorIn, timeCursorIn, tokenOf } from '#core/paging.ts'
import { parsePhone } from '#core/text/phone.ts'
import { readPushUrl } from '#core/text/push-url.ts'
import { formatDateTime, formatIso, parseDateTime } from '#core/text/time.ts'
import { readPageToken } from '#platform/keys/page-token.ts'
import { acceptsGzip, acceptsJson, isJsonType } from '../../gateway/http/body/media-type.ts'
import { cursorOf, pageTokenIn } from '../../gateway/http/cursor.ts'
import { clientIpReader, headerCheck } from '../../gateway/http/headers.ts'
import type { Target } from './fuzz.ts'
import { expectSame, expectTrue, unlessRefused } from './rules.ts'

/** A target that reads the input as UTF-8. */
function textTarget(name: string, seeds: string[], read: (text: string) => void): Target {
  return { name, seeds, run: (input) => read(input.toString()) }
}

const mediaType = textTarget(
  'media-type',
  ['application/json; charset="utf-8"', 'text/html, application/*;q=0.5', 'br, gzip;q=0.1'],
  (text) => {
    const upper = text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
    for (const read of [isJsonType, acceptsJson, acceptsGzip]) expectSame(read(upper), read(text))
    if (isJsonType(text)) expectTrue(/^application\/json/i.test(text), 'the type is JSON')
    if (acceptsGzip(text)) expectTrue(/gzip/i.test(text), 'gzip is named')
  },
)

const checkHeaders = headerCheck(0)
const readAddress = clientIpReader(['10.0.0.0/8'])

const headers: Target = {
  name: 'headers',
  seeds: ['US\n2026-11-23 12:00:00\n203.0.113.9\nshop/1.0\nkey-1\n198.51.100.7, 10.0.0.2'],
  run(input) {
    const [country = '', date = '', ip = '', agent = '', key = '', forwarded = ''] = input
      .toString('latin1')
      .split('\n')
    const given = {
      'pw-origin-country': country,
      'pw-request-date': date,
      'pw-ip-address': ip,
      'user-agent': agent,
      'idempotency-key': key,
      'x-forwarded-for': forwarded,
    }
    const checked = unlessRefused(
      () => checkHeaders(given, { idempotencyKey: 'required' }),
      'INVALID_HEADER',
      'IDEMPOTENCY_KEY_REQUIRED',
    )
    if (checked !== undefined) expectSame(checked.originCountry, country)
    const socket = { remoteAddress: '10.0.0.1' } as IncomingMessage['socket']
    const { request_ip } = readAddress({ socket, headers: given })
    const isNamed = request_ip === '10.0.0.1' || forwarded.includes(request_ip)
    expectTrue(
      isNamed || forwarded.includes('::ffff:'),
      'the address is one of those that were sent',
    )
  },
}

const cursorKey = { keyId: '0a1b2c3d', key: Buffer.alloc(32, 1), state: 'current' as const }
const ring: KeyRing = {
  current: { ...cursorKey, makeTime: undefined },
  keys: [{ ...cursorKey, makeTime: undefined }],
  find: () => undefined,
}
const scope = { route: 'GET /payments/list', projectId: 'p', merchantId: 'm', filters: ['a', 1] }
const id = '0198c0de-0000-7000-8000-00000000000a'
const pageToken = tokenOf(1_764_000_000_000n, id)
const issued = cursorOf(() => ring, scope, pageToken) ?? ''

const cursor = textTarget('cursor', [issued], (text) => {
  const token = unlessRefused(() => pageTokenIn(() => ring, scope, text), 'INVALID_PARAMETER')
  expectSame(token, text === issued ? pageToken : undefined)
})

const pageTokens = textTarget('page-token', [pageToken, tokenOf(2, id)], (text) => {
  const found = unlessRefused(() => cursorIn(text), 'INVALID_PARAMETER')
  if (found !== undefined) expectSame(cursorIn(tokenOf(found.at, found.id)), found)
  const timed = unlessRefused(() => timeCursorIn(text), 'INVALID_PARAMETER')
  if (timed !== undefined) expectTrue(!Number.isNaN(timed.time.getTime()), 'a cursor has a time')
  const page = unlessRefused(() => readPageToken(text), 'INVALID_PARAMETER')
  if (page !== undefined) expectTrue(Number.isSafeInteger(page.index), 'a cursor has a table')
})

const currencies = ['TTD', 'JPY', 'BHD', 'XAU', 'CLF']

const money = textTarget('money', ['100.00', '0.001', '999999999999999.9999'], (text) => {
  for (const currency of currencies) {
    const minor = unlessRefused(() => parseAmount(text, currency), 'INVALID_PARAMETER')
    if (minor === undefined) continue
    expectTrue(minor > 0n && minor < 10n ** 18n, 'an amount is above zero and fits its column')
    expectSame(parseAmount(formatAmount(minor, currency), currency), minor)
  }
  const decimal = parseDecimal(text)
  if (decimal === undefined) return
  expectSame(decimal.digits, BigInt(text.replace('.', '')))
  expectSame(decimal.scale, (text.split('.')[1] ?? '').length)
})

const time = textTarget('time', ['2026-11-23 12:00:00', '2024-02-29 23:59:59'], (text) => {
  const date = parseDateTime(text)
  if (date === undefined) return
  expectSame(formatDateTime(date), text)
  expectSame(formatIso(date), date.toISOString())
})

const phone = textTarget('phone', ['+12025550100', '(868) 350-1234', '4917112345678'], (text) => {
  for (const country of ['US', 'TT', 'DE', 'ZZ', '']) {
    const number = parsePhone(text, country)
    if (number !== undefined) expectSame(parsePhone(number, country), number)
  }
})

const pushUrl = textTarget(
  'push-url',
  ['https://shop.example/hook?a=1#b', 'https://[2001:db8::1]:8443/', 'http://127.0.0.1:8080/'],
  (text) => {
    const target = readPushUrl(text, { allowLoopback: false })
    if (typeof target === 'string') return
    expectSame(target.protocol, 'https:')
    expectSame([target.username, target.password], ['', ''])
    // Escapes make it longer than the text was.
    if (target.href.length > 2_048) return
    expectSame(readPushUrl(target.href, { allowLoopback: false }), target)
  },
)

/** Targets that read texts. */
export const textTargets: readonly Target[] = [
  mediaType,
  headers,
  cursor,
  pageTokens,
  money,
  time,
  phone,
  pushUrl,
]
