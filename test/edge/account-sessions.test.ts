// Look-ups at the edge: what reaches the service, what the client sees, what is counted, what is logged.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { call, type EdgeFixture, goodHeaders, type Seen, startEdge } from './harness.ts'
import {
  forget,
  get,
  holder,
  lookup,
  person,
  post,
  projectId,
  requestId,
  version,
} from './stand-ins/account-calls.ts'
import { secrets } from './stand-ins/accounts.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => forget(edge))

function isUnavailable(): void {
  edge.seen.accounts.account.accountStatus = AccountStatus.UNAVAILABLE
}

describe('POST /account/account_session', () => {
  it('POST /account/account_session answers the account and its session, the request id and the version', async () => {
    const seen = await post(edge, 'account_session', lookup)
    expect(seen.status).toBe(200)
    expect(seen.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Account session created.',
      request_id: requestId,
      timestamp: expect.any(String),
      data: {
        request_id: requestId,
        version,
        lookup: { type: 'MOBILE', value_masked: '******1234' },
        account: {
          account_status: 'available',
          account_number: 'DW0000001234',
          account_type: 'personal',
          display_name: 'Ama Mensah',
          country: 'US',
        },
        session: {
          session_token: secrets.sessionToken,
          expires_at: '2026-01-02T12:00:00.250Z',
          ttl_seconds: 900,
          single_use: true,
        },
      },
      observed_client_ip: expect.any(Object),
    })
  })

  it('POST /account/account_session hands on the whole look-up, the number in E.164, and a fingerprint of the known fields', async () => {
    const body = {
      ...lookup,
      ...person,
      institution_name: 'Demo Wallet',
      email: 'ama@example.com',
    }
    await post(edge, 'account_session', { ...body, unknown: 1 })
    expect(edge.seen.accounts.sessions[0]).toMatchObject({
      projectId,
      requestId,
      lookupType: LookupType.MOBILE,
      lookupValue: '+18683501234',
      institutionName: 'Demo Wallet',
      firstName: 'Ama',
      lastName: 'Mensah',
      email: 'ama@example.com',
    })
    const sent = Buffer.from(edge.seen.accounts.sessions[0]?.fingerprint ?? [])
    expect(sent).toEqual(fingerprint(body))
    await post(edge, 'account_session', { lookup_type: 'EMAIL', lookup_value: 'Ama@Example.com' })
    await post(edge, 'account_session', { lookup_type: 'ACCOUNT_NUMBER', lookup_value: 'DW1' })
    expect(edge.seen.accounts.sessions.slice(1)).toMatchObject([
      { lookupType: LookupType.EMAIL, lookupValue: 'Ama@Example.com' },
      { lookupType: LookupType.ACCOUNT_NUMBER, lookupValue: 'DW1' },
    ])
  })

  it('POST /account/account_session answers an unavailable account with 200 and no session', async () => {
    isUnavailable()
    edge.seen.accounts.account.accountNumber = ''
    const seen = await post(edge, 'account_session', {
      lookup_type: 'EMAIL',
      lookup_value: 'nana@example.com',
    })
    expect(seen.body).toMatchObject({
      code: 200,
      data: {
        lookup: { type: 'EMAIL', value_masked: 'n***@example.com' },
        account: { account_status: 'unavailable', account_number: null },
        session: null,
        resolution: { usable: false, reason_code: 'ACCOUNT_UNAVAILABLE' },
      },
    })
  })

  it.each<[Reason, number]>([
    ['ACCOUNT_NOT_FOUND', 404],
    ['AMBIGUOUS_MATCH', 409],
  ])(
    'POST /account/account_session returns %s inside data only, with the lookup type',
    async (reason, code) => {
      edge.seen.accounts.refuseWith = reason
      const seen = await post(edge, 'account_session', lookup)
      expect(seen.status).toBe(code)
      expect(seen.body).toEqual({
        status: 'error',
        code,
        message: expect.any(String),
        request_id: requestId,
        timestamp: expect.any(String),
        doc_url: expect.stringMatching(new RegExp(`/docs/errors#${reason}$`)),
        data: { errorCode: reason, details: { lookup_type: 'MOBILE' } },
        observed_client_ip: expect.any(Object),
      })
    },
  )

  it('an ambiguous match names the key that distinguishes the accounts', async () => {
    edge.seen.accounts.refuseWith = 'AMBIGUOUS_MATCH'
    expect((await post(edge, 'account_session', lookup)).body['message']).toContain(
      'use the email key',
    )
  })

  it('a session request returns REQUEST_ID_REUSED inside data and at top level', async () => {
    edge.seen.accounts.refuseWith = 'REQUEST_ID_REUSED'
    const errorCode = 'REQUEST_ID_REUSED'
    const data = { errorCode, details: { lookup_type: 'MOBILE' } }
    const seen = await post(edge, 'account_session', lookup)
    expect(seen.body).toMatchObject({ code: 409, errorCode, data })
  })

  it('a session request returns every other refusal at top level', async () => {
    edge.seen.accounts.refuseWith = 'SERVICE_UNAVAILABLE'
    const seen = await post(edge, 'account_session', lookup)
    expect(seen.body).toMatchObject({ code: 503, errorCode: 'SERVICE_UNAVAILABLE' })
    expect(seen.body['data']).toBeUndefined()
  })
})

