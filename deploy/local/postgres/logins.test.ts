// Tests that services log in as roles of their own, also on a server that several installations share.
import fs from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '#platform/db/migrate.ts'
import { schemaOwners } from '#platform/db/schemas.ts'
import { silentLog } from '../../../test/support/database.ts'
import { ownPostgres, type TestServer, temporaryFolder } from '../../../test/support/servers.ts'
import { databaseUrlOn } from './database.ts'
import {
  databasePasswordFile,
  type LoginOf,
  loginOnDatabase,
  ownLogin,
  prepareLogins,
  requireLogin,
  urlOfRole,
} from './logins.ts'

let server: TestServer
let folder: string
const clients: Client[] = []

beforeAll(async () => {
  folder = temporaryFolder('logins')
  server = await ownPostgres({ fsync: 'off', shared_buffers: '16MB' })
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})
afterAll(async () => {
  await server.remove()
  fs.rmSync(folder, { recursive: true })
})

async function open(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  clients.push(client)
  return client
}

/** A database with the roles and schemas of all services, and no tables. */
async function makeDatabase(name: string): Promise<string> {
  const admin = await open(server.url)
  await admin.query(`create database ${name}`)
  const adminUrl = databaseUrlOn(server.url, name)
  for (const service of schemaOwners) {
    await migrate({ adminUrl, service, directories: [], log: silentLog })
  }
  return adminUrl
}

function urlOf(databaseUrl: string, dataDir: string, loginOf: LoginOf): string {
  const url = new URL(urlOfRole(databaseUrl, loginOf('payments')))
  url.password = fs.readFileSync(databasePasswordFile(dataDir, 'payments'), 'utf8').trim()
  return url.href
}

describe('the logins of services', () => {
  it('the logins of services are their own roles on our server, with passwords that stay', async () => {
    const databaseUrl = await makeDatabase('own')
    const dataDir = path.join(folder, 'own')
    await prepareLogins(databaseUrl, dataDir, ownLogin)
    const file = databasePasswordFile(dataDir, 'payments')
    const password = fs.readFileSync(file, 'utf8')
    await prepareLogins(databaseUrl, dataDir, ownLogin)
    expect(fs.readFileSync(file, 'utf8')).toBe(password)
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    const payments = await open(urlOf(databaseUrl, dataDir, ownLogin))
    const { rows } = await payments.query('select session_user::text as login')
    expect(rows).toEqual([{ login: 'payweave_payments' }])
  })

  it('the logins of services are other ones for each database of a server that somebody shares', async () => {
    const installations = await Promise.all(
      ['first', 'second'].map(async (name) => {
        const databaseUrl = await makeDatabase(`shared_${name}`)
        const loginOf = loginOnDatabase(databaseUrl)
        return { databaseUrl, loginOf, dataDir: path.join(folder, name) }
      }),
    )
    for (const { databaseUrl, loginOf, dataDir } of installations) {
      await prepareLogins(databaseUrl, dataDir, loginOf)
    }
    // The second has not taken the first one's passwords away.
    for (const { databaseUrl, loginOf, dataDir } of installations) {
      await requireLogin(databaseUrl, dataDir, loginOf)
      const payments = await open(urlOf(databaseUrl, dataDir, loginOf))
      await payments.query('set role payweave_payments')
      await payments.query('select 1 from payments.schema_migration')
      for (const role of ['payweave_accounts', loginOf('accounts'), 'postgres']) {
        await expect(payments.query(`set role ${role}`), role).rejects.toThrow(/permission denied/)
        await expect(payments.query(`set session authorization ${role}`), role).rejects.toThrow(
          /permission denied/,
        )
      }
    }
    const [first, second] = installations.map(({ loginOf }) => loginOf('payments'))
    expect(first).not.toBe(second)
  })

  it('the logins of services are made by a login that is no superuser and may make roles', async () => {
    const serverOfItsOwn = await ownPostgres({ fsync: 'off', shared_buffers: '16MB' })
    onTestFinished(() => serverOfItsOwn.remove())
    const admin = new Client({ connectionString: serverOfItsOwn.url })
    await admin.connect()
    await admin.query("create role maker login createrole password 'of the maker'")
    await admin.query('create database made owner maker')
    await admin.end()
    const url = new URL(serverOfItsOwn.url)
    Object.assign(url, { username: 'maker', password: 'of the maker', pathname: '/made' })
    for (const service of schemaOwners) {
      await migrate({ adminUrl: url.href, service, directories: [], log: silentLog })
    }
    const dataDir = path.join(folder, 'made')
    const loginOf = loginOnDatabase(url.href)
    await prepareLogins(url.href, dataDir, loginOf)
    await expect(requireLogin(url.href, dataDir, loginOf)).resolves.toBeUndefined()
  })

  it('the logins of services that the server refuses are named with the remedy', async () => {
    const databaseUrl = await makeDatabase('closed')
    const dataDir = path.join(folder, 'closed')
    const loginOf = loginOnDatabase(databaseUrl)
    await prepareLogins(databaseUrl, dataDir, loginOf)
    const admin = await open(databaseUrl)
    await admin.query(`alter role ${loginOf('payments')} nologin`)
    await expect(requireLogin(databaseUrl, dataDir, loginOf)).rejects.toThrow(
      `DATABASE_URL: the server does not let the role ${loginOf('payments')} log in (the login is refused); allow it`,
    )
  })
})
