// Calls MTN's MoMo API: https://momodeveloper.mtn.com/api-documentation. openapi.yaml describes what is used of it.
import { formatAmount } from '#core/money/money.ts'
import { isPermanent } from '../domain/reasons.ts'
import type { Product, RequestStatus } from '../domain/request.ts'
import { msisdnOf, plainText } from '../domain/text.ts'
import { createTokenCache, type Token } from './token.ts'

/** Credentials of one product. */
export type Credentials = { subscriptionKey: string; apiUser: string; apiKey: string }

/** An account at MTN in one country. */
export type MomoOptions = {
  /** `https://sandbox.momodeveloper.mtn.com`, or that of the country in production. */
  baseUrl: string
  /** `sandbox`, or that of the country in production, such as `mtnuganda`. */
  targetEnvironment: string
  /** Where MTN sends its callbacks; the host must be the one that the API user was made with. */
  callbackUrl: string
  credentials: Readonly<Record<Product, Credentials>>
}

/** A request to pay or a transfer. */
export type Order = {
  /** Our UUID v4, by which MTN executes it once. */
  reference: string
  /** Our id of the attempt or credit, which stands in callbacks and in MTN's reports. */
  externalId: string
  currency: string
  amountMinor: bigint
  /** Of who pays or receives, E.164 with plus sign. */
  mobileNumber: string
  /** Who asks for the money or sends it, shown to them. */
  name: string
}

export type Momo = {
  /** Undefined: accepted, now or before. A code: refused permanently. Rejects when neither is certain. */
  send(product: Product, order: Order): Promise<string | undefined>
  /** Undefined: MTN answers that it does not know it. Rejects when MTN does not answer. */
  enquire(product: Product, reference: string): Promise<RequestStatus | undefined>
}

/** Maximum time of one call. A piece of work makes two at most, well within its lease of 10 s: a token and one other. */
const timeoutMs = 4_000
const paths = {
  collection: '/collection/v1_0/requesttopay',
  disbursement: '/disbursement/v1_0/transfer',
} as const satisfies Record<Product, string>

type MomoResponse = { status: number; body: Readonly<Record<string, unknown>> }

/** The client of one account. Keys and tokens stand in headers only, and in no error. */
export function momoAt(options: MomoOptions): Momo {
  const { targetEnvironment, callbackUrl, credentials } = options
  const tokens = {
    collection: createTokenCache(() => fetchToken(options, 'collection')),
    disbursement: createTokenCache(() => fetchToken(options, 'disbursement')),
  }
  async function call(
    product: Product,
    method: 'GET' | 'POST',
    path: string,
    own: { headers?: Record<string, string>; body?: object } = {},
  ): Promise<MomoResponse> {
    const token = await tokens[product].current()
    const answer = await callMomo(options, method, path, {
      headers: {
        authorization: `Bearer ${token}`,
        'x-target-environment': targetEnvironment,
        'ocp-apim-subscription-key': credentials[product].subscriptionKey,
        ...own.headers,
      },
      body: own.body,
    })
    // The next try takes a new one.
    if (answer.status === 401) tokens[product].forget(token)
    return answer
  }
  return {
    async send(product, order) {
      const headers = { 'x-reference-id': order.reference, 'x-callback-url': callbackUrl }
      const body = bodyOf(product, order)
      const answer = await call(product, 'POST', paths[product], { headers, body })
      const code = codeOf(answer.body['code'])
      // 409: it was accepted before.
      if (answer.status === 202 || answer.status === 409) return undefined
      if (isPermanent(product, answer.status, code)) return code ?? 'REQUEST_REJECTED'
      throw unexpected(answer)
    },
    async enquire(product, reference) {
      const answer = await call(product, 'GET', `${paths[product]}/${reference}`)
      if (answer.status === 200) return statusOf(answer.body)
      // By https://momodevelopercommunity.mtn.com/errors-46/momo-api-common-errors-82. A proxy answers 404 without this code.
      if (answer.status === 404 && codeOf(answer.body['code']) === 'RESOURCE_NOT_FOUND')
        return undefined
      throw unexpected(answer)
    },
  }
}

async function fetchToken(options: MomoOptions, product: Product): Promise<Token> {
  const { subscriptionKey, apiUser, apiKey } = options.credentials[product]
  const basic = Buffer.from(`${apiUser}:${apiKey}`).toString('base64')
  const headers = {
    authorization: `Basic ${basic}`,
    'ocp-apim-subscription-key': subscriptionKey,
  }
  const { status, body } = await callMomo(options, 'POST', `/${product}/token/`, { headers })
  const { access_token: value, expires_in: expiresInS } = body
  if (status !== 200 || typeof value !== 'string' || typeof expiresInS !== 'number')
    throw new Error(`MTN answered ${status} to a token request`)
  return { value, expiresInS }
}

async function callMomo(
  { baseUrl }: MomoOptions,
  method: 'GET' | 'POST',
  path: string,
  { headers, body }: { headers: Record<string, string>; body?: object | undefined },
): Promise<MomoResponse> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    // A redirect would show the token to another host.
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await response.text()
  return { status: response.status, body: readObject(text) }
}

function readObject(text: string): MomoResponse['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as MomoResponse['body']) : {}
  } catch {
    // 202 has no body; a proxy may answer with HTML.
    return {}
  }
}

function bodyOf(product: Product, order: Order): object {
  const { externalId, currency, amountMinor, mobileNumber, name } = order
  const party = { partyIdType: 'MSISDN', partyId: msisdnOf(mobileNumber) }
  const text = plainText(name)
  return {
    amount: formatAmount(amountMinor, currency),
    currency,
    externalId,
    ...(product === 'collection' ? { payer: party } : { payee: party }),
    payerMessage: text,
    payeeNote: text,
  }
}

/** Codes go to logs: they have no other characters. */
const codePattern = /^[A-Z_]{1,80}$/

function codeOf(value: unknown): string | undefined {
  return typeof value === 'string' && codePattern.test(value) ? value : undefined
}

function unexpected({ status, body }: MomoResponse): Error {
  return new Error(`MTN answered ${status} ${codeOf(body['code']) ?? 'without a code'}`)
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** MTN's description has the reason as an object with a code; its wallets also send the code alone. */
function statusOf({ status, reason, ...answer }: MomoResponse['body']): RequestStatus {
  if (status === 'SUCCESSFUL') {
    const { amount, currency, externalId } = answer
    const moved = {
      amount: textOf(amount),
      currency: textOf(currency),
      externalId: textOf(externalId),
    }
    return { status: 'successful', moved }
  }
  if (status !== 'FAILED') return { status: 'pending' }
  const isObject = typeof reason === 'object' && reason !== null && 'code' in reason
  return {
    status: 'failed',
    code: codeOf(isObject ? reason.code : reason) ?? 'INTERNAL_PROCESSING_ERROR',
  }
}
