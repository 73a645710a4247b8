// Checks of institution transactions: outcomes, both shapes of the body, repeats, refusals, history.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { accepted, dataOf, sealToken, sessionOf } from '../../clients/cli/api/client.ts'
import { eventually } from '../../clients/cli/api/eventually.ts'
import { closedBankName, person, walletName } from '../../clients/cli/api/order.ts'
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
  type Refusal,
} from './check.ts'
import { newCustomers } from './run-customers.ts'
import { anId, aText, dateTime, holding } from './shape.ts'

const check = groupOf('transfers', 'sandbox')

/** The body of a transaction of 1.00 USD between the two new customers. */
async function drafted(context: CheckContext, more: Json = {}): Promise<Json> {
  const [from, to] = await newCustomers(context)
  return context.shop.transferOrder(await context.shop.session(from), from, to, more)
}

async function becomes({ shop }: CheckContext, id: unknown, status: string): Promise<void> {
  await eventually(`transaction ${status}`, async () => {
    const { body } = accepted(await shop.readTransfer(id))
    return body['transaction_status'] === status ? true : undefined
  })
}

const outside = { account_number: 'FAR-0001', organization_id: 'Far Bank' }

const refusals: [name: string, rule: string, change: Json, refusal: Refusal][] = [
  [
    'token',
    'a session_token_enc that does not open',
    { session_token_enc: 'AQID' },
    { status: 401, errorCode: 'SESSION_INVALID' },
  ],
  [
    'party',
    'a debit party other than the account of the session',
    { debit_party: { mobile_number: person(0) } },
    { status: 403, errorCode: 'PARTY_NOT_ALLOWED' },
  ],
  [
    'unknown-party',
    'a credit party that the institution does not know',
    { credit_party: { mobile_number: person(13) } },
    { status: 404, errorCode: 'ACCOUNT_NOT_FOUND' },
  ],
  [
    'ambiguous-party',
    'a number with two accounts',
    { credit_party: { mobile_number: person(9) } },
    { status: 409, errorCode: 'AMBIGUOUS_MATCH' },
  ],
  [
    'suspended-party',
    'a suspended party',
    { credit_party: { mobile_number: person(10) } },
    { status: 403, errorCode: 'ACCOUNT_UNAVAILABLE' },
  ],
  [
    'two-currencies',
    'two currencies without a quote',
    { sender_currency: 'TTD' },
    { status: 400, errorCode: 'INVALID_PARAMETER' },
  ],
  [
    'type',
    'an unknown transaction_type',
    { transaction_type: 'gift' },
    invalidField('transaction_type'),
  ],
  ['amount', 'an amount with three decimals', { amount: '1.001' }, invalidField('amount')],
  [
    'limits',
    'an amount over the limits of the user',
    { amount: '999999.00' },
    { status: 403, errorCode: 'LIMIT_EXCEEDED', names: 'user limits' },
  ],
  [
    'funds',
    'an amount over the balance',
    { amount: '700.00' },
    { status: 409, errorCode: 'INSUFFICIENT_FUNDS' },
  ],
  [
    'quote',
    'an unknown quote_id',
    { quote_id: crypto.randomUUID() },
    { status: 404, errorCode: 'QUOTE_NOT_FOUND' },
  ],
  [
    'institution',
    'an institution without a grant',
    { transfer_information: { institution_name: closedBankName } },
    { status: 403, errorCode: 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED' },
  ],
]

const refusalChecks: Check[] = refusals.map(([name, rule, change, refusal]) =>
  check(
    `refused-${name}`,
    `${rule} is ${refusal.status} ${refusal.errorCode}, and nothing is stored.`,
    async (context) => {
      const body = await drafted(context, change)
      demandRefused(await context.shop.transfer(body), refusal)
      const read = await context.shop.readTransfer(body['transaction_id'])
      demandRefused(read, { status: 404, errorCode: 'TRANSACTION_NOT_FOUND' })
    },
  ),
)

export const transferChecks: Check[] = [
  ...refusalChecks,
  check(
    'p2p',
    'A p2p transaction returns institution_receipt_id and is completed immediately.',
    async (context) => {
      const body = await drafted(context)
      const made = await context.shop.transfer(body)
      demandAnswer(made, 200, { ...fullEnvelope, institution_receipt_id: anId })
      demandAnswer(await context.shop.readTransfer(body['transaction_id']), 200, {
        ...fullEnvelope,
        transaction_id: body['transaction_id'],
        transaction_type: 'p2p',
        transaction_status: 'completed',
        currency: 'USD',
        amount: '1.00',
        institution_name: walletName,
      })
    },
  ),
  check(
    'lists',
    'The form with lists is accepted too: fees by fee_type, parties as key and value.',
    async (context) => {
      const [from, to] = await newCustomers(context)
      const body = await drafted(context, {
        fees: [{ fee_type: 'sender_pays', fee_amount: '0.05', fee_currency: 'USD' }],
        debit_party: [{ key: 'mobile_number', value: from }],
        credit_party: [{ key: 'mobile_number', value: to }],
      })
      demandAnswer(await context.shop.transfer(body), 200, { institution_receipt_id: anId })
    },
  ),
  check(
    'repeat',
    'A repeat of a transaction returns the stored result, although its token is used and sealed again.',
    async (context) => {
      const [from, to] = await newCustomers(context)
      const token = await context.shop.session(from)
      const body = context.shop.transferOrder(token, from, to)
      const first = await context.shop.transfer(body)
      const sealed = { ...body, session_token_enc: sealToken(context.target, token) }
      const again = await context.shop.transfer(sealed)
      demandAnswer(again, 200, { institution_receipt_id: first.body['institution_receipt_id'] })
      const spent = context.shop.transferOrder(token, from, to)
      demandRefused(await context.shop.transfer(spent), {
        status: 401,
        errorCode: 'SESSION_INVALID',
      })
    },
  ),
  check(
    'repeat-changed',
    'Another body under a used transaction_id is 409 DUPLICATE_TRANSACTION_ID.',
    async (context) => {
      const body = await drafted(context)
      demandAnswer(await context.shop.transfer(body), 200)
      const other = await context.shop.transfer({ ...body, amount: '1.0' })
      demandRefused(other, { status: 409, errorCode: 'DUPLICATE_TRANSACTION_ID' })
    },
  ),
  check('same-parties', 'The same account twice is 400 SAME_PARTIES.', async (context) => {
    const [from] = await newCustomers(context)
    const body = await drafted(context, { credit_party: { mobile_number: from } })
    demandRefused(await context.shop.transfer(body), { status: 400, errorCode: 'SAME_PARTIES' })
  }),
  check(
    'limits-of-level-0',
    'The limits of a level-0 user apply to the transaction too: 73.72 USD is 403 LIMIT_EXCEEDED.',
    async ({ shop }) => {
      const token = await sessionOf(shop, 3)
      const body = shop.transferOrder(token, person(3), person(1), { amount: '73.72' })
      demandRefused(await shop.transfer(body), { status: 403, errorCode: 'LIMIT_EXCEEDED' })
    },
  ),
  check(
    'completed',
    'A transfer to the outside is pending with a hold, and completed once the back end reports it.',
    async (context) => {
      const more = { transaction_type: 'inttransfer', credit_party: outside }
      const body = await drafted(context, more)
      demandAnswer(await context.shop.transfer(body), 200)
      await becomes(context, body['transaction_id'], 'completed')
    },
  ),
  check('failed', 'A credit account number ending 0402 ends failed.', async (context) => {
    const credit_party = { account_number: 'FAR-0402' }
    const body = await drafted(context, { transaction_type: 'cashout', credit_party })
    demandAnswer(await context.shop.transfer(body), 200)
    await becomes(context, body['transaction_id'], 'failed')
  }),
  check(
    'quote-executed',
    'A quote is executed once and only for its amounts; then it is used, by that transaction.',
    async (context) => {
      const { shop } = context
      const [from] = await newCustomers(context)
      const credit_party = { mobile_number: person(5) }
      const terms = { request_amount: '1.00', credit_party }
      const { body: quoted } = await shop.quote(await shop.session(from), terms)
      const exchange = {
        quote_id: quoted['quote_id'],
        sender_currency: 'USD',
        sender_amount: '1.00',
        transaction_type: 'inttransfer',
        credit_party: { ...outside, currency: 'TTD' },
      }
      const wrong = await shop.transfer(await drafted(context, { ...exchange, amount: '6.79' }))
      demandRefused(wrong, { status: 409, errorCode: 'QUOTE_MISMATCH' })
      const amount = quoted['amount_quoted']
      const body = await drafted(context, { ...exchange, amount })
      demandAnswer(await shop.transfer(body), 200)
      demandAnswer(await shop.readInstitutionQuote(quoted['quote_id']), 200, {
        quote_status: 'used',
        transaction_id: body['transaction_id'],
      })
      const second = await shop.transfer(await drafted(context, { ...exchange, amount }))
      demandRefused(second, { status: 409, errorCode: 'QUOTE_ALREADY_USED' })
    },
  ),
  check(
    'other-project',
    'A transaction of another project is 404 TRANSACTION_NOT_FOUND.',
    async (context) => {
      const body = await drafted(context)
      demandAnswer(await context.shop.transfer(body), 200)
      const answer = await context.as('other').readTransfer(body['transaction_id'])
      demandRefused(answer, { status: 404, errorCode: 'TRANSACTION_NOT_FOUND' })
    },
  ),
  check(
    'history',
    'GET /institution/transaction_history: newest first, both sides masked, over at most 90 days.',
    async (context) => {
      const [from] = await newCustomers(context)
      const body = await drafted(context)
      demandAnswer(await context.shop.transfer(body), 200)
      const answer = await context.shop.transferHistory({ mobile_number: from })
      demandAnswer(answer, 200, fullEnvelope)
      const { transactions } = dataOf(answer) as { transactions: Json[] }
      const found = transactions.find((one) => one['transaction_id'] === body['transaction_id'])
      demand(found !== undefined, 'the transaction is not in the history')
      demandShape(found, {
        institution_receipt_id: anId,
        transaction_status: 'completed',
        posted_date: dateTime,
        sender: { mobile_number: holding('*') },
        recipient: { mobile_number: holding('*') },
        quote_id: null,
        description: aText.holds(found?.['description']) ? aText : '',
      })
      const window = { start_datetime: '2026-01-01', end_datetime: '2026-04-01' }
      const wide = await context.shop.transferHistory({ mobile_number: from, ...window })
      demandRefused(wide, { status: 400, errorCode: 'INVALID_PARAMETER' })
    },
  ),
]
