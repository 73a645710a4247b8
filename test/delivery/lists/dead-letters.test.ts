// Tests the list of pushes that were given up, over all projects, on a real database.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ListDeadLettersRequestSchema } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { deadLetterService } from '../../../services/delivery/api/dead-letters.ts'
import { listDeadLetters } from '../../../services/delivery/store/dead-letter-store.ts'
import { replayDelivery } from '../../../services/delivery/store/operate-store.ts'
import { startHarness } from '../harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let letters: ReturnType<typeof deadLetterService>
const other = randomUUID()
const ids: Record<string, string> = {}

/** A push that ended in a state, a microsecond after the one before. */
async function ended(name: string, state: string, projectId = harness.projectId): Promise<void> {
  const [id = ''] = await harness.push({ url: 'https://shop.example/hook', projectId })
  const us = Object.keys(ids).length
  await harness.asOwner(
    `update delivery.delivery set state = '${state}', next_attempt_at = null,
       ended_at = timestamptz '2026-01-02T03:04:05.000100Z' + interval '${us} microseconds'
     where delivery_id = '${id}'`,
  )
  ids[name] = id
}

beforeAll(async () => {
  harness = await startHarness()
  letters = deadLetterService(harness.db)
  await ended('exhausted', 'exhausted')
  await ended('theirs', 'exhausted', other)
  await ended('gone', 'gone')
  await ended('blocked', 'blocked')
  await ended('delivered', 'delivered')
  await ended('cancelled', 'cancelled')
  await harness.push({ url: 'https://shop.example/hook' })
})
afterAll(() => harness?.drop())

const page = (more: object) =>
  letters.listDeadLetters(create(ListDeadLettersRequestSchema, more), {} as HandlerContext)

async function listAll(more: object): Promise<(string | undefined)[]> {
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  const found: (string | undefined)[] = []
  let pageToken = ''
  do {
    const { deliveries = [], nextPageToken = '' } = await page({ pageSize: 1, ...more, pageToken })
    found.push(...deliveries.map(({ deliveryId }) => names.get(deliveryId ?? '')))
    pageToken = nextPageToken
  } while (pageToken !== '')
  return found
}

it('pushes that were given up are listed over all projects, the last first, page after page', async () => {
  const all = ['blocked', 'gone', 'theirs', 'exhausted']
  expect(await listAll({})).toEqual(all)
  expect(await listAll({ pageSize: 3 })).toEqual(all)
  expect((await page({})).deliveries).toMatchObject([
    { state: DeliveryState.BLOCKED, origin: 'https://shop.example' },
    { state: DeliveryState.GONE },
    { projectId: other },
    { projectId: harness.projectId },
  ])
})

it('pushes that were given up are listed with the oldest first where that is asked for', async () => {
  const all = ['exhausted', 'theirs', 'gone', 'blocked']
  expect(await listAll({ oldestFirst: true })).toEqual(all)
  expect(await listAll({ oldestFirst: true, pageSize: 3 })).toEqual(all)
  const state = DeliveryState.EXHAUSTED
  expect(await listAll({ oldestFirst: true, state })).toEqual(['exhausted', 'theirs'])
  const plan = await harness.explained((db) =>
    listDeadLetters(db, undefined, undefined, 50, 'oldest'),
  )
  expect(plan).not.toContain('Seq Scan')
})

it('pushes that were given up are listed by their state, and no others', async () => {
  expect(await listAll({ state: DeliveryState.EXHAUSTED })).toEqual(['theirs', 'exhausted'])
  expect(await listAll({ state: DeliveryState.GONE })).toEqual(['gone'])
  expect(await listAll({ state: DeliveryState.BLOCKED })).toEqual(['blocked'])
  const { gone: deliveryId, delivered } = ids
  expect(await listAll({ deliveryId })).toEqual(['gone'])
  expect(await listAll({ deliveryId, state: DeliveryState.BLOCKED })).toEqual([])
  expect(await listAll({ deliveryId: delivered })).toEqual([])
  for (const wrong of [{ state: DeliveryState.DELIVERED }, { pageToken: 'unknown' }]) {
    await expect(page(wrong)).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  }
})

it('a list of pushes that were given up reads each state by the index that holds it', async () => {
  const plan = await harness.explained((db) => listDeadLetters(db, undefined, undefined, 50))
  expect(plan).toContain('delivery_gone')
  expect(plan.match(/using delivery_dead/g)).toHaveLength(2)
  expect(plan).not.toContain('Seq Scan')
})

it('a push that is sent again leaves the list', async () => {
  await replayDelivery(harness.db, other, ids['theirs'] ?? '', randomUUID())
  expect(await listAll({})).toEqual(['blocked', 'gone', 'exhausted'])
})
