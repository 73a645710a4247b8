// Every outcome of a look-up of the sandbox's people, their sessions, balances and histories, by HTTP alone.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { dateTimePattern, isoPattern, type Json, person, sharedMesh } from '../harness.ts'
import { accountClient, dataOf, institution_name, tokenOf } from './account-client.ts'

const mesh = sharedMesh()
const demo = accountClient(mesh)
const other = accountClient(mesh, 'other')
const byMobile = (nn: number, more: Json = {}) => ({
  lookup_type: 'MOBILE',
  lookup_value: person(nn),
  ...more,
})
const byEmail = (lookup_value: string) => ({ lookup_type: 'EMAIL', lookup_value })

describe('a look-up', () => {
  it.each([
    [0, 'Ama Mensah'],
    [1, 'Kofi Boateng'],
    [2, 'Esi Owusu'],
    [3, 'Yaw Darko'],
    [5, 'Abena Sarpong'],
    [6, 'Kwame Asante'],
    [11, 'Akosua Badu'],
  ])('a look-up of person %s finds %s with a session of 15 minutes', async (nn, display_name) => {
    const answer = await demo.session(byMobile(nn, { institution_name }))
    const { account, session, lookup, resolution } = dataOf(answer)
    expect(answer.status, answer.text).toBe(200)
    expect(account).toEqual({
      account_status: 'available',
      account_number: expect.stringMatching(/^\d+$/),
      account_type: 'personal',
      display_name,
      country: nn === 5 ? 'TT' : 'US',
    })
    expect(session).toEqual({
      session_token: expect.stringMatching(/^pws_[A-Za-z0-9_-]{43}$/),
      expires_at: expect.stringMatching(isoPattern),
      ttl_seconds: 900,
      single_use: true,
    })
    const leftMs = Date.parse(String((session as Json)['expires_at'])) - Date.now()
    expect(leftMs).toBeGreaterThan(880_000)
    expect(leftMs).toBeLessThan(905_000)
    expect(lookup).toEqual({ type: 'MOBILE', value_masked: `*******${person(nn).slice(-4)}` })
    expect(resolution).toBeUndefined()
  })

  it('a look-up finds the same account by mobile, e-mail and account number', async () => {
    const mobile = dataOf(await demo.session(byMobile(0)))['account'] as Json
    const email = dataOf(await demo.session(byEmail('AMA@example.com')))['account']
    const byNumber = { lookup_type: 'ACCOUNT_NUMBER', lookup_value: mobile['account_number'] }
    const number = dataOf(await demo.session(byNumber))
    expect([email, number['account']]).toEqual([mobile, mobile])
    const masked = `${'*'.repeat(String(mobile['account_number']).length - 4)}${String(mobile['account_number']).slice(-4)}`
    expect(number['lookup']).toEqual({ type: 'ACCOUNT_NUMBER', value_masked: masked })
  })

  it('a look-up reads a number without plus sign and a national one', async () => {
    for (const lookup_value of ['12025550100', '(202) 555-0100']) {
      const answer = await demo.session({ lookup_type: 'MOBILE', lookup_value })
      expect(answer.status, answer.text).toBe(200)
    }
  })

  it('a look-up of a number with two accounts is 409 and names the email key, which finds either', async () => {
    const answer = await demo.session(byMobile(9))
    expect(answer.status).toBe(409)
    expect(answer.body['errorCode']).toBeUndefined()
    expect(dataOf(answer)).toEqual({
      errorCode: 'AMBIGUOUS_MATCH',
      details: { lookup_type: 'MOBILE' },
    })
    expect(answer.body['message']).toContain('use the email key')
    for (const [name, first_name] of [
      ['adwoa', 'Adwoa'],
      ['kojo', 'Kojo'],
    ]) {
      const found = await demo.session(byEmail(`${name}@example.com`))
      expect(dataOf(found)['account']).toMatchObject({ display_name: `${first_name} Tetteh` })
      expect(dataOf(found)['lookup']).toEqual({
        type: 'EMAIL',
        value_masked: `${name?.[0]}***@example.com`,
      })
      const beside = await demo.session(byMobile(9, { email: `${name}@example.com` }))
      expect(dataOf(beside)['account']).toEqual(dataOf(found)['account'])
    }
    const query = { mobile_number: person(9), first_name: 'Kojo', last_name: 'Tetteh' }
    expect((await demo.status(query)).status).toBe(200)
  })

  it('a look-up of a suspended account is 200 without a session', async () => {
    const answer = await demo.session(byMobile(10))
    expect(answer.status).toBe(200)
    expect(dataOf(answer)).toMatchObject({
      account: { account_status: 'unavailable', display_name: 'Nana Quaye' },
      session: null,
      resolution: { usable: false, reason_code: 'ACCOUNT_UNAVAILABLE' },
    })
    const query = { mobile_number: person(10), first_name: 'Nana', last_name: 'Quaye' }
    expect((await demo.status(query)).body).toMatchObject({
      code: 200,
      account_status: 'unavailable',
      session_token: null,
    })
  })

  it.each([
    ['nobody has the number', byMobile(12)],
    ['nobody has the address', byEmail('nobody@example.com')],
    ['nobody has the account number', { lookup_type: 'ACCOUNT_NUMBER', lookup_value: '999' }],
    ['the first name is another one', byMobile(0, { first_name: 'Kofi' })],
    ['the last name is another one', byMobile(0, { last_name: 'Boateng' })],
    ['the institution is another one', byMobile(0, { institution_name: 'Restricted Bank' })],
    ['there is no such institution', byMobile(0, { institution_name: 'No Such Bank' })],
  ])('a look-up gets 404 when %s', async (_title, body) => {
    const answer = await demo.session(body)
    expect(answer.status, answer.text).toBe(404)
    expect(dataOf(answer)).toEqual({
      errorCode: 'ACCOUNT_NOT_FOUND',
      details: { lookup_type: body['lookup_type'] },
    })
    expect(answer.body['errorCode']).toBeUndefined()
  })

  it('a look-up compares names without case and accents', async () => {
    const answer = await demo.session(byMobile(0, { first_name: 'ÁMA', last_name: 'mensah' }))
    expect(answer.status, answer.text).toBe(200)
  })

  it('a look-up needs a project that is approved for it', async () => {
    const refused = await accountClient(mesh, 'payments_only').session(byMobile(0))
    expect(refused.body).toMatchObject({ code: 403, errorCode: 'PW_ACCOUNT_ACCESS_REQUIRED' })
  })
})

