// A quote is executed once at most, never late by the database clock, and only for what was quoted.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  QuoteKind,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { type Harness, money, refusal, startHarness, ttlS } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const { PENDING, COMPLETED, FAILED, CANCELLED, UNSPECIFIED } = QuoteTransactionStatus

async function fresh(): Promise<{ quoteId: string; movementId: string }> {
  const { quoteId } = await harness.quote()
  return { quoteId, movementId: randomUUID() }
}

function expire(): void {
  harness.testClock.advance(ttlS * 1_000)
}

describe('a reservation', () => {
  it('a quote is reserved by one of thirty concurrent movements', async () => {
    const { quoteId } = await fresh()
    const movements: string[] = Array.from({ length: 30 }, () => randomUUID())
    const outcomes = await Promise.all(
      movements.map((movementId) =>
        harness.reserve(quoteId, movementId).then(
          () => movementId,
          (error: { reason: string }) => error.reason,
        ),
      ),
    )
    const winners = outcomes.filter((outcome) => movements.includes(outcome))
    expect(winners).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'QUOTE_ALREADY_USED')).toHaveLength(29)
  })

  it('thirty concurrent reservations by one movement are one', async () => {
    const { quoteId, movementId } = await fresh()
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => harness.reserve(quoteId, movementId)),
    )
    expect(new Set(answers.map((answer) => answer.quoteId))).toEqual(new Set([quoteId]))
  })

  it('a reservation answers the terms that the money is to move by', async () => {
    const { quoteId, movementId } = await fresh()
    expect(await harness.reserve(quoteId, movementId)).toMatchObject({
      quoteId,
      quoted: { currency: 'TTD', minorUnits: 6_782n },
      rounding: { currency: 'TTD', minorUnits: 1n },
      status: QuoteStatus.ACTIVE,
    })
  })

  it('a reservation is refused from the second on in which the quote expires, and before it is not', async () => {
    const late = await fresh()
    expire()
    expect(await refusal(harness.reserve(late.quoteId, late.movementId))).toBe('QUOTE_EXPIRED')
    expect((await harness.get(late.quoteId)).status).toBe(QuoteStatus.EXPIRED)
    const early = await fresh()
    harness.testClock.advance((ttlS * 1_000) / 2)
    expect(await harness.reserve(early.quoteId, early.movementId)).toBeDefined()
  })

  it.each([
    ['another debit', { debit: money('USD', 1_001n) }],
    ['another credit', { credit: money('TTD', 6_783n) }],
    ['another currency', { debit: money('EUR', 1_000n) }],
    ['amounts the other way round', { debit: money('TTD', 6_782n), credit: money('USD', 1_000n) }],
  ])('a reservation is refused for %s, and the quote stays free', async (_, amounts) => {
    const { quoteId, movementId } = await fresh()
    expect(await refusal(harness.reserve(quoteId, movementId, amounts))).toBe('QUOTE_MISMATCH')
    expect(await harness.reserve(quoteId, randomUUID())).toBeDefined()
  })

  it('a reservation of an institution’s quote is for who gets the quoted amount, never for who would pay it', async () => {
    // 0.10 TTD are worth 0.0147 USD: paying 0.01 USD for them would make money.
    const asked = { kind: QuoteKind.INSTITUTION, requested: money('TTD', 10n) }
    const { quoteId, requested, quoted } = await harness.quote(asked)
    expect(quoted).toMatchObject(money('USD', 1n))
    const back = { debit: quoted, credit: requested }
    expect(await refusal(harness.reserve(quoteId, randomUUID(), back))).toBe('QUOTE_MISMATCH')
    const forth = { debit: requested, credit: quoted }
    expect(await harness.reserve(quoteId, randomUUID(), forth)).toBeDefined()
  })

  it('a reservation is for the account that the quote was made for, and no other', async () => {
    const { quoteId, movementId } = await fresh()
    const other = { accountId: randomUUID() }
    expect(await refusal(harness.reserve(quoteId, movementId, other))).toBe('PARTY_NOT_ALLOWED')
    expect(await harness.reserve(quoteId, movementId)).toBeDefined()
    // A refusal does not reveal its state either.
    await harness.confirm(quoteId, movementId)
    expect(await refusal(harness.reserve(quoteId, randomUUID(), other))).toBe('PARTY_NOT_ALLOWED')
    expire()
    expect(await refusal(harness.reserve(quoteId, randomUUID(), other))).toBe('PARTY_NOT_ALLOWED')
    const noId = { accountId: 'x' }
    expect(await refusal(harness.reserve(quoteId, movementId, noId))).toBe(
      'INVALID_PARAMETER account_id',
    )
  })

  it('a reservation by a caller of the previous release, without an account, skips its check', async () => {
    const { quoteId, movementId } = await fresh()
    expect(await harness.reserve(quoteId, movementId, { accountId: '' })).toBeDefined()
  })

  it('a reservation finds no quote of another institution or project, no unknown one, and none by a malformed id', async () => {
    const { quoteId, movementId } = await fresh()
    const other = randomUUID()
    for (const more of [{ institutionId: other }, { projectId: other }, { quoteId: other }]) {
      expect(await refusal(harness.reserve(quoteId, movementId, more))).toBe('QUOTE_NOT_FOUND')
    }
    const text = harness.reserve(quoteId, movementId, { quoteId: 'x' })
    expect(await refusal(text)).toBe('INVALID_PARAMETER quote_id')
  })

  it('a reservation does not end with time: the movement may have begun', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    harness.testClock.advance(24 * 3_600_000)
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.ACTIVE)
    expect(await refusal(harness.reserve(quoteId, randomUUID()))).toBe('QUOTE_ALREADY_USED')
    // A movement that has not begun by now is refused.
    expect(await refusal(harness.reserve(quoteId, movementId))).toBe('QUOTE_EXPIRED')
    await harness.confirm(quoteId, movementId, COMPLETED)
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.USED)
  })
})

