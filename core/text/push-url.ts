// Decides from the text of a URL whether it may receive pushes; the host name is not resolved here.
import { isAddress, isLoopbackHost, isPublicAddress } from '#core/text/address.ts'

/** Which push URLs are allowed besides public https. */
export interface PushUrlRule {
  /** Allows http, and this machine as host, for the local start. Never true in production. */
  allowLoopback: boolean
}

/** Characters of a URL, as `length` of a string counts them. */
const maxLength = 2048
const minOpenPort = 1024

/**
 * Returns why a URL may not receive pushes, worded to follow the field's name ("must be …"), or undefined when it may.
 * Resolves no name: the address is checked at each attempt, since DNS may answer differently by then.
 */
export function checkPushUrl(url: string, rule: PushUrlRule): string | undefined {
  const target = readPushUrl(url, rule)
  return typeof target === 'string' ? target : undefined
}

/** Parses a URL that may receive pushes; returns why it may not, as `checkPushUrl` does. */
export function readPushUrl(url: string, rule: PushUrlRule): URL | string {
  if (url.length > maxLength) return `must be at most ${maxLength} characters`
  const target = parseAbsolute(url)
  if (target === null) return 'must be an absolute https URL'
  const { allowLoopback } = rule
  if (target.protocol !== 'https:' && !allowLoopback) return 'must be an absolute https URL'
  if (target.username !== '' || target.password !== '')
    return 'must not hold a user name or password'
  // The port is empty here when it is the scheme's own.
  if (target.port !== '' && portOf(target) < minOpenPort) {
    return "must use the scheme's own port or one from 1024 up"
  }
  const host = hostOf(target)
  const isAllowed = isPublicHost(host) || (allowLoopback && isLoopbackHost(host))
  return isAllowed ? target : 'must name a public host'
}

/** The host of a URL without brackets and without the dot that ends an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** The port that a URL names or that its scheme implies (443, else 80). */
function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

// Checks the text first, because the URL parser silently corrects blanks, control characters, backslashes and missing
// slashes.
function parseAbsolute(url: string): URL | null {
  return /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(url) ? URL.parse(url) : null
}

// The URL parser has already turned decimal, hex and octal IPv4 into dotted form.
function isPublicHost(host: string): boolean {
  if (isAddress(host) || host.includes(':')) return isPublicAddress(host)
  const labels = host.split('.')
  if (labels.length < 2 || labels.includes('')) return false
  return !['localhost', 'local', 'internal'].includes(labels.at(-1) ?? '')
}
