// The pool against a real PostgreSQL: values, transactions, limits, lost connections, roles and the test clock.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, silentLog, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { freeze } from '../../test/support/freeze.ts'
import { createTestClock } from '../testing/clock.ts'
import {
  type Database,
  isCheckViolation,
  isRefused,
  isUniqueViolation,
  openDatabase,
  type Queryable,
  sql,
} from './db.ts'

const clockMigrations = new URL('migrations/clock', import.meta.url).pathname

let home: TestDatabase
let db: Database
let admin: Database

beforeAll(async () => {
  home = await createTestDatabase('pool', [clockMigrations])
  db = home.open()
  admin = home.open({ service: undefined })
  await admin.run(
    sql(
      'make_item',
      `create table pool.item (
        id int constraint item_key primary key,
        amount_minor bigint constraint item_positive check (amount_minor > 0)
      )`,
    ),
    [],
  )
})

afterAll(() => home.drop())

const insertItem = sql('insert_item', 'insert into item (id, amount_minor) values ($1, $2)')
const findItem = sql('find_item', 'select id, amount_minor from item where id = $1')
const addToItem = sql(
  'add_to_item',
  'update item set amount_minor = amount_minor + $2 where id = $1',
)
const killSelf = sql('kill_self', 'select pg_terminate_backend(pg_backend_pid())')
const backendPid = sql('backend_pid', 'select pg_backend_pid() as pid')

describe('values', () => {
  it('a value read from the database is never less exact than an exact number or a calendar date', async () => {
    const row = await db.row(
      sql(
        'all_types',
        `select 9007199254740993::bigint as big, array[9007199254740993, null]::bigint[] as bigs,
           12345678901234567890.10::numeric as exact, array[0.10]::numeric[] as exacts,
           date '2026-02-28' as day, '\\x00ff'::bytea as bytes, count(*) as count,
           timestamptz '2026-01-01 00:00:00+01' as at`,
      ),
      [],
    )
    expect(row).toEqual({
      big: 9007199254740993n,
      bigs: [9007199254740993n, null],
      exact: '12345678901234567890.10',
      exacts: ['0.10'],
      day: '2026-02-28',
      bytes: Buffer.from([0, 255]),
      count: 1n,
      at: new Date('2025-12-31T23:00:00.000Z'),
    })
  })

  it('a parameter of a statement may be a bigint or undefined', async () => {
    const echo = sql('echo_params', 'select $1::bigint as big, $2::text as none')
    expect(await db.row(echo, [2n ** 62n, undefined])).toEqual({ big: 2n ** 62n, none: null })
  })

  it('a statement returns the number of rows that it touched', async () => {
    expect(await db.run(insertItem, [1, 5n])).toBe(1)
    expect(await db.run(addToItem, [404, 1n])).toBe(0)
    expect(await db.row(findItem, [404])).toBeUndefined()
  })
})

describe('a connection', () => {
  it('a connection enters the role, the schema and the limits before its first statement', async () => {
    const settings = sql(
      'show_settings',
      `select current_user::text as role, current_schema()::text as schema,
         current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
         current_setting('idle_in_transaction_session_timeout') as idle,
         current_setting('synchronous_commit') as commit,
         current_setting('transaction_isolation') as isolation, current_setting('jit') as jit`,
    )
    const usual = openDatabase({ url: home.url, service: 'pool', log: silentLog })
    const shown = await usual.row(settings, [])
    await usual.close()
    expect(shown).toEqual({
      role: 'payweave_pool',
      schema: 'pool',
      statement: '5s',
      lock: '2s',
      idle: '10s',
      commit: 'on',
      isolation: 'read committed',
      jit: 'off',
    })
  })

  it('a connection cannot create tables or change the list of migrations', async () => {
    const create = sql('create_stray', 'create table stray (id int)')
    const forget = sql('forget_migrations', 'delete from schema_migration')
    await expect(db.run(create, [])).rejects.toMatchObject({ code: '42501' })
    await expect(db.run(forget, [])).rejects.toMatchObject({ code: '42501' })
  })

  it('a connection refuses a URL whose options would replace ours', () => {
    expect(() => home.open({ url: `${home.url}?options=-c%20fsync%3Doff` })).toThrow('options')
  })
})

