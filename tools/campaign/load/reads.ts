// What clients read and repeat beside their payments: accounts and their histories, quotes of institutions, events and pushes.
import { setTimeout as sleep } from 'node:timers/promises'
import { institutionName, type Json } from './api.ts'
import type { Clients } from './payments.ts'
import { cancelNew } from './payments.ts'
import type { Kind, Operation } from './records.ts'

const merchantVersion = '2026-12-01'
const ama = { mobile_number: '+12025550100', first_name: 'Ama', last_name: 'Mensah' }
const quoted = ['rate', 'amount_quoted', 'quote_date', 'expire_date']

/** Looks an account up, reads both histories of its number, and gets a quote of its institution. */
async function lookUp({ api, random }: Clients, operation: Operation): Promise<void> {
  const institution_name = institutionName
  const account = await api.accepted(operation, {
    method: 'GET',
    path: '/account/account',
    query: { ...ama, institution_name },
  })
  if (account['account_status'] !== 'available')
    throw new Error(`an account is ${String(account['account_status'])}`)
  const { mobile_number } = ama
  await api.accepted(operation, {
    method: 'POST',
    path: '/account/transaction_history',
    body: { mobile_number },
  })
  await api.accepted(operation, {
    method: 'GET',
    path: '/institution/transaction_history',
    query: { mobile_number },
  })
  const made = await api.accepted(operation, {
    method: 'POST',
    path: '/institution/quote',
    body: {
      session_token: account['session_token'],
      institution_name,
      request_amount: `${random.whole(1, 100)}.00`,
      request_currency: 'USD',
    },
  })
  const quote_id = String(made['quote_id'])
  const query = { quote_id, institution_name }
  const read = await api.accepted(operation, { method: 'GET', path: '/institution/post', query })
  const differs = quoted.filter((name) => read[name] !== made[name])
  if (differs.length > 0) throw new Error(`${differs.join()} of a quote differ`)
  operation.resultId = quote_id
}

/**
 * Reads the history of a payment and its pushes, and has one sent again, twice with one key. Its pushes may not be there yet: an
 * event is published again after up to a minute.
 */
async function readDeliveries(clients: Clients, operation: Operation): Promise<void> {
  const { api, random } = clients
  const id = await cancelNew(clients, operation)
  const version = merchantVersion
  const query = { api_key: api.apiKey, payment_details_id: id }
  const history = { method: 'GET', path: '/payments/events', version, query } as const
  const { events } = await api.accepted(operation, history)
  const types = (events as Json[]).map(({ type }) => type)
  if (!types.includes('payment_created') || !types.includes('payment_cancelled'))
    throw new Error(`the history has [${types.join()}]`)
  await sleep(random.whole(0, 1_000))
  const list = { method: 'GET', path: '/deliveries/list', version, query } as const
  const { deliveries } = await api.accepted(operation, list)
  const [first] = deliveries as { delivery_id: string }[]
  if (first === undefined) return
  const { delivery_id } = first
  const { delivery } = await api.accepted(operation, {
    method: 'GET',
    path: '/deliveries/delivery',
    version,
    query: { api_key: api.apiKey, delivery_id },
  })
  if ((delivery as Json)['payment_details_id'] !== id)
    throw new Error(`a push of another payment: ${JSON.stringify(delivery).slice(0, 300)}`)
  for (let times = 0; times < 2; times += 1)
    await api.accepted(operation, {
      method: 'POST',
      path: '/deliveries/resend',
      version,
      headers: { 'Idempotency-Key': operation.id },
      body: { api_key: api.apiKey, delivery_id },
    })
}

type ReadKind = Extract<Kind, 'look-up' | 'deliveries'>

/** Reads by kind. */
export const readOperations: Record<
  ReadKind,
  (clients: Clients, operation: Operation) => Promise<void>
> = { 'look-up': lookUp, deliveries: readDeliveries }
