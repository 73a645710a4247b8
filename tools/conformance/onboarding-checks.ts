// Checks of new accounts: profiles and their review, signed callbacks, business accounts, consent.
import { open as unseal, verifyWebhook } from '#core/identity/seal.ts'
import type { Json } from '../../clients/cli/api/api-call.ts'
import { dataOf, sessionOf } from '../../clients/cli/api/client.ts'
import { person, profile, unique, walletName } from '../../clients/cli/api/order.ts'
import { bodyOf, type Receiver } from '../../clients/cli/api/receiver.ts'
import {
  type Check,
  type CheckContext,
  demand,
  demandAnswer,
  demandRefused,
  demandShape,
  fullEnvelope,
  groupOf,
  invalidField,
  missingField,
} from './check.ts'
import { anId, aText, dateTime, oneOf } from './shape.ts'

const check = groupOf('onboarding', 'sandbox')

/** A callback that was proved by the keys of the institution. */
async function proved({ target }: CheckContext, inbox: Receiver, token: string): Promise<Json> {
  const [push] = await inbox.calledBack()
  if (push === undefined) return {}
  const { keyId, sharedKey, signingSecret } = target.institution ?? unknownInstitution
  const signature = push.headers['pw-signature'] ?? ''
  const nowS = Date.now() / 1_000
  demand(verifyWebhook([signingSecret], signature, push.body, nowS), 'pw-signature does not verify')
  const key = { keyId, key: Buffer.from(sharedKey, 'base64') }
  const sealed = push.headers['authorisation-token'] ?? ''
  const opened = unseal(sealed, [key], 'authorisation-token')?.toString()
  demand(opened === token, 'authorisation-token does not open to the token that was sent')
  return bodyOf(push)
}

const unknownInstitution = { keyId: '00000000', sharedKey: '', signingSecret: '' }

/** Sends a profile and waits for its signed callback. */
async function onboarded(context: CheckContext, more: Json = {}) {
  const inbox = context.receiver()
  const authorisation_token = unique('token')
  const asked = { callback_url: inbox.urls.callback, authorisation_token }
  const body = profile({ ...asked, ...more })
  const answer = await context.shop.personal(body)
  demandAnswer(answer, 200)
  return { body, answer, callback: await proved(context, inbox, authorisation_token) }
}

export const onboardingChecks: Check[] = [
  check(
    'completed',
    'A new profile is pending_review; its signed callback has completed; then the account is available.',
    async (context) => {
      const { body, answer, callback } = await onboarded(context)
      demandShape(dataOf(answer), {
        account_id: anId,
        account_status: 'pending_review',
        account_type: 'personal',
        mobile_number: body.mobile_number,
        email: body.email,
      })
      demandShape(callback, {
        version: '2024-10-01',
        request_timestamp: dateTime,
        request_id: answer.body['request_id'],
        institution_name: walletName,
        account: {
          mobile_number: body.mobile_number,
          account_status: 'available',
          account_level: oneOf(1, 2),
          funds_access_status: oneOf('limited', 'full'),
          onboarding_status: 'completed',
        },
      })
      const again = await context.shop.personal(profile({ mobile_number: body.mobile_number }))
      demandRefused(again, { status: 409, errorCode: 'ACCOUNT_EXISTS' })
    },
    'simulator',
  ),
  check(
    'rejected',
    'Person 07 is rejected: the callback has rejected, and look-ups do not find the account.',
    async (context) => {
      const { body, callback } = await onboarded(context, { mobile_number: person(7) })
      demandShape(callback['account'], { onboarding_status: 'rejected' })
      const found = await context.shop.lookUp({ lookup_type: 'EMAIL', lookup_value: body.email })
      demandAnswer(found, 404)
    },
    'simulator',
  ),
  check(
    'callback',
    'callback_url and authorisation_token need each other: one alone is 400.',
    async ({ shop }) => {
      const one = { callback_url: 'https://example.com/hook' }
      demandRefused(await shop.personal(profile(one)), missingField('authorisation_token'))
      const other = { authorisation_token: unique('token') }
      demandRefused(await shop.personal(profile(other)), missingField('callback_url'))
    },
  ),
  check(
    'authorisation-token',
    'An authorisation_token has 10 to 40 characters, a callback_url at most 200.',
    async ({ shop }) => {
      const callback_url = 'https://example.com/hook'
      for (const authorisation_token of ['x'.repeat(9), 'x'.repeat(41)]) {
        const answer = await shop.personal(profile({ callback_url, authorisation_token }))
        demandRefused(answer, invalidField('authorisation_token'))
      }
      const long = `${callback_url}/${'x'.repeat(200)}`
      const both = { callback_url: long, authorisation_token: unique('token') }
      demandRefused(await shop.personal(profile(both)), invalidField('callback_url'))
    },
  ),
  check(
    'business',
    'POST /account/business_account returns pin (six digits), api_key and authorisation_token, and the api_key works.',
    async ({ shop }) => {
      const { institution_name: _, ...owner } = profile()
      const answer = await shop.business({ ...owner, business_name: unique('Shop') })
      const { pin, api_key } = answer.body
      demandAnswer(answer, 200, {
        ...fullEnvelope,
        api_key: /^[A-Za-z0-9]{32}$/,
        authorisation_token: /^\S{32}$/,
      })
      demand(Number.isInteger(pin) && /^[1-9]\d{5}$/.test(String(pin)), 'pin is not six digits')
      const status = await shop.send('GET', '/payments/status', {
        query: { api_key: String(api_key), payment_details_id: 'unknown' },
      })
      demandRefused(status, { status: 404, errorCode: 'PAYMENT_NOT_FOUND' })
    },
  ),
  ...(
    [
      [0, 'Ama', 'Mensah', 'approved'],
      [11, 'Akosua', 'Badu', 'rejected'],
    ] as const
  ).map(([nn, first_name, last_name, outcome]) =>
    check(
      `consent-${outcome}`,
      `POST /account/register_account returns challengeId; person ${nn} answers, and the signed callback has ${outcome}.`,
      async (context) => {
        const inbox = context.receiver()
        const authorisation_token = unique('token')
        const answer = await context.shop.register({
          mobile_number: person(nn),
          institution_name: walletName,
          first_name,
          last_name,
          session_token: await sessionOf(context.shop, nn),
          authorisation_token,
          callback_url: inbox.urls.callback,
        })
        demandAnswer(answer, 200, { ...fullEnvelope, challengeId: aText })
        const callback = await proved(context, inbox, authorisation_token)
        demandShape(callback, { request_status: outcome, institution_name: walletName })
      },
      'simulator',
    ),
  ),
  check(
    'register-session',
    'POST /account/register_account with an unknown session token is 401 SESSION_INVALID.',
    async ({ shop }) => {
      const answer = await shop.register({
        mobile_number: person(0),
        institution_name: walletName,
        first_name: 'Ama',
        last_name: 'Mensah',
        session_token: `pws_${'x'.repeat(43)}`,
        authorisation_token: unique('token'),
        callback_url: 'https://example.com/hook',
      })
      demandRefused(answer, { status: 401, errorCode: 'SESSION_INVALID' })
    },
  ),
]
