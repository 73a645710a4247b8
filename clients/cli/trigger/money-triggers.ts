// Triggers of quotes, institution transfers and bills for every outcome.
import type { ApiResponse, Json } from '../api/api-call.ts'
import { accepted, sessionOf } from '../api/client.ts'
import { eventually } from '../api/eventually.ts'
import { bill, closedBankName, person } from '../api/order.ts'
import { answered, OtherOutcome, shown, type Trigger, type TriggerContext } from './trigger.ts'

const quoted = (name: string, summary: string, nn: number, more: Json, status = 200, code = '') =>
  answered(`quote.${name}`, summary, status, code, async ({ shop }) =>
    shop.quote(await sessionOf(shop, nn), more),
  )

/** The body of a transaction of person NN to another, with a session of the former. */
async function transferOf({ shop }: TriggerContext, nn: number, to: number, more: Json) {
  return shop.transferOrder(await sessionOf(shop, nn), person(nn), person(to), more)
}

/** A transaction that ends, or stays, in that state. */
const transferred = (status: string, name: string, summary: string, more: Json): Trigger => ({
  name: `transfer.${name}`,
  summary,
  async run(context) {
    const { shop, withinMs } = context
    const body = await transferOf(context, 11, 1, more)
    accepted(await shop.transfer(body))
    const ended = await eventually(
      `transaction ${status}`,
      async () => {
        const answer = accepted(await shop.readTransfer(body['transaction_id']))
        return answer.body['transaction_status'] === status ? answer : undefined
      },
      { withinMs },
    )
    return shown(ended)
  },
})

const refused = (
  name: string,
  summary: string,
  [status, code]: [number, string],
  more: Json,
  nn = 11,
) =>
  answered(`transfer.${name}`, summary, status, code, async (context) =>
    context.shop.transfer(await transferOf(context, nn, 1, more)),
  )

const isOpen = (answer: ApiResponse) => answer.body['normalized_status'] === null

/** A bill whose outcome comes at once, or by enquiry after 202. */
const billed = (name: string, summary: string, reference: string, outcome: string): Trigger => ({
  name: `bill.${name}`,
  summary,
  async run({ shop, withinMs }) {
    const first = accepted(await shop.pay(bill({ customer_reference: reference })))
    const id = String(first.body['transaction_id'])
    const ended = isOpen(first)
      ? await eventually(
          'an outcome',
          async () => {
            const answer = accepted(await shop.billStatus(id))
            return isOpen(answer) ? undefined : answer
          },
          { withinMs },
        )
      : first
    const { normalized_status, failure_code } = ended.body
    const found = typeof failure_code === 'string' ? failure_code : normalized_status
    if (found !== outcome) throw new OtherOutcome(`it was ${String(found)}, not ${outcome}`)
    return { first: shown(first), ...(ended !== first && { ended: shown(ended) }) }
  },
})

const abroad = (account_number: string) => ({
  transaction_type: 'inttransfer',
  credit_party: { account_number, organization_id: 'Far Bank' },
})

export const moneyTriggers: Trigger[] = [
  quoted('made', '10.00 USD in TTD, for five minutes.', 0, { credit_party: { currency: 'TTD' } }),
  quoted(
    'over-limits',
    'Person 03 has level 0: 73.72 USD exceeds the limits.',
    3,
    { request_amount: '73.72' },
    403,
    'LIMIT_EXCEEDED',
  ),
  quoted(
    'worth-nothing',
    '1 XOF is worth less than a cent.',
    0,
    { request_amount: '1', request_currency: 'XOF' },
    400,
    'INVALID_PARAMETER',
  ),
  quoted(
    'ambiguous',
    'The quoted currency is that of number 09, which has two accounts.',
    0,
    { credit_party: { mobile_number: person(9) } },
    409,
    'AMBIGUOUS_MATCH',
  ),
  quoted(
    'no-rate',
    'MXN has no rate.',
    0,
    { request_currency: 'MXN' },
    400,
    'CURRENCY_NOT_SUPPORTED',
  ),
  transferred('completed', 'p2p', 'Person 11 sends person 01 1.00 USD; completed immediately.', {}),
  transferred('completed', 'completed', 'Abroad: pending, then completed.', abroad('FAR-0001')),
  transferred('failed', 'failed', 'An account number ending 0402 fails.', abroad('FAR-0402')),
  transferred(
    'pending',
    'pending',
    'An account number ending 0504 stays pending.',
    abroad('FAR-0504'),
  ),
  refused(
    'party-not-allowed',
    'The debit party is not the account of the session.',
    [403, 'PARTY_NOT_ALLOWED'],
    {
      debit_party: { mobile_number: person(0) },
    },
  ),
  refused('unknown-party', 'Nobody has number 13.', [404, 'ACCOUNT_NOT_FOUND'], {
    credit_party: { mobile_number: person(13) },
  }),
  refused('ambiguous-party', 'Number 09 has two accounts.', [409, 'AMBIGUOUS_MATCH'], {
    credit_party: { mobile_number: person(9) },
  }),
  refused('suspended-party', 'Person 10 is suspended.', [403, 'ACCOUNT_UNAVAILABLE'], {
    credit_party: { mobile_number: person(10) },
  }),
  refused('two-currencies', 'Two currencies without a quote.', [400, 'INVALID_PARAMETER'], {
    sender_currency: 'TTD',
  }),
  refused(
    'over-limits',
    'Person 03 may send at most 500 TTD in one transaction.',
    [403, 'LIMIT_EXCEEDED'],
    { amount: '73.72' },
    3,
  ),
  refused(
    'insufficient-funds',
    'Person 03 has less than 60.00 USD.',
    [409, 'INSUFFICIENT_FUNDS'],
    { amount: '60.00' },
    3,
  ),
  refused(
    'not-permitted',
    'There is no grant for Restricted Bank.',
    [403, 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED'],
    { transfer_information: { institution_name: closedBankName } },
  ),
  billed('paid', 'The biller accepts it immediately.', '12345678', 'SUCCESS'),
  billed('rejected', 'A reference ending 0402.', '12345670402', 'CUSTOMER_REFERENCE_REJECTED'),
  billed('already-paid', 'A reference ending 0409.', '12345670409', 'BILL_ALREADY_PAID'),
  billed(
    'slow',
    'A reference ending 0408: the biller accepts it after 5 s.',
    '12345670408',
    'SUCCESS',
  ),
  billed(
    'found-paid',
    'A reference ending 0504: 202, then an enquiry finds it paid.',
    '12345670504',
    'SUCCESS',
  ),
  billed(
    'not-found',
    'A reference ending 0404: 202, then an enquiry finds that the biller does not know it.',
    '12345670404',
    'UNCONFIRMED_NOT_FOUND',
  ),
  answered(
    'bill.insufficient-funds',
    'The float of project other is empty.',
    409,
    'INSUFFICIENT_FUNDS',
    ({ as }) => as('other').pay(bill()),
  ),
  answered(
    'bill.unknown-biller',
    'The biller DEMO_GAS does not exist.',
    404,
    'BILLER_NOT_FOUND',
    ({ shop }) => shop.pay(bill({ biller_code: 'DEMO_GAS' })),
  ),
]
