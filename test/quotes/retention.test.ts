// Shows which quotes are deleted after a month, and which stay.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deleteUnused } from '../../services/quotes/store/quote-store.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const dayMs = 86_400_000
const movementId = randomUUID()
const isThere = (quoteId: string) =>
  harness.get(quoteId).then(
    () => true,
    () => false,
  )

it('a quote that ended unused goes after thirty days, one of a movement stays', async () => {
  const quotes = await Promise.all(Array.from({ length: 5 }, () => harness.quote()))
  const [reserved = '', used = '', ...unused] = quotes.map(({ quoteId }) => quoteId)
  for (const quoteId of [reserved, used]) await harness.reserve(quoteId, movementId)
  await harness.confirm(used, movementId)
  harness.testClock.advance(30 * dayMs)
  expect(await deleteUnused(harness.db, 10)).toBe(0)
  harness.testClock.advance(dayMs)
  expect(await deleteUnused(harness.db, 2)).toBe(2)
  expect(await deleteUnused(harness.db, 10)).toBe(1)
  expect(await Promise.all([reserved, used, ...unused].map(isThere))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
