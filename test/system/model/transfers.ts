// A model of quotes and transactions as the contract describes them, and the calls of a client whose customers move money, each checked against the model.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { SharedMesh } from '../../support/mesh.ts'
import { type ApiResponse, type Json, person, unique } from '../harness.ts'
import { cents, type transferClient } from '../money/transfer-client.ts'

type Client = ReturnType<typeof transferClient>
/** One of the two customers, both with an account in USD. */
type Who = 0 | 1
type TransactionModel = { body: Json; receipt: unknown; status: string }
type QuoteModel = { id: unknown; from: Who; minor: number; terms: Json; usedBy: unknown }

/** What the customers have, in cents, and all that was accepted in one history. */
export type Model = {
  balances: [number, number]
  transactions: TransactionModel[]
  quotes: QuoteModel[]
}

/** What a history is run against. */
export type Real = {
  mesh: Pick<SharedMesh, 'rows'>
  shop: Client
  stranger: Client
  customers: readonly [string, string]
}

type Command = fc.AsyncCommand<Model, Real>

/** Has an account in TTD, which others use too. */
const abroad = 5
/** What a dollar is worth, and the decimals of the currency. */
const rates: Record<string, readonly [string, number]> = {
  TTD: ['6.7829', 2],
  JPY: ['149.3500', 0],
  BHD: ['0.3760', 3],
}

const amountText = (minor: number): string => (minor / 100).toFixed(2)

function expectRefusal(
  { status, body, text }: ApiResponse,
  wanted: readonly [number, string],
): void {
  expect([status, body['errorCode']], text).toEqual(wanted)
}

async function expectBalances({ balances }: Model, { shop, customers }: Real): Promise<void> {
  const [one, other] = await Promise.all(customers.map(shop.balance))
  expect([cents(one ?? ''), cents(other ?? '')]).toEqual(balances)
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    run: async (model, real) => {
      await run(model, real)
      await expectBalances(model, real)
    },
    toString: () => name,
  }
}

/** Sends a transaction that debits a customer `minor` units: it is executed, or refused without a trace. */
async function send(
  { balances, transactions }: Model,
  { shop }: Real,
  sent: { body: Json; from: Who; minor: number },
): Promise<boolean> {
  const { body, from, minor } = sent
  const answer = await shop.post(body)
  if (minor > balances[from]) {
    expectRefusal(answer, [409, 'INSUFFICIENT_FUNDS'])
    expectRefusal(await shop.get(body['transaction_id']), [404, 'TRANSACTION_NOT_FOUND'])
    return false
  }
  expect(answer.status, answer.text).toBe(200)
  const receipt = answer.body['institution_receipt_id']
  transactions.push({ body, receipt, status: 'completed' })
  balances[from] -= minor
  return true
}

const who = fc.constantFrom<Who>(0, 1)
const small = fc.integer({ min: 1, max: 60 })

const payments = fc
  .record({ from: who, minor: small, fee: fc.nat({ max: 5 }) })
  .map(({ from, minor, fee }) =>
    command(`pay(${from}: ${minor} and ${fee})`, async (model, real) => {
      const to = from === 0 ? 1 : 0
      const paid = Math.min(fee, minor)
      const body = await real.shop.order(real.customers[from], real.customers[to], {
        amount: amountText(minor),
        fees: { sender_pays: amountText(paid) },
      })
      if (await send(model, real, { body, from, minor: minor + paid })) model.balances[to] += minor
    }),
  )

/** More than there is, and then a cent, with the same id and the same session: a refusal spends neither. */
const overdrafts = who.map((from) =>
  command(`overdraw(${from})`, async (model, real) => {
    const to = from === 0 ? 1 : 0
    const minor = model.balances[from] + 1
    const amount = amountText(minor)
    const body = await real.shop.order(real.customers[from], real.customers[to], { amount })
    await send(model, real, { body, from, minor })
    const mended = { ...body, amount: '0.01' }
    if (await send(model, real, { body: mended, from, minor: 1 })) model.balances[to] += 1
  }),
)