describe('the request id of a look-up', () => {
  it('a repeated look-up returns the same session, also with unknown fields in its body', async () => {
    const requestId = randomUUID()
    const first = await demo.session(byMobile(1), requestId)
    const again = await demo.session({ ...byMobile(1), unknown: 1 }, requestId)
    expect(again.body['request_id']).toBe(requestId)
    expect(dataOf(again)).toEqual(dataOf(first))
    expect(tokenOf(await demo.session(byMobile(1)))).not.toBe(tokenOf(first))
  })

  it('the request id of a look-up gets 409 with another body, and is free to another project', async () => {
    const requestId = randomUUID()
    const first = await demo.session(byMobile(1), requestId)
    const reused = await demo.session(byMobile(2), requestId)
    expect(reused.body).toMatchObject({ code: 409, errorCode: 'REQUEST_ID_REUSED' })
    const elsewhere = await other.session(byMobile(2), requestId)
    expect(tokenOf(elsewhere)).not.toBe(tokenOf(first))
  })

  it('the request id of a look-up gives one session to fifty calls at once', async () => {
    const requestId = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => demo.session(byMobile(1), requestId)),
    )
    expect(new Set(answers.map(tokenOf)).size).toBe(1)
  })
})

describe('an account status', () => {
  const query = { mobile_number: person(1), first_name: 'kofi', last_name: 'boateng' }

  it('an account status has a token at top level, and the address only with diagnostics', async () => {
    const answer = await demo.status({ ...query, sender_first_name: 'Ama' })
    expect(answer.body).toMatchObject({
      code: 200,
      account_status: 'available',
      session_token: expect.stringMatching(/^pws_/),
    })
    expect(answer.body['observed_client_ip']).toBeUndefined()
    const shown = await demo.status({ ...query, diagnostics: 'true' })
    expect(shown.body['observed_client_ip']).toMatchObject({ request_ip: '127.0.0.1' })
  })

  it('an account status names all that is missing, in order', async () => {
    const answer = await demo.call('GET', '/account/account', { query: { first_name: 'x' } })
    expect(answer.body).toMatchObject({
      code: 400,
      errorCode: 'MISSING_PARAMETER',
      missing: ['mobile_number', 'institution_name', 'last_name'],
    })
  })

  it('an account status gets 404 with the code at top level when names do not match', async () => {
    const answer = await demo.status({ ...query, last_name: 'Mensah' })
    expect(answer.body).toMatchObject({ code: 404, errorCode: 'ACCOUNT_NOT_FOUND' })
  })
})

