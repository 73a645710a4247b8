// One good request for each route of the API, made new for each call, and its fields.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { SharedMesh } from '../../support/mesh.ts'
import { formOf, newProfile } from '../accounts/account-client.ts'
import { institution_name } from '../accounts/customer.ts'
import { type CallOptions, type Json, merchant, order, payer, person, unique } from '../harness.ts'
import { seal, transferClient } from '../money/transfer-client.ts'

/** The texts and files of a form. */
export type Form = { texts: Record<string, string>; files: Record<string, string> }

/** A request that is good as it stands; one with a form has it as its body. */
export type GoodRequest = {
  method: 'GET' | 'POST'
  path: string
  options: CallOptions
  form?: Form
}

/** Makes the good request of a route. */
export type Route = {
  name: string
  make: () => Promise<GoodRequest> | GoodRequest
  /** Fields that only a request with a hostile value has: parameters of a GET, paths in a body. */
  absent?: string[]
  /** The fields that are swept; all of them when unset. */
  only?: RegExp
}

type Query = Record<string, string>

const [contract, bills, merchantRoutes] = ['2024-10-01', '2026-07-01', '2026-12-01'] as const

/** Every route of the contract and of the merchant's extension. */
export async function goodRoutes(mesh: SharedMesh): Promise<Route[]> {
  const shop = merchant(mesh)
  const { apiKey: api_key } = shop
  const demo = transferClient(mesh)
  const urls = { notify: `${mesh.sandbox.simulator_url}/receivers/ok/hostile` }
  const { id: payment_details_id } = await shop.create(order({ payers: [payer(20)], urls }))
  const paid = await shop.create(order({ payers: [payer(1)] }))
  await shop.stateIs(paid.id, 'paid')
  const session_token = await demo.session(0)
  const { body: quote } = await demo.quote(session_token)
  const quote_id = String(quote['quote_id'])
  const transfer = await demo.order(0, 1)
  await demo.post(transfer)
  const bill = await shop.call('POST', '/bill_payments/pay', {
    query: { version: bills },
    headers: { 'Idempotency-Key': unique('hostile') },
    body: billBody(),
  })
  const transaction_id = String(bill.body['transaction_id'])
  const listed = await eventually(
    () =>
      shop.call('GET', '/deliveries/list', {
        query: { version: merchantRoutes, api_key, payment_details_id },
      }),
    ({ body }) => expect(body['deliveries']).toHaveLength(1),
  )
  const delivery_id = String((listed.body['deliveries'] as Json[])[0]?.['delivery_id'])
  const mobile_number = person(0)
  const called = { callback_url: urls.notify, authorisation_token: 'A'.repeat(32) }

  const get = (path: string, query: Query, version: string = contract): Route => ({
    name: `GET ${path}`,
    make: () => ({ method: 'GET', path, options: { query: { version, ...query } } }),
  })
  const post = (
    path: string,
    make: () => Json | Promise<Json>,
    headers: () => Query = () => ({}),
    version: string = contract,
  ): Route => ({
    name: `POST ${path}`,
    make: async () => {
      const body = await make()
      return {
        method: 'POST',
        path,
        options: { query: { version }, headers: headers(), body },
      }
    },
  })

  return [
    post('/payments/request', () => ({
      api_key,
      fraud_check: 0,
      transaction_request: paymentBody(urls),
    })),
    post('/payments/cancel', () => ({ api_key, payment_details_id })),
    get('/payments/status', { api_key, payment_details_id }),
    post(
      '/account/account_session',
      () => ({
        lookup_type: 'MOBILE',
        lookup_value: mobile_number,
        institution_name,
        first_name: 'Ama',
        last_name: 'Mensah',
        email: 'ama@example.com',
      }),
      () => ({ 'PW-request-id': randomUUID() }),
    ),
    get('/account/account', {
      mobile_number,
      institution_name,
      first_name: 'Ama',
      last_name: 'Mensah',
      email: 'ama@example.com',
      sender_first_name: 'Kofi',
      sender_last_name: 'Boateng',
      diagnostics: 'true',
    }),
    post('/account/personal_account', () => ({ ...newProfile(), ...called })),
    personalForm(called),
    post('/account/business_account', () => {
      const { first_name, last_name, email, mobile_number: number } = newProfile()
      return { business_name: unique('shop'), first_name, last_name, email, mobile_number: number }
    }),
    post('/account/register_account', () => ({
      mobile_number,
      institution_name,
      first_name: 'Ama',
      last_name: 'Mensah',
      session_token,
      authorisation_token: 'A'.repeat(32),
      callback_url: urls.notify,
    })),
    get('/account/balance', { mobile_number }),
    {
      ...post('/account/transaction_history', () => ({
        mobile_number,
        start_date: '2026-11-01',
        end_date: '2026-11-05',
        limit: 5,
      })),
      absent: ['cursor'],
    },
    // The transaction that is accepted spends its session.
    {
      ...post('/institution/transaction', async () =>
        transferBody(seal(mesh, await demo.session(0))),
      ),
      absent: ['quote_id'],
    },
    {
      ...post('/institution/transaction', async () =>
        inLists(transferBody(seal(mesh, await demo.session(0)))),
      ),
      name: 'POST /institution/transaction with lists',
      only: /^(fees|debit_party|credit_party)\b/,
    },
    get('/institution/transaction', {
      transaction_id: String(transfer['transaction_id']),
      institution_name,
    }),
    post('/institution/quote', () => quoteBody(session_token)),
    get('/institution/post', { quote_id, institution_name }),
    {
      ...get('/institution/transaction_history', {
        mobile_number,
        start_datetime: '2026-11-01',
        end_datetime: '2026-11-05 12:00:00',
        limit: '5',
      }),
      absent: ['cursor'],
    },
    {
      ...post('/quote', () => ({ ...quoteBody(session_token), ...partiesOf('TTD') })),
      absent: ['debit_party.currency'],
    },
    get('/quote', { quote_id, institution_name }),
    post(
      '/bill_payments/pay',
      () => billBody(),
      () => ({ 'Idempotency-Key': unique('hostile') }),
      bills,
    ),
    get('/bill_payments/status', { transaction_id }, bills),
    get('/bill_payments/receipt', { transaction_id }, bills),
    {
      ...get('/payments/list', { api_key, ...listQuery(mobile_number) }, merchantRoutes),
      absent: ['cursor'],
    },
    get('/payments/events', { api_key, payment_details_id }, merchantRoutes),
    post(
      '/payments/refund',
      () => ({ api_key, payment_details_id: paid.id, reason: 'Out of stock' }),
      () => ({}),
      merchantRoutes,
    ),
    {
      ...get(
        '/deliveries/list',
        {
          api_key,
          payment_details_id,
          event_type: 'payment_initiated',
          status: 'delivered',
          ...listedTimes,
          limit: '5',
        },
        merchantRoutes,
      ),
      absent: ['cursor'],
    },
    get('/deliveries/delivery', { api_key, delivery_id }, merchantRoutes),
    post(
      '/deliveries/resend',
      () => ({ api_key, delivery_id }),
      () => ({}),
      merchantRoutes,
    ),
  ]
}