describe('a confirmation', () => {
  it('a confirmation marks the quote as used and records its transaction', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.confirm(quoteId, movementId)
    expect(await harness.get(quoteId)).toMatchObject({
      status: QuoteStatus.USED,
      transactionId: 'transfer-1',
      institutionReceiptId: 'receipt-1',
      transactionStatus: PENDING,
    })
    expire()
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.USED)
  })

  it('a confirmation twice changes nothing, and reserving again answers the same', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.confirm(quoteId, movementId, COMPLETED)
    await harness.confirm(quoteId, movementId, PENDING)
    expect((await harness.get(quoteId)).transactionStatus).toBe(COMPLETED)
    expect((await harness.reserve(quoteId, movementId)).status).toBe(QuoteStatus.USED)
    expect(await refusal(harness.reserve(quoteId, randomUUID()))).toBe('QUOTE_ALREADY_USED')
  })

  it('a confirmation by a movement without the reservation is refused', async () => {
    const { quoteId, movementId } = await fresh()
    expect(await refusal(harness.confirm(quoteId, movementId))).toBe('QUOTE_NOT_FOUND')
    await harness.reserve(quoteId, movementId)
    expect(await refusal(harness.confirm(quoteId, randomUUID()))).toBe('QUOTE_NOT_FOUND')
    expect(await refusal(harness.confirm('x', movementId))).toBe('INVALID_PARAMETER quote_id')
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.ACTIVE)
  })

  it('a confirmation without a status is refused', async () => {
    const { quoteId, movementId } = await fresh()
    expect(await refusal(harness.confirm(quoteId, movementId, UNSPECIFIED))).toBe(
      'MISSING_PARAMETER transaction_status',
    )
  })
})

