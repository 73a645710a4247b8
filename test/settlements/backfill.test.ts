// Tests that settlements without an event still reach the ledger, exactly once, under failures on the way.
import { randomUUID } from 'node:crypto'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import {
  PostPaymentSettlementsRequestSchema,
  RetrySettlementRequestSchema,
} from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentEventSchema } from '#gen/payweave/payments/v1/payment_event_pb.js'
import {
  ListSettlementsResponseSchema,
  type Settlement,
  SettlementKind,
} from '#gen/payweave/payments/v1/settlement_pb.js'
import { settlementPostingService } from '../../services/accounts/ledger/api/settlements.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { postSettlements } from '../../services/accounts/ledger/operations/settlement-posting.ts'
import type { RetryOptions } from '../../services/accounts/ledger/operations/settlement-retry.ts'
import { listRefusals, readBackfill } from '../../services/accounts/ledger/store/backfill-store.ts'
import { backfillPage, startBackfill } from '../../services/accounts/ledger/workers/backfill.ts'
import { postEvents } from '../../services/accounts/ledger/workers/settlement-consumer.ts'
import { eventually } from '../support/eventually.ts'

import { type Harness, startHarness } from './harness.ts'

const { PAID } = ChargeOutcome

let harness: Harness

beforeEach(async () => {
  harness = await startHarness()
})
afterEach(() => harness.stop())

/** Makes payments whose receipts, fees and payouts are not published to the ledger. */
async function payTimes(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { payerId } = await harness.one()
    await harness.report(payerId, PAID)
  }
  await eventually(async () => expect((await harness.settlements()).length).toBe(count * 3))
}

async function postedIds(): Promise<string[]> {
  return (await harness.transfers()).map((row) => row.transfer_id)
}

async function settlementIds(): Promise<string[]> {
  return (await harness.settlements()).map((row) => row.settlement_id)
}

const retryOptions = () => ({ ...harness.job, payments: harness.list })

/** Payments whose list is one page. */
function listing(settlements: Settlement[]) {
  const page = create(ListSettlementsResponseSchema, { caughtUp: true })
  return { listSettlements: () => Promise.resolve({ ...page, settlements }) }
}

