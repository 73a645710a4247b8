// The rules of access: names, addresses, endpoints that can be granted. Pure.
import ipaddr from 'ipaddr.js'
import { Failure, invalid } from '#core/errors/errors.ts'
import { grantableEndpoints } from '#core/identity/endpoints.ts'
import { isCurrency } from '#core/money/money.ts'

/** The two environments. A key, project or institution of one is unknown in the other. */
export type Environment = 'sandbox' | 'production'

/** A client's workspace. */
export type Project = {
  projectId: string
  name: string
  environment: Environment
  accountAccess: boolean
  allowedIps: string[]
}

/** A business that receives payments. */
export type Merchant = {
  merchantId: string
  projectId: string
  businessName: string
  mobileNumber: string
  /** Undefined where it was not read. */
  branding?: Branding
}

/** How a merchant's pages look. Each part is empty where the merchant has none. */
export type Branding = {
  /** "#0b57d0". */
  color: string
  /** SHA-256 of the logo in hex. */
  logoDigest: string
  supportEmail: string
  supportPhone: string
  websiteUrl: string
}

/** A financial institution that requests address by name. */
export type Institution = {
  institutionId: string
  name: string
  environment: Environment
  /** ISO 4217 code of accounts that name no currency. */
  defaultCurrency: string
}

/** Key material of an institution as it is shown, once. */
export type InstitutionKey = { keyId: string; sharedKey: string; signingSecret: string }

/** How many keys may be active at a time: one in use and one that it is rotated to. */
export const maxActiveKeys = 2

/** What a subscription key of an environment begins with. */
export const subscriptionKeyPrefix = {
  sandbox: 'pwk_test_',
  production: 'pwk_live_',
} as const satisfies Record<Environment, string>

/** Returns a display name. INVALID_PARAMETER for leading or trailing blanks, which a reader would not see. */
export function requireName(name: string, field: string): string {
  if (name.trim() === name) return name
  throw invalid(field, 'must not begin or end with a blank')
}

/** Default currency of an institution's accounts. */
export const defaultInstitutionCurrency = 'USD'

/** Returns a currency code; INVALID_PARAMETER for anything else. */
export function requireCurrency(code: string, field: string): string {
  if (isCurrency(code)) return code
  throw invalid(field, 'must be an ISO 4217 code')
}

const maxUrlLength = 200

/** Returns the canonical form of an https URL of at most 200 characters; INVALID_PARAMETER for anything else. */
export function requireHttpsUrl(text: string, field: string): string {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === ''
  if (!isPlain) throw invalid(field, 'must be an https URL without user name and password')
  if (url.href.length <= maxUrlLength) return url.href
  throw invalid(field, `must be at most ${maxUrlLength} characters`)
}

/** Returns the addresses and ranges in canonical form; INVALID_PARAMETER names the index of a bad one. */
export function requireAddressRanges(ranges: readonly string[]): string[] {
  return ranges.map((range, index) => {
    const field = `allowed_ips[${index}]`
    try {
      if (!range.includes('/')) return ipaddr.parse(range).toString()
      const [address, bits] = ipaddr.parseCIDR(range)
      return `${address.toString()}/${bits}`
    } catch (cause) {
      throw new Failure('INVALID_PARAMETER', `${field} must be an IP address or a CIDR range`, {
        details: { field },
        cause,
      })
    }
  })
}

/** Returns the endpoints without repeats; INVALID_PARAMETER for one that cannot be granted. */
export function requireEndpoints(endpoints: readonly string[]): string[] {
  const unknown = endpoints.find((endpoint) => !grantableEndpoints.includes(endpoint))
  if (unknown === undefined && endpoints.length > 0) return [...new Set(endpoints)]
  throw new Failure('INVALID_PARAMETER', `endpoints must be of: ${grantableEndpoints.join(', ')}`, {
    details: { field: 'endpoints' },
  })
}
