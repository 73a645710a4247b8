// Tests the balances and statements that people see, on a real database.

import { create } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import {
  ListFloatPostingsRequestSchema,
  ListOpenBalancesRequestSchema,
  ListProjectBalancesRequestSchema,
} from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { balanceService } from '../../services/accounts/ledger/api/balances.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { rollUpAccount } from '../../services/accounts/ledger/store/roll-up-store.ts'
import { type Harness, moving, startHarness } from './harness.ts'

let harness: Harness
let balances: ReturnType<typeof balanceService>
const context = {} as HandlerContext
beforeAll(async () => {
  harness = await startHarness()
  balances = balanceService(harness.db)
})
afterAll(() => harness?.close())

const currency = 'USD'
const post = (projectId: string, from: 'opening' | 'clearing', amountMinor: bigint) =>
  postTransfer(harness.db, {
    projectId,
    transferId: newId(),
    lines: moving({ internal: from }, { floatProjectId: projectId }, amountMinor, currency),
  })
const list = (projectId: string) =>
  balances.listProjectBalances(create(ListProjectBalancesRequestSchema, { projectId }), context)

it('a project has a balance for its float and each account of ours, rolled up or not', async () => {
  const projectId = randomId()
  await post(projectId, 'opening', 500n)
  await rollUpAccount(harness.db, { projectId, internal: 'opening', currency }, 10)
  await post(projectId, 'opening', 20n)
  await post(projectId, 'clearing', 3n)
  const of = (internal: InternalAccount, minorUnits: bigint) => ({
    projectId,
    internal,
    posted: { currency, minorUnits },
  })
  expect((await list(projectId)).balances).toMatchObject([
    of(InternalAccount.UNSPECIFIED, 523n),
    of(InternalAccount.CLEARING, -3n),
    of(InternalAccount.OPENING, -520n),
  ])
  expect((await list(randomId())).balances).toEqual([])
})

it('money in suspense is listed over all projects until it is gone', async () => {
  const projectId = randomId()
  const move = (amountMinor: bigint) =>
    postTransfer(harness.db, {
      projectId,
      transferId: newId(),
      lines: moving({ internal: 'clearing' }, { internal: 'suspense' }, amountMinor, currency),
    })
  const open = async (internal: InternalAccount) =>
    (
      await balances.listOpenBalances(create(ListOpenBalancesRequestSchema, { internal }), context)
    ).balances?.filter((one) => one.projectId === projectId)
  await move(70n)
  expect(await open(InternalAccount.SUSPENSE)).toMatchObject([{ posted: { minorUnits: 70n } }])
  expect(await open(InternalAccount.REFUNDS_UNPAID)).toEqual([])
  await expect(open(InternalAccount.CLEARING)).rejects.toMatchObject({
    reason: 'INVALID_PARAMETER',
  })
  await move(-70n)
  expect(await open(InternalAccount.SUSPENSE)).toEqual([])
})

it('the statement of a float has its lines newest first, page after page, within a time', async () => {
  const projectId = randomId()
  for (const amountMinor of [1n, 2n, 3n]) {
    await post(projectId, 'opening', amountMinor)
    harness.clock.advance(60_000)
  }
  const read = (more: object) =>
    balances.listFloatPostings(
      create(ListFloatPostingsRequestSchema, { projectId, pageSize: 2, ...more }),
      context,
    )
  const first = await read({})
  const amounts = (page: Awaited<ReturnType<typeof read>>) =>
    page.postings?.map(({ amount }) => amount?.minorUnits)
  expect(amounts(first)).toEqual([3n, 2n])
  expect(first.postings?.every(({ cleared }) => cleared)).toBe(true)
  const second = await read({ pageToken: first.nextPageToken })
  expect([amounts(second), second.nextPageToken]).toEqual([[1n], ''])
  const [, middle] = first.postings ?? []
  const ms = timestampDate(middle?.time as never).getTime()
  const around = {
    startTime: timestampFromDate(new Date(ms - 1_000)),
    endTime: timestampFromDate(new Date(ms + 1_000)),
  }
  expect(amounts(await read(around))).toEqual([2n])
  await expect(read({ pageToken: 'unknown' })).rejects.toMatchObject({
    reason: 'INVALID_PARAMETER',
  })
})
