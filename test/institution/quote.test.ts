// Transactions that execute a quote: once, in time, for its amounts, with the residual of rounding posted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { QuoteTransactionStatus } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, type Order, refusal, startHarness } from './harness.ts'
import type { Quote } from './peers.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

/** A sender in dollars, a recipient in TT dollars, and a quote between them. */
function exchange(more: Partial<Quote> = {}) {
  const { accounts, quotes } = harness
  const ama = accounts.person()
  const abena = accounts.person({ currency: 'TTD' })
  const quote = quotes.quote({ accountId: ama.accountId, ...more })
  const token = accounts.session(ama)
  const orderWith = (session: string, rest: Order = {}) =>
    harness.order(session, ama, abena, {
      amount: '678.29',
      senderAmount: '100.00',
      senderCurrency: 'USD',
      quoteId: quote.quoteId,
      ...rest,
    })
  const order = (rest: Order = {}) => orderWith(token, rest)
  return { ama, abena, token, quote, order, orderWith }
}

describe('a quote', () => {
  it('a quote is executed: each side in its currency, through our position, the rounding apart', async () => {
    const before = new Map(harness.accounts.internal)
    const { ama, abena, quote, order } = exchange({
      rounding: { currency: 'TTD', minorUnits: -1n },
    })
    const made = await harness.create(order())
    expect(made.status).toBe(TransactionStatus.COMPLETED)
    expect([ama.balance, abena.balance]).toEqual([990_000n, 1_067_829n])
    const change = (name: string) =>
      (harness.accounts.internal.get(name) ?? 0n) - (before.get(name) ?? 0n)
    expect(change('FX_POSITION USD')).toBe(10_000n)
    expect(change('FX_POSITION TTD')).toBe(-67_828n)
    expect(change('FX_ROUNDING TTD')).toBe(-1n)
    expect(quote).toMatchObject({
      isUsed: true,
      receiptId: made.institutionReceiptId,
      status: QuoteTransactionStatus.COMPLETED,
    })
    expect(made.quoteId).toBe(quote.quoteId)
  })

  it('a quote counts what recipients get in another currency, in its minor units', async () => {
    const exchanged = async () => {
      const text = await harness.registry.metrics()
      const name = 'payweave_institution_exchanged_minor_units_total'
      return Number(new RegExp(`^${name}{currency="TTD"} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    }
    const before = await exchanged()
    await harness.create(exchange().order())
    expect(await exchanged()).toBe(before + 67_829)
    const { accounts } = harness
    const ama = accounts.person()
    await harness.create(harness.order(accounts.session(ama), ama, accounts.person()))
    expect(await exchanged()).toBe(before + 67_829)
    expect(await harness.registry.metrics()).not.toMatch(
      /exchanged_minor_units_total{currency="USD"}/,
    )
  })

  it('a quote is refused for other amounts, when it has expired, and when it was used', async () => {
    const { order, quote, token } = exchange()
    expect(await refusal(harness.create(order({ amount: '678.30' })))).toBe('QUOTE_MISMATCH')
    const used = exchange()
    await harness.create(used.order())
    const again = used.orderWith(harness.accounts.session(used.ama))
    expect(await refusal(harness.create(again))).toBe('QUOTE_ALREADY_USED')
    harness.testClock.advance(300_000)
    expect(await refusal(harness.create(order()))).toBe('QUOTE_EXPIRED')
    expect(quote.reservedBy).toBeUndefined()
    expect(harness.accounts.isSpent(token)).toBe(false)
  })

  it('a quote is not executed when it expires between its reservation and the movement', async () => {
    const { ama, order, quote, token } = exchange()
    const rows = await harness.rowCount()
    const { movements } = harness.accounts.peers
    const begin = movements.beginMovement
    movements.beginMovement = async (...args) => {
      quote.expireTime = new Date(0)
      harness.testClock.advance(301_000)
      return begin(...args)
    }
    expect(await refusal(harness.create(order()))).toBe('QUOTE_EXPIRED')
    movements.beginMovement = begin
    expect([ama.balance, harness.accounts.isSpent(token)]).toEqual([1_000_000n, false])
    expect([quote.reservedBy, quote.isUsed]).toEqual([undefined, false])
    expect(await harness.rowCount()).toBe(rows)
  })

  it('a quote is free again when the movement is refused', async () => {
    const { ama, order, quote } = exchange()
    ama.balance = 1n
    expect(await refusal(harness.create(order()))).toBe('INSUFFICIENT_FUNDS')
    expect(quote.reservedBy).toBeUndefined()
    ama.balance = 1_000_000n
    expect((await harness.create(order())).status).toBe(TransactionStatus.COMPLETED)
  })

  it('a quote is free again when one transaction is sent thirty times at once, and refused each time', async () => {
    const { ama, token, order, quote } = exchange()
    ama.balance = 1n
    const rows = await harness.rowCount()
    const asked = order()
    const refusals = await Promise.all(
      Array.from({ length: 30 }, () => refusal(harness.create(asked))),
    )
    expect(new Set(refusals)).toEqual(new Set(['INSUFFICIENT_FUNDS']))
    expect(quote.reservedBy).toBeUndefined()
    expect(await harness.rowCount()).toBe(rows)
    expect(harness.accounts.isSpent(token)).toBe(false)
  })

  it('a quote is executed with a newer session of its account, and with none of another account', async () => {
    const { ama, quote, orderWith } = exchange()
    const other = exchange()
    const rows = await harness.rowCount()
    const foreign = other.order({ quoteId: quote.quoteId })
    expect(await refusal(harness.create(foreign))).toBe('PARTY_NOT_ALLOWED')
    expect(await harness.rowCount()).toBe(rows)
    expect([other.ama.balance, harness.accounts.isSpent(other.token)]).toEqual([1_000_000n, false])
    const made = await harness.create(orderWith(harness.accounts.session(ama)))
    expect(made.status).toBe(TransactionStatus.COMPLETED)
  })

  it('a quote is executed once by many sessions of its account at once', async () => {
    const { ama, orderWith } = exchange()
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => harness.create(orderWith(harness.accounts.session(ama)))),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('a quote is given back later when it cannot be given back at once, and nothing is begun meanwhile', async () => {
    const { ama, order, quote } = exchange()
    const { quotes } = harness.quotes.peers
    const release = quotes.releaseQuote
    let attempts = 0
    quotes.releaseQuote = () => {
      attempts += 1
      return Promise.reject(new Error('away'))
    }
    ama.balance = 1n
    const rows = await harness.rowCount()
    expect(await refusal(harness.create(order()))).toBe('INSUFFICIENT_FUNDS')
    ama.balance = 1_000_000n
    const before = attempts
    await eventually(() => {
      harness.testClock.advance(40_000)
      expect(attempts).toBeGreaterThan(before + 1)
    })
    expect(ama.balance).toBe(1_000_000n)
    quotes.releaseQuote = release
    await eventually(async () => {
      harness.testClock.advance(1_000)
      return (await harness.rowCount()) === rows
    })
    expect([quote.reservedBy, ama.balance]).toEqual([undefined, 1_000_000n])
  })

  it('a quote follows its transfer to the end', async () => {
    const { order, quote, ama } = exchange()
    const asked = order({
      type: TransactionType.CASHOUT,
      creditParty: { accountNumber: 'ELSEWHERE', currency: 'TTD' },
    })
    const made = await harness.create(asked)
    expect(quote).toMatchObject({ isUsed: true, status: QuoteTransactionStatus.PENDING })
    await harness.end(made.movementId, TransferOutcome.FAILED)
    await eventually(() => expect(quote.status).toBe(QuoteTransactionStatus.FAILED))
    expect(ama.balance).toBe(1_000_000n)
  })

  it('a quote has fees of each side in its own currency, and so no total of both', async () => {
    const sender = { type: 'sender_pays', amount: '100.00' }
    const recipient = { type: 'recipient_pays', amount: '678.29' }
    const fees = [sender, recipient]
    for (const [more, field] of [
      [[{ ...sender, amount: '100.01' }], 'fees.sender_pays'],
      [[{ ...recipient, amount: '678.30' }], 'fees.recipient_pays'],
      [[...fees, { type: 'total', amount: '778.29' }], 'fees.total'],
    ] as const) {
      const asked = exchange().order({ fees: [...more] })
      expect(await refusal(harness.create(asked))).toBe(`INVALID_PARAMETER ${field}`)
    }
    const { ama, abena, order } = exchange()
    const made = await harness.create(order({ fees }))
    expect([ama.balance, abena.balance]).toEqual([980_000n, 1_000_000n])
    expect(made.fees?.total).toMatchObject({ currency: 'USD', minorUnits: 10_000n })
    const { limitUse } = harness.accounts.movements.get(made.movementId)?.request ?? {}
    // 200.00 USD are 1,356.58 TTD.
    expect(limitUse?.amount).toMatchObject({ currency: 'TTD', minorUnits: 135_658n })
  })

  it('a quote in one currency needs no exchange', async () => {
    const money = { currency: 'USD', minorUnits: 10_000n }
    const quote = harness.quotes.quote({ debit: money, credit: money })
    const { accounts } = harness
    const ama = accounts.person()
    const asked = harness.order(accounts.session(ama), ama, accounts.person(), {
      quoteId: quote.quoteId,
    })
    expect((await harness.create(asked)).status).toBe(TransactionStatus.COMPLETED)
    expect(quote.isUsed).toBe(true)
  })
})
