// Tests the API log on a real database: what is listed, to whom, by which index, and for how long.
import { randomUUID } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import {
  GetRequestRequestSchema,
  ListAllRequestsRequestSchema,
  ListRequestsRequestSchema,
  type LoggedRequestSchema,
  RecordRequestsRequestSchema,
  RequestOutcome,
} from '#gen/payweave/delivery/v1/api_log_pb.js'
import { apiLogService } from '../../../services/delivery/api/api-log.ts'
import {
  type LoggedRequestFilter,
  listRequests,
} from '../../../services/delivery/store/api-log-store.ts'
import { keepApiLogDays } from '../../../services/delivery/store/maintenance-store.ts'
import { startHarness } from '../harness.ts'

type Entry = MessageInitShape<typeof LoggedRequestSchema>

let harness: Awaited<ReturnType<typeof startHarness>>
let service: ReturnType<typeof apiLogService>
beforeAll(async () => {
  harness = await startHarness()
  service = apiLogService(harness.db)
})
afterEach(() => harness.reset())
afterAll(() => harness.drop())

const dayMs = 86_400_000
const context = {} as HandlerContext

function entryOf(changes: Entry = {}): Entry {
  return {
    entryId: newId(harness.clock.now().getTime()),
    projectId: harness.projectId,
    requestId: randomUUID(),
    route: 'POST /quote',
    version: '2024-10-01',
    status: 200,
    durationMs: 3,
    query: '{"version":"2024-10-01"}',
    responseBody: '{"status":"success"}',
    ...changes,
  }
}

const record = (...requests: Entry[]) =>
  service.recordRequests(create(RecordRequestsRequestSchema, { requests }), context)

async function list(filter: MessageInitShape<typeof ListRequestsRequestSchema> = {}) {
  const request = { projectId: harness.projectId, ...filter }
  const page = await service.listRequests(create(ListRequestsRequestSchema, request), context)
  const requests = page.requests ?? []
  return { ids: requests.map(({ entryId }) => entryId), next: page.nextPageToken ?? '', requests }
}

const read = (entryId = '', projectId: string = harness.projectId) =>
  service.getRequest(create(GetRequestRequestSchema, { projectId, entryId }), context)

