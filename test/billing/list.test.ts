// Tests the list of a project's bill payments, on a real database.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  BillPaymentState,
  ListBillPaymentsRequestSchema,
} from '#gen/payweave/billing/v1/billing_pb.js'
import { sql } from '#platform/db/db.ts'
import { billingService } from '../../services/billing/api/billing.ts'
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
     order by bill_payment_id desc limit 10`,
  )
  const lines = await harness.db.rows<{ 'QUERY PLAN': string }>(plan, [])
  const text = lines.map((line) => line['QUERY PLAN']).join('\n')
  expect(text).toContain('bill_payment_of_project')
  expect(text).not.toContain('Sort')
})
