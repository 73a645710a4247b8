// Shows which quotes are deleted after a month, and which stay.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deleteUnused } from '../../services/quotes/store/quote-store.ts'
import { startWorld, type World } from './harness.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const dayMs = 86_400_000
const movementId = randomUUID()
const isThere = (quoteId: string) =>
  world.get(quoteId).then(
    () => true,
    () => false,
  )

it('a quote that ended unused goes after thirty days, one of a movement stays', async () => {
  const quotes = await Promise.all(Array.from({ length: 5 }, () => world.quote()))
  const [reserved = '', used = '', ...unused] = quotes.map(({ quoteId }) => quoteId)
  for (const quoteId of [reserved, used]) await world.reserve(quoteId, movementId)
  await world.confirm(used, movementId)
  world.testClock.advance(30 * dayMs)
  expect(await deleteUnused(world.db, 10)).toBe(0)
  world.testClock.advance(dayMs)
  expect(await deleteUnused(world.db, 2)).toBe(2)
  expect(await deleteUnused(world.db, 10)).toBe(1)
  expect(await Promise.all([reserved, used, ...unused].map(isThere))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
