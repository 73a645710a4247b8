// How the tests of the /account routes call them, and values that they share; it must not hold assertions.

import { call, type EdgeFixture, goodHeaders, type Seen } from '../harness.ts'
import { newSeenAccounts } from './accounts.ts'

export const version = '2024-10-01'
export const requestId = '0198c000-0000-7000-8000-0000000000ab'
export const projectId = '0198c000-0000-7000-8000-000000000001'
export const person = { first_name: 'Ama', last_name: 'Mensah' }
export const lookup = { lookup_type: 'MOBILE', lookup_value: '868 350-1234' }
export const holder = {
  ...person,
  mobile_number: '+18683501234',
  institution_name: 'Demo Wallet',
}

/** POST of a route under /account, with a request id. */
export function post(
  { url }: Pick<EdgeFixture, 'url'>,
  path: string,
  body: unknown,
): Promise<Seen> {
  const headers = goodHeaders({ 'PW-request-id': requestId })
  return call(url, 'POST', `/account/${path}?version=${version}`, { headers, body })
}

/** GET of a route under /account, with a request id. */
export function get(
  { url }: Pick<EdgeFixture, 'url'>,
  path: string,
  query: Record<string, string>,
): Promise<Seen> {
  const text = new URLSearchParams({ version, ...query }).toString()
  const headers = goodHeaders({ 'PW-request-id': requestId })
  return call(url, 'GET', `/account/${path}?${text}`, { headers })
}

/** Resets the recorded calls and the configured responses of the stand-in. */
export function forget({ seen }: Pick<EdgeFixture, 'seen'>): void {
  Object.assign(seen.accounts, newSeenAccounts(), { refuseWith: undefined, beforePart: undefined })
}