/** A payout at another institution, which fails if the account there is a bad one: then the money is back. */
const payouts = fc.record({ from: who, minor: small, fails: fc.boolean() }).map((one) =>
  command(`pay out(${JSON.stringify(one)})`, async (model, real) => {
    const { from, minor, fails } = one
    const { shop, customers } = real
    const body = await shop.order(customers[from], customers[from], {
      transaction_type: 'cashout',
      amount: amountText(minor),
      credit_party: { account_number: fails ? 'FAR-0402' : 'FAR-1' },
    })
    if (!(await send(model, real, { body, from, minor }))) return
    const status = fails ? 'failed' : 'completed'
    await shop.becomes(body['transaction_id'], status)
    Object.assign(model.transactions.at(-1) ?? {}, { status })
    if (fails) model.balances[from] += minor
  }),
)

const quotes = fc
  .record({ from: who, minor: small, currency: fc.constantFrom('TTD', 'TTD', 'JPY', 'BHD') })
  .map((one) =>
    command(`quote(${JSON.stringify(one)})`, (model, real) => makeQuote(one, model, real)),
  )

async function makeQuote(
  { from, minor, currency }: { from: Who; minor: number; currency: string },
  { quotes }: Model,
  { shop, customers }: Real,
): Promise<void> {
  const [rate = '', decimals = 0] = rates[currency] ?? []
  const { body, text } = await shop.quote(await shop.session(customers[from]), {
    request_amount: amountText(minor),
    credit_party: { mobile_number: person(abroad), currency },
  })
  // Rounded down: an exchange is not to the gain of the customer.
  const digits = BigInt(rate.replace('.', ''))
  const worth = (BigInt(minor) * digits * 10n ** BigInt(decimals)) / 10n ** 6n
  const quoted = (Number(worth) / 10 ** decimals).toFixed(decimals)
  expect(body, text).toMatchObject({ code: 200, rate, amount_quoted: quoted })
  const terms = { rate, amount_quoted: quoted, quoted_currency: currency }
  quotes.push({ id: body['quote_id'], from, minor, terms, usedBy: null })
}

