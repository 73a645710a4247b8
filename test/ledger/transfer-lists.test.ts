// Tests the list of a project's transfers, on a real database.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import { InternalAccount, ListTransfersRequestSchema } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Queryable, Sql } from '#platform/db/db.ts'
import { ledgerService } from '../../services/accounts/ledger/api/ledger.ts'
import type { Address } from '../../services/accounts/ledger/domain/lines.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import { postTransfer, reverseTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { listTransfers } from '../../services/accounts/ledger/operations/transfer-list.ts'
import {
  type Harness,
  moving,
  newAccount,
  newShop,
  type Shop,
  startHarness,
  statement,
} from './harness.ts'

let harness: Harness
let ledger: ReturnType<typeof ledgerService>
let shop: Shop
// Without one, a handler takes its caller from the context that it runs in.
const context = undefined as unknown as HandlerContext
beforeAll(async () => {
  harness = await startHarness()
  const { db } = harness
  const writer = batchingLedger(db)
  ledger = ledgerService({ db, writer, checkDb: db })
})
afterAll(() => harness?.close())
beforeEach(async () => {
  shop = await newShop(harness.db)
})

const clearing: Address = { internal: 'clearing' }
const held: Address = { internal: 'held' }

/** Posts a transfer a second after the one before. */
async function post(method: string, reference: string, from = clearing, to = held, minor = 5n) {
  harness.clock.advance(1_000)
  const transferId = newId()
  const { projectId } = shop
  const details = { reference, method, metadata: { payment_id: 'one' } }
  await postTransfer(harness.db, { projectId, transferId, lines: moving(from, to, minor), details })
  return transferId
}

async function page(wanted: MessageInitShape<typeof ListTransfersRequestSchema> = {}) {
  const { projectId } = shop
  const listed = await ledger.listTransfers(
    create(ListTransfersRequestSchema, { projectId, ...wanted }),
    context,
  )
  return { transfers: listed.transfers ?? [], next: listed.nextPageToken ?? '' }
}

async function ids(wanted: MessageInitShape<typeof ListTransfersRequestSchema> = {}) {
  const found: (string | undefined)[] = []
  let pageToken = ''
  do {
    const { transfers, next } = await page({ ...wanted, pageToken })
    found.push(...transfers.map(({ transferId }) => transferId))
    pageToken = next
  } while (pageToken !== '')
  return found
}

it('the transfers of a project are listed whole, newest first, page after page', async () => {
  const other = shop
  await post('payment', 'theirs')
  shop = await newShop(harness.db)
  const first = await post('payment', 'order-1')
  const second = await post('bill_payment', 'bill_1')
  harness.clock.advance(1_000)
  const third = newId()
  const reversal = { projectId: shop.projectId, transferId: third, reversesId: first }
  await reverseTransfer(harness.db, { ...reversal, description: 'a mistake' })
  for (const pageSize of [1, 2, 3, 50])
    expect(await ids({ pageSize })).toEqual([third, second, first])
  const { transfers } = await page()
  expect(transfers).toMatchObject([
    { reversesId: first, details: { description: 'a mistake' } },
    { details: { method: 'bill_payment', reference: 'bill_1' } },
    {
      projectId: shop.projectId,
      reversedById: third,
      details: { metadata: { payment_id: 'one' } },
      postings: [{ amount: { minorUnits: -5n } }, { amount: { minorUnits: 5n } }],
    },
  ])
  expect(await ids({ projectId: other.projectId })).toHaveLength(1)
  expect(await ids({ projectId: randomId() })).toEqual([])
})

