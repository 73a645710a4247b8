// What system tests do as a client with customers at an institution: sessions and quotes, by HTTP alone.
import { expect } from 'vitest'
import type { SharedMesh } from '../../support/mesh.ts'
import { type ApiResponse, type Json, merchant, person } from '../harness.ts'

export const institution_name = 'Demo Wallet'

/** NN of a person of the sandbox, or the number of anybody. */
export type Holder = number | string

/** The mobile number of a holder. */
export function numberOf(holder: Holder): string {
  return typeof holder === 'number' ? person(holder) : holder
}

/** A client of one project that acts for people of the sandbox. */
export function client(
  mesh: Pick<SharedMesh, 'sandbox'>,
  project: Parameters<typeof merchant>[1] = 'demo',
) {
  const { call } = merchant(mesh, project)
  return {
    call,
    /** A new session token of a holder. */
    async session(holder: Holder): Promise<string> {
      const answer = await call('POST', '/account/account_session', {
        headers: { 'PW-request-id': crypto.randomUUID() },
        body: { lookup_type: 'MOBILE', lookup_value: numberOf(holder), institution_name },
      })
      expect(answer.status, answer.text).toBe(200)
      const { session } = answer.body['data'] as { session: { session_token: string } }
      return session.session_token
    },
    /** POST /quote or /institution/quote for 10.00 USD, if nothing else is said. */
    quote: (session_token: string, more: Json = {}, path = '/quote'): Promise<ApiResponse> =>
      call('POST', path, {
        body: {
          session_token,
          institution_name,
          request_amount: '10.00',
          request_currency: 'USD',
          ...more,
        },
      }),
    /** GET /quote or /institution/post. */
    readQuote: (quote_id: unknown, more: Record<string, string> = {}, path = '/quote') =>
      call('GET', path, { query: { quote_id: String(quote_id), institution_name, ...more } }),
  }
}
