// Migrations against a real PostgreSQL: once, in order, alone, and refused when history has changed.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, silentLog, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { connectClient } from './client.ts'
import { sql } from './db.ts'
import { areUpToDate, migrate, waitForDatabase } from './migrate.ts'

let home: TestDatabase
let folder: string
let own: string

beforeEach(async () => {
  home = await createTestDatabase('moved', [])
  folder = await mkdtemp(path.join(tmpdir(), 'payweave-migrations-'))
  own = path.join(folder, 'migrations')
  await mkdir(own)
})

afterEach(async () => {
  await home.drop()
  await rm(folder, { recursive: true })
})

const write = (name: string, text: string): Promise<void> => writeFile(path.join(own, name), text)
const connect = () => connectClient({ url: home.url }, {})
const countRows = sql('count_rows', 'select count(*) as count from thing')

it('a migration waits for a database that does not exist yet, and rejects when the time is over', async () => {
  const url = new URL(home.url)
  const name = `${url.pathname.slice(1)}_late`
  url.pathname = `/${name}`
  const late = { adminUrl: url.href }
  await expect(waitForDatabase(late, 0)).rejects.toThrow('does not exist')
  const admin = await connect()
  await waitForDatabase(
    late,
    60_000,
    async () => void (await admin.query(`create database ${name}`)),
  )
  await admin.query(`drop database ${name}`)
  await admin.end()
})

