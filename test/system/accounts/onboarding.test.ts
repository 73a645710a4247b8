// New accounts and consents from the request to the signed callback, by JSON and as forms, and what abuse of a form leaves.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { dateTimePattern, type Json, order, person, sharedMesh, unique } from '../harness.ts'
import {
  accountClient,
  callbackReceiver,
  dataOf,
  formOf,
  institution_name,
  newNumber,
  newProfile,
  partOf,
  tokenOf,
} from './account-client.ts'

const mesh = sharedMesh()
const demo = accountClient(mesh)
const other = accountClient(mesh, 'other')
const pdf = `%PDF-1.7\n${'x'.repeat(5_000)}`

/** How long the sandbox's review takes. */
const reviewMs = 2_000

const byEmail = (email: string) => demo.session({ lookup_type: 'EMAIL', lookup_value: email })

/** The account of an e-mail address once its review has accepted it. */
const whenAvailable = (email: string) =>
  eventually(
    () => byEmail(email),
    (answer) => expect(answer.status, answer.text).toBe(200),
  )

describe('a personal account', { concurrent: true }, () => {
  it('a personal account waits for its review, is found by nobody until then, and is reported signed when it is done', async () => {
    const callback = callbackReceiver(mesh)
    const profile = newProfile()
    const requestId = randomUUID().toUpperCase()
    const askedMs = Date.now()
    const made = await demo.call('POST', '/account/personal_account', {
      headers: { 'PW-request-id': requestId },
      body: { ...profile, ...callback.asked },
    })
    expect(made.status, made.text).toBe(200)
    expect(dataOf(made)).toEqual({
      account_id: expect.any(String),
      account_status: 'pending_review',
      account_type: 'personal',
      mobile_number: profile.mobile_number,
      email: profile.email,
    })
    const { status } = await byEmail(profile.email)
    expect(Date.now() - askedMs < reviewMs ? [404] : [404, 200]).toContain(status)
    expect(await callback.proved()).toEqual({
      version: '2024-10-01',
      request_timestamp: expect.stringMatching(dateTimePattern),
      request_id: requestId,
      institution_name,
      account: {
        mobile_number: profile.mobile_number,
        account_status: 'available',
        account_level: 1,
        funds_access_status: 'limited',
        onboarding_status: 'completed',
      },
    })
    await whenAvailable(profile.email)
    const { mobile_number } = profile
    expect(dataOf(await demo.balance(mobile_number))).toMatchObject({ available_balance: '0.00' })
    expect(dataOf(await demo.history({ mobile_number }))).toMatchObject({ count: 0 })
  })

  it('a personal account with proof of identity and address gets level 2', async () => {
    const callback = callbackReceiver(mesh)
    const profile = newProfile({ dob: '1990-01-01', nationality: 'GH', city: 'Accra' })
    const files = { id_document1_file: pdf, poa_file: pdf, selfie: pdf }
    const made = await demo.personalForm({ ...profile, ...callback.asked }, files)
    expect(made.status, made.text).toBe(200)
    expect(await callback.proved()).toMatchObject({
      account: { account_level: 2, funds_access_status: 'full', onboarding_status: 'completed' },
    })
  })

  it('a personal account of person 07 is rejected, and blocks nothing', async () => {
    for (const _ of [1, 2]) {
      const callback = callbackReceiver(mesh)
      const profile = newProfile({ mobile_number: person(7) })
      const made = await demo.personal({ ...profile, ...callback.asked })
      expect(made.status, made.text).toBe(200)
      expect(await callback.proved()).toMatchObject({
        account: {
          mobile_number: person(7),
          account_status: 'unavailable',
          onboarding_status: 'rejected',
        },
      })
      expect((await byEmail(profile.email)).status).toBe(404)
    }
  })

  it('a personal account of person 08 stays pending, and no callback is sent', async () => {
    const callback = callbackReceiver(mesh)
    const profile = newProfile({ mobile_number: person(8) })
    expect((await demo.personal({ ...profile, ...callback.asked })).status).toBe(200)
    // One that comes later has been decided and reported: so this one would have been, too.
    const next = callbackReceiver(mesh)
    await demo.personal({ ...newProfile(), ...next.asked })
    await next.proved()
    expect((await byEmail(profile.email)).status).toBe(404)
    expect(await callback.received()).toEqual([])
  })

  it('a personal account is made once for a number: the second one gets 409, or is rejected when both wait', async () => {
    const { mobile_number, emails, callback } = await twoThatWait()
    const outcomes = [await callback.proved(), await whenEither(...emails)]
    expect(outcomes[1]).toBe(1)
    const third = await demo.personal(newProfile({ mobile_number }))
    expect(third.body).toMatchObject({ code: 409, errorCode: 'ACCOUNT_EXISTS' })
    expect((await demo.personal(newProfile({ mobile_number: person(0) }))).status).toBe(409)
  })

  it('a personal account needs an institution that the project sees', async () => {
    for (const name of ['Restricted Bank', 'No Such Bank']) {
      const refused = await demo.personal(newProfile({ institution_name: name }))
      expect(refused.body).toMatchObject({ code: 400, errorCode: 'INVALID_PARAMETER' })
      expect(refused.body['message']).toContain('institution_name')
    }
  })

  it('a personal account requires a callback with its token, or neither', async () => {
    const { callback_url, authorisation_token } = callbackReceiver(mesh).asked
    for (const one of [{ callback_url }, { authorisation_token }]) {
      const refused = await demo.personal({ ...newProfile(), ...one })
      expect(refused.body).toMatchObject({ code: 400, errorCode: 'MISSING_PARAMETER' })
    }
  })
})