describe('the backfill', () => {
  it('the backfill posts what was written before the ledger heard of it, page by page', async () => {
    await payTimes(3)
    harness.settle()
    const small = { listSettlements: () => harness.list.listSettlements({ pageSize: 2 }) }
    const first = await backfillPage({ ...harness.job, payments: small })
    expect(first.caughtUp).toBe(false)
    expect(await postedIds()).toHaveLength(2)
    expect((await readBackfill(harness.ledger)).pageToken).toBe((await settlementIds())[1])
    expect(await backfillPage(harness.job)).toEqual({ caughtUp: true })
    expect(await postedIds()).toEqual(await settlementIds())
    expect(await harness.balances()).toEqual({ clearing: -150n, fee_income: 150n })
  })

  it('the backfill posts settlements of which the sum needs more than a bigint', async () => {
    await payTimes(4)
    harness.settle()
    const amountMinor = 10n ** 18n - 1n
    const { settlements } = await harness.list.listSettlements({})
    const kind = SettlementKind.PAYER_RECEIPT
    const receipts = settlements.slice(0, 10).map((one) => ({ ...one, kind, amountMinor }))
    expect(await backfillPage({ ...harness.job, payments: listing(receipts) })).toEqual({
      caughtUp: true,
    })
    const sum = 10n * amountMinor
    expect(await harness.balances()).toEqual({ clearing: -sum, held: sum })
  })

  it('the backfill posts the others of a page of which the tables refuse a settlement', async () => {
    await payTimes(1)
    harness.settle()
    const { settlements } = await harness.list.listSettlements({})
    const [bad, ...good] = settlements
    if (bad === undefined) throw new Error('nothing was made')
    const page = [{ ...bad, transactionId: 'no \u0000 in a text' }, ...good]
    await backfillPage({ ...harness.job, payments: listing(page) })
    expect(await postedIds()).toEqual(good.map(({ settlementId }) => settlementId))
    const refusals = await listRefusals(harness.ledger, 10)
    expect(refusals).toMatchObject([{ settlementId: bad.settlementId }])
  })

  it('the backfill leaves settlements of the last minute for later', async () => {
    await payTimes(1)
    expect(await backfillPage(harness.job)).toEqual({ caughtUp: true })
    expect(await postedIds()).toEqual([])
    harness.settle()
    await backfillPage(harness.job)
    expect(await postedIds()).toEqual(await settlementIds())
  })

  it('the backfill races events and other replicas, and posts each settlement once', async () => {
    await payTimes(10)
    harness.settle()
    const events = await harness.settledEvents()
    const { ledger, job } = harness
    await Promise.all([
      ledger.transaction((tx) => postEvents(tx, events)),
      backfillPage(job),
      backfillPage(job),
      ledger.transaction((tx) => postEvents(tx, events.toReversed())),
    ])
    expect(await postedIds()).toEqual(await settlementIds())
    expect(await harness.balances()).toEqual({ clearing: -500n, fee_income: 500n })
    expect(await readBackfill(ledger)).toMatchObject({ checkedCount: 30n })
  })

  it('the backfill, sent back to the first settlement, looks at all again and posts nothing twice', async () => {
    await payTimes(2)
    harness.settle()
    await backfillPage(harness.job)
    const before = await harness.balances()
    await settlementPostingService(retryOptions(), () => {}).restartBackfill(
      {} as never,
      {} as never,
    )
    await backfillPage(harness.job)
    expect(await harness.balances()).toEqual(before)
    expect(await readBackfill(harness.ledger)).toMatchObject({
      round: 2n,
      checkedCount: 6n,
      postedCount: 0n,
    })
  })

  it('one refused settlement is posted once more when a person asks, and stays refused as long as it cannot be', async () => {
    await payTimes(1)
    harness.settle()
    const { settlements } = await harness.list.listSettlements({})
    const [bad] = settlements
    if (bad === undefined) throw new Error('nothing was made')
    const { settlementId } = bad
    const broken = { ...bad, transactionId: 'no \u0000 in a text' }
    await backfillPage({ ...harness.job, payments: listing([broken]) })
    const retry = (payments: RetryOptions['payments'], id = settlementId) =>
      settlementPostingService({ ...harness.job, payments }, () => {}).retrySettlement(
        create(RetrySettlementRequestSchema, { settlementId: id }),
        {} as never,
      )
    const { refused } = await retry(listing([broken]))
    expect(refused).toMatchObject({ settlementId, projectId: bad.projectId })
    await expect(retry(harness.list, newId())).rejects.toMatchObject({
      reason: 'TRANSFER_NOT_FOUND',
    })
    expect((await retry(harness.list)).refused).toBeUndefined()
    expect(await postedIds()).toEqual([settlementId])
    expect(await listRefusals(harness.ledger, 10)).toEqual([])
    await expect(retry(harness.list)).rejects.toMatchObject({ reason: 'TRANSFER_NOT_FOUND' })
    const audit = {
      name: 'audit_of_retries',
      text: `select target_id, details from access_audit where action = 'retry_settlement'
        order by occurred_at`,
    }
    expect(await harness.ledger.rows(audit, [])).toEqual([
      { target_id: settlementId, details: { state: 'refused' } },
      { target_id: settlementId, details: { state: 'posted' } },
    ])
  })

  it('what the ledger lacks of one payment is posted when a person asks, once, and nothing of others', async () => {
    await payTimes(2)
    const [settlementId = ''] = await settlementIds()
    const young = await harness.list.listSettlements({ settlementId })
    const paymentId = young.settlements[0]?.paymentId ?? ''
    const post = (payments: RetryOptions['payments'], id = paymentId) =>
      settlementPostingService({ ...harness.job, payments }, () => {}).postPaymentSettlements(
        create(PostPaymentSettlementsRequestSchema, { paymentId: id }),
        {} as never,
      )
    const own = await harness.list.listSettlements({ paymentId })
    expect(own.settlements).toHaveLength(3)
    const [bad, ...good] = own.settlements
    if (bad === undefined) throw new Error('nothing was made')
    const broken = [{ ...bad, transactionId: 'no \u0000 in a text' }, ...good]
    expect(await post(listing(broken))).toMatchObject({
      postedCount: 2,
      refused: [{ settlementId: bad.settlementId, projectId: bad.projectId }],
    })
    expect(await listRefusals(harness.ledger, 10)).toHaveLength(1)
    expect(await post(harness.list)).toEqual({ postedCount: 1, refused: [] })
    expect(await listRefusals(harness.ledger, 10)).toEqual([])
    expect(await post(harness.list)).toEqual({ postedCount: 0, refused: [] })
    expect(await postedIds()).toEqual(own.settlements.map((one) => one.settlementId).toSorted())
    const unknown = post(harness.list, randomUUID())
    await expect(unknown).rejects.toMatchObject({ reason: 'PAYMENT_NOT_FOUND' })
    const audit = {
      name: 'audit_of_posting',
      text: `select details from access_audit where action = 'post_payment_settlements'
          and target_id = '${paymentId}' order by occurred_at`,
    }
    const line = (posted: string, refused: string) => ({ details: { posted, refused } })
    const lines = [line('2', '1'), line('1', '0'), line('0', '0')]
    expect(await harness.ledger.rows(audit, [])).toEqual(lines)
  })

  it('the backfill waits for payments to come up', async () => {
    await payTimes(1)
    harness.settle()
    let down = true
    let refused = 0
    const payments = {
      listSettlements: (request: { pageToken?: string }) => {
        if (down) {
          refused += 1
          throw new Failure('SERVICE_UNAVAILABLE', 'payments is down')
        }
        return harness.list.listSettlements(request)
      },
    }
    const pauseMs = { caughtUp: 60_000, failed: 20 }
    const job = startBackfill({ ...harness.job, payments, pauseMs })
    await eventually(() => expect(refused).toBeGreaterThan(1))
    down = false
    await eventually(async () => expect((await postedIds()).length).toBe(3))
    await job.close()
    expect(await postedIds()).toEqual(await settlementIds())
  })
})

