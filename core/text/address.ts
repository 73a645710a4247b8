// Classifies IP addresses: public internet, or this machine. Resolves no names.

/** An address as bits: IPv4 has 32, IPv6 has 128. */
interface Address {
  version: 4 | 6
  bits: bigint
}

interface Network extends Address {
  prefixBits: number
}

// IANA special-purpose registry, multicast and reserved space, and Azure's host address.
const specialV4 = networks(
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24',
  '192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24',
  '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32',
)
const globalV6 = networks('2000::/3')
// Inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation, 6to4, AS112.
const specialV6 = networks('2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20')
const loopback = networks('127.0.0.0/8 ::1/128')

/**
 * Returns whether an IP address is one of the public internet: not private, reserved, multicast or link-local. False
 * for a text that is not an address, so that a push is refused rather than sent somewhere unexpected.
 */
export function isPublicAddress(ip: string): boolean {
  const address = parseAddress(ip)
  if (address === undefined) return false
  if (address.version === 4) return !isWithin(address, specialV4)
  return isWithin(address, globalV6) && !isWithin(address, specialV6)
}

/** Returns whether an address is in 127.0.0.0/8 or is ::1. An IPv4 loopback address written as IPv6 does not count. */
export function isLoopback(ip: string): boolean {
  const address = parseAddress(ip)
  return address !== undefined && isWithin(address, loopback)
}

/** Returns whether a host of a URL, in brackets or not, is a loopback address or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replaceAll(/^\[|\]$/g, ''))
}

/** Returns whether a text is a dotted IPv4 address or an IPv6 address without a zone. */
export function isAddress(ip: string): boolean {
  return parseAddress(ip) !== undefined
}

/**
 * Returns what a limit by address counts as one client: an IPv4 address, also written as IPv6 (`::ffff:192.0.2.1`), or the
 * /64 network of an IPv6 address, since one host has a whole /64 and may choose any address in it. A text that is not an
 * address is returned as it is.
 */
export function limitKeyOf(ip: string): string {
  const bits = parseV6(ip.replace(/%.*$/, ''))
  if (bits === undefined) return ip
  if (bits >> 32n !== 0xffffn) return `${(bits >> 64n).toString(16)}/64`
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

function parseAddress(ip: string): Address | undefined {
  const v4 = parseV4(ip)
  if (v4 !== undefined) return { version: 4, bits: v4 }
  const v6 = parseV6(ip)
  return v6 === undefined ? undefined : { version: 6, bits: v6 }
}

function parseV4(ip: string): bigint | undefined {
  const parts = ip.split('.')
  if (parts.length !== 4) return undefined
  let bits = 0n
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined
    bits = bits * 256n + BigInt(part)
  }
  return bits
}

function parseV6(ip: string): bigint | undefined {
  const halves = ip.split('::')
  if (halves.length > 2 || !ip.includes(':')) return undefined
  const head = groupsOf(halves[0] ?? '')
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '') : []
  if (halves.length === 2 && halves[0]?.includes('.')) return undefined
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  return [...head, ...Array<bigint>(missing).fill(0n), ...tail].reduce(
    (bits, group) => bits * 65_536n + group,
    0n,
  )
}

/** The 16-bit groups of one side of "::"; a dotted IPv4 tail counts as two. */
function groupsOf(text: string): bigint[] | undefined {
  if (text === '') return []
  const groups: bigint[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    const v4 = index === parts.length - 1 && part.includes('.') ? parseV4(part) : undefined
    if (v4 !== undefined) groups.push(v4 >> 16n, v4 & 0xffffn)
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(BigInt(`0x${part}`))
    else return undefined
  }
  return groups
}

function isWithin(address: Address, list: Network[]): boolean {
  return list.some((network) => {
    if (network.version !== address.version) return false
    const shift = BigInt((address.version === 4 ? 32 : 128) - network.prefixBits)
    return address.bits >> shift === network.bits >> shift
  })
}

function networks(...lines: string[]): Network[] {
  return lines
    .flatMap((line) => line.split(' '))
    .map((text) => {
      const [ip = '', prefix] = text.split('/')
      const address = parseAddress(ip)
      if (address === undefined) throw new Error(`not a network: ${text}`)
      return { ...address, prefixBits: Number(prefix) }
    })
}