describe('migrate', () => {
  it('migrate runs each file once, in the order of its number', async () => {
    await write('0002-second.sql', 'insert into thing values (2);')
    await write('0001-first.sql', 'create table thing (id int); insert into thing values (1);')
    expect(await home.migrate('moved', [own])).toEqual([
      'migrations/0001-first.sql',
      'migrations/0002-second.sql',
    ])
    expect(await home.migrate('moved', [own])).toEqual([])
    await write('0003-third.sql', 'insert into thing values (3);')
    expect(await home.migrate('moved', [own])).toEqual(['migrations/0003-third.sql'])
    expect(await home.open().row(countRows, [])).toEqual({ count: 3n })
  })

  it('migrate keeps nothing of a file that fails, and everything before it', async () => {
    await write('0001-first.sql', 'create table thing (id int);')
    await write('0002-broken.sql', 'insert into thing values (1); select 1 / 0;')
    await expect(home.migrate('moved', [own])).rejects.toThrow(
      'migration migrations/0002-broken.sql of moved failed: division by zero',
    )
    expect(await home.open().row(countRows, [])).toEqual({ count: 0n })
    await write('0002-broken.sql', 'insert into thing values (1);')
    expect(await home.migrate('moved', [own])).toEqual(['migrations/0002-broken.sql'])
  })

  it('migrate builds a concurrent index while others write, and replaces one that a crash has left', async () => {
    await write('0001-first.sql', 'create table thing (id int);')
    await home.migrate('moved', [own])
    const file = '0002-by-id.concurrent.sql'
    const build = 'create index concurrently if not exists thing_id on thing (id);'
    await write(file, `-- Things by id.\n\n${build}\n`)
    const [early, late] = await Promise.all([connect(), connect()])
    const isValid = async () => {
      const { rows } = await late.query<{ is: boolean }>(
        "select indisvalid as is from pg_index where indexrelid = to_regclass('moved.thing_id')",
      )
      return rows[0]?.is
    }
    // The build waits for this one.
    await early.query('begin; insert into moved.thing values (1)')
    const building = home.migrate('moved', [own])
    const builder = await eventually(async () => {
      const { rows } = await late.query<{ pid: number }>(
        `select pid from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query ~ 'concurrently'`,
      )
      return rows[0]?.pid ?? false
    })
    await late.query("set lock_timeout = '2s'")
    await late.query('insert into moved.thing values (2)')
    await Promise.all([
      expect(building).rejects.toThrow(`${file} of moved failed`),
      late.query('select pg_terminate_backend($1)', [builder]),
    ])
    expect(await isValid()).toBe(false)
    await early.query('commit')
    expect(await home.migrate('moved', [own])).toEqual([`migrations/${file}`])
    expect(await isValid()).toBe(true)
    await Promise.all([early.end(), late.end()])
  })

  it('migrate contracts only on request, and only what has expanded', async () => {
    await write('0001-first.sql', 'create table thing (id int, old int);')
    await write('0002-drop-old.contract.sql', 'alter table thing drop column old;')
    await write('0003-new.sql', 'alter table thing add column new int;')
    const go = (phase: 'expand' | 'contract') =>
      migrate({ adminUrl: home.url, service: 'moved', directories: [own], log: silentLog, phase })
    await expect(go('contract')).rejects.toThrow('must expand before they contract')
    expect(await go('expand')).toEqual(['migrations/0001-first.sql', 'migrations/0003-new.sql'])
    expect(await go('contract')).toEqual(['migrations/0002-drop-old.contract.sql'])
  })

  it('migrate refuses to go on when an applied file has changed', async () => {
    await write('0001-first.sql', 'create table thing (id int);')
    await home.migrate('moved', [own])
    await write('0001-first.sql', 'create table thing (id bigint);')
    await write('0002-second.sql', 'insert into thing values (2);')
    await expect(home.migrate('moved', [own])).rejects.toThrow('0001-first.sql')
    expect(await home.open().row(countRows, [])).toEqual({ count: 0n })
  })

  it('migrate has nothing to do when all files have run, none has changed and the role may enter', async () => {
    const upToDate = () => areUpToDate(home.url, [{ service: 'moved', directories: [own] }])
    await write('0001-first.sql', 'create table thing (id int);')
    expect(await upToDate()).toBe(false)
    await home.migrate('moved', [own])
    expect(await upToDate()).toBe(true)
    await write('0001-first.sql', 'create table thing (id bigint);')
    expect(await upToDate()).toBe(false)
    await write('0001-first.sql', 'create table thing (id int);')
    await write('0002-second.sql', 'revoke usage on schema moved from payweave_moved;')
    expect(await upToDate()).toBe(false)
    await home.migrate('moved', [own])
    expect(await upToDate()).toBe(false)
    const other = { service: 'unmade', directories: [own] }
    await expect(areUpToDate(home.url, [other])).resolves.toBe(false)
  })

  it('migrate is run by one of several starting processes, and all of them continue', async () => {
    await write('0001-first.sql', 'create table thing (id int); insert into thing values (1);')
    // Its build would wait for a process that waits in a statement.
    const file = '0002-by-id.concurrent.sql'
    await write(file, 'create index concurrently if not exists thing_id on thing (id);')
    const applied = await Promise.all([1, 2, 3, 4].map(() => home.migrate('moved', [own])))
    expect(applied.flat()).toEqual(['migrations/0001-first.sql', `migrations/${file}`])
  })

  it('migrate allows databases of one server to create the same role concurrently', async () => {
    const service = `race_${Math.random()
      .toString(36)
      .replace(/[^a-z]/g, '')}`
    const others = await Promise.all([1, 2, 3].map(() => createTestDatabase('moved', [])))
    try {
      const applied = await Promise.all(others.map((other) => other.migrate(service, [])))
      expect(applied).toEqual([[], [], []])
    } finally {
      await Promise.all(others.map((other) => other.drop()))
      await home
        .open({ service: undefined })
        .run(sql('drop_role', `drop role payweave_${service}`), [])
    }
  })

  it('migrate gives the service its rows and not another service’s', async () => {
    await write('0001-first.sql', 'create table thing (id int);')
    await home.migrate('moved', [own])
    await home.migrate('neighbour', [])
    const insert = sql('insert_thing', 'insert into moved.thing values (1)')
    expect(await home.open().run(insert, [])).toBe(1)
    await expect(home.open({ service: 'neighbour' }).run(insert, [])).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('migrate refuses files without a number of their own and folders of the same name', async () => {
    await write('0001-first.sql', 'select 1;')
    await write('0001-again.sql', 'select 1;')
    await expect(home.migrate('moved', [own])).rejects.toThrow('repeated migration number')
    await expect(home.migrate('moved', [own, own])).rejects.toThrow('different names')
  })

  it('migrate refuses a concurrent file with anything but one index that may be built again', async () => {
    const build = 'create index concurrently if not exists thing_id on thing (id);'
    for (const text of [
      `${build} ${build}`,
      `create table thing (id int); ${build}`,
      build.replace(' if not exists', ''),
      build.replace(' concurrently', ''),
    ]) {
      await write('0001-index.concurrent.sql', text)
      await expect(home.migrate('moved', [own])).rejects.toThrow('must be one statement')
    }
  })

  it('migrate works for an administrator who may create roles but is no superuser', async () => {
    const admin = home.open({ service: undefined })
    const name = `owner_${Math.random()
      .toString(36)
      .replace(/[^a-z]/g, '')}`
    const service = `of_${name}`
    await admin.run(sql('make_owner', `create role ${name} login createrole password 'x'`), [])
    const database = new URL(home.url).pathname.slice(1)
    await admin.run(sql('grant_owner', `grant create on database ${database} to ${name}`), [])
    const url = new URL(home.url)
    url.username = name
    url.password = 'x'
    await write('0001-first.sql', 'create table thing (id int);')
    await migrate({ adminUrl: url.href, service, directories: [own], log: silentLog })
    await migrate({ adminUrl: url.href, service, directories: [own], log: silentLog })
    expect(await home.open({ url: url.href, service }).row(countRows, [])).toEqual({ count: 0n })
  })
})