describe('GET /account/account', () => {
  it('GET /account/account answers status and token at top level, and the address only when asked to', async () => {
    const seen = await get(edge, 'account', { ...holder, sender_first_name: 'Any', email: '' })
    expect(seen.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Account status retrieved.',
      request_id: requestId,
      timestamp: expect.any(String),
      account_status: 'available',
      session_token: secrets.sessionToken,
    })
    const shown = await get(edge, 'account', { ...holder, diagnostics: 'true' })
    expect(shown.body['observed_client_ip']).toBeTypeOf('object')
    expect(edge.seen.accounts.sessions[0]).toMatchObject({
      requestId: '',
      lookupType: LookupType.MOBILE,
      lookupValue: '+18683501234',
      firstName: 'Ama',
      email: '',
    })
  })

  it('GET /account/account has no token for an unavailable account', async () => {
    isUnavailable()
    const seen = await get(edge, 'account', holder)
    expect(seen.body).toMatchObject({
      code: 200,
      account_status: 'unavailable',
      session_token: null,
    })
  })

  it('GET /account/account returns an unknown account as an error at top level', async () => {
    edge.seen.accounts.refuseWith = new Failure('ACCOUNT_NOT_FOUND', 'no', {
      details: { lookup_type: 'MOBILE' },
    })
    const seen = await get(edge, 'account', holder)
    expect(seen.body).toMatchObject({ code: 404, errorCode: 'ACCOUNT_NOT_FOUND' })
    expect(seen.body['data']).toBeUndefined()
  })

  it('GET /account/account never shows the address in production', async () => {
    const production = await startEdge({ environment: 'production' })
    const target = `/account/account?${new URLSearchParams({ version, ...holder, diagnostics: 'true' }).toString()}`
    const seen = await call(production.url, 'GET', target)
    expect(seen.status).toBe(200)
    expect(seen.body['observed_client_ip']).toBeUndefined()
    await production.close()
  })
})

describe('look-ups', () => {
  it('look-ups of one value are limited by minute, project and value; other values are not', async () => {
    const stopped = { nowMs: () => 0 }
    const limited = await startEdge({ sessionLookupsPerMin: 4, gatewayReplicas: 2 }, stopped)
    const open = (value: string, type = 'MOBILE') =>
      call(limited.url, 'POST', `/account/account_session?version=${version}`, {
        headers: goodHeaders({ 'PW-request-id': requestId }),
        body: { lookup_type: type, lookup_value: value },
      })
    expect((await open('868 350-1234')).status).toBe(200)
    // Any notation of the number, on any route, counts as the same number.
    const query = new URLSearchParams({ version, ...holder }).toString()
    expect((await call(limited.url, 'GET', `/account/account?${query}`)).status).toBe(200)
    const third = await open('+18683501234')
    expect(third.body).toMatchObject({ code: 429, errorCode: 'RATE_LIMIT_EXCEEDED' })
    expect(third.headers.get('retry-after')).toBe('30')
    expect(third.headers.get('ratelimit-policy')).toBe('"session";q=2;w=60')
    expect(third.headers.get('ratelimit')).toBe('"session";r=0;t=30')
    expect((await call(limited.url, 'GET', `/account/account?${query}`)).status).toBe(429)
    expect((await open('+18683501235')).status).toBe(200)
    expect((await open('+18683501234', 'ACCOUNT_NUMBER')).status).toBe(200)
    expect(limited.seen.accounts.sessions).toHaveLength(4)
    await limited.close()
  })
})

