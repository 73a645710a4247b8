// Reads request headers. Step 3 of the edge: validates those that every call needs and those that some routes need. And the
// client's address: forwarding headers count only from trusted proxies.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCountry } from '#core/text/text.ts'
import { parseDateTime } from '#core/text/time.ts'
import { acceptsJson } from './body/media-type.ts'

/** What a route requires of headers beside those that every route requires. */
export type HeaderNeeds = {
  requestIdRequired?: boolean
  /** `Accept`, when given, must include JSON. */
  acceptsJson?: boolean
  idempotencyKey?: 'required' | 'optional'
}

/** What the later steps need of the headers. */
export type EdgeHeaders = {
  /** As sent, empty when absent; step 4 checks it. */
  subscriptionKey: string
  originCountry: string
  /** The address that the client claims. */
  claimedIp: string
  idempotencyKey: string
}

/** Checks headers against the needs of a route and the clock. */
export type HeaderCheck = (headers: IncomingHttpHeaders, needs: HeaderNeeds) => EdgeHeaders

const userAgentPattern = /^[\x20-\x7e\x80-\xff]{1,255}$/
const visibleAscii = /^[\x21-\x7e]{1,255}$/

/** Makes the check; `toleranceS` is how far `PW-request-date` may be from now, 0 for any distance. */
export function headerCheck(toleranceS: number, now: () => number = Date.now): HeaderCheck {
  return (headers, needs) => {
    const found: EdgeHeaders = {
      subscriptionKey: textOf(headers['pw-subscription-key']),
      originCountry: textOf(headers['pw-origin-country']),
      claimedIp: textOf(headers['pw-ip-address']),
      idempotencyKey: textOf(headers['idempotency-key']),
    }
    const bad: HeaderName[] = []
    if (!isCountry(found.originCountry)) bad.push('PW-origin-country')
    if (!isDate(textOf(headers['pw-request-date']), toleranceS, now)) bad.push('PW-request-date')
    if (!isClaimedIp(found.claimedIp)) bad.push('PW-ip-address')
    if (!userAgentPattern.test(headers['user-agent'] ?? '')) bad.push('User-Agent')
    if (!isRequestId(headers['pw-request-id'], needs)) bad.push('PW-request-id')
    if (needs.acceptsJson === true && !acceptsJson(headers.accept ?? '*/*')) bad.push('Accept')
    const hasKey = headers['idempotency-key'] !== undefined
    if (needs.idempotencyKey === 'required' || (needs.idempotencyKey === 'optional' && hasKey)) {
      checkIdempotencyKey(found.idempotencyKey, needs.idempotencyKey, bad)
    }
    if (bad.length > 0) {
      const described = bad.map((name) => `${name} (${formOf(name, toleranceS)})`)
      throw new Failure('INVALID_HEADER', `Missing or malformed: ${described.join(', ')}.`, {
        details: { field: bad[0] as string },
      })
    }
    return found
  }
}

/** What a header must be. */
const forms = {
  'PW-origin-country': 'an ISO 3166-1 alpha-2 code in capitals, such as TT',
  'PW-request-date': 'YYYY-MM-DD HH:mm:ss in UTC',
  'PW-ip-address': 'an IP address of 8 to 16 characters',
  'User-Agent': '1 to 255 characters',
  'PW-request-id': 'a UUID',
  Accept: 'application/json, or a range that includes it',
  'Idempotency-Key': '1 to 255 visible ASCII characters',
} as const

type HeaderName = keyof typeof forms

/** The headers that a refusal may name. */
export const headerNames: readonly string[] = Object.keys(forms)

function formOf(name: HeaderName, toleranceS: number): string {
  const isTimed = name === 'PW-request-date' && toleranceS > 0
  return isTimed ? `${forms[name]}, within ${toleranceS} s of now` : forms[name]
}

function isDate(text: string, toleranceS: number, now: () => number): boolean {
  const date = parseDateTime(text)
  if (date === undefined) return false
  return toleranceS === 0 || Math.abs(now() - date.getTime()) <= toleranceS * 1000
}