/** Two profiles of one number of which neither is decided. On a machine that stalls, the second may come after the review of the first. */
function twoThatWait() {
  return eventually(async () => {
    const mobile_number = newNumber()
    const [first, second] = [newProfile({ mobile_number }), newProfile({ mobile_number })]
    const callback = callbackReceiver(mesh)
    const asked = [demo.personal(first), other.personal({ ...second, ...callback.asked })]
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200])
    return { mobile_number, emails: [first.email, second.email], callback }
  })
}

/** How many of two waiting profiles have become accounts, once one has. */
async function whenEither(...emails: string[]): Promise<number> {
  const found = await eventually(
    () => Promise.all(emails.map(byEmail)),
    (answers) => expect(answers.map(({ status }) => status)).toContain(200),
  )
  return found.filter(({ status }) => status === 200).length
}

describe('a form', () => {
  const marked = () => newProfile({ email: `${unique('abuse')}@example.com` })

  it.each<[string, (profile: Record<string, string>) => string, number]>([
    ['that is cut off', (profile) => formOf(profile, { selfie: pdf }).slice(0, -40), 400],
    ['without its email', (profile) => formOf({ ...profile, email: '' }, { selfie: pdf }), 400],
    [
      'whose texts come after its file and are wrong',
      (profile) =>
        `${partOf('selfie', pdf, '; filename="a"')}${formOf({ ...profile, email: 'none' })}`,
      400,
    ],
    ['with a file of another kind', (profile) => formOf(profile, { selfie: 'MZ program' }), 415],
    ['with an empty file', (profile) => formOf(profile, { selfie: '' }), 415],
    [
      'with a good and a bad file',
      (profile) => formOf(profile, { poa_file: pdf, selfie: 'x' }),
      415,
    ],
    [
      'with a file over 10 MiB',
      (profile) => formOf(profile, { selfie: `%PDF-${'x'.repeat(10 * 1024 * 1024)}` }),
      413,
    ],
    [
      'over 25 MiB in all',
      (profile) => formOf(profile, { selfie: `%PDF-${'x'.repeat(26 * 1024 * 1024)}` }),
      413,
    ],
    [
      'of 1,000 parts',
      (profile) =>
        `${Array.from({ length: 1_000 }, (_, at) => partOf(`f${at}`, 'x')).join('')}${formOf(profile)}`,
      413,
    ],
    [
      'with a field twice',
      (profile) => `${partOf('email', 'a@b.co')}${formOf(profile, { selfie: pdf })}`,
      400,
    ],
  ])('%s is refused in the envelope, and nothing is stored', async (_title, make, status) => {
    const profile = marked()
    const answer = await demo.personalBytes(make(profile))
    expect(answer.status, answer.text).toBe(status)
    expect(answer.body).toMatchObject({ status: 'error', code: status })
    expect(answer.body['errorCode']).toBeTypeOf('string')
    await expectNothingOf(profile.mobile_number)
  })

  it('a form without a boundary is 400', async () => {
    const type = { 'Content-Type': 'multipart/form-data' }
    expect((await demo.personalBytes(formOf(marked()), type)).status).toBe(400)
  })

  it('a form with fields named __proto__ and constructor is like one without', async () => {
    const profile = marked()
    const names = ['__proto__', 'constructor'].map((name) => partOf(name, 'x')).join('')
    const answer = await demo.personalBytes(`${names}${formOf(profile)}`)
    expect(answer.status, answer.text).toBe(200)
  })

  it('a form is not read for a project without access', async () => {
    const answer = await accountClient(mesh, 'payments_only').personalForm(marked(), {
      selfie: pdf,
    })
    expect(answer.body).toMatchObject({ code: 403, errorCode: 'PW_ACCOUNT_ACCESS_REQUIRED' })
  })
})

