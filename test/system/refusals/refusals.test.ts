// Every refusal of a payment request by its body, with proof that nothing was stored or sent.
import { describe, expect, it } from 'vitest'
import { type Json, merchant, order, payer, sharedMesh, unique } from '../harness.ts'
import { expectRefused, invalid, markedOrders, missingField, type Refused } from './refusal.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const { marked, expectNoTrace } = markedOrders(mesh)

const mismatch: Refused = { status: 400, errorCode: 'AMOUNT_MISMATCH' }
const set = (more: Json) => (transaction: Json) => ({ ...transaction, ...more })
const without = (name: string) => (transaction: Json) => {
  delete transaction[name]
}
const payerWith = (more: Json) => set({ payers: [payer(1, { amount: '100.00', ...more })] })
const payeeWith = (...payees: Json[]) => set({ payees })
const at = 'transaction_request'

describe('a payment request is refused, and nothing of it is stored or sent,', () => {
  const bodies: [string, (transaction: Json) => unknown, Refused][] = [
    ['without an id', without('id'), missingField(`${at}.id`)],
    ['with an empty id', set({ id: '' }), missingField(`${at}.id`)],
    ['with an id of 65 characters', set({ id: 'x'.repeat(65) }), invalid(`${at}.id`)],
    ['with a number as id', set({ id: 17 }), invalid(`${at}.id`)],
    ['with null as id', set({ id: null }), invalid(`${at}.id`)],
    ['without an amount', without('amount'), missingField(`${at}.amount`)],
    ['with a number as amount', set({ amount: 100 }), invalid(`${at}.amount`)],
    ['with an amount of zero', set({ amount: '0.00' }), invalid(`${at}.amount`)],
    ['with a negative amount', set({ amount: '-1.00' }), invalid(`${at}.amount`)],
    ['with a plus sign in the amount', set({ amount: '+1.00' }), invalid(`${at}.amount`)],
    ['with an exponent in the amount', set({ amount: '1e2' }), invalid(`${at}.amount`)],
    ['with a comma in the amount', set({ amount: '1,00' }), invalid(`${at}.amount`)],
    ['with a leading zero in the amount', set({ amount: '0100.00' }), invalid(`${at}.amount`)],
    ['with spaces around the amount', set({ amount: ' 100.00 ' }), invalid(`${at}.amount`)],
    ['with an amount that ends in a point', set({ amount: '100.' }), invalid(`${at}.amount`)],
    ['with NaN as amount', set({ amount: 'NaN' }), invalid(`${at}.amount`)],
    ['with an amount of 16 digits', set({ amount: '1'.repeat(16) }), invalid(`${at}.amount`)],
    ['with three decimals in TTD', set({ amount: '1.001' }), invalid(`${at}.amount`)],
    ['with three decimals that are zero in TTD', set({ amount: '1.000' }), invalid(`${at}.amount`)],
    ['with decimals in JPY', set({ amount: '1.0', currency: 'JPY' }), invalid(`${at}.amount`)],
    [
      'with four decimals in BHD',
      set({ amount: '1.0001', currency: 'BHD' }),
      invalid(`${at}.amount`),
    ],
    ['without a currency', without('currency'), missingField(`${at}.currency`)],
    ['with an unknown currency', set({ currency: 'ZZZ' }), invalid(`${at}.currency`)],
    ['with a currency in lower case', set({ currency: 'ttd' }), invalid(`${at}.currency`)],
    ['with a NUL in the description', set({ description: 'a\0b' }), invalid(`${at}.description`)],
    [
      'with a lone surrogate in the description',
      set({ description: 'a\ud800b' }),
      invalid(`${at}.description`),
    ],
    ['with a bell in the description', set({ description: 'a\x07' }), invalid(`${at}.description`)],
    ['with a newline in the id', set({ id: 'refused\n' }), invalid(`${at}.id`)],
    ['with fraud_check 2', set({ fraud_check: 2 }), invalid(`${at}.fraud_check`)],
    ['with fraud_check "1"', set({ fraud_check: '1' }), invalid(`${at}.fraud_check`)],
    ['with fraud_check true', set({ fraud_check: true }), invalid(`${at}.fraud_check`)],
    ['with pays_fees 2', set({ fees: { pays_fees: 2 } }), invalid(`${at}.fees.pays_fees`)],
    ['with pays_fees true', set({ fees: { pays_fees: true } }), invalid(`${at}.fees.pays_fees`)],
    ['with payer_covers 101', set({ fees: { payer_covers: 101 } }), invalid('payer_covers')],
    ['with payer_covers -1', set({ fees: { payer_covers: -1 } }), invalid('payer_covers')],
    ['with payer_covers 1.5', set({ fees: { payer_covers: 1.5 } }), invalid('payer_covers')],
    ['with fees that are a list', set({ fees: [] }), invalid(`${at}.fees`)],
    ['without payers', without('payers'), missingField(`${at}.payers`)],
    ['with no payer', set({ payers: [] }), missingField(`${at}.payers`)],
    ['with payers that are no list', set({ payers: payer(1) }), invalid(`${at}.payers`)],
    [
      'with 21 payers',
      set({
        amount: '21.00',
        payers: Array.from({ length: 21 }, () => payer(1, { amount: '1.00' })),
      }),
      invalid(`${at}.payers`),
    ],
    [
      'with 21 payees',
      set({
        amount: '21.00',
        payers: [payer(1, { amount: '21.00' })],
        payees: Array.from({ length: 21 }, () => ({
          mobile_number: '+12025550130',
          amount: '1.00',
        })),
      }),
      invalid(`${at}.payees`),
    ],
    [
      'with a payer without number',
      payerWith({ mobile_number: undefined }),
      missingField(`${at}.payers[0].mobile_number`),
    ],
    [
      'with an impossible number',
      payerWith({ mobile_number: '+1202555' }),
      invalid(`${at}.payers[0].mobile_number`),
    ],
    [
      'with words for a number',
      payerWith({ mobile_number: 'call me' }),
      invalid(`${at}.payers[0].mobile_number`),
    ],
    [
      'with a payer without channel',
      payerWith({ payment_channel: undefined }),
      missingField(`${at}.payers[0].payment_channel`),
    ],
    [
      'with a payer without method',
      payerWith({ payment_method: undefined }),
      missingField(`${at}.payers[0].payment_method`),
    ],
    [
      'with a payer amount that is a number',
      payerWith({ amount: 100 }),
      invalid(`${at}.payers[0].amount`),
    ],
    [
      'with a control character in a name',
      payerWith({ first_name: 'Ko\x1bfi' }),
      invalid(`${at}.payers[0].first_name`),
    ],
    [
      'with a newline in a name',
      payerWith({ last_name: 'Boa\nteng' }),
      invalid(`${at}.payers[0].last_name`),
    ],
    [
      'when the second of two payers has no amount',
      set({ payers: [payer(1, { amount: '50.00' }), payer(20)] }),
      missingField(`${at}.payers[1].amount`),
    ],
    ['when the only payer pays another amount', payerWith({ amount: '99.99' }), mismatch],
    [
      'when the payers pay too much together',
      set({ payers: [payer(1, { amount: '50.00' }), payer(20, { amount: '50.01' })] }),
      mismatch,
    ],
    [
      'when the payees get too little together',
      payeeWith(
        { mobile_number: '+12025550130', amount: '50.00' },
        { mobile_number: '+12025550131', amount: '49.99' },
      ),
      mismatch,
    ],
    [
      'with a payee without amount',
      payeeWith({ mobile_number: '+12025550130' }),
      missingField(`${at}.payees[0].amount`),
    ],
    [
      'with a payee without number',
      payeeWith({ amount: '100.00' }),
      missingField(`${at}.payees[0].mobile_number`),
    ],
    [
      'with delay_days 91',
      payeeWith({ mobile_number: '+12025550130', amount: '100.00', delay_days: 91 }),
      invalid(`${at}.payees[0].delay_days`),
    ],
    [
      'with delay_days "1"',
      payeeWith({ mobile_number: '+12025550130', amount: '100.00', delay_days: '1' }),
      invalid(`${at}.payees[0].delay_days`),
    ],
    [
      'with delay_days -1',
      payeeWith({ mobile_number: '+12025550130', amount: '100.00', delay_days: -1 }),
      invalid(`${at}.payees[0].delay_days`),
    ],
    ['with a relative notify URL', set({ urls: { notify: '/x' } }), invalid(`${at}.urls.notify`)],
    [
      'with an ftp URL',
      set({ urls: { callback: 'ftp://example.com/' } }),
      invalid('urls.callback'),
    ],
    [
      'with a private address as URL',
      set({ urls: { notify: 'https://10.0.0.1/hook' } }),
      invalid(`${at}.urls.notify`),
    ],
    [
      'with a link-local address as URL',
      set({ urls: { notify: 'http://169.254.169.254/latest' } }),
      invalid(`${at}.urls.notify`),
    ],
    [
      'with a URL of 2,049 characters',
      set({ urls: { notify: `https://example.com/${'x'.repeat(2029)}` } }),
      invalid(`${at}.urls.notify`),
    ],
    [
      'with a success URL that is a script',
      set({ urls: { success: 'javascript:alert(1)' } }),
      invalid(`${at}.urls.success`),
    ],
    ['with a URL that is a number', set({ urls: { error: 5 } }), invalid(`${at}.urls.error`)],
  ]
  it.each(bodies)(
    'a payment request is refused, and nothing of it is stored or sent: %s',
    async (_title, change, refused) => {
      expectRefused(await shop.request(marked(change)), refused)
    },
  )

  it('a payment request that was refused leaves its id to a good one', async () => {
    const id = unique('again')
    const refusedOrder = order({ id, amount: '0' })
    expect((await shop.request(refusedOrder)).status).toBe(400)
    expect(
      (await shop.request(order({ id, payers: [payer(20, { amount: '1.00' })] }))).status,
    ).toBe(400)
    expect((await shop.request(order({ id }))).status).toBe(200)
  })

  it('a payment request that was refused leaves no rows and no pushes', async () => {
    await expectNoTrace(60)
  })
})

describe('a field that the contract does not know', () => {
  it('a field that the contract does not know is ignored', async () => {
    const answer = await shop.request(
      order({ surprise: { deep: [1, 2] }, payers: [payer(20, { favourite: 'blue' })] }),
      { more: true },
    )
    expect(answer.status).toBe(200)
  })
})

describe('a description', () => {
  it('a description may hold tabs, newlines and any script', async () => {
    const description = 'Zwei Karten\n\tخريطتان 🎟️'
    expect((await shop.request(order({ description }))).status).toBe(200)
  })
})
