// Holds the quotas of the receivers on a real database: for each tag, for all of them, over restarts and failures.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import {
  createReceiverQuota,
  receiverQuotas,
} from '../../connectors/simulator/operations/receiver-quota.ts'
import { insertReceived } from '../../connectors/simulator/store/receiver-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('simulator', migrationFolders('simulator'))
  db = database.open({})
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
beforeEach(() => db.run(sql('test_delete_received', 'delete from received'), []))

const keptStatement = sql(
  'test_kept',
  'select path from received where tag = any($1) order by received_at, received_id',
)
const kept = async (...tags: string[]) =>
  (await db.rows<{ path: string }>(keptStatement, [tags])).map(({ path }) => path)

const plenty = { requests: 100_000, bytes: 1_000_000_000 }
const quotasOf = (quotas: Partial<typeof receiverQuotas>) => ({
  perTag: plenty,
  total: plenty,
  maxTags: 100,
  ...quotas,
})

/** A process that receives: requests are numbered in their paths. */
function receiving(quotas: Partial<typeof receiverQuotas>, on = db) {
  const quota = createReceiverQuota(on, quotasOf(quotas))
  return async (tag: string, path: string, bytes = 100) => {
    await quota.makeRoom(tag, bytes)
    const body = Buffer.alloc(bytes - `${tag}${path}{}`.length)
    await insertReceived(db, randomUUID(), tag, { path, headers: {}, body })
  }
}

describe('a tag', () => {
  it('a tag keeps its newest requests, at most a sixteenth more than its number', async () => {
    const receive = receiving({ perTag: { requests: 32, bytes: 1_000_000 } })
    await receive('other', 'other')
    for (let count = 1; count <= 100; count += 1) await receive('tag', `${count}`)
    const paths = await kept('tag')
    expect(paths.length).toBeGreaterThanOrEqual(32)
    expect(paths.length).toBeLessThanOrEqual(34)
    expect(paths.at(-1)).toBe('100')
    expect(await kept('other')).toEqual(['other'])
  })

  it('a tag keeps its newest requests, at most a sixteenth more than its bytes', async () => {
    const receive = receiving({ perTag: { requests: 1_000, bytes: 32_000 } })
    for (let count = 1; count <= 100; count += 1) await receive('tag', `${count}`, 1_000)
    const paths = await kept('tag')
    expect(paths.length).toBeGreaterThanOrEqual(32)
    expect(paths.length).toBeLessThanOrEqual(34)
    expect(paths.at(-1)).toBe('100')
  })

  it('a tag keeps no more over restarts, nor when it was forgotten for others', async () => {
    const perTag = { requests: 32, bytes: 1_000_000 }
    for (let restart = 0; restart < 40; restart += 1) await receiving({ perTag })('tag', 'restart')
    expect((await kept('tag')).length).toBeLessThanOrEqual(33)
    const receive = receiving({ perTag, maxTags: 1 })
    for (let count = 0; count < 40; count += 1) {
      await receive('tag', 'again')
      await receive('other', 'other')
    }
    expect((await kept('tag')).length).toBeLessThanOrEqual(33)
  })

  it('a tag keeps no more when its requests come at once', async () => {
    const receive = receiving({ perTag: { requests: 64, bytes: 1_000_000 } })
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 16 }, () => receive('tag', `${round}`)))
    }
    expect((await kept('tag')).length).toBeLessThanOrEqual(64 + 4 + 16)
  })
})

describe('all tags together', () => {
  it.each([
    ['number', { requests: 32, bytes: 1_000_000 }],
    ['bytes', { requests: 1_000, bytes: 3_200 }],
  ])('all tags together keep the newest requests within their %s', async (_, total) => {
    const receive = receiving({ total })
    const tags = Array.from({ length: 100 }, (_, index) => `tag-${index}`)
    for (const tag of tags) await receive(tag, tag)
    const paths = await kept(...tags)
    expect(paths.length).toBeGreaterThanOrEqual(32)
    expect(paths.length).toBeLessThanOrEqual(34)
    expect(paths.at(-1)).toBe('tag-99')
  })
})

it('a request that could not be deleted is deleted with the next one', async () => {
  let fails = false
  const failing: Database = {
    ...db,
    run: (...given) => (fails ? Promise.reject(new Error('no database')) : db.run(...given)),
  }
  const receive = receiving({ perTag: { requests: 16, bytes: 1_000_000 } }, failing)
  for (let count = 1; count <= 20; count += 1) await receive('tag', `${count}`)
  fails = true
  await expect(receive('tag', '21')).rejects.toThrow('no database')
  await expect(receive('tag', '22')).rejects.toThrow('no database')
  fails = false
  await receive('tag', '23')
  const paths = await kept('tag')
  expect(paths.length).toBeLessThanOrEqual(17)
  expect(paths.slice(-2)).toEqual(['20', '23'])
})

it('the quotas of the product are bounded by what a sandbox can hold', () => {
  expect(receiverQuotas.perTag).toEqual({ requests: 10_000, bytes: 64 * 1024 ** 2 })
  expect(receiverQuotas.total).toEqual({ requests: 100_000, bytes: 1024 ** 3 })
})
