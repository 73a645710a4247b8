// Tests payments with an unknown outcome, or left by a crashed process: one outcome, never a second execution.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId, randomId } from '#core/identity/id.ts'
import { startInstance } from '#platform/instances/instance.ts'
import { registerInstance } from '#platform/instances/instance-store.ts'
import { leaseToken as tokenOf } from '#platform/instances/lease-token.ts'
import { businessTime } from '#platform/testing/business-time.ts'
import { resolveReview } from '../../services/billing/operations/administer.ts'
import { bringForward, claimKeys } from '../../services/billing/store/bill-store.ts'
import { hasLeases, releaseLeases } from '../../services/billing/store/lease-store.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, order, startHarness } from './harness.ts'

let harness: Harness
beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

const lost = () => Promise.reject(new Failure('TIMEOUT', 'no answer'))
const minuteMs = 60_000

async function only() {
  const [row] = await harness.rows()
  if (row === undefined) throw new Error('there is no payment')
  return row
}

/** The holds of the ledger, in words. */
function holds(): string[] {
  return [...harness.ledger.holds.values()].map(({ state }) => state)
}

describe('a payment that the biller did not answer for', () => {
  it('a payment that the biller did not answer for is pending, repeats as pending, and succeeds by an enquiry with one execution', async () => {
    harness.billers.after = lost
    const idempotencyKey = randomUUID()
    expect((await harness.pay({ idempotencyKey })).bill.state).toBe('pending')
    const again = await harness.pay({ idempotencyKey })
    expect([again.bill.state, again.replayed]).toEqual(['pending', true])
    harness.testClock.advance(31_000)
    await eventually(async () => expect((await only()).state).toBe('succeeded'))
    const end = await harness.pay({ idempotencyKey })
    expect([end.bill.state, end.replayed]).toEqual(['succeeded', true])
    expect(harness.billers.executed).toHaveLength(1)
    await eventually(() => expect(holds()[0]).toBe('posted'))
  })

  it('a payment that the biller did not answer for is enquired about when the test clock of a sandbox moves past the wait, and one under a lease is not', async () => {
    harness.billers.after = lost
    await harness.pay()
    const waiting = await only()
    const leased = order()
    const leaseToken = randomId()
    const ids = { billPaymentId: newId(), transactionId: randomUUID() }
    await claimKeys(harness.db, [{ order: leased, ...ids, leaseToken, leaseMs: minuteMs }])
    const aheadMs = BigInt(120 * minuteMs)
    await businessTime({ db: harness.db, onMoved: bringForward }).advanceClock({ aheadMs })
    await eventually(async () => {
      const rows = await harness.rows()
      expect(rows.find(({ id }) => id === waiting.id)?.state).toBe('succeeded')
    })
    const rows = await harness.rows()
    expect(rows.find(({ id }) => id === ids.billPaymentId)?.state).toBe('claimed')
  })

  it('a payment that the biller never received fails, and can never be executed afterwards', async () => {
    harness.billers.before = lost
    const { bill } = await harness.pay()
    harness.testClock.advance(31_000)
    await eventually(async () => expect((await only()).state).toBe('failed'))
    expect((await only()).failureCode).toBe('UNCONFIRMED_NOT_FOUND')
    harness.billers.before = async () => {}
    const late = await harness.billers.pay(bill.billPaymentId, order())
    expect(late).toEqual({ state: 'not_found' })
    await eventually(() => expect(holds()[0]).toBe('voided'))
    expect(harness.billers.executed).toEqual([])
  })

  it('a payment that the biller did not answer for is never failed by time-outs: after the schedule a person decides', async () => {
    harness.billers.after = lost
    harness.billers.beforeEnquiry = lost
    await harness.pay()
    harness.testClock.advance(31_000)
    await eventually(async () => expect((await only()).enquiries).toBe(1))
    expect((await only()).state).toBe('pending')
    harness.testClock.advance(301_000)
    await eventually(async () => expect((await only()).state).toBe('review'))
    expect(holds()).toEqual(['open'])
  })
})

