// Uses every call of the TypeScript SDK against the running system, as a shop and as an institution do.
import { expect, it } from 'vitest'
import {
  createPayweave,
  type NewPayment,
  PayweaveError,
  sealValue,
  verifyOnboardingCallback,
} from '../../../clients/sdk-typescript/index.ts'
import { eventually } from '../../support/eventually.ts'
import { person, receiver, sharedMesh, strangersNumber, unique } from '../harness.ts'

const mesh = sharedMesh()
const { base_url: baseUrl, projects, institutions } = mesh.sandbox
const payweave = createPayweave({
  baseUrl,
  subscriptionKey: projects.demo.subscription_key,
  apiKey: projects.demo.api_key,
  originCountry: 'US',
  ipAddress: '127.0.0.1',
})
const { payments, deliveries, accounts, quotes, institution, bills } = payweave
const institution_name = 'Demo Wallet'
const keys = institutions[institution_name]
const key = { keyId: keys.key_id, sharedKey: keys.shared_key }

function order(more: Partial<NewPayment> = {}): NewPayment {
  const payer = { payment_channel: 'payment_link', payment_method: 'wallet' } as const
  return {
    id: unique('sdk'),
    amount: '25.00',
    currency: 'USD',
    payers: [{ ...payer, mobile_number: person(20) }],
    ...more,
  }
}

/** A wallet payer who pays by themselves. */
const paying = order().payers.map((payer) => ({ ...payer, mobile_number: person(1) }))

it('the SDK creates, follows, lists and refunds a payment, and confirms its pushes', async () => {
  const inbox = receiver(mesh)
  const request = order({ payers: paying, urls: inbox.urls })
  const [first, second] = await Promise.all([payments.create(request), payments.create(request)])
  expect(second).toEqual(first)
  const snapshot = await payments.waitFor(first.id, 'paid', { everyMs: 100 })
  expect(snapshot.payment_details).toMatchObject({ amount: '25.00', status: 'paid' })
  expect(await payments.list({ transaction_id: request.id }).take(5)).toMatchObject([
    { payment_details_id: first.id, paid: '25.00' },
  ])
  const refunded = await payments.refund(first.id, 'Out of stock')
  expect(refunded).toMatchObject({ status: 'Refunded', payers: [{ status: 'Refunded' }] })
  const types = (await payments.events(first.id)).map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['payment_created', 'payment_paid']))

  const [callback] = await eventually(inbox.callbacks, (all) => expect(all).not.toEqual([]))
  const received = { headers: callback?.headers ?? {}, rawBody: callback?.body ?? '' }
  const { push, payment } = await payments.confirmPush(received)
  expect([push.kind, push.transactionId]).toEqual(['callback', request.id])
  expect(payment.payment_details.status).toBe('Refunded')
  const [notify] = await inbox.awaitNotifies(['payment_completed'])
  expect(notify).toBeDefined()
  const listed = await deliveries.list({ payment_details_id: first.id }).take(10)
  expect(listed.map(({ delivery_id }) => delivery_id)).toContain(push.deliveryId)
  const delivery = await deliveries.get(push.deliveryId)
  expect(delivery.body).toBe(callback?.body)
  expect((await deliveries.resend(push.deliveryId)).delivery_id).toBe(push.deliveryId)
})

it('the SDK cancels a payment and names the reason of a refusal', async () => {
  const { id } = await payments.create(order())
  expect(await payments.cancel(id)).toMatchObject({ status: 'Cancelled' })
  const error = await payments.refund(id).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PayweaveError)
  expect(error).toMatchObject({
    status: 409,
    reason: 'PAYMENT_NOT_REFUNDABLE',
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    docUrl: `${baseUrl}/docs/errors#PAYMENT_NOT_REFUNDABLE`,
  })
  expect(await payments.waitFor(id, 'paid').catch((thrown: Error) => thrown.name)).toBe('WaitError')
})

it('the SDK pages through a list without a gap', async () => {
  const mobile_number = strangersNumber()
  const payers = order().payers.map((payer) => ({ ...payer, mobile_number }))
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1)
    ids.unshift((await payments.create(order({ payers }))).id)
  const found: string[] = []
  for await (const payment of payments.list({ mobile_number, limit: 1 })) {
    found.push(payment.payment_details_id)
  }
  expect(found).toEqual(ids)
})

