// Tests the list of lanes of all projects on a real database.
import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  BreakerState,
  ListAllEndpointsRequestSchema,
} from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { endpointService } from '../../../services/delivery/api/replays.ts'
import { listAllEndpoints } from '../../../services/delivery/store/endpoint-store.ts'
import { startHarness } from '../harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let service: ReturnType<typeof endpointService>
const [first = '', second = ''] = [randomUUID(), randomUUID()].toSorted()

beforeAll(async () => {
  harness = await startHarness()
  service = endpointService(harness.db, () => {})
  for (const [projectId, origin, kind] of [
    [second, 'https://a.example', 'notify'],
    [first, 'https://b.example', 'notify'],
    [first, 'https://a.example', 'notify'],
    [first, 'https://a.example', 'callback'],
  ] as const) {
    await harness.push({ url: `${origin}/hook`, projectId, kind })
  }
  await harness.asOwner(
    `update delivery.endpoint set breaker = 'open', breaker_until = '2100-01-01T00:00:00Z'
     where origin = 'https://b.example'`,
  )
})
afterAll(() => harness?.drop())

const page = (more: MessageInitShape<typeof ListAllEndpointsRequestSchema>) =>
  service.listAllEndpoints(create(ListAllEndpointsRequestSchema, more), {} as HandlerContext)

async function listAll(pageSize: number, breaker = BreakerState.UNSPECIFIED) {
  const found: unknown[] = []
  let pageToken = ''
  do {
    const { endpoints = [], nextPageToken = '' } = await page({ pageSize, breaker, pageToken })
    found.push(...endpoints.map(({ projectId, origin, kind }) => [origin, projectId, kind]))
    pageToken = nextPageToken
  } while (pageToken !== '')
  return found
}

it('lanes of all projects are listed by origin, project and kind, page after page', async () => {
  const { NOTIFY, CALLBACK } = DeliveryKind
  const all = [
    ['https://a.example', first, CALLBACK],
    ['https://a.example', first, NOTIFY],
    ['https://a.example', second, NOTIFY],
    ['https://b.example', first, NOTIFY],
  ]
  expect(await listAll(1)).toEqual(all)
  expect(await listAll(3)).toEqual(all)
  expect(await listAll(1, BreakerState.CLOSED)).toEqual(all.slice(0, 3))
  expect(await listAll(1, BreakerState.OPEN)).toEqual(all.slice(3))
  expect(await listAll(1, BreakerState.HALF_OPEN)).toEqual([])
})

it('a list of lanes refuses tokens that are not its own', async () => {
  const tokens = ['x', first, `${first} notanorigin notify`, `${first} https://a.example other`]
  for (const token of tokens) {
    const pageToken = Buffer.from(token).toString('base64url')
    await expect(page({ pageToken })).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  }
})

it('the lanes of all projects are read by the index of their order, those that fail by their own', async () => {
  const all = await harness.explained((db) => listAllEndpoints(db, undefined, undefined, 50))
  expect(all).toContain('endpoint_of_all')
  const failing = await harness.explained((db) => listAllEndpoints(db, 'open', undefined, 50))
  expect(failing).toContain('endpoint_of_all_not_closed')
  expect(`${all}${failing}`).not.toContain('Seq Scan on endpoint')
})
