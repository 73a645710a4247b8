// Payments of the load: a create and its payment until the end, with what the responses promised the merchant.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Random } from '../random.ts'
import type { Api, ApiResponse, Json } from './api.ts'
import { payByCard, payByPin, payInCash, rightPin, wrongPin } from './page.ts'
import type { Kind, Operation, PaymentOutcome } from './records.ts'

/** What an operation is carried out with. */
export type Clients = {
  api: Api
  /** Where pushes go; nothing: there are none. */
  urls: { notify?: string; callback?: string }
  onboarding: { callback_url?: string; authorisation_token?: string }
  random: Random
}

const merchantVersion = '2026-12-01'
/** Between the steps of a payer or a merchant who waits for a state. */
const pollMs = 700
/** Of a merchant who cancels while the payer pays. */
const maxHesitationMs = 1_000

const people = {
  /** Pays one second after the charge was announced. */
  pays: '+12025550101',
  /** Is declined five times. */
  declined: '+12025550102',
  /** Pays after five seconds. */
  paysLater: '+12025550105',
  /** Pays two seconds after a cancellation. */
  paysLate: '+12025550112',
  byHand: '+12025550120',
}

type Order = {
  amountMinor: number
  payers: string[]
  /** Days for which the money of the payee is held. */
  delayDays?: number
  /** A link and a wallet if not given. */
  way?: Way
}
type Way = { payment_channel: string; payment_method: string }
type Created = { id: string; urls: string[] }

const textOf = (minor: number): string => (minor / 100).toFixed(2)
const byWallet: Way = { payment_channel: 'payment_link', payment_method: 'wallet' }
const payer = (mobile_number: string, minor: number, way: Way): Json => ({
  mobile_number,
  amount: textOf(minor),
  ...way,
})

function bodyOf({ api, urls }: Clients, id: string, order: Order): Json {
  const { amountMinor, payers, delayDays, way = byWallet } = order
  const share = Math.floor(amountMinor / payers.length)
  const first = amountMinor - share * (payers.length - 1)
  const amount = textOf(amountMinor)
  return {
    api_key: api.apiKey,
    transaction_request: {
      id,
      amount,
      currency: 'TTD',
      payers: payers.map((number, index) => payer(number, index === 0 ? first : share, way)),
      ...(delayDays !== undefined && {
        payees: [{ mobile_number: '+12025550130', amount, delay_days: delayDays }],
      }),
      urls,
    },
  }
}

function detailsOf(body: Json): Json {
  return body['payment_details'] as Json
}

/** Creates a payment, one in five by two requests at the same time, and reads it at once. */
async function create(clients: Clients, operation: Operation, order: Order): Promise<Created> {
  const { api, random } = clients
  const body = bodyOf(clients, operation.id, order)
  const call = { method: 'POST', path: '/payments/request', body } as const
  const send = () => api.accepted(operation, call)
  const [one, other] = random.next() < 0.2 ? await Promise.all([send(), send()]) : [await send()]
  const answer = detailsOf(one)
  if (other !== undefined && !isDeepStrictEqual(answer, detailsOf(other)))
    throw new Error(`two requests with one id: ${JSON.stringify([answer, detailsOf(other)])}`)
  const { id, payers } = answer as { id: string; payers: { url: string }[] }
  operation.resultId = id
  operation.payment = { body, answer, outcomes: [] }
  await readStatus(api, operation, id)
  if (random.next() < 0.2) await findInList(api, operation)
  return { id, urls: payers.map(({ url }) => url) }
}

async function readStatus(api: Api, operation: Operation, id: string): Promise<string> {
  const query = { api_key: api.apiKey, payment_details_id: id }
  const body = await api.accepted(operation, { method: 'GET', path: '/payments/status', query })
  return String(detailsOf(body)['status'])
}

/** A payment that was answered before the list was asked for is in it. */
async function findInList(api: Api, operation: Operation): Promise<void> {
  const { payments } = await api.accepted(operation, {
    method: 'GET',
    path: '/payments/list',
    version: merchantVersion,
    query: { api_key: api.apiKey, transaction_id: operation.id },
  })
  const ids = (payments as Json[]).map((row) => row['payment_details_id'])
  if (ids.join() !== operation.resultId)
    throw new Error(`listed are [${ids.join()}] of ${operation.resultId}`)
}