it('transfers are listed by account, type, reference and time', async () => {
  const accountId = await newAccount(harness.db, shop, { amountMinor: 500n })
  const [opened] = await ids()
  const receipt = await post('payment', 'order-1')
  const fee = await post('payment', 'order-1', held, { internal: 'fee_income' }, 1n)
  const sent = await post('p2p', 'order-2', { accountId }, clearing)
  const float = { floatProjectId: shop.projectId }
  const filled = await post('float', 'order-3', clearing, float, 9n)
  const internal = (value: InternalAccount) => ({ case: 'internal' as const, value })
  const account = { case: 'accountId' as const, value: accountId.toUpperCase() }
  expect(await ids({ account })).toEqual([sent, opened])
  expect(await ids({ account, pageSize: 1 })).toEqual([sent, opened])
  expect(await ids({ account, method: 'p2p' })).toEqual([sent])
  expect(await ids({ account, reference: 'order-1' })).toEqual([])
  expect(await ids({ account: { case: 'projectFloat', value: true } })).toEqual([filled])
  expect(await ids({ account: internal(InternalAccount.FEE_INCOME) })).toEqual([fee])
  expect(await ids({ account: internal(InternalAccount.HELD) })).toEqual([fee, receipt])
  expect(await ids({ account: internal(InternalAccount.FX_ROUNDING) })).toEqual([])
  expect(await ids({ method: 'payment', pageSize: 1 })).toEqual([fee, receipt])
  expect(await ids({ reference: 'order-1', pageSize: 1 })).toEqual([fee, receipt])
  expect(await ids({ reference: 'order-1', account: internal(InternalAccount.CLEARING) })).toEqual([
    receipt,
  ])
  expect(await ids({ reference: 'order' })).toEqual([])
  const [{ postTime } = {}] = (await page({ method: 'p2p' })).transfers
  const ms = timestampDate(postTime as never).getTime()
  const startTime = timestampFromDate(new Date(ms - 500))
  const endTime = timestampFromDate(new Date(ms + 500))
  expect(await ids({ startTime })).toEqual([filled, sent])
  expect(await ids({ startTime, endTime })).toEqual([sent])
  expect(await ids({ endTime, account })).toEqual([sent, opened])
})

it('accounts of others and tokens of others are refused', async () => {
  const stranger = await newAccount(harness.db, await newShop(harness.db), { amountMinor: 5n })
  await expect(page({ account: { case: 'accountId', value: stranger } })).rejects.toMatchObject({
    reason: 'LEDGER_ACCOUNT_NOT_FOUND',
  })
  await expect(page({ pageToken: 'unknown' })).rejects.toMatchObject({
    reason: 'INVALID_PARAMETER',
  })
})

it('a filter that few transfers match reads a limited part of them for each page', async () => {
  const rare = await post('float', 'order-1')
  for (let n = 0; n < 5; n++) await post('payment', `order-${n}`)
  const wanted = {
    projectId: shop.projectId,
    account: undefined,
    method: 'float',
    reference: '',
    startUs: 0n,
    endUs: undefined,
    limit: 10,
    scan: 2,
  }
  const pages: string[][] = []
  let pageToken = ''
  do {
    const read = await listTransfers(harness.db, { ...wanted, pageToken })
    pages.push(read.transfers.map(({ transferId }) => transferId))
    pageToken = read.nextPageToken
  } while (pageToken !== '')
  expect(pages).toEqual([[], [], [rare], []])
})

it('each list of transfers is read in the order of an index', async () => {
  const accountId = await newAccount(harness.db, shop, { amountMinor: 5n })
  const plans: string[] = []
  const explain = async ({ text }: Sql, values: unknown[]) => {
    const rows = await harness.db.rows<{ 'QUERY PLAN': string }>(
      statement(`explain ${text}`),
      values,
    )
    plans.push(rows.map((line) => line['QUERY PLAN']).join('\n'))
    return []
  }
  const q: Queryable = { rows: explain, row: async () => undefined, run: async () => 0 }
  const base = { projectId: shop.projectId, method: '', startUs: 0n, endUs: undefined, limit: 10 }
  const more = { account: undefined, reference: '', pageToken: '' }
  await listTransfers(q, { ...base, ...more })
  await listTransfers(q, { ...base, ...more, reference: 'order-1' })
  await listTransfers(q, { ...base, ...more, account: { accountId } })
  expect(plans.map((plan) => plan.includes('Seq Scan'))).toEqual([false, false, false])
  expect(plans[0]).toContain('transfer_newest')
  expect(plans[1]).toContain('transfer_of_reference')
  expect(plans[2]).toContain('posting_of_holder')
})
