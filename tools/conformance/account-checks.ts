// Checks of accounts: look-ups and their sessions, profiles, consent, balance and history of the sandbox's people.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { dataOf } from '../../clients/cli/api/client.ts'
import { closedBankName, person } from '../../clients/cli/api/order.ts'
import {
  type Check,
  demandAnswer,
  demandRefused,
  demandShape,
  fullEnvelope,
  groupOf,
  invalidField,
  newRequestId,
} from './check.ts'
import { absent, aText, exactly, holding, isoTime, twoDecimals } from './shape.ts'

const check = groupOf('accounts', 'sandbox')

const byMobile = (nn: number, more: Json = {}): Json => ({
  lookup_type: 'MOBILE',
  lookup_value: person(nn),
  ...more,
})

const accountNotFound = { status: 404, errorCode: 'ACCOUNT_NOT_FOUND' }

const notFoundBy: [name: string, what: string, body: Json][] = [
  ['number', 'nobody has the number', byMobile(12)],
  ['name', 'the names are of somebody else', byMobile(0, { first_name: 'Kofi' })],
  ['bank', 'the institution is another one', byMobile(0, { institution_name: closedBankName })],
]

const lookUpChecks: Check[] = [
  check(
    'session',
    'An available account: 200 with data.lookup (masked), data.account and a single-use session.',
    async ({ shop }) => {
      const requestId = newRequestId()
      const answer = await shop.lookUp(byMobile(0), requestId)
      demandAnswer(answer, 200, {
        ...fullEnvelope,
        request_id: requestId,
        data: {
          request_id: requestId,
          version: '2024-10-01',
          lookup: { type: 'MOBILE', value_masked: /^\*+0100$/ },
          account: {
            account_status: 'available',
            account_number: /^\d+$/,
            account_type: 'personal',
            display_name: 'Ama Mensah',
            country: 'US',
          },
          session: exactly({
            session_token: /^pws_[\w-]{43}$/,
            expires_at: isoTime,
            ttl_seconds: 900,
            single_use: true,
          }),
          resolution: absent,
        },
      })
    },
  ),
  check(
    'session-by-email',
    'An account is found by EMAIL regardless of case; the address is masked to its first letter and domain.',
    async ({ shop }) => {
      const answer = await shop.lookUp({ lookup_type: 'EMAIL', lookup_value: 'AMA@example.com' })
      demandAnswer(answer, 200)
      demandShape(dataOf(answer), {
        lookup: { type: 'EMAIL', value_masked: /^a\*+@example\.com$/i },
        account: { display_name: 'Ama Mensah' },
      })
    },
  ),
  check(
    'session-names',
    'Names in the request must match, regardless of case and accents.',
    async ({ shop }) => {
      const answer = await shop.lookUp(byMobile(0, { first_name: 'ÁMA', last_name: 'mensah' }))
      demandAnswer(answer, 200)
    },
  ),
  check(
    'unavailable',
    'A suspended account is 200 with session null and a resolution with usable false and ACCOUNT_UNAVAILABLE.',
    async ({ shop }) => {
      const answer = await shop.lookUp(byMobile(10))
      demandAnswer(answer, 200)
      demandShape(dataOf(answer), {
        account: { account_status: 'unavailable' },
        session: null,
        resolution: { usable: false, reason_code: 'ACCOUNT_UNAVAILABLE' },
      })
    },
  ),
  ...notFoundBy.map(([name, what, body]) =>
    check(
      `unknown-${name}`,
      `404 when ${what}, with data.errorCode ACCOUNT_NOT_FOUND and data.details.lookup_type.`,
      async ({ shop }) => {
        demandAnswer(await shop.lookUp(body), 404, {
          ...fullEnvelope,
          errorCode: absent,
          data: { errorCode: 'ACCOUNT_NOT_FOUND', details: { lookup_type: 'MOBILE' } },
        })
      },
    ),
  ),
  check(
    'ambiguous',
    'Several matching accounts are 409 with data.errorCode AMBIGUOUS_MATCH and the advice to use the email key.',
    async ({ shop }) => {
      demandAnswer(await shop.lookUp(byMobile(9)), 409, {
        message: holding('email'),
        errorCode: absent,
        data: { errorCode: 'AMBIGUOUS_MATCH', details: { lookup_type: 'MOBILE' } },
      })
      const one = await shop.lookUp({ lookup_type: 'EMAIL', lookup_value: 'kojo@example.com' })
      demandShape(dataOf(one)['account'], { display_name: 'Kojo Tetteh' })
    },
  ),
  check('lookup-type', 'Another lookup_type is 400.', async ({ shop }) => {
    const answer = await shop.lookUp({ lookup_type: 'NAME', lookup_value: 'Ama' })
    demandRefused(answer, invalidField('lookup_type'))
  }),
  check(
    'request-id-again',
    'The same PW-request-id with the same body returns the same session; with another body it is 409 with errorCode and data.errorCode REQUEST_ID_REUSED.',
    async ({ shop }) => {
      const requestId = newRequestId()
      const [first, again] = [
        await shop.lookUp(byMobile(1), requestId),
        await shop.lookUp(byMobile(1), requestId),
      ]
      demandShape(dataOf(again)['session'], dataOf(first)['session'] ?? aText, 'the session')
      const reused = await shop.lookUp(byMobile(2), requestId)
      const errorCode = 'REQUEST_ID_REUSED'
      const data = { errorCode, details: { lookup_type: 'MOBILE' } }
      demandRefused(reused, { status: 409, errorCode }, { data })
    },
  ),
  check(
    'account-status',
    'GET /account/account returns account_status and session_token at top level, and no observed_client_ip.',
    async ({ shop }) => {
      const query = { mobile_number: person(1), first_name: 'kofi', last_name: 'boateng' }
      demandAnswer(await shop.accountStatus(query), 200, {
        account_status: 'available',
        session_token: /^pws_/,
        observed_client_ip: absent,
      })
      const shown = await shop.accountStatus({ ...query, diagnostics: 'true' })
      demandAnswer(shown, 200, { observed_client_ip: { request_ip: aText } })
    },
  ),
]