describe('a person', () => {
  async function inReview() {
    harness.billers.after = lost
    harness.billers.beforeEnquiry = lost
    const { bill } = await harness.pay()
    harness.testClock.advance(31_000)
    await eventually(async () => expect((await only()).enquiries).toBe(1))
    harness.testClock.advance(301_000)
    await eventually(async () => expect((await only()).state).toBe('review'))
    return { projectId: bill.projectId, transactionId: bill.transactionId }
  }
  const actor = { caller: 'internal', requestId: undefined }

  it('a person may find that it was paid', async () => {
    const payment = await inReview()
    const bill = await resolveReview(
      harness.billing,
      actor,
      payment,
      { kind: 'paid' },
      'bank says so',
    )
    expect(bill).toMatchObject({ state: 'succeeded', receiptId: expect.stringMatching(/^PWBP-/) })
    await eventually(() => expect(holds()[0]).toBe('posted'))
    await expect(
      resolveReview(harness.billing, actor, payment, { kind: 'paid' }, 'twice'),
    ).rejects.toMatchObject({ reason: 'REVIEW_NOT_FOUND' })
  })

  it('a person ends a payment although the receipt id that was drawn belongs to another', async () => {
    const payment = await inReview()
    // The unique constraint, as it answers to a draw that is taken. A sequence is not rolled back.
    await harness.asOwner(
      'create sequence billing.draw',
      `create function billing.refuse_first_draw() returns trigger language plpgsql security definer as $$
       begin
         if nextval('billing.draw') = 1 then
           raise unique_violation using constraint = 'bill_payment_receipt_once';
         end if;
         return new;
       end $$`,
      `create trigger refuse_first_draw before update on billing.bill_payment
       for each row when (new.receipt_id is not null) execute function billing.refuse_first_draw()`,
    )
    const decision = { kind: 'paid' } as const
    const bill = await resolveReview(harness.billing, actor, payment, decision, 'bank says so')
    expect(bill).toMatchObject({ state: 'succeeded', receiptId: expect.stringMatching(/^PWBP-/) })
  })

  it('a person may find that it was not', async () => {
    const payment = await inReview()
    const decision = { kind: 'failed', failureCode: 'NOT_RECEIVED' } as const
    const bill = await resolveReview(harness.billing, actor, payment, decision, 'biller says so')
    expect(bill).toMatchObject({ state: 'failed', failureCode: 'NOT_RECEIVED' })
    await eventually(() => expect(holds()[0]).toBe('voided'))
  })

  it('a person may have the back end asked again', async () => {
    const payment = await inReview()
    harness.billers.beforeEnquiry = async () => {}
    await resolveReview(harness.billing, actor, payment, { kind: 'again' }, 'biller is back')
    await eventually(async () => expect((await only()).state).toBe('succeeded'))
    expect(harness.billers.executed).toHaveLength(1)
    const again = resolveReview(harness.billing, actor, payment, { kind: 'again' }, 'twice')
    await expect(again).rejects.toMatchObject({ reason: 'REVIEW_NOT_FOUND' })
  })
})