describe('a balance', () => {
  it.each([
    [1, 'USD', '5000.00'],
    [5, 'TTD', '3000.00'],
    [10, 'USD', '100.00'],
  ])('a balance of person %s is kept in %s', async (nn, currency, least) => {
    const answer = await demo.balance(person(nn))
    const data = dataOf(answer)
    expect(answer.status, answer.text).toBe(200)
    expect(data).toMatchObject({
      mobile_number: person(nn),
      currency,
      uncleared_balance: expect.stringMatching(/^\d+\.\d\d$/),
      account_status: nn === 10 ? 'unavailable' : 'available',
      as_of: expect.stringMatching(isoPattern),
    })
    const [current, available, reserved] = ['current', 'available', 'reserved'].map((name) =>
      Number(data[`${name}_balance`]),
    )
    expect(current).toBeCloseTo((available ?? 0) + (reserved ?? 0), 2)
    expect(data['current_balance']).toMatch(/^\d+\.\d\d$/)
    expect(answer.body['balance']).toBe(data['available_balance'])
    // Other tests move money of some of them; nobody moves that of a suspended account.
    expect(nn === 10 ? data['current_balance'] : least).toBe(least)
  })

  it('the balance of an unknown number is 404, of one with two accounts 409', async () => {
    expect((await demo.balance(person(12))).body).toMatchObject({
      code: 404,
      errorCode: 'ACCOUNT_NOT_FOUND',
    })
    expect((await demo.balance(person(9))).body).toMatchObject({
      code: 409,
      errorCode: 'AMBIGUOUS_MATCH',
    })
  })
})

describe('a history', () => {
  it('a history starts with the opening balance', async () => {
    const answer = await demo.history({ mobile_number: person(10) })
    expect(answer.status, answer.text).toBe(200)
    expect(dataOf(answer)).toEqual({
      mobile_number: person(10),
      transactions: [
        {
          transaction_id: expect.any(String),
          type: 'credit',
          amount: '100.00',
          currency: 'USD',
          fees: '0.00',
          description: expect.any(String),
          status: 'completed',
          transaction_method: expect.any(String),
          posted_date: expect.stringMatching(dateTimePattern),
          cleared_date: expect.stringMatching(dateTimePattern),
          metadata: {},
        },
      ],
      count: 1,
      has_more: false,
      next_cursor: null,
    })
  })

  it('a history is empty outside its window, and a day counts in full', async () => {
    const whole = await demo.history({ mobile_number: person(10) })
    const [{ posted_date }] = dataOf(whole)['transactions'] as [{ posted_date: string }]
    const day = posted_date.slice(0, 10)
    const count = async (window: Json) =>
      dataOf(await demo.history({ mobile_number: person(10), ...window }))['count']
    expect(await count({ start_date: day, end_date: day })).toBe(1)
    expect(await count({ start_date: posted_date, end_date: posted_date })).toBe(1)
    expect(await count({ start_date: '2020-01-01', end_date: '2020-12-31' })).toBe(0)
    const late = await demo.history({ mobile_number: person(10), start_date: '2999-01-01' })
    expect(late.body).toMatchObject({ code: 400, errorCode: 'INVALID_PARAMETER' })
    expect(late.body['message']).toContain('start_date')
  })

  it('a history gets 404 for an unknown number and 400 for an unknown cursor', async () => {
    expect((await demo.history({ mobile_number: person(12) })).status).toBe(404)
    const answer = await demo.history({ mobile_number: person(10), cursor: 'AAAA' })
    expect(answer.body).toMatchObject({ code: 400, errorCode: 'INVALID_PARAMETER' })
    expect(answer.body['message']).toContain('cursor')
  })
})
