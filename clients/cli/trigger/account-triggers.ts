// Triggers with the people of the sandbox: look-ups, reviews and consent of every outcome.
import type { Json } from '../api/api-call.ts'
import { accepted, dataOf, sessionOf } from '../api/client.ts'
import { person, profile, unique, walletName } from '../api/order.ts'
import { bodyOf } from '../api/receiver.ts'
import { answered, OtherOutcome, shown, type Trigger } from './trigger.ts'

const byMobile = (nn: number): Json => ({ lookup_type: 'MOBILE', lookup_value: person(nn) })

/** A profile, and the outcome of its review in the signed callback. */
const reviewed = (outcome: string, summary: string, more: Json): Trigger => ({
  name: `onboarding.${outcome}`,
  summary,
  async run({ shop, receiver, withinMs }) {
    const inbox = receiver()
    const asked = { callback_url: inbox.urls.callback, authorisation_token: unique('token') }
    const answer = accepted(await shop.personal(profile({ ...asked, ...more })))
    if (outcome === 'pending') return shown(answer)
    const [push] = await inbox.calledBack(1, withinMs)
    const body = push === undefined ? {} : bodyOf(push)
    const { onboarding_status } = (body['account'] ?? {}) as Json
    if (onboarding_status !== outcome) throw new OtherOutcome(`it was ${String(onboarding_status)}`)
    return { account_id: dataOf(answer)['account_id'], callback: body }
  },
})

/** A registration, and what its holder decides. */
const consented = (
  nn: number,
  names: [string, string],
  outcome: string,
  summary: string,
): Trigger => ({
  name: `consent.${outcome}`,
  summary,
  async run({ shop, receiver, withinMs }) {
    const inbox = receiver()
    const [first_name, last_name] = names
    const answer = accepted(
      await shop.register({
        mobile_number: person(nn),
        institution_name: walletName,
        first_name,
        last_name,
        session_token: await sessionOf(shop, nn),
        authorisation_token: unique('token'),
        callback_url: inbox.urls.callback,
      }),
    )
    const [push] = await inbox.calledBack(1, withinMs)
    const body = push === undefined ? {} : bodyOf(push)
    if (body['request_status'] !== outcome) {
      throw new OtherOutcome(`it was ${String(body['request_status'])}`)
    }
    return { challengeId: answer.body['challengeId'], callback: body }
  },
})

export const accountTriggers: Trigger[] = [
  answered('account.available', 'Person 00 is found, with a session.', 200, '', ({ shop }) =>
    shop.lookUp(byMobile(0)),
  ),
  answered(
    'account.unavailable',
    'Person 10 is suspended: 200 with session null.',
    200,
    '',
    ({ shop }) => shop.lookUp(byMobile(10)),
  ),
  answered('account.unknown', 'Nobody has number 12.', 404, 'ACCOUNT_NOT_FOUND', ({ shop }) =>
    shop.lookUp(byMobile(12)),
  ),
  answered(
    'account.ambiguous',
    'Two accounts have number 09: look one up by e-mail instead.',
    409,
    'AMBIGUOUS_MATCH',
    ({ shop }) => shop.lookUp(byMobile(9)),
  ),
  answered(
    'account.not-approved',
    'Project payments_only has no access to the Account API.',
    403,
    'PW_ACCOUNT_ACCESS_REQUIRED',
    ({ as }) => as('payments_only').lookUp(byMobile(0)),
  ),
  answered('account.balance', 'The balance of person 10.', 200, '', ({ shop }) =>
    shop.balance(person(10)),
  ),
  answered('account.history', 'The history of person 10.', 200, '', ({ shop }) =>
    shop.history({ mobile_number: person(10) }),
  ),
  answered('account.business', 'A business account with credentials.', 200, '', ({ shop }) => {
    const { institution_name: _, ...owner } = profile()
    return shop.business({ ...owner, business_name: unique('Shop') })
  }),
  reviewed('completed', 'A new person is accepted after 2 s.', {}),
  reviewed('rejected', 'Number 07 is rejected after 2 s.', { mobile_number: person(7) }),
  reviewed('pending', 'Number 08 stays pending.', { mobile_number: person(8) }),
  consented(0, ['Ama', 'Mensah'], 'approved', 'Person 00 consents after 2 s.'),
  consented(11, ['Akosua', 'Badu'], 'rejected', 'Person 11 refuses consent.'),
]