describe('a release', () => {
  it('a release lets another movement have the quote, and never the same one again', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.release(quoteId, movementId)
    await harness.release(quoteId, movementId)
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.ACTIVE)
    expect(await refusal(harness.reserve(quoteId, movementId))).toBe('QUOTE_ALREADY_USED')
    expect(await harness.reserve(quoteId, randomUUID())).toBeDefined()
  })

  it('a release after the end of its time leaves it expired', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    expire()
    await harness.release(quoteId, movementId)
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.EXPIRED)
    expect(await refusal(harness.reserve(quoteId, randomUUID()))).toBe('QUOTE_EXPIRED')
  })

  it('a release that overtakes the reservation prevents it', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.release(quoteId, movementId)
    expect(await refusal(harness.reserve(quoteId, movementId))).toBe('QUOTE_ALREADY_USED')
  })

  it('a release by another movement changes nothing', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.release(quoteId, randomUUID())
    expect(await refusal(harness.reserve(quoteId, randomUUID()))).toBe('QUOTE_ALREADY_USED')
    await harness.confirm(quoteId, movementId)
  })

  it('a release of a quote that its movement used is refused; of an unknown quote it does nothing', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.confirm(quoteId, movementId)
    expect(await refusal(harness.release(quoteId, movementId))).toBe('QUOTE_ALREADY_USED')
    await harness.release(randomUUID(), movementId)
    expect(await refusal(harness.release('x', movementId))).toBe('INVALID_PARAMETER quote_id')
  })

  it('a hundred times over ends the quote, and so does not fill its row for ever', async () => {
    const { quoteId } = await fresh()
    for (let round = 0; round < 100; round += 1) {
      const movementId = randomUUID()
      await harness.reserve(quoteId, movementId)
      await harness.release(quoteId, movementId)
    }
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.EXPIRED)
    expect(await refusal(harness.reserve(quoteId, randomUUID()))).toBe('QUOTE_EXPIRED')
    await harness.release(quoteId, randomUUID())
  })

  it('a release of an expired or used quote by a movement that never had it changes nothing', async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    await harness.confirm(quoteId, movementId)
    await harness.release(quoteId, randomUUID())
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.USED)
    const late = await fresh()
    expire()
    await harness.release(late.quoteId, late.movementId)
    expect((await harness.get(late.quoteId)).status).toBe(QuoteStatus.EXPIRED)
  })

  it('a release and reservations in a race never leave two holders', async () => {
    const { quoteId } = await fresh()
    const held: string[] = []
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const movementId = randomUUID()
        const isReserved = await harness.reserve(quoteId, movementId).then(
          () => true,
          () => false,
        )
        if (!isReserved) return
        held.push(movementId)
        expect(held).toHaveLength(1)
        await harness.get(quoteId)
        held.pop()
        await harness.release(quoteId, movementId)
      }),
    )
    expect((await harness.get(quoteId)).status).toBe(QuoteStatus.ACTIVE)
  })
})

describe('the transaction of a used quote', () => {
  it('the transaction of a used quote is kept current until it has an outcome, which stands', async () => {
    for (const outcome of [COMPLETED, FAILED, CANCELLED]) {
      const { quoteId, movementId } = await fresh()
      await harness.reserve(quoteId, movementId)
      await harness.confirm(quoteId, movementId, PENDING)
      await harness.update(quoteId, movementId, PENDING)
      await harness.update(quoteId, movementId, outcome)
      await harness.update(quoteId, movementId, PENDING)
      await harness.update(quoteId, movementId, outcome === FAILED ? COMPLETED : FAILED)
      expect((await harness.get(quoteId)).transactionStatus).toBe(outcome)
    }
  })

  it("a quote's transaction can be updated by its own movement only", async () => {
    const { quoteId, movementId } = await fresh()
    await harness.reserve(quoteId, movementId)
    expect(await refusal(harness.update(quoteId, movementId, COMPLETED))).toBe('QUOTE_NOT_FOUND')
    await harness.confirm(quoteId, movementId)
    expect(await refusal(harness.update(quoteId, randomUUID(), COMPLETED))).toBe('QUOTE_NOT_FOUND')
  })
})

describe('reading', () => {
  it('a read finds no quote of another institution or project', async () => {
    const { quoteId } = await fresh()
    const cases = [{ institutionName: 'Other Bank' }, { projectId: randomUUID() }]
    for (const more of cases)
      expect(await refusal(harness.get(quoteId, more))).toBe('QUOTE_NOT_FOUND')
    expect(await refusal(harness.get(randomUUID()))).toBe('QUOTE_NOT_FOUND')
    expect(await refusal(harness.get('quote-1'))).toBe('INVALID_PARAMETER quote_id')
  })

  it('the open reservations of quotes can be read', async () => {
    const text = await harness.registry.metrics()
    expect(text).toMatch(/payweave_quotes_reservations_open [1-9]/)
    expect(text).toMatch(/payweave_quotes_reservation_oldest_seconds [1-9]/)
  })
})
