// New accounts at the edge: profiles, business accounts, registrations.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { type EdgeFixture, startEdge } from './harness.ts'
import { forget, holder, person, post, projectId, requestId } from './stand-ins/account-calls.ts'
import { accountId, secrets } from './stand-ins/accounts.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => forget(edge))

describe('POST /account/personal_account', () => {
  const body = {
    ...person,
    email: 'ama@example.com',
    mobile_number: '868 350-1234',
    institution_name: 'Demo Wallet',
  }

  it('POST /account/personal_account answers the account that waits for its review, the number as it was sent', async () => {
    const callback = {
      callback_url: 'https://example.com/done',
      authorisation_token: 'token-0123456789',
    }
    const seen = await post(edge, 'personal_account', { ...body, ...callback, dob: 5 })
    expect(seen.body).toMatchObject({
      code: 200,
      data: {
        account_id: accountId,
        account_status: 'pending_review',
        account_type: 'personal',
        mobile_number: '868 350-1234',
        email: 'ama@example.com',
      },
    })
    expect(edge.seen.accounts.personal[0]).toMatchObject({
      projectId,
      requestId,
      profile: {
        mobileNumber: '+18683501234',
        mobileNumberAsSent: '868 350-1234',
        callbackUrl: 'https://example.com/done',
        authorisationToken: 'token-0123456789',
        originCountry: 'TT',
        // Facts for the review come in a form alone.
        details: {},
      },
    })
  })

  it('POST /account/personal_account returns ACCOUNT_EXISTS when the number has an account', async () => {
    edge.seen.accounts.refuseWith = 'ACCOUNT_EXISTS'
    const seen = await post(edge, 'personal_account', body)
    expect(seen.body).toMatchObject({ code: 409, errorCode: 'ACCOUNT_EXISTS' })
  })

  it('POST /account/personal_account names the field that the service refuses', async () => {
    edge.seen.accounts.refuseWith = new Failure(
      'INVALID_PARAMETER',
      'institution_name must be an institution of yours',
      { details: { field: 'institution_name' } },
    )
    const seen = await post(edge, 'personal_account', body)
    expect(seen.body).toMatchObject({
      code: 400,
      errorCode: 'INVALID_PARAMETER',
      message: 'institution_name must be an institution of yours.',
    })
  })
})

describe('POST /account/business_account', () => {
  it('POST /account/business_account answers the three credentials at top level', async () => {
    const seen = await post(edge, 'business_account', {
      ...person,
      business_name: 'Ama & Co',
      email: 'ama@example.com',
      mobile_number: '868 350-1234',
    })
    expect(seen.body).toMatchObject({
      code: 200,
      pin: 123_456,
      api_key: secrets.apiKey,
      authorisation_token: secrets.authorisationToken,
    })
    expect(edge.seen.accounts.business[0]).toMatchObject({
      projectId,
      businessName: 'Ama & Co',
      mobileNumber: '+18683501234',
    })
  })
})

describe('POST /account/register_account', () => {
  const body = {
    ...holder,
    session_token: secrets.sessionToken,
    authorisation_token: 'token-0123456789',
    callback_url: 'https://example.com/done',
  }

  it('POST /account/register_account answers the challenge', async () => {
    const seen = await post(edge, 'register_account', body)
    expect(seen.body).toMatchObject({
      code: 200,
      message: 'Registration request sent.',
      challengeId: 'challenge-1',
    })
    expect(edge.seen.accounts.registrations[0]).toMatchObject({
      projectId,
      requestId,
      sessionToken: secrets.sessionToken,
      mobileNumberAsSent: '+18683501234',
    })
  })

  it.each<Reason>(['SESSION_INVALID', 'SESSION_EXPIRED'])(
    'POST /account/register_account returns %s as 401',
    async (reason) => {
      edge.seen.accounts.refuseWith = reason
      const seen = await post(edge, 'register_account', body)
      expect(seen.body).toMatchObject({ code: 401, errorCode: reason })
    },
  )
})
