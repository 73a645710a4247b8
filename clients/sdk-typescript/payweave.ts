// Makes the client of the JSON API.
import { accountCalls } from './accounts.ts'
import { billCalls } from './bills.ts'
import { deliveryCalls } from './deliveries.ts'
import { paymentCalls } from './payments.ts'
import { institutionCalls, quoteCalls } from './transfers.ts'
import { type ApiResponse, createTransport } from './transport.ts'

/** Who calls, and how. */
export type PayweaveOptions = {
  /** Address of the API, for example `https://api.example.com`. */
  baseUrl: string
  /** Key of your project, 32 characters. */
  subscriptionKey: string
  /** Key of the merchant. */
  apiKey: string
  /** ISO 3166-1 alpha-2 code of the country of your transactions; national phone numbers are parsed by it. */
  originCountry: string
  /** Address of your server, which the allow-list of your project has. */
  ipAddress: string
  /** Name of your software, added to that of the SDK. */
  userAgent?: string
  /**
   * Time for one attempt, in milliseconds; default 30,000, and 60,000 for a form with documents, which is more than the API
   * takes for any response.
   */
  timeoutMs?: number
  /**
   * How often a call is repeated after a transient error; default 3, and 0 for never. While the first call with an
   * `idempotencyKey` runs, a call is repeated for up to 60 s, however often that is.
   */
  maxRetries?: number
  /** In place of the global `fetch`. */
  fetch?: typeof fetch
  /**
   * Called with each response of the API, also before a repeat: for `PW-Warning`, `RateLimit` and `Deprecation` in its
   * headers. What it throws, the call rejects with.
   */
  onResponse?: (response: ApiResponse) => void
}

/** A client; its calls are grouped by resource. */
export type Payweave = ReturnType<typeof createPayweave>

const sdkName = 'payweave-sdk-typescript/0.1.0'
const required = ['baseUrl', 'subscriptionKey', 'apiKey', 'originCountry', 'ipAddress'] as const
/** What these options may have. Other characters, such as the end of a line that was read with a key, no header takes. */
const visible = /^[\x21-\x7e]*$/
const allowed = {
  subscriptionKey: visible,
  apiKey: visible,
  originCountry: visible,
  ipAddress: visible,
  userAgent: /^[\x20-\x7e]*$/,
} as const

/**
 * Makes a client. Throws a TypeError that names options which are missing or have characters that no header takes, and for a
 * `baseUrl` that is no address of a server, and never shows their values. Its calls reject with a PayweaveError for what the API refuses, and when no response comes; they are
 * repeated with the same ids where that is safe.
 */
export function createPayweave(options: PayweaveOptions) {
  const missing = required.filter((name) => typeof options[name] !== 'string' || !options[name])
  if (missing.length > 0) throw new TypeError(`missing options: ${missing.join(', ')}`)
  const odd = Object.entries(allowed).filter(
    ([name, form]) => !form.test(options[name as keyof typeof allowed] ?? ''),
  )
  if (odd.length > 0) {
    const names = odd.map(([name]) => name).join(', ')
    throw new TypeError(`options with characters other than visible ASCII: ${names}`)
  }
  if (!isServerUrl(options.baseUrl)) {
    throw new TypeError(
      'baseUrl must be an http or https URL without credentials, query and fragment',
    )
  }
  const { userAgent, apiKey } = options
  const send = createTransport({
    ...options,
    userAgent: userAgent === undefined ? sdkName : `${sdkName} ${userAgent}`,
    maxRetries: options.maxRetries ?? 3,
    fetch: options.fetch ?? fetch,
  })
  return {
    payments: paymentCalls(send, apiKey),
    deliveries: deliveryCalls(send, apiKey),
    accounts: accountCalls(send),
    quotes: quoteCalls(send),
    institution: institutionCalls(send),
    bills: billCalls(send),
  }
}

function isServerUrl(text: string): boolean {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === '' && !/[?#]/.test(text)
}