function isClaimedIp(text: string): boolean {
  // A zone ("fe80::1%eth0") has a meaning only on the client's own machine.
  return text.length >= 8 && text.length <= 16 && isIP(text) !== 0 && !text.includes('%')
}

function isRequestId(value: string | string[] | undefined, needs: HeaderNeeds): boolean {
  if (value === undefined) return needs.requestIdRequired !== true
  return isUuid(textOf(value))
}

function checkIdempotencyKey(
  key: string,
  need: HeaderNeeds['idempotencyKey'],
  bad: HeaderName[],
): void {
  if (need === 'required' && key === '' && bad.length === 0) {
    throw new Failure('IDEMPOTENCY_KEY_REQUIRED', 'The Idempotency-Key header is required.', {
      details: { field: 'Idempotency-Key' },
    })
  }
  if (!visibleAscii.test(key)) bad.push('Idempotency-Key')
}

/** `observed_client_ip` of the envelope. */
export type ObservedClientIp = {
  request_ip: string
  socket_remote_address: string
  x_forwarded_for?: string
  cf_connecting_ip?: string
}

/** Returns the client's address of a request. */
export type ClientIpReader = (
  request: Pick<IncomingMessage, 'socket' | 'headers'>,
) => ObservedClientIp

/** Whether an address is in one of the given ranges. */
export type AddressMatch = (address: string) => boolean

const maxEcho = 512
/** Entries of `X-Forwarded-For` that are read, from its end. */
const maxHops = 20

/** Reads addresses and CIDR ranges, IPv4 and IPv6; throws RangeError for a text that is neither. */
export function parseRanges(ranges: readonly string[]): AddressMatch {
  const list = new BlockList()
  for (const range of ranges) addRange(list, range)
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}

function addRange(list: BlockList, range: string): void {
  const [address = '', prefix, ...rest] = range.split('/')
  const family = isIP(address)
  const bits = family === 4 ? 32 : 128
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix ?? String(bits))) {
    throw new RangeError('not an IP address or CIDR range')
  }
  list.addSubnet(address, Number(prefix ?? bits), family === 4 ? 'ipv4' : 'ipv6')
}

/** Makes the function that returns the client's address, given the trusted proxies. */
export function clientIpReader(trustedProxies: readonly string[]): ClientIpReader {
  const isTrusted = trustedProxies.length === 0 ? () => false : parseRanges(trustedProxies)
  return (request) => {
    const socketAddress = plainAddress(request.socket.remoteAddress ?? '')
    if (!isTrusted(socketAddress)) {
      return { request_ip: socketAddress, socket_remote_address: socketAddress }
    }
    const forwarded = textOf(request.headers['x-forwarded-for'])
    const cloudflare = textOf(request.headers['cf-connecting-ip'])
    return {
      request_ip: forwardedClient(forwarded, socketAddress, isTrusted),
      socket_remote_address: socketAddress,
      ...(forwarded === '' ? {} : { x_forwarded_for: forwarded.slice(0, maxEcho) }),
      ...(cloudflare === '' ? {} : { cf_connecting_ip: cloudflare.slice(0, maxEcho) }),
    }
  }
}

/** The last address that no trusted proxy has; entries left of it are only claims. */
function forwardedClient(forwarded: string, peer: string, isTrusted: AddressMatch): string {
  let client = peer
  let end = forwarded.length
  for (let hop = 0; hop < maxHops; hop += 1) {
    const comma = forwarded.lastIndexOf(',', end - 1)
    const address = plainAddress(forwarded.slice(comma + 1, end).trim())
    if (isIP(address) === 0) return client
    client = address
    if (!isTrusted(address) || comma < 0) return client
    end = comma
  }
  return client
}

/** An IPv4 address that the system reports as IPv6 is shown as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

/** The text of a header; values of one that was sent several times are joined with commas, as RFC 9110 says. */
function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '')
}
