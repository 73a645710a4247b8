// Tests payments that no biller received: their key is free at once, the repeat pays once, and no hold is left.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Failure, invalid } from '#core/errors/errors.ts'
import { sql } from '#platform/db/db.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, order, startHarness } from './harness.ts'

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

const unreachable = () =>
  Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'away', { cause: new NotSent() }))
const broken = () => Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'the connection broke'))
const late = () => Promise.reject(new Failure('TIMEOUT', 'no answer'))
const works = async () => {}
const minuteMs = 60_000

const abandonedStatement = sql(
  'test_abandoned',
  'select count(*)::integer as count from abandoned_hold',
)

async function abandoned(): Promise<number> {
  return (await harness.db.row<{ count: number }>(abandonedStatement, []))?.count ?? 0
}

/** The holds of the ledger, in words. */
function holds(): string[] {
  return [...harness.ledger.holds.values()].map(({ state }) => state)
}

/** Makes the same call again, which must pay, once and from the float. */
async function repeat(wanted: ReturnType<typeof order>): Promise<void> {
  const { bill, replayed } = await harness.pay(wanted)
  expect([bill.state, replayed]).toEqual(['succeeded', false])
  expect(harness.billers.executed).toEqual([bill.billPaymentId])
  expect((await harness.rows()).map(({ id, state }) => [id, state])).toEqual([
    [bill.billPaymentId, 'succeeded'],
  ])
  await eventually(() => expect(harness.ledger.holds.get(bill.billPaymentId)?.state).toBe('posted'))
  harness.testClock.advance(3 * minuteMs)
  await eventually(async () => expect(await abandoned()).toBe(0))
  expect(holds().filter((state) => state === 'posted')).toHaveLength(1)
  expect(holds()).not.toContain('open')
}

describe('a payment whose biller cannot be reached', () => {
  it('a payment whose biller cannot be reached is refused, its hold is void, and the same key pays at once', async () => {
    harness.billers.before = unreachable
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(await harness.rows()).toEqual([])
    expect(holds()).toEqual(['voided'])
    harness.billers.before = works
    await repeat(wanted)
  })

  it('a payment whose biller cannot be reached leaves the key to another body as well', async () => {
    harness.billers.before = unreachable
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toThrow('away')
    harness.billers.before = works
    await repeat({ ...wanted, amountMinor: 3_000n, fingerprint: Buffer.alloc(32, 2) })
  })

  it('a payment whose biller cannot be reached gives the money back before it answers: a repeat needs no more than that', async () => {
    const poor = await startHarness({ fundsMinor: 2_000n })
    try {
      poor.billers.before = unreachable
      const wanted = order({ amountMinor: 2_000n })
      await expect(poor.pay(wanted)).rejects.toThrow('away')
      poor.billers.before = works
      expect((await poor.pay(wanted)).bill.state).toBe('succeeded')
    } finally {
      await poor.stop()
    }
  })

  it('a payment whose biller cannot be reached keeps its hold noted while the ledger is away, and frees the key all the same', async () => {
    harness.billers.before = unreachable
    harness.ledger.before = async (call) => {
      if (call === 'release') await broken()
    }
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toThrow('away')
    expect([await harness.rows(), await abandoned(), holds()]).toEqual([[], 1, ['open']])
    harness.billers.before = works
    expect((await harness.pay(wanted)).bill.state).toBe('succeeded')
    harness.ledger.before = works
    harness.startProcess()
    harness.testClock.advance(2 * minuteMs)
    await eventually(async () => expect(await abandoned()).toBe(0))
    // Another worker posts the hold of the payment that succeeded.
    await eventually(() => expect(holds().toSorted()).toEqual(['posted', 'voided']))
  })

  it('a payment whose biller cannot be reached and whose connection broke is pending, since the biller may have it', async () => {
    harness.billers.before = broken
    const wanted = order()
    expect((await harness.pay(wanted)).bill.state).toBe('pending')
    expect(holds()).toEqual(['open'])
    expect((await harness.pay(wanted)).replayed).toBe(true)
  })

  it('a payment whose biller cannot be reached frees its key as soon as the database can be written again', async () => {
    const { run } = harness.db
    harness.billers.before = unreachable
    harness.db.run = (statement, values) =>
      statement.name === 'bill_abandon' ? broken() : run(statement, values)
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toThrow('away')
    await expect(harness.pay(wanted)).rejects.toMatchObject({
      reason: 'IDEMPOTENCY_KEY_IN_PROGRESS',
    })
    expect(holds()).toEqual(['open'])
    harness.db.run = run
    await eventually(async () => expect((await harness.rows()).length).toBe(0))
    await eventually(() => expect(holds()[0]).toBe('voided'))
    harness.billers.before = works
    await repeat(wanted)
  })
})

