// One payment and one execution for a key: repeats, conflicts, races, refusals that keep nothing.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, order, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
afterEach(() => {
  harness.billers.decides = () => ({ state: 'paid', providerReference: 'p' })
  harness.billers.before = async () => {}
  harness.billers.after = async () => {}
  harness.ledger.before = async () => {}
})

async function rowOf(key: string) {
  return (await harness.rows()).find((row) => row.key === key)
}

function reasonOf(error: unknown): string {
  return error instanceof Failure ? error.reason : String(error)
}

describe('a bill payment', () => {
  it('a bill payment is executed once, has a receipt, and its money goes to the biller', async () => {
    const { bill, replayed } = await harness.pay()
    expect(replayed).toBe(false)
    expect(bill).toMatchObject({
      state: 'succeeded',
      receiptId: expect.stringMatching(/^PWBP-[A-Z0-9]{8}$/),
    })
    expect(harness.billers.executed).toContain(bill.billPaymentId)
    await eventually(() =>
      expect(harness.ledger.holds.get(bill.billPaymentId)?.state).toBe('posted'),
    )
  })

  it('a bill payment that the biller refuses fails with its code, and its hold is released', async () => {
    harness.billers.decides = () => ({
      state: 'refused',
      failureCode: 'BILL_ALREADY_PAID',
      retryCategory: 'NON_RETRIABLE',
      providerReference: '',
    })
    const { bill } = await harness.pay()
    expect(bill).toMatchObject({
      state: 'failed',
      failureCode: 'BILL_ALREADY_PAID',
      retryCategory: 'NON_RETRIABLE',
      receiptId: undefined,
    })
    await eventually(() =>
      expect(harness.ledger.holds.get(bill.billPaymentId)?.state).toBe('voided'),
    )
  })

  it('a bill payment whose hold request was queued for too long requests it once more', async () => {
    let asked = 0
    harness.ledger.before = async (call) => {
      if (call !== 'hold') return
      asked += 1
      if (asked === 1) throw new Failure('TIMEOUT', 'the database took too long')
    }
    const { bill } = await harness.pay()
    expect([bill.state, asked]).toEqual(['succeeded', 2])
    await eventually(() =>
      expect(harness.ledger.holds.get(bill.billPaymentId)?.state).toBe('posted'),
    )
  })

  it('a repeated bill payment returns its current state, even after the catalogue changed', async () => {
    const idempotencyKey = randomUUID()
    const first = await harness.pay({ idempotencyKey })
    const again = await harness.pay({ idempotencyKey })
    expect(again).toEqual({ bill: first.bill, replayed: true })
    const unknown = await harness.pay({ idempotencyKey, billerCode: 'GONE' })
    expect(unknown.bill.transactionId).toBe(first.bill.transactionId)
  })

  it('a bill payment is refused under a key that another body has taken, also when that one could not be paid', async () => {
    const idempotencyKey = randomUUID()
    await harness.pay({ idempotencyKey })
    const fingerprint = Buffer.alloc(32, 2)
    await expect(harness.pay({ idempotencyKey, fingerprint })).rejects.toMatchObject({
      reason: 'IDEMPOTENCY_KEY_CONFLICT',
    })
    await expect(
      harness.pay({ idempotencyKey, fingerprint, amountMinor: 1n }),
    ).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_CONFLICT' })
  })

  it('idempotency keys of bill payments are separate for each project', async () => {
    const idempotencyKey = randomUUID()
    const first = await harness.pay({ idempotencyKey })
    const other = await harness.pay({ idempotencyKey, projectId: randomUUID() })
    expect(other.replayed).toBe(false)
    expect(other.bill.transactionId).not.toBe(first.bill.transactionId)
  })

  it('a bill payment is made once by thirty calls at the same time', async () => {
    const idempotencyKey = randomUUID()
    const before = harness.billers.executed.length
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, () => harness.pay({ idempotencyKey })),
    )
    const won = results.filter((result) => result.status === 'fulfilled')
    const lost = results.filter((result) => result.status === 'rejected')
    expect(won.filter(({ value }) => !value.replayed)).toHaveLength(1)
    expect(new Set(won.map(({ value }) => value.bill.transactionId)).size).toBe(1)
    expect(new Set(lost.map(({ reason }) => reasonOf(reason)))).toEqual(
      new Set(lost.length === 0 ? [] : ['IDEMPOTENCY_KEY_IN_PROGRESS']),
    )
    expect(harness.billers.executed.length - before).toBe(1)
  })

  it('a bill payment in flight is reported as in flight to a repeat', async () => {
    const idempotencyKey = randomUUID()
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    harness.billers.before = async () => {
      asked.resolve()
      await answer.promise
    }
    const first = harness.pay({ idempotencyKey })
    await asked.promise
    await expect(harness.pay({ idempotencyKey })).rejects.toMatchObject({
      reason: 'IDEMPOTENCY_KEY_IN_PROGRESS',
      retryAfterS: 1,
    })
    answer.resolve()
    expect((await first).bill.state).toBe('succeeded')
  })

  it.each([
    ['BILLER_NOT_FOUND', { billerCode: 'NOBODY' }],
    ['PRODUCT_NOT_FOUND', { productCode: 'NOTHING' }],
    ['CURRENCY_NOT_SUPPORTED', { currency: 'EUR' }],
    ['AMOUNT_OUT_OF_RANGE', { amountMinor: 99n }],
    ['AMOUNT_OUT_OF_RANGE', { amountMinor: 500_001n }],
    ['CUSTOMER_REFERENCE_INVALID', { customerReference: '1234567' }],
    ['CUSTOMER_REFERENCE_INVALID', { customerReference: '1234567890123' }],
    ['CUSTOMER_REFERENCE_INVALID', { customerReference: '12345678\n' }],
    ['AMOUNT_OUT_OF_RANGE', { billerCode: 'DEMO_WATER', productCode: 'BILL', amountMinor: 2_501n }],
  ] as const)('a bill payment is refused with %s and keeps nothing', async (reason, changed) => {
    const wanted = order(changed)
    // Outcomes of other tests' payments may still be sent to the ledger.
    const keys = async () => (await harness.rows()).map(({ key }) => key)
    const before = await keys()
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason })
    expect(await keys()).toEqual(before)
  })
})