async function reaches(
  api: Api,
  operation: Operation,
  id: string,
  wanted: string,
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  for (;;) {
    const state = await readStatus(api, operation, id)
    if (state === wanted) return
    if (Date.now() > api.untilMs()) throw new Error(`${id} is ${state} and not ${wanted}`)
    await meanwhile()
    await sleep(pollMs)
  }
}

function cancel(api: Api, operation: Operation, id: string): Promise<ApiResponse> {
  const body = { api_key: api.apiKey, payment_details_id: id }
  return api.clear(operation, { method: 'POST', path: '/payments/cancel', body })
}

async function mustCancel(api: Api, operation: Operation, id: string): Promise<void> {
  const { status, body, text } = await cancel(api, operation, id)
  if (status !== 200 || detailsOf(body)['status'] !== 'Cancelled')
    throw new Error(`cancel: ${status} ${text.slice(0, 300)}`)
}

const sorted = (pushes: string[]): string[] => pushes.toSorted()
const payout = ['payout_scheduled', 'payout_completed']
const paidPushes = (payers: number): string[] =>
  Array.from({ length: payers }, () => ['payment_initiated', 'payment_completed']).flat()

function paid(minor: number, payers = 1): PaymentOutcome {
  return {
    state: 'paid',
    payers: Array.from({ length: payers }, () => 'paid'),
    pushes: sorted([...paidPushes(payers), ...payout, 'callback 1 paid']),
    money: { payer_receipt: minor },
  }
}

const cancelled: PaymentOutcome = {
  state: 'Cancelled',
  payers: ['Cancelled'],
  pushes: sorted(['payment_initiated', 'payment_cancelled', 'callback 1 Cancelled']),
  money: {},
}

const expired: PaymentOutcome = {
  state: 'Expired',
  payers: ['Expired'],
  pushes: sorted(['payment_initiated', 'payment_expired', 'callback 1 Expired']),
  money: {},
}

const declined: PaymentOutcome = {
  state: 'Failed',
  payers: ['Failed'],
  pushes: sorted(['payment_initiated', 'payment_failed', 'callback 1 Failed']),
  money: {},
}

const refunded = (minor: number, payers: number): PaymentOutcome => ({
  state: 'Refunded',
  payers: Array.from({ length: payers }, () => 'Refunded'),
  pushes: sorted([
    ...paidPushes(payers),
    'payout_scheduled',
    ...Array.from({ length: payers }, () => 'payment_refunded'),
    'callback 1 paid',
    'callback 2 Refunded',
  ]),
  money: { payer_receipt: minor, refund: minor },
})

const sentBack = (minor: number): PaymentOutcome => ({
  state: 'Cancelled',
  payers: ['Refunded'],
  pushes: sorted([...cancelled.pushes, 'payment_refunded', 'callback 2 Cancelled']),
  money: { late_receipt: minor, refund: minor },
})

type PaymentKind = Extract<
  Kind,
  | 'paid'
  | 'by hand'
  | 'by card'
  | 'by cash'
  | 'cancelled'
  | 'cancelled while paying'
  | 'expired'
  | 'refunded'
  | 'declined'
  | 'late money'
  | 'two payers'
>
type CarryOut = (clients: Clients, operation: Operation, minor: number) => Promise<PaymentOutcome[]>