describe('a payment whose claim', () => {
  it('a payment whose claim was written, while the answer of the database was lost, leaves its key free', async () => {
    const { rows } = harness.db
    harness.db.rows = async <T>(...query: Parameters<typeof rows>) => {
      const found = await rows<T>(...query)
      return query[0].name === 'bill_claim' ? broken() : found
    }
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    harness.db.rows = rows
    expect(await harness.rows()).toEqual([])
    await repeat(wanted)
  })
})

describe('a payment whose ledger', () => {
  it('a payment whose ledger cannot be reached leaves nothing, and the same key pays at once', async () => {
    harness.ledger.before = unreachable
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect([await harness.rows(), await abandoned()]).toEqual([[], 0])
    harness.ledger.before = works
    await repeat(wanted)
  })

  it.each([
    ['does not answer', late, 'TIMEOUT'],
    ['breaks the connection', broken, 'SERVICE_UNAVAILABLE'],
  ])(
    'a payment whose ledger %s, having made the hold, frees the key and voids it',
    async (_, fails, reason) => {
      harness.ledger.afterHold = fails
      const wanted = order()
      await expect(harness.pay(wanted)).rejects.toMatchObject({ reason })
      harness.ledger.afterHold = works
      await repeat(wanted)
      expect(holds().toSorted()).toEqual(['posted', 'voided'])
    },
  )

  it('a payment whose ledger gets the request for the hold late finds the hold void', async () => {
    const arrives = Promise.withResolvers<void>()
    const { hold } = harness.ledger
    const lost: Promise<boolean>[] = []
    harness.ledger.hold = async (money) => {
      lost.push(arrives.promise.then(() => hold(money)))
      return await late()
    }
    const wanted = order()
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason: 'TIMEOUT' })
    harness.ledger.hold = hold
    await repeat(wanted)
    arrives.resolve()
    await Promise.all(lost)
    expect(holds()).not.toContain('open')
  })

  it('a ledger that refuses to make a hold is called until no request for that hold can come any more', async () => {
    const poor = await startHarness({ fundsMinor: 0n })
    try {
      const { hold } = poor.ledger
      const count = async () =>
        (await poor.db.row<{ count: number }>(abandonedStatement, []))?.count ?? 0
      poor.ledger.hold = late
      await expect(poor.pay()).rejects.toMatchObject({ reason: 'TIMEOUT' })
      let refused = 0
      poor.ledger.hold = async (money) => {
        const isMade = await hold(money)
        if (!isMade) refused += 1
        return isMade
      }
      await eventually(() => expect(refused).toBeGreaterThan(0))
      expect(await count()).toBe(1)
      // The late request is carried out now: the float has more.
      poor.ledger.fund(2_000n)
      poor.testClock.advance(minuteMs)
      await eventually(async () => expect(await count()).toBe(0))
      expect([...poor.ledger.holds.values()].map(({ state }) => state)).toEqual(['voided'])

      poor.ledger.fund(-2_000n)
      poor.ledger.hold = late
      await expect(poor.pay()).rejects.toMatchObject({ reason: 'TIMEOUT' })
      poor.ledger.hold = hold
      poor.testClock.advance(3 * minuteMs)
      await eventually(async () => expect(await count()).toBe(0))
    } finally {
      await poor.stop()
    }
  })

  it('a hold that was never made, and whose expiry has passed, is forgotten once no request for it can come any more', async () => {
    let refused = 0
    harness.ledger.hold = late
    await expect(harness.pay()).rejects.toMatchObject({ reason: 'TIMEOUT' })
    harness.ledger.hold = () => {
      refused += 1
      return Promise.reject(invalid('expire_time', 'must be in the future'))
    }
    await eventually(() => expect(refused).toBeGreaterThan(0))
    expect(await abandoned()).toBe(1)
    harness.testClock.advance(3 * minuteMs)
    await eventually(async () => expect(await abandoned()).toBe(0))
  })

  it('a hold that the ledger refuses for any other reason stays noted', async () => {
    let refused = 0
    harness.ledger.hold = late
    await expect(harness.pay()).rejects.toMatchObject({ reason: 'TIMEOUT' })
    harness.ledger.hold = () => {
      refused += 1
      return Promise.reject(invalid('amount', 'must be positive'))
    }
    await eventually(() => expect(refused).toBeGreaterThan(0))
    const before = refused
    harness.testClock.advance(3 * minuteMs)
    // The first of them is late, and does not forget it.
    await eventually(() => expect(refused).toBeGreaterThan(before + 1))
  })
})