describe('the events of settlements', () => {
  it('a refused settlement names its event, in either case of its id', async () => {
    await payTimes(1)
    const [event] = await harness.settledEvents()
    if (event === undefined) throw new Error('nothing was published')
    await harness.ledger.transaction((tx) => postEvents(tx, [event]))
    const { settlements } = fromBinary(PaymentEventSchema, event.payload)
    const other = settlements.map((one) => ({
      ...one,
      settlementId: one.settlementId.toUpperCase(),
      amountMinor: one.amountMinor + 1n,
    }))
    const payload = toBinary(PaymentEventSchema, create(PaymentEventSchema, { settlements: other }))
    const posting = harness.ledger.transaction((tx) => postEvents(tx, [{ ...event, payload }]))
    await expect(posting).rejects.toMatchObject({
      name: 'UnprocessableEvent',
      eventId: event.eventId,
    })
  })

  it('many settlements are posted by statements of a size that costs little', async () => {
    await payTimes(1)
    const [one] = (await harness.settledEvents()).flatMap(
      ({ payload }) => fromBinary(PaymentEventSchema, payload).settlements,
    )
    if (one === undefined) throw new Error('nothing was published')
    const many = Array.from({ length: 300 }, () => ({ ...one, settlementId: newId() }))
    const sizes: number[] = []
    const count = await harness.ledger.transaction((tx) =>
      postSettlements(
        {
          ...tx,
          rows: async (sent, values) => {
            const rows = await tx.rows<never>(sent, values)
            if (sent.name === 'transfer_insert') sizes.push(rows.length)
            return rows
          },
        },
        many,
      ),
    )
    expect(count).toBe(300)
    expect(sizes).toEqual([128, 128, 44])
  })
})

