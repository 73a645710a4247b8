// Bills, quotes and transactions of the load, with what the client was promised by the answers.
import { isDeepStrictEqual } from 'node:util'
import { type Api, type ApiResponse, institutionName, type Json, openSession } from './api.ts'
import type { Clients } from './payments.ts'
import type { Kind, Operation, TransferPromise } from './records.ts'

const billVersion = '2026-07-01'
/** By `customer_reference`: accepted, refused by the biller, answered late, never answered but paid, never answered and unknown. */
const references = [
  ...Array.from({ length: 8 }, () => '12345678'),
  '12345670402',
  '12345670408',
  '12345670504',
  '12345670404',
]

const ama = '+12025550100'
const kofi = '+12025550101'
const abena = '+12025550105'
const akosua = '+12025550111'
const farAccount = { account_number: 'FAR-1' }
/** At the back end, a transfer to it fails. */
const badAccount = { account_number: 'FAR-0402' }

/** Maximum age of a quote that is executed: after long faults it has expired. */
const quoteMs = 300_000

const textOf = (minor: number): string => (minor / 100).toFixed(2)

async function payBill({ api, random }: Clients, operation: Operation): Promise<void> {
  const amountMinor = random.whole(100, 2_000)
  const body: Json = {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: textOf(amountMinor),
    currency: 'USD',
    customer_reference: random.pick(references),
    external_reference: operation.id,
  }
  const send = () => api.accepted(operation, billCall(operation.id, body))
  const [answer, other] = random.next() < 0.2 ? await Promise.all([send(), send()]) : [await send()]
  if (other !== undefined && !isDeepStrictEqual(answer, other))
    throw new Error(`two requests with one key: ${JSON.stringify([answer, other])}`)
  operation.bill = { body, answer, amountMinor }
  operation.resultId = String(answer['transaction_id'])
}

/** Pays a bill; the same again for the same key. */
export function billCall(key: string, body: Json) {
  const headers = { 'Idempotency-Key': key }
  return {
    method: 'POST',
    path: '/bill_payments/pay',
    version: billVersion,
    headers,
    body,
  } as const
}

async function quoteFor(
  api: Api,
  operation: Operation,
  requestMinor: number,
): Promise<{ id: string; answer: Json; token: string }> {
  const token = await openSession(api, operation, ama)
  const answer = await api.accepted(operation, {
    method: 'POST',
    path: '/quote',
    body: {
      session_token: token,
      institution_name: institutionName,
      request_amount: textOf(requestMinor),
      request_currency: 'USD',
      debit_party: { mobile_number: ama },
      credit_party: { mobile_number: abena, currency: 'TTD' },
    },
  })
  const worth = worthOf(requestMinor, String(answer['rate']))
  if (answer['amount_quoted'] !== worth)
    throw new Error(`${textOf(requestMinor)} is quoted as ${JSON.stringify(answer)}, not ${worth}`)
  return { id: String(answer['quote_id']), answer, token }
}

/** What an amount is worth by a rate, rounded down. Both currencies have two decimals. */
function worthOf(minor: number, rate: string): string {
  const [whole = '', fraction = ''] = rate.split('.')
  const worth = (BigInt(minor) * BigInt(whole + fraction)) / 10n ** BigInt(fraction.length)
  return textOf(Number(worth))
}

async function makeQuote({ api, random }: Clients, operation: Operation): Promise<void> {
  const { id, answer } = await quoteFor(api, operation, random.whole(10, 1_000))
  operation.resultId = id
  operation.quote = { id, answer }
}

type Draft = Pick<TransferPromise, 'state' | 'changes'> & { from: string; body: Json }

/** The sorts of transactions: who opens the session, and what differs from a p2p transaction. */
const drafts: ((minor: number) => Draft)[] = [
  (minor) => ({
    from: akosua,
    body: { debit_party: { mobile_number: akosua }, credit_party: { mobile_number: kofi } },
    state: 'completed',
    changes: { [akosua]: -minor, [kofi]: minor },
  }),
  (minor) => ({
    from: kofi,
    body: { debit_party: { mobile_number: kofi }, credit_party: { mobile_number: akosua } },
    state: 'completed',
    changes: { [akosua]: minor, [kofi]: -minor },
  }),
  (minor) => ({
    from: akosua,
    body: {
      transaction_type: 'cashout',
      debit_party: { mobile_number: akosua },
      credit_party: farAccount,
    },
    state: 'completed',
    changes: { [akosua]: -minor },
  }),
  (minor) => ({
    from: akosua,
    body: {
      transaction_type: 'deposit',
      debit_party: farAccount,
      credit_party: { mobile_number: akosua },
    },
    state: 'completed',
    changes: { [akosua]: minor },
  }),
  () => ({
    from: akosua,
    body: {
      transaction_type: 'cashout',
      debit_party: { mobile_number: akosua },
      credit_party: badAccount,
    },
    state: 'failed',
    changes: {},
  }),
]