it('the SDK looks accounts up, quotes, and moves money under a sealed session', async () => {
  const lookup = { lookup_type: 'MOBILE', lookup_value: person(11), institution_name } as const
  const { session, account } = await accounts.openSession(lookup)
  expect(account.account_status).toBe('available')
  const session_token = session?.session_token ?? ''
  const names = { mobile_number: person(11), first_name: 'Akosua', last_name: 'Badu' }
  const status = await accounts.status({ ...names, institution_name })
  expect(status.account_status).toBe('available')

  const amount = {
    request_amount: '10.00',
    request_currency: 'USD',
    session_token,
    institution_name,
  }
  const quote = await quotes.create({ ...amount, credit_party: { currency: 'TTD' } })
  expect(quote).toMatchObject({ rate: '6.7829', amount_quoted: '67.82' })
  const { quote_id } = quote
  expect(await quotes.get({ quote_id, institution_name })).toMatchObject({ amount_quoted: '67.82' })
  const own = await institution.createQuote({ ...amount, request_currency: 'TTD' })
  expect(await institution.quote({ quote_id: own.quote_id, institution_name })).toMatchObject({
    quote_status: 'active',
  })

  const transaction_id = unique('p2p')
  const transaction = {
    session_token_enc: sealValue(session_token, key),
    transaction_id,
    amount: '1.00',
    transaction_type: 'p2p',
    debit_party: { mobile_number: person(11) },
    credit_party: { mobile_number: person(1) },
    transfer_information: { institution_name },
  } as const
  const { institution_receipt_id } = await institution.createTransaction(transaction)
  expect(await institution.createTransaction(transaction)).toMatchObject({ institution_receipt_id })
  expect(await institution.transaction({ transaction_id, institution_name })).toMatchObject({
    transaction_status: 'completed',
    amount: '1.00',
  })
  // The guides' samples move money of the same person at the same time.
  const both = await institution.transactions({ mobile_number: person(11) }).take(100)
  expect(both.map((one) => one.transaction_id)).toContain(transaction_id)
  const history = await accounts.transactions({ mobile_number: person(11), limit: 1 }).take(2)
  expect(history[0]).toMatchObject({ type: 'debit', currency: 'USD' })
  expect((await accounts.balance(person(11))).data.currency).toBe('USD')
})

it('the SDK pays a bill once for each key, and waits for its outcome', async () => {
  const bill = {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '5.00',
    currency: 'USD',
    customer_reference: '12345678',
  }
  const idempotencyKey = unique('bill')
  const paid = await bills.pay(bill, { idempotencyKey })
  expect(paid.normalized_status).toBe('SUCCESS')
  expect(await bills.pay(bill, { idempotencyKey })).toMatchObject(paid)
  const { transaction_id } = paid
  expect(await bills.waitForOutcome(transaction_id)).toMatchObject({ normalized_status: 'SUCCESS' })
  expect(await bills.receipt(transaction_id)).toMatchObject({ receipt_id: paid.receipt_id })
  const other = await bills.pay({ ...bill, amount: '6.00' }, { idempotencyKey }).catch(String)
  expect(other).toContain('Idempotency-Key')
})

it('the SDK creates accounts, also with documents, and verifies the signed callback', async () => {
  const inbox = receiver(mesh)
  const authorisation_token = unique('token')
  const newPerson = () => ({
    first_name: 'Efua',
    last_name: 'Sutherland',
    email: 'efua@example.com',
    mobile_number: strangersNumber(),
    institution_name,
    callback_url: inbox.urls.callback,
    authorisation_token,
  })
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )
  const made = await accounts.createPersonalWithDocuments({
    ...newPerson(),
    dob: '1990-05-17',
    selfie: new Blob([png]),
  })
  expect(made.account_status).toBe('pending_review')
  const [callback] = await eventually(inbox.callbacks, (all) => expect(all).not.toEqual([]))
  const { body } = verifyOnboardingCallback({
    headers: callback?.headers ?? {},
    rawBody: callback?.body ?? '',
    signingSecrets: [keys.signing_secret],
    keys: [key],
    authorisationToken: authorisation_token,
  })
  expect(body).toMatchObject({ institution_name, account: { onboarding_status: 'completed' } })

  expect((await accounts.createPersonal(newPerson())).account_type).toEqual(expect.any(String))
  const merchant = { ...newPerson(), business_name: 'A shop' }
  const { first_name, last_name, email, mobile_number, business_name } = merchant
  const business = { first_name, last_name, email, mobile_number, business_name }
  expect((await accounts.createBusiness(business)).api_key).toHaveLength(32)
  const lookup = { lookup_type: 'MOBILE', lookup_value: person(0), institution_name } as const
  const { session } = await accounts.openSession(lookup)
  const registration = await accounts.register({
    mobile_number: person(0),
    institution_name,
    first_name: 'Ama',
    last_name: 'Mensah',
    session_token: session?.session_token ?? '',
    authorisation_token,
    callback_url: inbox.urls.callback,
  })
  expect(registration.challengeId).not.toBe('')
})