describe('a request in the log', () => {
  it('a request is listed without its content and read with it, by its own project alone', async () => {
    const endMs = harness.clock.now().getTime()
    const entry = entryOf({ entryId: newId(endMs), requestBody: '{"amount":"1.00"}' })
    const foreign = entryOf({ projectId: randomUUID() })
    await record(entry, foreign)
    const { requests } = await list()
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({ entryId: entry.entryId, status: 200, errorCode: '' })
    expect(requests[0]).not.toHaveProperty('requestBody')
    expect((await read(entry.entryId)).request).toMatchObject({
      requestBody: '{"amount":"1.00"}',
      responseBody: '{"status":"success"}',
      endTime: timestampFromMs(endMs),
    })
    await expect(read(foreign.entryId)).rejects.toMatchObject({
      reason: 'LOGGED_REQUEST_NOT_FOUND',
    })
  })

  it('requests that are recorded together share their contents, and each is read with its own', async () => {
    const [first, second, foreign] = [entryOf(), entryOf(), entryOf({ projectId: randomUUID() })]
    const facts = [first, foreign, second].map((entry) => ({
      ...entry,
      query: '',
      responseBody: '',
    }))
    const compressed = (...lines: string[]) =>
      zstdCompressSync(lines.map((one) => `${one}\n`).join(''))
    const batch = create(RecordRequestsRequestSchema, {
      requests: facts,
      contents: [
        {
          projectId: harness.projectId,
          compressedLines: compressed('{"a":1}', '', '{"b":1}', '', '', '{"b":2}'),
        },
        {
          projectId: foreign.projectId ?? '',
          compressedLines: compressed('{"a":3}', '{"c":3}', ''),
        },
      ],
    })
    await service.recordRequests(batch, context)
    await service.recordRequests(batch, context)
    const texts = async ({ entryId, projectId }: Entry) => {
      const { request } = await read(entryId, projectId)
      return [request?.query, request?.requestBody, request?.responseBody]
    }
    expect(await texts(first)).toEqual(['{"a":1}', '', '{"b":1}'])
    expect(await texts(second)).toEqual(['', '', '{"b":2}'])
    expect(await texts(foreign)).toEqual(['{"a":3}', '{"c":3}', ''])
  })

  it('contents that are larger than those of a batch can be are not read', async () => {
    const entry = entryOf({ query: '', responseBody: '' })
    const compressedLines = zstdCompressSync(Buffer.alloc(4 * 1024 * 1024 + 1, '\n'))
    const contents = [{ projectId: harness.projectId, compressedLines }]
    const batch = create(RecordRequestsRequestSchema, { requests: [entry], contents })
    await service.recordRequests(batch, context)
    await expect(read(entry.entryId)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
  })

  it('contents of a project without requests are refused, and nothing is stored', async () => {
    const contents = [{ projectId: randomUUID(), compressedLines: zstdCompressSync('\n\n\n') }]
    const batch = create(RecordRequestsRequestSchema, { requests: [entryOf()], contents })
    await expect(
      (async () => await service.recordRequests(batch, context))(),
    ).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
    expect((await list()).ids).toEqual([])
  })

  it('a batch that comes twice is stored once', async () => {
    const entry = entryOf()
    await record(entry)
    await record(entry, entryOf())
    expect((await list()).ids).toHaveLength(2)
  })

  it('a request without any is no batch', async () => {
    await record()
    expect((await list()).ids).toEqual([])
  })
})

describe('a list', () => {
  it('a list has all requests once, the newest first, page after page', async () => {
    const now = harness.clock.now().getTime()
    const entries = Array.from({ length: 7 }, (_, at) => entryOf({ entryId: newId(now + at) }))
    await record(...entries)
    const seen: unknown[] = []
    let pageToken = ''
    do {
      const { ids, next } = await list({ pageSize: 3, pageToken })
      seen.push(...ids)
      pageToken = next
    } while (pageToken !== '')
    expect(seen).toEqual(entries.map(({ entryId }) => entryId).toReversed())
  })

  it('a list finds by outcome, status, code, route, request id and idempotency key', async () => {
    const requestId = randomUUID()
    const fine = entryOf({ idempotencyKey: 'order-***1001', requestId })
    const refused = entryOf({ status: 404, errorCode: 'QUOTE_NOT_FOUND', route: 'GET /quote' })
    const failed = entryOf({ status: 503, errorCode: 'SERVICE_UNAVAILABLE', requestId })
    await record(fine, refused, failed)
    const { SUCCEEDED, REFUSED, FAILED } = RequestOutcome
    expect((await list({ outcome: SUCCEEDED })).ids).toEqual([fine.entryId])
    expect((await list({ outcome: REFUSED })).ids).toEqual([refused.entryId])
    expect((await list({ outcome: FAILED })).ids).toEqual([failed.entryId])
    expect((await list({ outcome: FAILED, status: 404 })).ids).toEqual([])
    expect((await list({ status: 404 })).ids).toEqual([refused.entryId])
    expect((await list({ errorCode: 'SERVICE_UNAVAILABLE' })).ids).toEqual([failed.entryId])
    expect((await list({ route: 'GET /quote' })).ids).toEqual([refused.entryId])
    expect((await list({ requestId })).ids.toSorted()).toEqual(
      [fine.entryId, failed.entryId].toSorted(),
    )
    expect((await list({ requestId, outcome: FAILED })).ids).toEqual([failed.entryId])
    expect((await list({ idempotencyKey: 'order-10000001001' })).ids).toEqual([fine.entryId])
    expect((await list({ idempotencyKey: 'order-***1001' })).ids).toEqual([fine.entryId])
    expect((await list({ idempotencyKey: 'order-***1002' })).ids).toEqual([])
    expect((await list({ idempotencyKey: 'no id!' })).ids).toEqual([])
  })

  it('a list of all projects has those of each, the newest first, by the same filters', async () => {
    const now = harness.clock.now().getTime()
    const refused = { status: 404, errorCode: 'QUOTE_NOT_FOUND' }
    const own = entryOf({ entryId: newId(now), ...refused })
    const foreign = entryOf({ entryId: newId(now + 1), projectId: randomUUID() })
    const last = entryOf({ entryId: newId(now + 2), projectId: randomUUID(), ...refused })
    await record(own, foreign, last)
    const all = async (filter: MessageInitShape<typeof ListAllRequestsRequestSchema>) => {
      const request = create(ListAllRequestsRequestSchema, filter)
      const { requests = [], nextPageToken } = await service.listAllRequests(request, context)
      return { ids: requests.map(({ entryId }) => entryId), nextPageToken }
    }
    const { ids, nextPageToken } = await all({ pageSize: 2 })
    expect([ids, nextPageToken]).toEqual([[last.entryId, foreign.entryId], foreign.entryId])
    expect((await all({ pageToken: nextPageToken ?? '' })).ids).toEqual([own.entryId])
    const { REFUSED } = RequestOutcome
    expect((await all({ outcome: REFUSED })).ids).toEqual([last.entryId, own.entryId])
    expect((await all({ requestId: foreign.requestId ?? '' })).ids).toEqual([foreign.entryId])
    expect((await all({ idempotencyKey: 'no id!' })).ids).toEqual([])
  })

  it('a window begins with its first millisecond and ends before its last', async () => {
    const now = harness.clock.now().getTime()
    const at = (ms: number) => entryOf({ entryId: newId(now + ms) })
    const [before, first, second, after] = [at(-1), at(0), at(1), at(10)]
    await record(before, first, second, after)
    const startTime = timestampFromMs(now)
    const endTime = timestampFromMs(now + 10)
    expect((await list({ startTime, endTime })).ids).toEqual([second.entryId, first.entryId])
    for (const rest of [1, 499_999, 600_000, 999_999]) {
      const within = { ...startTime, nanos: startTime.nanos + rest }
      expect((await list({ startTime: within, endTime })).ids).toEqual([second.entryId])
      expect((await list({ startTime, endTime: within })).ids).toEqual([first.entryId])
    }
    expect((await list({ startTime, endTime, pageToken: second.entryId })).ids).toEqual([
      first.entryId,
    ])
  })

  it('a filter that few of many requests pass reads a bounded number of them for a page', async () => {
    await copies(2_500)
    const rare = entryOf({ entryId: newId(harness.clock.now().getTime() - 3_600_000) })
    await record({ ...rare, route: 'GET /quote' })
    const first = await list({ route: 'GET /quote' })
    expect(first.ids).toEqual([])
    const { ids, next } = await list({ route: 'GET /quote', pageToken: first.next })
    expect([ids, next]).toEqual([[rare.entryId], ''])
  })

  const wide = { minStatus: 0, maxStatus: 599, errorCode: undefined, route: undefined, limit: 50 }
  const none = { requestId: undefined, idempotencyKey: undefined }
  const bounds = {
    before: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    from: randomUUID().replace(/^.{8}/, '00000000'),
  }
  it.each<[string, Partial<LoggedRequestFilter>, RegExp]>([
    ['all', {}, /api_request_\d+_pkey/],
    ['those that did not succeed', { minStatus: 400 }, /project_id_entry_id_idx/],
    ['a request id', { requestId: randomUUID() }, /request_id_project_id_entry_id_idx/],
    ['an idempotency key', { idempotencyKey: 'k' }, /idempotency_key_project_id_entry_id_idx/],
    ['all projects', { projectId: undefined }, /api_request_\d+_entry_id_idx/],
    [
      'all projects that did not succeed',
      { projectId: undefined, minStatus: 400 },
      /api_request_\d+_entry_id_idx1/,
    ],
  ])('a list of %s goes by its own index, in order', async (_, filter, index) => {
    await copies(500)
    const { projectId } = harness
    const plan = await harness.explained((db) =>
      listRequests(db, { projectId, ...bounds, ...wide, ...none, ...filter }),
    )
    expect(plan).toMatch(index)
    expect(plan).not.toMatch(/Seq Scan|Rows Removed by Filter: \d\d/)
  })
})

/** Adds rows of the project and of others to the present day. */
async function copies(count: number): Promise<void> {
  const from = harness.clock.now().getTime() - 60_000
  await harness.asOwner(
    `insert into delivery.api_request (project_id, entry_id, request_id, route, version, status, duration_ms, client_left)
     select case when n % 2 = 0 then gen_random_uuid() else '${harness.projectId}'::uuid end,
       overlay(gen_random_uuid()::text placing substr(v, 1, 8) || '-' || substr(v, 9, 4) from 1 for 13)::uuid,
       gen_random_uuid(), 'POST /quote', '2024-10-01', 200, 1, false
     from generate_series(1, ${count * 2}) as n cross join lateral (select lpad(to_hex(${from} + n), 12, '0') as v) as t`,
  )
  await harness.asOwner('analyze delivery.api_request')
}

describe('retention', () => {
  async function partitions(): Promise<string[]> {
    const rows = await harness.asOwner<{ name: string }>(
      `select relname as name from pg_inherits join pg_class on oid = inhrelid
       where inhparent = 'delivery.api_request'::regclass`,
    )
    return rows.map(({ name }) => name)
  }
  const nameOf = (days: number) => {
    const day = new Date(harness.clock.now().getTime() + days * dayMs)
    return `api_request_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
  }

  it('a request is there for thirty days, and then gone with its day', async () => {
    const entry = entryOf()
    await record(entry)
    harness.clock.advance(30 * dayMs)
    await keepApiLogDays(harness.db, 3, 30)
    expect((await list()).ids).toEqual([entry.entryId])
    expect(await partitions()).toContain(nameOf(3))
    harness.clock.advance(dayMs)
    const gone = nameOf(-31)
    expect(await partitions()).toContain(gone)
    await keepApiLogDays(harness.db, 3, 30)
    expect((await list()).ids).toEqual([])
    expect(await partitions()).not.toContain(gone)
  })

  it('a request of a day without a partition is kept as long', async () => {
    harness.clock.advance(100 * dayMs)
    const entry = entryOf()
    await record(entry)
    await keepApiLogDays(harness.db, 1, 30)
    expect(await partitions()).not.toContain(nameOf(0))
    expect((await list()).ids).toEqual([entry.entryId])
    harness.clock.advance(31 * dayMs)
    await keepApiLogDays(harness.db, 1, 30)
    expect((await list()).ids).toEqual([])
  })
})
