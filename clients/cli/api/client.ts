// The routes of the public API as functions, for checks and triggers alike.
import { randomUUID } from 'node:crypto'
import { seal } from '#core/identity/seal.ts'
import type { ApiResponse, Call, CallOptions, Json } from './api-call.ts'
import { eventually } from './eventually.ts'
import { person, unique, walletName } from './order.ts'
import type { ProjectName, Target } from './target.ts'

/** A payment request that was accepted. */
export type Created = { answer: ApiResponse; id: string; urls: string[] }

/** Thrown when a request that should succeed was refused. */
class NotAccepted extends Error {}

/** Returns the answer if its status is below 300. Throws NotAccepted with its status, code and message otherwise. */
export function accepted(answer: ApiResponse): ApiResponse {
  if (answer.status < 300) return answer
  const { message } = answer.body
  throw new NotAccepted(`answered ${answer.status} ${errorCodeOf(answer)}: ${String(message)}`)
}

/** The error code of an answer, which a look-up has inside `data`; empty when there is none. */
export function errorCodeOf(answer: ApiResponse): string {
  const code = answer.body['errorCode'] ?? dataOf(answer)['errorCode']
  return typeof code === 'string' ? code : ''
}

/** `payment_details` of an answer. */
export function detailsOf({ body }: ApiResponse): Json {
  return (body['payment_details'] ?? {}) as Json
}

/** `data` of an answer. */
export function dataOf({ body }: ApiResponse): Json {
  return (body['data'] ?? {}) as Json
}

/**
 * A client with the credentials of one project. Its methods reject as `Call` does; those that return something other
 * than an ApiResponse also with NotAccepted.
 */
export function clientOf(target: Target, call: Call, project: ProjectName = 'demo') {
  const apiKey = target.projects[project]?.apiKey ?? ''
  const send = (method: string, path: string, options: CallOptions = {}) =>
    call(method, path, { project, ...options })
  return {
    apiKey,
    send,
    ...paymentRoutes(send, apiKey),
    ...accountRoutes(send),
    ...moneyRoutes(target, send),
    ...billRoutes(send),
  }
}

export type Client = ReturnType<typeof clientOf>

function paymentRoutes(send: Call, apiKey: string) {
  const request = (transactionRequest: unknown, more: Json = {}): Promise<ApiResponse> =>
    send('POST', '/payments/request', {
      body: { api_key: apiKey, transaction_request: transactionRequest, ...more },
    })
  const status = (id: string): Promise<ApiResponse> =>
    send('GET', '/payments/status', { query: { api_key: apiKey, payment_details_id: id } })
  return {
    request,
    status,
    cancel: (id: string): Promise<ApiResponse> =>
      send('POST', '/payments/cancel', { body: { api_key: apiKey, payment_details_id: id } }),
    /** A payment request that must be accepted. */
    async create(transactionRequest: Json, more: Json = {}): Promise<Created> {
      const answer = accepted(await request(transactionRequest, more))
      const { id, payers } = detailsOf(answer) as { id: string; payers: { url?: string }[] }
      return { answer, id, urls: payers.map(({ url }) => url ?? '') }
    },
    /** Waits until the request, or its first payer, is in this state. */
    becomes: (id: string, state: string, withinMs = 30_000): Promise<ApiResponse> =>
      eventually(
        `payment ${state}`,
        async () => {
          const answer = accepted(await status(id))
          const [payer] = answer.body['payers'] as Json[]
          const states = [detailsOf(answer)['status'], payer?.['status']]
          return states.includes(state) ? answer : undefined
        },
        { withinMs },
      ),
  }
}