describe('a key whose payment was refused', () => {
  it('a key whose payment was refused can be used for another one', async () => {
    const poor = await startHarness({ fundsMinor: 2_000n })
    try {
      const idempotencyKey = randomUUID()
      await expect(poor.pay({ idempotencyKey, amountMinor: 2_001n })).rejects.toMatchObject({
        reason: 'INSUFFICIENT_FUNDS',
      })
      const { bill } = await poor.pay({ idempotencyKey, fingerprint: Buffer.alloc(32, 9) })
      expect(bill.state).toBe('succeeded')
    } finally {
      await poor.stop()
    }
  })
})

describe('the table', () => {
  it('the table of bill payments lets no end be changed and no payment be deleted', async () => {
    const { bill } = await harness.pay()
    const { db } = harness
    const run = (name: string, text: string) => db.run({ name, text }, [bill.billPaymentId])
    await expect(
      run(
        'test_bill_change',
        `update bill_payment set state = 'pending', receipt_id = null,
        link_token_hash = null, end_time = null where bill_payment_id = $1`,
      ),
    ).rejects.toThrow('never changes')
    await expect(
      run('test_bill_delete', 'delete from bill_payment where bill_payment_id = $1'),
    ).rejects.toThrow('kept for ever')
  })

  it('the table of bill payments keeps no document number', async () => {
    const idempotencyKey = randomUUID()
    await harness.pay({ idempotencyKey, idType: 'NID', idNumber: 'CANARY-77' })
    const statement = {
      name: 'test_bill_canary',
      text: 'select count(*)::integer as found from bill_payment b where b::text like $1',
    }
    const row = await harness.db.row<{ found: number }>(statement, ['%CANARY-77%'])
    expect(row?.found).toBe(0)
    expect(await rowOf(idempotencyKey)).toBeDefined()
  })
})