/** By kind: what the merchant and the payers do. Resolves to the outcomes that the answers allow. */
const flows: Record<PaymentKind, CarryOut> = {
  async paid(clients, operation, amountMinor) {
    await create(clients, operation, { amountMinor, payers: [people.pays] })
    return [paid(amountMinor)]
  },

  async 'two payers'(clients, operation, amountMinor) {
    const payers = [people.pays, people.paysLater]
    await create(clients, operation, { amountMinor, payers })
    return [paid(amountMinor, 2)]
  },

  /** On the page, half of them with a wrong PIN first. */
  async 'by hand'(clients, operation, amountMinor) {
    const { api, random } = clients
    const payers = [people.byHand]
    const { id, urls } = await create(clients, operation, { amountMinor, payers })
    const [url = ''] = urls
    if (random.next() < 0.5) await payByPin(operation, url, wrongPin)
    await reaches(api, operation, id, 'paid', () => payByPin(operation, url, rightPin))
    const { status } = await cancel(api, operation, id)
    if (status !== 409) throw new Error(`cancel of a paid payment: ${status}`)
    return [paid(amountMinor)]
  },

  async 'by card'(clients, operation, amountMinor) {
    const way = { payment_channel: 'payment_link', payment_method: 'card' }
    const order = { amountMinor, payers: [people.byHand], way }
    const { id, urls } = await create(clients, operation, order)
    const [url = ''] = urls
    await reaches(clients.api, operation, id, 'paid', () => payByCard(operation, url))
    return [paid(amountMinor)]
  },

  async 'by cash'(clients, operation, amountMinor) {
    const { api } = clients
    const way = { payment_channel: 'agent', payment_method: 'cash' }
    const order = { amountMinor, payers: [people.byHand], way }
    const { id, urls } = await create(clients, operation, order)
    const [url = ''] = urls
    await reaches(api, operation, id, 'paid', () => payInCash(operation, url, api.simulatorUrl))
    return [paid(amountMinor)]
  },

  /** Nobody pays in time. */
  async expired(clients, operation, amountMinor) {
    const way = { payment_channel: 'direct_pos', payment_method: 'qr_code' }
    await create(clients, operation, { amountMinor, payers: [people.byHand], way })
    return [expired]
  },

  async cancelled(clients, operation, amountMinor) {
    const order = { amountMinor, payers: [people.byHand] }
    const { id } = await create(clients, operation, order)
    await mustCancel(clients.api, operation, id)
    return [cancelled]
  },

  /** The payer sends the PIN about when the merchant cancels: one of them wins. */
  async 'cancelled while paying'(clients, operation, amountMinor) {
    const { api, random } = clients
    const order = { amountMinor, payers: [people.byHand] }
    const { id, urls } = await create(clients, operation, order)
    const [url = ''] = urls
    const pay = () => payByPin(operation, url, rightPin)
    const paying = pay()
    await sleep(random.whole(0, maxHesitationMs))
    const [{ status, text }] = await Promise.all([cancel(api, operation, id), paying])
    if (status === 200) return [cancelled]
    if (status !== 409) throw new Error(`cancel: ${status} ${text.slice(0, 300)}`)
    await reaches(api, operation, id, 'paid', pay)
    return [paid(amountMinor)]
  },

  /** One payer or two. */
  async refunded(clients, operation, amountMinor) {
    const { api, random } = clients
    const payers = random.next() < 0.5 ? [people.pays] : [people.pays, people.paysLater]
    const order = { amountMinor, payers, delayDays: 3 }
    const { id } = await create(clients, operation, order)
    await reaches(api, operation, id, 'paid')
    const body = await api.accepted(operation, {
      method: 'POST',
      path: '/payments/refund',
      version: merchantVersion,
      body: { api_key: api.apiKey, payment_details_id: id },
    })
    const { status } = detailsOf(body)
    if (status !== 'Refunded') throw new Error(`refund: ${String(status)}`)
    return [refunded(amountMinor, payers.length)]
  },

  async declined(clients, operation, amountMinor) {
    await create(clients, operation, { amountMinor, payers: [people.declined] })
    return [declined]
  },

  /** Whether money comes late depends on whether the back end knew the charge when it was cancelled. */
  async 'late money'(clients, operation, amountMinor) {
    const order = { amountMinor, payers: [people.paysLate] }
    const { id } = await create(clients, operation, order)
    await mustCancel(clients.api, operation, id)
    return [sentBack(amountMinor), cancelled]
  },
}

/** Creates a payment and cancels it; resolves to its id. */
export async function cancelNew(clients: Clients, operation: Operation): Promise<string> {
  await carryOut(flows.cancelled)(clients, operation)
  return operation.resultId ?? ''
}

const carryOut =
  (flow: CarryOut) =>
  async (clients: Clients, operation: Operation): Promise<void> => {
    const outcomes = await flow(clients, operation, clients.random.whole(100, 20_000))
    if (operation.payment !== undefined) operation.payment.outcomes = outcomes
  }

/** Payments by kind. */
export const paymentOperations = Object.fromEntries(
  Object.entries(flows).map(([kind, flow]) => [kind, carryOut(flow)]),
) as Record<PaymentKind, ReturnType<typeof carryOut>>
