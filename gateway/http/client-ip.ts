// The client's address of a request; forwarding headers count only from trusted proxies.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

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
export function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '')
}