function transferBody(api: Api, id: string, token: string, minor: number, more: Json): Json {
  return {
    session_token_enc: api.seal(token),
    transaction_id: id,
    amount: textOf(minor),
    transaction_type: 'p2p',
    transfer_information: { institution_name: institutionName },
    ...more,
  }
}

/** Sends a transaction; the same again for the same id. */
export function transferCall(body: Json) {
  return { method: 'POST', path: '/institution/transaction', body } as const
}

function keep(operation: Operation, promise: TransferPromise): void {
  operation.resultId ??= promise.receiptId
  operation.transfers = [...(operation.transfers ?? []), promise]
}

async function transfer(clients: Clients, operation: Operation): Promise<void> {
  const { api, random } = clients
  if (random.next() < 0.25) return executeQuote(clients, operation)
  const minor = random.whole(1, 20)
  const { from, body: more, state, changes } = random.pick(drafts)(minor)
  const token = await openSession(api, operation, from)
  const body = transferBody(api, operation.id, token, minor, more)
  const answer = await api.accepted(operation, transferCall(body))
  const receiptId = String(answer['institution_receipt_id'])
  keep(operation, { id: operation.id, body, receiptId, state, changes })
}

/** Two transactions at once, each for the same quote: one executes it. */
async function executeQuote({ api, random }: Clients, operation: Operation): Promise<void> {
  const minor = random.whole(10, 100)
  const { id: quote_id, answer, token } = await quoteFor(api, operation, minor)
  const amount = String(answer['amount_quoted'])
  const credited = Math.round(Number(amount) * 100)
  const tokens = [token, await openSession(api, operation, ama)]
  const bodies = tokens.map((one, index) =>
    transferBody(api, `${operation.id}-${index}`, one, credited, {
      quote_id,
      sender_currency: 'USD',
      sender_amount: textOf(minor),
      debit_party: { mobile_number: ama },
      credit_party: { mobile_number: abena },
    }),
  )
  await expectOneWinner(api, operation, bodies, {
    loser: 'QUOTE_ALREADY_USED',
    changes: { [ama]: -minor, [abena]: credited },
  })
}

/** Two transactions at once by one session: one spends it. */
async function race({ api, random }: Clients, operation: Operation): Promise<void> {
  const minor = random.whole(1, 20)
  const token = await openSession(api, operation, akosua)
  const more = { debit_party: { mobile_number: akosua }, credit_party: { mobile_number: kofi } }
  const bodies = [0, 1].map((index) =>
    transferBody(api, `${operation.id}-${index}`, token, minor, more),
  )
  await expectOneWinner(api, operation, bodies, {
    loser: 'SESSION_INVALID',
    changes: { [akosua]: -minor, [kofi]: minor },
  })
}

async function expectOneWinner(
  api: Api,
  operation: Operation,
  bodies: Json[],
  { loser, changes }: { loser: string; changes: Record<string, number> },
): Promise<void> {
  const answers: ApiResponse[] = await Promise.all(
    bodies.map((body) => api.clear(operation, transferCall(body))),
  )
  const isOver = answers.every(({ body }) => body['errorCode'] === 'QUOTE_EXPIRED')
  if (isOver && Date.now() - operation.begunMs > quoteMs) return
  const won = answers.findIndex(({ status }) => status === 200)
  const lost = answers.filter(({ body }) => body['errorCode'] === loser)
  const body = bodies[won]
  if (body === undefined || lost.length !== answers.length - 1)
    throw new Error(`not one winner: ${answers.map(({ text }) => text.slice(0, 200)).join(' / ')}`)
  const receiptId = String(answers[won]?.body['institution_receipt_id'])
  const id = String(body['transaction_id'])
  keep(operation, { id, body, receiptId, state: 'completed', changes })
}

type MoneyKind = Extract<Kind, 'bill' | 'quote' | 'transfer' | 'race'>

/** Bills, quotes and transactions by kind. */
export const moneyOperations: Record<
  MoneyKind,
  (clients: Clients, operation: Operation) => Promise<void>
> = { bill: payBill, quote: makeQuote, transfer, race }
