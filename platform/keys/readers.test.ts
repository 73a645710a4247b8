// Shows that operators see which keys every running replica of a service has loaded.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestClock } from '#platform/testing/clock.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { testKeys } from '../../test/support/keys.ts'
import { migrationFolders } from '../db/schemas.ts'
import { listReaders } from './reader-store.ts'
import { type KeyFiles, readerLifeS, startKeyReaders } from './readers.ts'

const testClock = createTestClock()
let database: TestDatabase
let db: ReturnType<TestDatabase['open']>
beforeAll(async () => {
  database = await createTestDatabase('billing', migrationFolders('billing'))
  db = database.open({ testClock })
})
afterAll(() => database.drop())

const start = (instance: string, files: KeyFiles) =>
  startKeyReaders({ db, files, log: silentLog, instance })

async function read(file = 'link.key') {
  const readers = await listReaders(db, readerLifeS)
  return Object.fromEntries(
    readers.filter((one) => one.file === file).map((one) => [one.instance, one.keyIds]),
  )
}

describe('the readers of keys', () => {
  it('the readers of keys say what they have read, each for itself, and again when a file has changed', async () => {
    const keys = testKeys()
    const first = keys().current.keyId
    const stale = keys.asOfNow()
    const [one, other] = [start('one', { 'link.key': keys }), start('other', { 'link.key': stale })]
    await eventually(async () => expect(Object.keys(await read()).length).toBe(2))
    expect(await read()).toEqual({ one: [first], other: [first] })
    const next = keys.add()
    await eventually(async () => expect((await read())['one']?.length).toBe(2))
    expect(await read()).toEqual({ one: [first, next], other: [first] })
    keys.use()
    await eventually(async () => expect((await read())['one']?.[0]).toBe(next))
    expect(await read()).toEqual({ one: [next, first], other: [first] })
    await Promise.all([one.close(), other.close()])
  })

  it('the readers of keys are never overwritten by what one had read before', async () => {
    const keys = testKeys()
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>()
    let sent = 0
    const run: typeof db.run = async (statement, values) => {
      sent += 1
      await isFree
      return db.run(statement, values)
    }
    const slow = { ...db, run }
    const one = startKeyReaders({
      db: slow,
      files: { 'link.key': keys },
      log: silentLog,
      instance: 'slow',
    })
    const early = one.record()
    const next = keys.add()
    const late = one.record()
    await eventually(() => expect(sent).toBeGreaterThan(0))
    expect(sent).toBe(1)
    free()
    await Promise.all([early, late])
    expect((await read())['slow']).toContain(next)
    await one.close()
  })

  it('the readers of keys leave the list when they stop, and after a minute without a heartbeat', async () => {
    const files = { 'link.key': testKeys(), 'page.key': testKeys() }
    const [stopped, killed] = [start('stopped', files), start('killed', files)]
    await Promise.all([stopped.record(), killed.record()])
    expect(Object.keys(await read('page.key'))).toEqual(['killed', 'stopped'])
    await stopped.close()
    expect(Object.keys(await read('page.key'))).toEqual(['killed'])
    await killed.close()
    await killed.record()
    expect(Object.keys(await read())).toEqual(['killed'])
    testClock.advance((readerLifeS + 1) * 1_000)
    expect(await read()).toEqual({})
    await killed.record()
    expect(Object.keys(await read())).toEqual(['killed'])
    testClock.advance(601_000)
    // The next process that records itself removes rows of processes that ended long ago.
    await start('later', files).close()
    expect((await listReaders(db, 3_600)).map(({ instance }) => instance)).not.toContain('killed')
  })
})