function paymentBody(urls: Query): Json {
  return {
    ...order({ payers: undefined }),
    description: 'Two tickets',
    fraud_check: 0,
    fees: { pays_fees: 1, payer_covers: 50 },
    payers: [
      payer(20, {
        amount: '60.00',
        first_name: 'Ama',
        last_name: 'Mensah',
        email: 'a@example.com',
      }),
      payer(21, { amount: '40.00' }),
    ],
    payees: [{ mobile_number: person(30), amount: '100.00', delay_days: 1 }],
    urls: { ...urls, callback: urls['notify'], success: urls['notify'], error: urls['notify'] },
  }
}

/** The same transaction with its fees and parties in their other shape. */
function inLists(transfer: Json): Json {
  const pairs = (party: unknown) => [
    { key: 'mobile_number', value: (party as Query)['mobile_number'] },
    { key: 'metadata', value: 'none' },
  ]
  return {
    ...transfer,
    fees: [{ fee_type: 'sender_pays', fee_amount: '0.01', fee_currency: 'USD' }],
    debit_party: pairs(transfer['debit_party']),
    credit_party: pairs(transfer['credit_party']),
  }
}

function personalForm(called: Query): Route {
  const path = '/account/personal_account'
  return {
    name: `POST ${path} as a form`,
    make: () => {
      const form = { texts: { ...newProfile(called), ...personalTexts }, files: personalFiles }
      return {
        method: 'POST',
        path,
        options: {
          query: { version: contract },
          headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
          body: formOf(form.texts, form.files),
        },
        form,
      }
    },
  }
}

