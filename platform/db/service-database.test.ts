// A service's database in production: a login of its own, migrations by a job, no rights beyond its rows.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommandLine } from '../../clients/cli/main.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { freePorts } from '../../test/support/servers.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { type Database, openDatabase, sql } from './db.ts'
import { scramVerifier } from './login.ts'
import { migrate } from './migrate.ts'
import { openServiceDatabase } from './service-database.ts'

let home: TestDatabase
let folder: string
const opened: Database[] = []

beforeAll(async () => {
  home = await createTestDatabase('moved', [])
  folder = await mkdtemp(path.join(tmpdir(), 'payweave-logins-'))
})

afterAll(async () => {
  await Promise.all(opened.map((db) => db.close()))
  await home.drop()
  await rm(folder, { recursive: true })
})

/** The command line as the migration job runs it. */
async function job(...words: string[]) {
  let out = ''
  const write = (chunk: unknown, _: unknown, done: () => void) => {
    out += String(chunk)
    done()
  }
  const stream = () => new Writable({ write })
  const env = { DATABASE_URL: home.url, PAYWEAVE_ENV: 'local' }
  const code = await runCommandLine(words, { env, stdout: stream(), stderr: stream() })
  return { code, out }
}

it('a service waits, not ready, until the migration job has run', async () => {
  const [adminPort = 0] = await freePorts(1)
  const stopping = new AbortController()
  const settings = {
    databaseUrl: home.url,
    databasePasswordFile: undefined,
    migrateAtStart: false,
    host: '127.0.0.1',
    adminPort,
  }
  const metrics = createMetrics('quotes')
  const asked = { service: 'quotes', settings, metrics, log: silentLog } as const
  const opening = openServiceDatabase({ ...asked, stopping: stopping.signal })
  const readyz = await eventually(
    async () =>
      (await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined)) ?? false,
  )
  expect(readyz.status).toBe(503)
  expect(await readyz.json()).toMatchObject({ parts: { schema: false } })

  expect(await job('migrate', 'status')).toMatchObject({ code: 1 })
  expect(await job('migrate', 'expand')).toMatchObject({ code: 0 })
  const after = await job('migrate', 'status')
  expect(after).toMatchObject({ code: 0 })
  expect(after.out).toContain('quotes  up to date')
  expect(await job('migrate', 'contract')).toMatchObject({ code: 0 })

  const db = await opening
  opened.push(db)
  expect(await db.ready()).toBe(true)
})

it('a service logs in as itself, by a password that may change, and cannot change its role', async () => {
  const loginFile = path.join(folder, 'moved')
  const passwordFile = path.join(folder, 'database-password')
  const owner = { adminUrl: home.url, directories: [], log: silentLog }
  const give = async (password: string) => {
    await writeFile(loginFile, `${password}\n`)
    await migrate({ ...owner, service: 'moved', loginFile })
  }
  await give('first one')
  await writeFile(passwordFile, 'first one\n')
  await migrate({ ...owner, service: 'stranger' })

  const url = new URL(home.url)
  url.username = 'payweave_moved'
  url.password = ''
  const options = { url: url.href, service: 'moved', log: silentLog, poolSize: 1 }
  const db = openDatabase({ ...options, passwordFile })
  opened.push(db)
  const run = (text: string) => db.run(sql('attempt', text), [])
  const who = sql('who', 'select session_user::text as login, current_user::text as role')
  const itself = { login: 'payweave_moved', role: 'payweave_moved' }
  expect(await db.row(who, [])).toEqual(itself)
  const refused: string[] = []
  for (const [index, text] of [
    'create table own (id int)',
    'create table public.other (id int)',
    'select 1 from stranger.schema_migration',
    'set role payweave_stranger',
    'set role postgres',
    "insert into schema_migration values ('own', 'x')",
    'create role payweave_more',
  ].entries()) {
    await db.run(sql(`attempt_${index}`, text), []).catch(() => refused.push(text))
  }
  expect(refused).toHaveLength(7)
  expect(await run('select 1 from schema_migration')).toBe(0)

  await give('second one')
  await writeFile(passwordFile, 'second one\n')
  await home
    .open({ service: undefined })
    .rows(
      sql(
        'cut',
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'payweave_moved'",
      ),
      [],
    )
  expect(await eventually(() => db.row(who, []))).toEqual(itself)
  await writeFile(passwordFile, 'first one\n')
  const late = openDatabase({ ...options, passwordFile })
  opened.push(late)
  expect(await late.ready()).toBe(false)
  await expect(late.row(who, [])).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
})

it('the server gets the SCRAM verifier of RFC 7677 for a password', () => {
  // Its example: password "pencil", 4,096 rounds; the proofs follow from these two keys.
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  expect(scramVerifier('pencil', salt)).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
})
