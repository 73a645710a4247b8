// Tests the list of a project's pushes by the time of their creation on a real database.
import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  DeliveryState,
  GetDeliveryRequestSchema,
  ListDeliveriesRequestSchema,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { parseMembership } from '#platform/rpc/auth/roles.ts'
import { type Caller, type Person, runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { deliveryService } from '../../../services/delivery/api/deliveries.ts'
import type { Tail } from '../../../services/delivery/api/tail.ts'
import { listDeliveries } from '../../../services/delivery/store/read-store.ts'
import { startHarness } from '../harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let service: ReturnType<typeof deliveryService>
const ids: string[] = []
const minute = (n: number) => new Date(Date.UTC(2026, 0, 2, 3, n))

beforeAll(async () => {
  harness = await startHarness()
  service = deliveryService({ db: harness.db, tail: {} as Tail, onDue: () => undefined })
  for (let n = 0; n < 5; n += 1) {
    const [id = ''] = await harness.push({ url: 'https://shop.example/hook' })
    await harness.asOwner(
      `update delivery.delivery set created_at = '${minute(n).toISOString()}' where delivery_id = '${id}'`,
    )
    ids.push(id)
  }
})
afterAll(() => harness?.drop())

type Asked = Omit<MessageInitShape<typeof ListDeliveriesRequestSchema>, '$typeName'>

async function listAll(from: number, to: number, more: Asked = {}): Promise<number[]> {
  const startTime = timestampFromDate(minute(from))
  const endTime = timestampFromDate(minute(to))
  const { projectId } = harness
  const found: number[] = []
  let pageToken = ''
  do {
    const asked = { projectId, pageSize: 1, startTime, endTime, ...more, pageToken }
    const request = create(ListDeliveriesRequestSchema, asked)
    const page = await service.listDeliveries(request, {} as HandlerContext)
    found.push(...(page.deliveries ?? []).map(({ deliveryId = '' }) => ids.indexOf(deliveryId)))
    pageToken = page.nextPageToken ?? ''
  } while (pageToken !== '')
  return found
}

it('pushes of a time are listed from its beginning to before its end, page after page', async () => {
  expect(await listAll(1, 4)).toEqual([3, 2, 1])
  expect(await listAll(1, 4, { pageSize: 2 })).toEqual([3, 2, 1])
  expect(await listAll(0, 9, { state: DeliveryState.PENDING })).toEqual([4, 3, 2, 1, 0])
  expect(await listAll(2, 4, { subjectId: 'payment-1' })).toEqual([3, 2])
  expect(await listAll(2, 2)).toEqual([])
})

it('a page token of a later time does not lead past the end', async () => {
  const pageToken = Buffer.from(`${minute(8).getTime()} ${ids[0]}`).toString('base64url')
  const endTime = timestampFromDate(minute(2))
  const asked = { projectId: harness.projectId, endTime, pageToken }
  const request = create(ListDeliveriesRequestSchema, asked)
  const { deliveries = [] } = await service.listDeliveries(request, {} as HandlerContext)
  expect(deliveries.map(({ deliveryId = '' }) => ids.indexOf(deliveryId))).toEqual([1, 0])
})

it('pushes of a time are read by the index of the project', async () => {
  const { projectId } = harness
  const plan = await harness.explained((db) =>
    listDeliveries(db, { projectId, startTime: minute(2), limit: 50 }),
  )
  expect(plan).toContain('delivery_project')
  expect(plan).not.toContain('Seq Scan on delivery')
})

/** Reads a push as a person with a role, or as a bearer that lists methods. */
async function getAs(who: string | { rpcs: string[] }, deliveryId: string) {
  const { projectId } = harness
  const caller: Caller =
    typeof who === 'string'
      ? { kind: 'service', name: 'console', person: personOf(who), projectId }
      : { kind: 'bearer', name: 'reports', projectId, ...who }
  const context = { requestId: randomUUID(), traceparent: newTraceparent(), caller }
  return await runWithContext(context, async () => {
    const request = create(GetDeliveryRequestSchema, { projectId, deliveryId })
    const { delivery } = await service.getDelivery(request, undefined as never)
    return { path: delivery?.path, body: Buffer.from(delivery?.body ?? []).toString() }
  })
}

function personOf(role: string): Person {
  const memberships = [parseMembership(role)].filter((one) => one !== undefined)
  return { id: 'ama@example.com', memberships }
}

it('a push shows its path without the query, and its body, but that of an onboarding only to those who may read personal data', async () => {
  const { projectId } = harness
  const body = '{"account":{"mobile_number":"+12025550101"}}'
  const url = 'https://bank.example/hooks/1?token=secret'
  const [onboarding = '', notify = ''] = await harness.push(
    { kind: 'onboarding', url, subjectId: 'account-1', body: Buffer.from(body) },
    { url },
  )
  const path = '/hooks/1'
  const viewer = `merchant_viewer:${projectId}`
  const developer = `merchant_developer:${projectId}`
  const reads = 'payweave.delivery.v1.DeliveryService/*'
  const all = { rpcs: ['*'] }
  const reader = { rpcs: [reads, 'payweave.accounts.v1.CustomerService/GetPersonalData'] }
  const reports = { rpcs: [reads] }
  for (const who of [all, reader, 'support', 'operator', 'administrator']) {
    expect([who, await getAs(who, onboarding)]).toEqual([who, { path, body }])
  }
  for (const who of [reports, viewer, developer, 'finance']) {
    expect([who, await getAs(who, onboarding)]).toEqual([who, { path, body: '' }])
  }
  for (const who of [reports, viewer]) {
    expect(await getAs(who, notify)).toEqual({ path, body: '{"event_type":"payment_initiated"}' })
  }
})
