// Tests the list of a project's bill payments, on a real database.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  BillPaymentState,
  ListBillPaymentsRequestSchema,
} from '#gen/payweave/billing/v1/billing_pb.js'
import { sql } from '#platform/db/db.ts'
import { idsOfTimes } from '#platform/db/id-times.ts'
import { billingService } from '../../services/billing/api/billing.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
let service: ReturnType<typeof billingService>
const { SUCCESS, FAILED, PENDING } = BillPaymentState
// Without one, a handler takes its caller from the context that it runs in.
const context = undefined as unknown as HandlerContext
const paid: string[] = []

beforeAll(async () => {
  harness = await startHarness()
  service = billingService(harness.billing, { publicBaseUrl: 'http://127.0.0.1', isSandbox: false })
  for (const state of ['paid', 'refused', 'paid', 'paid'] as const) {
    harness.billers.decides = () =>
      state === 'paid'
        ? { state, providerReference: 'reference' }
        : {
            state,
            failureCode: 'BILL_ALREADY_PAID',
            retryCategory: 'NON_RETRIABLE',
            providerReference: 'reference',
          }
    paid.push((await harness.pay({ externalReference: state })).bill.transactionId)
    // A bill may take less than a millisecond, and times and ids are in milliseconds.
    const paidMs = Date.now()
    await eventually(() => Date.now() > paidMs)
  }
})
afterAll(() => harness?.stop())

const page = (more: object) =>
  service.listBillPayments(
    create(ListBillPaymentsRequestSchema, { projectId: harness.projectId, ...more }),
    context,
  )

async function listAll(more: object): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = []
  let pageToken = ''
  do {
    const { payments = [], nextPageToken = '' } = await page({ pageSize: 1, ...more, pageToken })
    found.push(...payments.map(({ transactionId }) => transactionId))
    pageToken = nextPageToken
  } while (pageToken !== '')
  return found
}

it('the bill payments of a project are listed newest first, page after page, and by state', async () => {
  const [first, second, third, fourth] = paid
  expect(await listAll({})).toEqual([fourth, third, second, first])
  expect(await listAll({ pageSize: 3 })).toEqual([fourth, third, second, first])
  expect(await listAll({ state: SUCCESS })).toEqual([fourth, third, first])
  expect(await listAll({ state: FAILED })).toEqual([second])
  expect(await listAll({ state: PENDING })).toEqual([])
  expect((await page({ state: FAILED })).payments).toMatchObject([
    { state: FAILED, failureCode: 'BILL_ALREADY_PAID', externalReference: 'refused' },
  ])
})

it('the bill payments of a project are listed by the time of their creation', async () => {
  const [, second, third] = paid
  const { payments = [] } = await page({})
  const [fourth, , secondTime] = payments.map(({ createTime }) => createTime)
  const window = { startTime: secondTime, endTime: fourth }
  expect(await listAll(window)).toEqual([third, second])
  expect(await listAll({ ...window, state: SUCCESS })).toEqual([third])
  expect(await listAll({ startTime: timestampFromDate(new Date('2999-01-01')) })).toEqual([])
  expect(await listAll({ endTime: timestampFromDate(new Date('1969-01-01')) })).toEqual([])
  expect(await listAll({ startTime: timestampFromDate(new Date('0001-01-01')) })).toHaveLength(4)
  // Business time that is ahead of the ids.
  const ahead = new Date(Date.now() + 365 * 86_400_000)
  expect(await listAll({ endTime: timestampFromDate(ahead) })).toHaveLength(4)
})

it('a list of bill payments of one project has none of another, on any page', async () => {
  const { nextPageToken: pageToken } = await page({ pageSize: 1 })
  const other = { projectId: randomUUID() }
  expect(await listAll(other)).toEqual([])
  expect((await page({ ...other, pageToken })).payments).toEqual([])
  await expect(page({ pageToken: 'unknown' })).rejects.toMatchObject({
    reason: 'INVALID_PARAMETER',
  })
})

it('a list of bill payments reads its page by the index of the project and state', async () => {
  const plan = sql(
    'test_bill_list_plan',
    `explain select 1 from bill_payment where project_id = '${harness.projectId}'
       and state = 'failed' and bill_payment_id < '${randomUUID()}'
       and ${idsOfTimes('bill_payment_id', "business_now() - interval '1 day'", 'business_now()')}
     order by bill_payment_id desc limit 10`,
  )
  const lines = await harness.db.rows<{ 'QUERY PLAN': string }>(plan, [])
  const text = lines.map((line) => line['QUERY PLAN']).join('\n')
  expect(text).toContain('bill_payment_of_project')
  expect(text).not.toContain('Sort')
})