/** No account on the number, and no artefact that no account has. */
async function expectNothingOf(mobileNumber: string): Promise<void> {
  const accounts = await mesh.rows('select 1 from accounts.account where mobile_number = $1', [
    mobileNumber,
  ])
  expect(accounts).toEqual([])
  await eventually(
    () => mesh.rows('select 1 from accounts.artefact where review_id is null'),
    (orphans) => expect(orphans).toEqual([]),
  )
}

describe('a registration', { concurrent: true }, () => {
  const asks = async (nn: number, more: Json = {}) => {
    const callback = callbackReceiver(mesh)
    const found = await demo.session({ lookup_type: 'MOBILE', lookup_value: person(nn) })
    const [first_name, last_name] = String(
      (dataOf(found)['account'] as Json)['display_name'],
    ).split(' ')
    const session_token = tokenOf(found)
    const mobile_number = person(nn)
    const body = { mobile_number, institution_name, first_name, last_name, session_token }
    const answer = await demo.register({ ...body, ...callback.asked, ...more })
    return { answer, callback }
  }

  it('a registration asks the holder, who approves', async () => {
    const { answer, callback } = await asks(0)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toMatchObject({
      message: expect.stringMatching(/registration request sent/i),
      challengeId: expect.stringMatching(/./),
    })
    expect(await callback.proved()).toMatchObject({
      request_id: answer.body['request_id'],
      institution_name,
      request_status: 'approved',
      account: { mobile_number: person(0), account_status: 'available' },
    })
  })

  it('a registration is refused by person 11', async () => {
    const { answer, callback } = await asks(11)
    expect(answer.status, answer.text).toBe(200)
    expect(await callback.proved()).toMatchObject({ request_status: 'rejected' })
  })

  it('a registration needs a live session of that account and that project', async () => {
    const token = async (client: typeof demo, nn: number) =>
      tokenOf(await client.session({ lookup_type: 'MOBILE', lookup_value: person(nn) }))
    const wrong = ['pws_nonsense', 'x'.repeat(16_384), await token(demo, 1), await token(other, 0)]
    for (const session_token of wrong) {
      const { answer } = await asks(0, { session_token })
      expect(answer.body).toMatchObject({ code: 401, errorCode: 'SESSION_INVALID' })
    }
  })

  it('a registration needs all seven fields', async () => {
    const { answer } = await asks(0, { institution_name: undefined })
    expect(answer.body).toMatchObject({ code: 400, errorCode: 'MISSING_PARAMETER' })
    expect(answer.body['message']).toBe('institution_name is required.')
  })
})

describe('a business account', () => {
  it('a business account has an api_key that takes payments for its project and for no other', async () => {
    const business_name = unique('Chop Bar')
    const made = await demo.business({
      business_name,
      first_name: 'Efua',
      last_name: 'Sutherland',
      email: 'efua@example.com',
      mobile_number: newNumber(),
    })
    expect(made.status, made.text).toBe(200)
    expect(made.body).toMatchObject({
      pin: expect.any(Number),
      api_key: expect.stringMatching(/^[0-9A-Za-z]{32}$/),
      authorisation_token: expect.stringMatching(/^[0-9A-Za-z]{32}$/),
    })
    const pin = Number(made.body['pin'])
    expect([Number.isInteger(pin), pin >= 100_000, pin <= 999_999]).toEqual([true, true, true])
    const { api_key } = made.body
    const body = { api_key, transaction_request: order() }
    const paid = await demo.call('POST', '/payments/request', { body })
    expect(paid.status, paid.text).toBe(200)
    const foreign = await other.call('POST', '/payments/request', { body })
    expect(foreign.body).toMatchObject({ code: 401, errorCode: 'PW_INVALID_API_KEY' })
  })
})