describe('a process that dies', () => {
  /** A claim whose caller is gone, as far as it had come. */
  async function abandoned(
    step: 'claimed' | 'held' | 'executed' | 'posted',
    leaseToken = randomId(),
  ) {
    const wanted = order()
    const claim = {
      order: wanted,
      billPaymentId: newId(),
      transactionId: randomUUID(),
      leaseToken,
      leaseMs: minuteMs,
    }
    const [claimed] = await claimKeys(harness.db, [claim])
    if (claimed === undefined) throw new Error('the key is taken')
    const { bill } = claimed
    if (step === 'claimed') return wanted
    await harness.ledger.hold(bill)
    if (step === 'held') return wanted
    await harness.billers.pay(bill.billPaymentId, wanted)
    if (step === 'posted') await harness.ledger.post(bill)
    return wanted
  }

  it('a process that dies has its payments recovered at once by another, and one that lives keeps its own', async () => {
    const [dead, living] = [randomUUID(), randomUUID()]
    const sessions = await Promise.all([harness.db.session(), harness.db.session()])
    await registerInstance(sessions[0], dead)
    await registerInstance(sessions[1], living)
    const left = await abandoned('executed', tokenOf(dead))
    const kept = await abandoned('executed', tokenOf(living))
    sessions[0].close()
    const instance = startInstance({
      db: harness.db,
      log: silentLog,
      leases: { exist: hasLeases, release: releaseLeases },
      onDue: harness.billing.notifyEnquiries,
    })
    const stateOf = async (key: string) =>
      (await harness.rows()).find((row) => row.key === key)?.state
    await eventually(async () => expect(await stateOf(left.idempotencyKey)).toBe('succeeded'))
    expect(await stateOf(kept.idempotencyKey)).toBe('claimed')
    expect((await harness.pay(left)).replayed).toBe(true)
    expect(harness.billers.executed).toHaveLength(2)
    await instance.close()
    expect(await hasLeases(harness.db, living)).toBe(true)
    sessions[1].close()
  })

  it('a process that dies before the hold leaves a free key, and no money behind', async () => {
    const wanted = await abandoned('claimed')
    expect((await only()).state).toBe('claimed')
    harness.testClock.advance(minuteMs + 1_000)
    await eventually(async () => expect((await harness.rows()).length).toBe(0))
    await eventually(() => expect(holds()[0]).toBe('voided'))
    expect(harness.billers.executed).toEqual([])
    expect((await harness.pay(wanted)).bill.state).toBe('succeeded')
  })

  it('a process that dies before the hold, while the back end cannot be asked, leaves a failed payment without work', async () => {
    harness.billers.beforeEnquiry = lost
    await abandoned('claimed')
    harness.testClock.advance(minuteMs + 1_000)
    await eventually(async () => expect((await only()).state).toBe('pending'))
    harness.billers.beforeEnquiry = async () => {}
    harness.testClock.advance(31_000)
    await eventually(async () =>
      expect(await only()).toMatchObject({
        state: 'failed',
        failureCode: 'UNCONFIRMED_NOT_FOUND',
        settled: true,
      }),
    )
    await eventually(() => expect(holds()).toEqual(['voided']))
  })

  it('a process that dies before the hold, with nothing on the float, leaves nothing', async () => {
    harness.ledger.hold = async () => false
    const { idempotencyKey } = await abandoned('claimed')
    harness.testClock.advance(minuteMs + 1_000)
    await eventually(async () => expect((await harness.rows()).length).toBe(0))
    await expect(harness.pay({ idempotencyKey })).rejects.toMatchObject({
      reason: 'INSUFFICIENT_FUNDS',
    })
  })

  it('a process that dies between hold and biller leaves a free key and releases the hold', async () => {
    const wanted = await abandoned('held')
    harness.testClock.advance(minuteMs + 1_000)
    await eventually(async () => expect((await harness.rows()).length).toBe(0))
    await eventually(() => expect(holds()[0]).toBe('voided'))
    expect(harness.billers.executed).toEqual([])
    const { bill, replayed } = await harness.pay(wanted)
    expect([bill.state, replayed]).toEqual(['succeeded', false])
    await eventually(() => expect(holds()[1]).toBe('posted'))
    expect(harness.billers.executed).toEqual([bill.billPaymentId])
  })

  it.each([
    ['biller and ledger', 'executed'],
    ['ledger and commit', 'posted'],
  ] as const)(
    'a process that dies between %s leaves a success with one execution',
    async (_, step) => {
      const wanted = await abandoned(step)
      await expect(harness.pay(wanted)).rejects.toMatchObject({
        reason: 'IDEMPOTENCY_KEY_IN_PROGRESS',
      })
      harness.testClock.advance(minuteMs + 1_000)
      await eventually(async () => expect((await only()).state).toBe('succeeded'))
      expect(harness.billers.executed).toHaveLength(1)
      await eventually(() => expect(holds()[0]).toBe('posted'))
      expect((await harness.pay(wanted)).replayed).toBe(true)
    },
  )

  it('a process that dies while others look after its payment writes nothing once it wakes', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    harness.billers.before = async () => {
      asked.resolve()
      await answer.promise
    }
    const sleeping = harness.pay()
    await asked.promise
    harness.testClock.advance(10 * minuteMs)
    await eventually(async () => expect((await harness.rows()).length).toBe(0))
    answer.resolve()
    await expect(sleeping).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(harness.billers.executed).toEqual([])
    expect(await harness.rows()).toEqual([])
    await eventually(() => expect(holds()[0]).toBe('voided'))
  })
})

describe('a payment that lost its lease', () => {
  it('a payment that lost its lease is in progress until the worker that claimed it knows its outcome', async () => {
    const called = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const enquired = Promise.withResolvers<void>()
    const found = Promise.withResolvers<void>()
    harness.billers.before = async () => {
      called.resolve()
      await answer.promise
    }
    harness.billers.beforeEnquiry = async () => {
      enquired.resolve()
      await found.promise
    }
    const sleeping = harness.pay()
    await called.promise
    harness.testClock.advance(minuteMs)
    await enquired.promise
    answer.resolve()
    await expect(sleeping).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' })
    found.resolve()
    await eventually(async () => expect((await only()).state).toBe('succeeded'))
    expect(harness.billers.executed).toHaveLength(1)
  })
})

describe('the ledger', () => {
  it('the ledger receives an outcome again until it confirms, from any worker', async () => {
    let failures = 3
    harness.ledger.before = async (call) => {
      if (call === 'post' && failures-- > 0) throw new Failure('SERVICE_UNAVAILABLE', 'away')
    }
    await harness.pay()
    harness.startProcess()
    await eventually(() => {
      harness.testClock.advance(5_000)
      return holds()[0] === 'posted'
    })
    await eventually(async () => (await only()).settled)
    expect(failures).toBeLessThan(1)
  })
})