const moneyChecks: Check[] = [
  check(
    'balance',
    'GET /account/balance: balance at top level, and data with current, available, reserved and uncleared.',
    async ({ shop }) => {
      const answer = await shop.balance(person(10))
      demandAnswer(answer, 200, {
        ...fullEnvelope,
        balance: twoDecimals,
        data: {
          mobile_number: person(10),
          currency: 'USD',
          current_balance: '100.00',
          available_balance: twoDecimals,
          reserved_balance: twoDecimals,
          uncleared_balance: twoDecimals,
          account_status: 'unavailable',
          as_of: isoTime,
        },
      })
      demandRefused(await shop.balance(person(12)), accountNotFound)
      demandRefused(await shop.balance(person(9)), { status: 409, errorCode: 'AMBIGUOUS_MATCH' })
    },
  ),
  check(
    'history',
    'POST /account/transaction_history returns data with transactions, count, has_more and next_cursor.',
    async ({ shop }) => {
      demandAnswer(await shop.history({ mobile_number: person(10) }), 200, {
        ...fullEnvelope,
        data: { mobile_number: person(10), has_more: false, next_cursor: null },
      })
      const from = { mobile_number: person(10), start_date: '2020-01-01' }
      const bounded = await shop.history({ ...from, end_date: '2020-12-31' })
      demandShape(dataOf(bounded), { transactions: [], count: 0 })
      const late = await shop.history({ mobile_number: person(10), start_date: '2999-01-01' })
      demandRefused(late, invalidField('start_date'))
    },
  ),
]

export const accountChecks: Check[] = [...lookUpChecks, ...moneyChecks]