describe('a transaction', () => {
  it('a transaction commits as one, and a refusal inside leaves nothing', async () => {
    await db.transaction(async (tx) => {
      await tx.run(insertItem, [10, 1n])
      await tx.run(addToItem, [10, 1n])
    })
    const refused = db.transaction(async (tx) => {
      await tx.run(insertItem, [11, 1n])
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    expect(await db.row(findItem, [10])).toEqual({ id: 10, amount_minor: 2n })
    expect(await db.row(findItem, [11])).toBeUndefined()
  })

  it('a transaction is an error when a failed statement was ignored, since nothing was committed', async () => {
    const ignored = db.transaction(async (tx) => {
      await tx.run(insertItem, [12, 1n])
      await tx.run(insertItem, [12, 1n]).catch(() => undefined)
    })
    await expect(ignored).rejects.toThrow('rolled back')
    expect(await db.row(findItem, [12])).toBeUndefined()
  })

  it('a transaction fails with the first failure, in any order of waiting for its statements', async () => {
    const refuse = (state: string) =>
      sql(`refuse_${state}`, `do $$ begin raise exception 'no' using errcode = '${state}'; end $$`)
    const behind = (state: string) =>
      db.transaction(async (tx) => {
        const first = tx.run(refuse(state), [])
        first.catch(() => undefined)
        await tx.run(insertItem, [14, 1n])
        await first
      })
    await expect(behind('53100')).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    await expect(behind('23514')).rejects.toMatchObject({ code: '23514' })
    // A conflict is seen as one, and tried again until its time is over.
    await expect(behind('40001')).rejects.toThrow('the database is contended')
    const ignored = db.transaction(async (tx) => {
      await tx.run(refuse('53100'), []).catch(() => undefined)
    })
    await expect(ignored).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(await db.row(findItem, [14])).toBeUndefined()
  })

  it('a transaction runs several statements in one trip, in their order', async () => {
    const found = await db.transaction(async (tx) => {
      const [, , row] = await Promise.all([
        tx.run(insertItem, [13, 1n]),
        tx.run(addToItem, [13, 2n]),
        tx.row<{ amount_minor: bigint }>(findItem, [13]),
      ])
      return row?.amount_minor
    })
    expect(found).toBe(3n)
  })

  it('a transaction refuses a statement after its end', async () => {
    const kept = await db.transaction(async (tx: Queryable) => tx)
    await expect(kept.run(addToItem, [10, 1n])).rejects.toThrow('after the end')
  })

  it('a transaction is run again after a deadlock, so that both sides finish', async () => {
    await db.run(insertItem, [20, 1n])
    await db.run(insertItem, [21, 1n])
    let runs = 0
    const bothStarted = barrier(2)
    // The server looks for a deadlock after a second: no time-out has passed by then, even on a slow machine.
    const patient = home.open({ limits: { lockMs: 15_000, statementMs: 15_000 } })
    const cross = (first: number, second: number): Promise<void> =>
      patient.transaction(async (tx) => {
        runs += 1
        await tx.run(addToItem, [first, 1n])
        await bothStarted()
        await tx.run(addToItem, [second, 1n])
      })
    await Promise.all([cross(20, 21), cross(21, 20)])
    // The server ends one of them, or both when it looked late.
    expect(runs).toBeGreaterThan(2)
    expect(await db.row(findItem, [20])).toEqual({ id: 20, amount_minor: 3n })
  })

  it('a transaction is SERVICE_UNAVAILABLE when every run of it collides', async () => {
    const collide = sql('collide', 'do $$ begin raise serialization_failure; end $$')
    let runs = 0
    const hopeless = db.transaction(async (tx) => {
      runs += 1
      await tx.run(collide, [])
    })
    await expect(hopeless).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(runs).toBe(4)
  })
})

describe('errors', () => {
  it('the pool leaves a constraint violation for the store to interpret', async () => {
    await db.run(insertItem, [30, 1n])
    const twice = await db.run(insertItem, [30, 1n]).catch((error: unknown) => error)
    expect(isUniqueViolation(twice)).toBe(true)
    expect(isUniqueViolation(twice, 'item_key')).toBe(true)
    expect(isUniqueViolation(twice, 'other')).toBe(false)
    expect(isCheckViolation(twice)).toBe(false)
    const negative = await db.run(insertItem, [31, -1n]).catch((error: unknown) => error)
    expect(isCheckViolation(negative, 'item_positive')).toBe(true)
  })

  it('a statement that writes one row twice counts as refused, so that a batch goes on without it', async () => {
    const twice = sql(
      'write_twice',
      `insert into item select 32, 1 from generate_series(1, 2)
       on conflict (id) do update set amount_minor = excluded.amount_minor`,
    )
    expect(isRefused(await db.run(twice, []).catch((error: unknown) => error))).toBe(true)
  })

  it('the pool answers TIMEOUT for a statement, a lock or a connection that does not come in time', async () => {
    const hasty = home.open({
      poolSize: 2,
      limits: { statementMs: 1_500, lockMs: 100, acquireMs: 1_000 },
    })
    const sleep = sql('sleep', 'select pg_sleep(10)')
    const lock = sql('lock_items', 'lock table item in exclusive mode')
    await expect(hasty.run(sleep, [])).rejects.toMatchObject({ reason: 'TIMEOUT' })
    const contended = hasty.transaction(async (tx) => {
      await tx.run(addToItem, [30, 1n])
      return db.transaction(async () => hasty.transaction((other) => other.run(lock, [])))
    })
    await expect(contended).rejects.toMatchObject({ reason: 'TIMEOUT' })
    const crowd = await Promise.allSettled([1, 2, 3].map(() => hasty.run(sleep, [])))
    expect(crowd.map((one) => one.status === 'rejected' && one.reason.reason)).toEqual(
      Array.from({ length: 3 }, () => 'TIMEOUT'),
    )
    await eventually(async () => expect(await hasty.ready()).toBe(true))
  })

  it('the pool answers SERVICE_UNAVAILABLE when the connection is lost, and the next call works', async () => {
    // Only the superuser may end the session of a superuser, which the tests log in as.
    const single = home.open({ poolSize: 1, service: undefined })
    await expect(single.run(killSelf, [])).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(await single.ready()).toBe(true)
    const inside = single.transaction(async (tx) => {
      await tx.run(sql('insert_40', 'insert into pool.item values (40, 1)'), [])
      await tx.run(killSelf, [])
    })
    await expect(inside).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(await db.row(findItem, [40])).toBeUndefined()
  })

  it('the pool survives the loss of an idle connection', async () => {
    const single = home.open({ poolSize: 1 })
    const idle = await single.row<{ pid: number }>(backendPid, [])
    await admin.run(sql('kill_other', 'select pg_terminate_backend($1)'), [idle?.pid])
    await eventually(() => expect(single.stats().total).toBe(0))
    expect(await single.ready()).toBe(true)
  })

  it('the pool gives up on a server that does not answer at all, also inside a transaction', async () => {
    const single = home.open({ poolSize: 1, limits: { statementMs: 200 } })
    const frozen = await single.row<{ pid: number }>(backendPid, [])
    const thaw = await freeze(frozen?.pid ?? 0)
    try {
      const stuck = single.transaction((tx) => tx.run(backendPid, []))
      expect(await single.ready()).toBe(false)
      await expect(stuck).rejects.toMatchObject({ reason: 'TIMEOUT' })
      await eventually(async () => expect(await single.ready()).toBe(true))
    } finally {
      thaw()
    }
  })

  it('the pool is ready while it answers statements, though no connection is free for the question', async () => {
    const limits = { acquireMs: 30_000, lockMs: 30_000, statementMs: 30_000 }
    const single = home.open({ poolSize: 1, limits })
    await single.run(backendPid, [])
    const lock = sql('lock_one', 'select pg_advisory_xact_lock(1)')
    // Once more where the answer came after the time of the question.
    await eventually(async () => {
      const holder = await admin.session()
      await holder.run(sql('hold_one', 'select pg_advisory_lock(1)'), [])
      // The first is answered after the question was asked; the other keeps the only connection.
      const working = Promise.all([single.run(backendPid, []), single.run(lock, [])])
      try {
        expect(await single.ready()).toBe(true)
        expect(single.stats().waiting).toBe(1)
      } finally {
        holder.close()
        await working
      }
    })
  })

  it('errors of a server that refuses to write close the connection', async () => {
    const single = home.open({ poolSize: 1 })
    const before = await single.row<{ pid: number }>(backendPid, [])
    const readOnly = sql('read_only', "select set_config('transaction_read_only', 'on', true)")
    const refused = single.transaction(async (tx) => {
      await tx.run(readOnly, [])
      await tx.run(sql('write_item', 'update item set id = id'), [])
    })
    await expect(refused).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    const after = await single.row<{ pid: number }>(backendPid, [])
    expect(after?.pid).not.toBe(before?.pid)
  })

  it('the pool uses a named statement again after the schema changed under it', async () => {
    const single = home.open({ poolSize: 1 })
    const all = sql('all_of_item', 'select item from (select item.* from item where id = 404) item')
    const wide = sql('wide_item', 'table item')
    await single.rows(all, [])
    await single.rows(wide, [])
    await admin.run(sql('widen', 'alter table pool.item add column note text'), [])
    await single.rows(wide, []).catch(() => undefined)
    await expect(single.rows(wide, [])).resolves.toBeDefined()
  })
})

describe('the test clock', () => {
  it('the test clock shifts clock_now() of the database that was given it, on every connection, and of no other', async () => {
    const clock = createTestClock()
    const shifted = home.open({ testClock: clock, poolSize: 2 })
    const aheadS = sql(
      'ahead_s',
      'select round(extract(epoch from clock_now() - statement_timestamp()))::int as ahead',
    )
    expect(await shifted.row(aheadS, [])).toEqual({ ahead: 0 })
    clock.advance(86_400_000)
    const ahead = await Promise.all([1, 2, 3].map(() => shifted.row(aheadS, [])))
    expect(ahead).toEqual([{ ahead: 86_400 }, { ahead: 86_400 }, { ahead: 86_400 }])
    expect(await db.row(aheadS, [])).toEqual({ ahead: 0 })
  })
})

/** A barrier: its promises resolve once `count` callers have arrived; later callers pass. */
function barrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let arrived = 0
  return () => {
    arrived += 1
    if (arrived >= count) resolve()
    return promise
  }
}