describe('the list of settlements', () => {
  it('the list of settlements is the same as what events carry', async () => {
    await payTimes(1)
    harness.settle()
    const { settlements } = await harness.list.listSettlements({})
    const published = (await harness.settledEvents()).flatMap(
      ({ payload }) => fromBinary(PaymentEventSchema, payload).settlements,
    )
    const inOrder = published.toSorted((a, b) => (a.settlementId < b.settlementId ? -1 : 1))
    expect(settlements).toEqual(inOrder)
  })

  it('the settlements of a project are listed newest first, page after page, by time, and for no other project', async () => {
    await payTimes(2)
    harness.settle()
    const { settlements: all } = await harness.list.listSettlements({})
    const [first, ...others] = all
    if (first === undefined) throw new Error('nothing was made')
    const { projectId } = first
    const listed: typeof all = []
    let pageToken = ''
    do {
      const page = await harness.list.listProjectSettlements({ projectId, pageSize: 2, pageToken })
      listed.push(...page.settlements)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(listed).toEqual(all.toReversed())
    expect(others.length).toBeGreaterThan(2)
    const of = async (more: object) =>
      (await harness.list.listProjectSettlements({ projectId, ...more })).settlements
    const { createTime = { seconds: 0n } } = first
    const before = { ...createTime, seconds: createTime.seconds - 1n }
    expect(await of({ startTime: before })).toEqual(all.toReversed())
    expect(await of({ endTime: before })).toEqual([])
    expect(await of({ projectId: randomUUID() })).toEqual([])
    await expect(of({ pageToken: 'nonsense' })).rejects.toThrow('page_token')
  })

  it('the list of settlements of a time and a connector has all of them by page, none of others, and no fees', async () => {
    await payTimes(3)
    harness.settle()
    const { settlements } = await harness.list.listSettlements({})
    const timesOf = settlements.map(({ createTime }) => createTime)
    const [createdFrom, last] = [timesOf[0], timesOf.at(-1)]
    if (createdFrom === undefined || last === undefined) throw new Error('nothing was made')
    const createdTo = { ...last, seconds: last.seconds + 1n }
    const window = { createdFrom, createdTo, pageSize: 2 }
    const all = async (more: { connector?: string } = {}) => {
      const found: typeof settlements = []
      for (let pageToken = '', isLast = false; !isLast; ) {
        const page = await harness.list.listSettlements({ ...window, ...more, pageToken })
        found.push(...page.settlements)
        pageToken = page.nextPageToken
        isLast = page.caughtUp
      }
      return found
    }
    const byId = (rows: typeof settlements) =>
      rows.toSorted((one, other) => (one.settlementId < other.settlementId ? -1 : 1))
    expect(byId(await all())).toEqual(settlements)
    const moved = settlements.filter(({ kind }) =>
      [SettlementKind.PAYER_RECEIPT, SettlementKind.PAYOUT].includes(kind),
    )
    expect(moved.length).toBeGreaterThan(0)
    expect(moved.length).toBeLessThan(settlements.length)
    expect(byId(await all({ connector: 'simulator' }))).toEqual(moved)
    expect(await all({ connector: 'connector-other' })).toEqual([])
    const later = {
      ...window,
      createdFrom: createdTo,
      createdTo: { ...last, seconds: last.seconds + 2n },
    }
    expect((await harness.list.listSettlements(later)).settlements).toEqual([])
    for (const half of [{ createdFrom }, { createdTo }, { connector: 'simulator' }])
      await expect(harness.list.listSettlements(half)).rejects.toThrow('must be set with')
  })

  it('the list of settlements refuses a page that is too large and an invalid page token', async () => {
    const { listSettlements } = harness.list
    await expect(listSettlements({ pageSize: 1_001 })).rejects.toThrow('page_size')
    await expect(listSettlements({ pageToken: 'x' })).rejects.toThrow('page_token')
  })
})

describe('a settlement that the ledger has otherwise', () => {
  it('a settlement that the ledger has otherwise is rejected permanently, visibly, while the others are posted', async () => {
    await payTimes(1)
    harness.settle()
    const [first = ''] = await settlementIds()
    const { projectId } = harness
    const line = (internal: 'opening' | 'suspense', amountMinor: bigint) => ({
      address: { internal },
      currency: 'USD',
      amountMinor,
    })
    const lines = [line('opening', -1n), line('suspense', 1n)]
    await harness.ledger.transaction((tx) =>
      postTransfer(tx, { projectId, transferId: first, lines }),
    )
    await backfillPage(harness.job)
    expect(await harness.transfers()).toHaveLength(2)
    const refusals = await listRefusals(harness.ledger, 10)
    const reason = expect.stringContaining('LEDGER_CONFLICT') as string
    expect(refusals).toMatchObject([{ settlementId: first, projectId, reason }])
    const gauge = harness.metrics.getSingleMetric('payweave_ledger_settlements_refused')
    expect((await gauge?.get())?.values[0]?.value).toBe(1)
    const events = await harness.settledEvents()
    const posting = harness.ledger.transaction((tx) => postEvents(tx, events))
    await expect(posting).rejects.toMatchObject({ name: 'UnprocessableEvent' })
  })
})
