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
  ListSuspenseItemsRequestSchema,
} from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { parseMembership } from '#platform/rpc/auth/roles.ts'
import { type Caller, runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { balanceService } from '../../services/accounts/ledger/api/balances.ts'
import { internalNames } from '../../services/accounts/ledger/domain/lines.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { rollUpAccount } from '../../services/accounts/ledger/store/roll-up-store.ts'
import { type Harness, moving, startHarness } from './harness.ts'

let harness: Harness
let balances: ReturnType<typeof balanceService>
// Without one, a handler takes its caller from the context that it runs in.
const context = undefined as unknown as HandlerContext
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
const bearer: Caller = { kind: 'bearer', name: 'reports' }

/** The console, for a person with a role of the staff, or with a merchant's role in a project. */
function person(membership: string): Caller {
  const memberships = [parseMembership(membership)].filter((one) => one !== undefined)
  const [held] = memberships
  return {
    kind: 'service',
    name: 'console',
    person: { id: 'ama@example.com', memberships },
    ...(held?.projectId !== undefined && { projectId: held.projectId }),
  }
}

const list = (projectId: string, caller = bearer) =>
  runWithContext({ requestId: randomId(), traceparent: newTraceparent(), caller }, async () =>
    balances.listProjectBalances(create(ListProjectBalancesRequestSchema, { projectId }), context),
  )

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

it('a merchant sees their own money, fees and debt; accounts of ours are for the staff', async () => {
  const projectId = randomId()
  const far = { internal: 'clearing' } as const
  const sides = internalNames.filter((name) => name !== far.internal)
  for (const internal of sides) {
    const lines = moving(far, { internal }, 1n, currency)
    await postTransfer(harness.db, { projectId, transferId: newId(), lines })
  }
  await post(projectId, 'opening', 5n)
  const seen = async (caller: Caller) =>
    (await list(projectId, caller)).balances?.map(({ internal }) => internal)
  const own = [
    InternalAccount.UNSPECIFIED,
    InternalAccount.HELD,
    InternalAccount.FEE_INCOME,
    InternalAccount.MERCHANT_RECEIVABLE,
  ]
  expect(await seen(person(`merchant_viewer:${projectId}`))).toEqual(own)
  expect(await seen(person(`merchant_developer:${projectId}`))).toEqual(own)
  expect(await seen({ ...bearer, projectId })).toEqual(own)
  for (const role of ['support', 'finance', 'operator', 'administrator']) {
    expect(await seen(person(role))).toHaveLength(internalNames.length + 1)
    expect(await seen({ ...person(role), projectId })).toHaveLength(internalNames.length + 1)
  }
  await expect(list(projectId, person(`merchant_viewer:${randomId()}`))).rejects.toMatchObject({
    reason: 'PERMISSION_DENIED',
  })
})

it('money in suspense is listed by payment, the oldest first, until it has left', async () => {
  const projectId = randomId()
  const into = async (paymentId: string, amountMinor: bigint) => {
    const transferId = newId()
    const lines = moving({ internal: 'clearing' }, { internal: 'suspense' }, amountMinor, currency)
    const metadata = { kind: 'late_receipt', payment_id: paymentId }
    const details = {
      reference: `order ${paymentId}`,
      description: '',
      method: 'payment',
      metadata,
    }
    await postTransfer(harness.db, { projectId, transferId, lines, details })
    harness.clock.advance(60_000)
    return transferId
  }
  const items = async (transferId = '') => {
    const wanted = create(ListSuspenseItemsRequestSchema, { transferId })
    return (await balances.listSuspenseItems(wanted, context)).items
      ?.filter((one) => one.projectId === projectId)
      .map(({ transferId, paymentId, reference, amount }) => [
        transferId,
        paymentId,
        reference,
        amount?.minorUnits,
      ])
  }
  const first = await into('first', 50n)
  const second = await into('second', 70n)
  const more = await into('first', 5n)
  expect(await items()).toEqual([
    [first, 'first', 'order first', 55n],
    [second, 'second', 'order second', 70n],
  ])
  expect(await items(first)).toEqual([[first, 'first', 'order first', 55n]])
  expect(await items(second)).toEqual([[second, 'second', 'order second', 70n]])
  for (const none of [more, randomId()]) expect(await items(none)).toEqual([])
  await into('first', -55n)
  expect(await items(first)).toEqual([])
  expect(await items()).toEqual([[second, 'second', 'order second', 70n]])
  await into('second', -70n)
  expect(await items()).toEqual([])
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