function accountRoutes(send: Call) {
  const lookUp = (body: Json, requestId: string = randomUUID()): Promise<ApiResponse> =>
    send('POST', '/account/account_session', { headers: { 'PW-request-id': requestId }, body })
  return {
    lookUp,
    /** A new session token of a number. */
    async session(mobileNumber: string): Promise<string> {
      const asked = { lookup_type: 'MOBILE', lookup_value: mobileNumber }
      const answer = accepted(await lookUp({ ...asked, institution_name: walletName }))
      const { session } = dataOf(answer) as { session: { session_token: string } | null }
      if (session === null) throw new NotAccepted('the account is unavailable')
      return session.session_token
    },
    accountStatus: (query: Record<string, string | undefined>): Promise<ApiResponse> =>
      send('GET', '/account/account', { query: { institution_name: walletName, ...query } }),
    personal: (body: Json): Promise<ApiResponse> =>
      send('POST', '/account/personal_account', { body }),
    business: (body: Json): Promise<ApiResponse> =>
      send('POST', '/account/business_account', { body }),
    register: (body: Json): Promise<ApiResponse> =>
      send('POST', '/account/register_account', { body }),
    balance: (mobileNumber: string | undefined): Promise<ApiResponse> =>
      send('GET', '/account/balance', { query: { mobile_number: mobileNumber } }),
    history: (body: Json): Promise<ApiResponse> =>
      send('POST', '/account/transaction_history', { body }),
  }
}

function moneyRoutes(target: Target, send: Call) {
  const quote =
    (path: '/quote' | '/institution/quote') =>
    (token: unknown, more: Json = {}) => {
      const asked = { request_amount: '10.00', request_currency: 'USD' }
      const body = { session_token: token, institution_name: walletName, ...asked, ...more }
      return send('POST', path, { body })
    }
  const read =
    (path: '/quote' | '/institution/post') =>
    (id: unknown, more: CallOptions = {}) =>
      send('GET', path, {
        query: { quote_id: String(id), institution_name: walletName, ...more.query },
      })
  return {
    quote: quote('/quote'),
    readQuote: read('/quote'),
    institutionQuote: quote('/institution/quote'),
    readInstitutionQuote: read('/institution/post'),
    transfer: (body: unknown): Promise<ApiResponse> =>
      send('POST', '/institution/transaction', { body }),
    readTransfer: (id: unknown, more: CallOptions['query'] = {}): Promise<ApiResponse> =>
      send('GET', '/institution/transaction', {
        query: { transaction_id: String(id), institution_name: walletName, ...more },
      }),
    transferHistory: (query: Record<string, string | undefined>): Promise<ApiResponse> =>
      send('GET', '/institution/transaction_history', { query }),
    /** The body of a p2p transaction of 1.00 between two numbers, for a session of the former. */
    transferOrder: (token: string, from: string, to: string, more: Json = {}): Json => ({
      session_token_enc: sealToken(target, token),
      transaction_id: unique('transfer'),
      amount: '1.00',
      transaction_type: 'p2p',
      debit_party: { mobile_number: from },
      credit_party: { mobile_number: to },
      transfer_information: { institution_name: walletName },
      ...more,
    }),
  }
}

/**
 * Seals a session token under the institution's shared key, in base64. Throws a RangeError when the target has no such
 * key.
 */
export function sealToken({ institution }: Target, token: string): string {
  const { keyId = '', sharedKey = '' } = institution ?? {}
  const key = Buffer.from(sharedKey, 'base64')
  return seal(Buffer.from(token), { keyId, key, purpose: 'session_token' })
}

function billRoutes(send: Call) {
  const read = (path: string) => (id: string | undefined) =>
    send('GET', path, { query: { transaction_id: id } })
  return {
    pay: (body: unknown, key: string | undefined = unique('key')): Promise<ApiResponse> =>
      send('POST', '/bill_payments/pay', { headers: { 'Idempotency-Key': key }, body }),
    billStatus: read('/bill_payments/status'),
    billReceipt: read('/bill_payments/receipt'),
  }
}

/**
 * A new session token of person NN of the sandbox. Rejects with NotAccepted when the account is unavailable or unknown.
 */
export const sessionOf = (client: Client, nn: number): Promise<string> => client.session(person(nn))