describe('the limit of look-ups', () => {
  let limited: EdgeFixture
  beforeAll(async () => {
    limited = await startEdge({ sessionLookupsPerMin: 2 }, { nowMs: () => 0 })
  })
  afterAll(() => limited.close())

  const open = (lookup_type: string, lookup_value: string) =>
    call(limited.url, 'POST', `/account/account_session?version=${version}`, {
      headers: goodHeaders({ 'PW-request-id': requestId }),
      body: { lookup_type, lookup_value },
    })
  const statusesOf = async (calls: Array<() => Promise<Seen>>) => {
    const statuses: number[] = []
    for (const one of calls) statuses.push((await one()).status)
    return statuses
  }

  it('the limit of look-ups counts an e-mail address as accounts compares it, however it is spelled', async () => {
    const spellings = [
      'ama@example.com',
      'AMA@example.com',
      'Ama@Example.Com',
      'ａｍａ@example.com',
    ]
    expect(await statusesOf(spellings.map((value) => () => open('EMAIL', value)))).toEqual([
      200, 200, 429, 429,
    ])
    expect((await open('EMAIL', 'amá@example.com')).status).toBe(200)
  })

  it('the limit of look-ups counts an account number as it is', async () => {
    const numbers = ['DW0000001234', 'DW0000001234', 'DW0000001234', 'dw0000001234']
    expect(await statusesOf(numbers.map((value) => () => open('ACCOUNT_NUMBER', value)))).toEqual([
      200, 200, 429, 200,
    ])
  })

  it('the limit of look-ups lets balances and histories through six times as often, each on its own', async () => {
    const query = (more: object) => new URLSearchParams({ version, ...more }).toString()
    const spellings = ['+18683501234', '18683501234', '868 350-1234']
    const reads: Array<(mobile_number: string) => Promise<Seen>> = [
      (mobile_number) => call(limited.url, 'GET', `/account/balance?${query({ mobile_number })}`),
      (mobile_number) =>
        call(limited.url, 'POST', `/account/transaction_history?${query({})}`, {
          body: { mobile_number },
        }),
      (mobile_number) =>
        call(limited.url, 'GET', `/institution/transaction_history?${query({ mobile_number })}`),
    ]
    for (const read of reads) {
      const calls = Array.from({ length: 13 }, (_, index) => () => {
        return read(spellings[index % spellings.length] ?? '')
      })
      expect(await statusesOf(calls)).toEqual([...Array(12).fill(200), 429])
      const refused = await read('+18683501234')
      expect(refused.body['errorCode']).toBe('RATE_LIMIT_EXCEEDED')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await read('+18683501235')).status).toBe(200)
    }
    expect((await open('MOBILE', '+18683501234')).status).toBe(200)
  })
})

describe('trouble of our own', () => {
  it.each<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'INTERNAL_ERROR'])(
    'an internal error says to retry later and nothing more: %s',
    async (reason) => {
      edge.seen.accounts.refuseWith = new Failure(reason, 'relation "secret_table" is gone')
      for (const seen of [
        await get(edge, 'balance', { mobile_number: '+18683501234' }),
        await post(edge, 'transaction_history', { mobile_number: '+18683501234' }),
        await post(edge, 'account_session', lookup),
      ]) {
        expect(seen.body).toMatchObject({ status: 'error', errorCode: reason })
        expect(seen.body['message']).toMatch(/retry later/)
        expect(seen.text).not.toContain('secret_table')
      }
    },
  )
})

describe('the log', () => {
  it('the log holds no number, name, token or key of account sessions', async () => {
    edge.lines.length = 0
    await post(edge, 'account_session', lookup)
    await get(edge, 'account', holder)
    await post(edge, 'register_account', {
      ...holder,
      session_token: secrets.sessionToken,
      authorisation_token: 'token-0123456789',
      callback_url: 'https://example.com/done',
    })
    await post(edge, 'business_account', {
      ...person,
      business_name: 'Canary & Co',
      email: 'canary@example.com',
      mobile_number: '+18683501234',
    })
    edge.seen.accounts.refuseWith = new Failure('INTERNAL_ERROR', `no ${secrets.sessionToken}`)
    await get(edge, 'balance', { mobile_number: '+18683501234' })
    const text = JSON.stringify(edge.lines)
    expect(edge.lines.length).toBeGreaterThanOrEqual(5)
    for (const canary of [
      '3501234',
      'Mensah',
      'Canary',
      'canary@',
      'token-0123456789',
      ...Object.values(secrets),
    ]) {
      expect(text).not.toContain(canary)
    }
  })
})