const documentTexts = (name: string): Query => ({
  [`${name}_type`]: 'passport',
  [`${name}_number`]: 'G0123456',
  [`${name}_issue_date`]: '2020-01-31',
  [`${name}_expire_date`]: '2030-01-30',
  [`${name}_issued_country`]: 'GH',
  [`${name}_name`]: 'Ama Mensah',
})

const personalTexts: Query = {
  dob: '1990-01-31',
  nationality: 'GH',
  occupation: 'Teacher',
  address_line1: '1 High Street',
  address_line2: 'Osu',
  address_line3: 'Near the park',
  city: 'Accra',
  state_province: 'Greater Accra',
  postal_code: 'GA-184',
  country: 'GH',
  ...documentTexts('id_document1'),
  ...documentTexts('id_document2'),
  poa_type: 'bill',
  poa_bill_date: '2026-10-01',
  poa_name: 'Ama Mensah',
  poa_address: '1 High Street',
}

const pdf = '%PDF-1.7\nx'
const personalFiles: Query = {
  id_document1_file: pdf,
  id_document2_file: pdf,
  poa_file: pdf,
  selfie: pdf,
}

function quoteBody(session_token: string): Json {
  return { session_token, institution_name, request_amount: '10.00', request_currency: 'USD' }
}

function partiesOf(currency: string): Json {
  const party = (nn: number) => ({
    mobile_number: person(nn),
    organization_id: 'org',
    account_number: '',
    account_type: 'wallet',
    country: 'US',
    metadata: 'none',
  })
  return { debit_party: party(0), credit_party: { ...party(1), currency } }
}

function transferBody(session_token_enc: string): Json {
  const { debit_party, credit_party } = partiesOf('USD')
  return {
    session_token_enc,
    transaction_id: unique('hostile'),
    transaction_date: '2026-11-23 12:00:00',
    amount: '1.00',
    sender_currency: 'USD',
    sender_amount: '1.00',
    description: 'Rent',
    transaction_type: 'p2p',
    fees: { total: '0.02', convenience: '0.00', sender_pays: '0.01', recipient_pays: '0.01' },
    debit_party: { ...(debit_party as Json), currency: 'USD' },
    credit_party,
    sender_kyc: { nationality: 'GH', full_name: 'Ama Mensah', country: 'GH' },
    recipient_kyc: { nationality: 'GH', full_name: 'Kofi Boateng', country: 'GH' },
    transfer_information: {
      institution_name,
      receiving_country: 'GH',
      remittance_purpose: 'family',
      source_of_funds: 'salary',
      relationship_sender: 'brother',
    },
  }
}

function billBody(): Json {
  return {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '2.00',
    currency: 'USD',
    customer_reference: '12345678',
    customer_mobile_no: person(20),
    external_reference: unique('hostile'),
    client_receipt_id: 'till-1',
    id_type: 'DP',
    id_number: '123',
    description: 'Power',
    other_data: 'trace',
    metadata: { till: '1' },
  }
}

const listedTimes = { created_from: '2026-11-01 00:00:00', created_to: '2026-11-30 00:00:00' }

function listQuery(mobile_number: string): Query {
  return {
    transaction_id: 'order',
    mobile_number,
    status: 'Pending',
    ...listedTimes,
    limit: '5',
  }
}