/** A command on one of the things of a history; it is left out while there is none. */
function onOne<T>(
  name: string,
  of: (model: Model) => T[],
  run: (one: T, model: Model, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return fc.nat({ max: 50 }).map((pick) => ({
    check: (model) => of(model).length > 0,
    run: async (model, real) => {
      const all = of(model)
      const one = all[pick % all.length]
      if (one !== undefined) await run(one, model, real)
      await expectBalances(model, real)
    },
    toString: () => `${name}(${pick})`,
  }))
}

const transactionsOf = ({ transactions }: Model): TransactionModel[] => transactions
/** The recipient's account is in TTD. */
const payableOf = ({ quotes }: Model): QuoteModel[] =>
  quotes.filter(({ terms }) => terms['quoted_currency'] === 'TTD')
const activeOf = (model: Model): QuoteModel[] =>
  payableOf(model).filter(({ usedBy }) => usedBy === null)

async function expectRepeat(
  { body, receipt }: TransactionModel,
  _model: Model,
  { shop }: Real,
): Promise<void> {
  const again = await shop.post(body)
  expect([again.status, again.body['institution_receipt_id']], again.text).toEqual([200, receipt])
}

async function expectConflict(
  { body }: TransactionModel,
  _model: Model,
  { shop }: Real,
): Promise<void> {
  const other = await shop.post({ ...body, description: 'another transaction' })
  expectRefusal(other, [409, 'DUPLICATE_TRANSACTION_ID'])
}

async function expectSpent(
  { body }: TransactionModel,
  _model: Model,
  { shop }: Real,
): Promise<void> {
  const { quote_id: _, ...plain } = body
  const other = await shop.post({ ...plain, transaction_id: unique('transfer') })
  expectRefusal(other, [401, 'SESSION_INVALID'])
}

async function expectAsAnswered(
  { body, receipt, status }: TransactionModel,
  _model: Model,
  { shop, stranger }: Real,
): Promise<void> {
  const { transaction_id, transaction_type, amount } = body
  const read = await shop.get(transaction_id)
  expect(read.body, read.text).toMatchObject({
    transaction_id,
    transaction_type,
    amount,
    transaction_status: status,
    institution_receipt_id: receipt,
  })
  expectRefusal(await stranger.get(transaction_id), [404, 'TRANSACTION_NOT_FOUND'])
}

async function expectQuoted(
  { id, minor, terms, usedBy }: QuoteModel,
  _model: Model,
  { shop, stranger }: Real,
): Promise<void> {
  const read = await shop.readQuote(id, {}, '/institution/post')
  expect(read.body, read.text).toMatchObject({
    ...terms,
    quote_id: id,
    request_amount: amountText(minor),
    quote_status: usedBy === null ? 'active' : 'used',
    transaction_id: usedBy,
  })
  expect((await stranger.readQuote(id)).status).toBe(404)
}

function exchange({ id, minor, terms }: QuoteModel, by: string, { shop }: Real): Promise<Json> {
  return shop.order(by, abroad, {
    quote_id: id,
    sender_currency: 'USD',
    sender_amount: amountText(minor),
    amount: terms['amount_quoted'],
  })
}

async function execute(quote: QuoteModel, model: Model, real: Real): Promise<void> {
  const { from, minor } = quote
  const body = await exchange(quote, real.customers[from], real)
  if (quote.usedBy !== null)
    return expectRefusal(await real.shop.post(body), [409, 'QUOTE_ALREADY_USED'])
  if (await send(model, real, { body, from, minor })) quote.usedBy = body['transaction_id']
}

async function expectMismatch(quote: QuoteModel, _model: Model, real: Real): Promise<void> {
  const body = await exchange(quote, real.customers[quote.from], real)
  const more = { ...body, sender_amount: amountText(quote.minor + 1) }
  expectRefusal(await real.shop.post(more), [409, 'QUOTE_MISMATCH'])
}

async function expectTheirsAlone(quote: QuoteModel, _model: Model, real: Real): Promise<void> {
  const body = await exchange(quote, real.customers[quote.from === 0 ? 1 : 0], real)
  expectRefusal(await real.shop.post(body), [403, 'PARTY_NOT_ALLOWED'])
}

/** Histories of a client with two customers. The first commands make a quote and a payment, so that the others have one. */
export const histories: fc.Arbitrary<Command[]> = fc
  .tuple(
    quotes,
    payments,
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: payments },
        { weight: 1, arbitrary: overdrafts },
        { weight: 1, arbitrary: payouts },
        { weight: 3, arbitrary: quotes },
        { weight: 1, arbitrary: onOne('repeat', transactionsOf, expectRepeat) },
        { weight: 1, arbitrary: onOne('conflict', transactionsOf, expectConflict) },
        { weight: 1, arbitrary: onOne('spent', transactionsOf, expectSpent) },
        { weight: 2, arbitrary: onOne('read', transactionsOf, expectAsAnswered) },
        { weight: 2, arbitrary: onOne('read quote', ({ quotes }) => quotes, expectQuoted) },
        { weight: 4, arbitrary: onOne('execute', payableOf, execute) },
        { weight: 1, arbitrary: onOne('mismatch', activeOf, expectMismatch) },
        { weight: 1, arbitrary: onOne('foreign', activeOf, expectTheirsAlone) },
      ),
      { minLength: 10, maxLength: 20, size: 'max' },
    ),
  )
  .map(([quote, payment, more]) => [quote, payment, ...more])

/** After a history: each quote that was executed moved its two amounts once between the accounts, each other one nothing. */
export async function expectSettled({ quotes }: Model, { mesh }: Real): Promise<void> {
  const rows = await mesh.rows<{ id: string; moved: string[] }>(
    `select quote.quote_id::text as id, array_agg(posting.currency || ' ' || posting.amount_minor order by posting.currency desc) as moved
     from quotes.quote join accounts.posting
       on posting.transfer_id = quote.movement_id and posting.internal is null
     where quote.quote_id = any($1::uuid[]) group by quote.quote_id`,
    [quotes.map(({ id }) => id)],
  )
  const wanted = quotes
    .filter(({ usedBy }) => usedBy !== null)
    .map(({ id, minor, terms }) => [
      id,
      [`USD ${-minor}`, `TTD ${cents(String(terms['amount_quoted']))}`],
    ])
  expect(new Map(rows.map(({ id, moved }) => [id, moved]))).toEqual(new Map(wanted as []))
}
