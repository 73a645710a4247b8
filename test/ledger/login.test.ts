// Holds that the check of the ledger logs in as the service does where its password is in a file.
import fs from 'node:fs'
import path from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSettings } from '#platform/config/config.ts'
import { openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { startLedger } from '../../services/accounts/ledger/engine.ts'
import { metricValue } from '../events/harness.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ownPostgres, type TestServer, temporaryFolder } from '../support/servers.ts'

const folder = temporaryFolder('ledger-login')
let server: TestServer

beforeAll(async () => {
  server = await ownPostgres({ fsync: 'off', shared_buffers: '16MB' })
})
afterAll(async () => {
  await server.remove()
  fs.rmSync(folder, { recursive: true })
})

it('the whole ledger is checked by the password of the file', async () => {
  const passwordFile = path.join(folder, 'database-password')
  fs.writeFileSync(passwordFile, 'of accounts\n')
  const url = new URL(server.url)
  await migrate({
    adminUrl: url.href,
    service: 'accounts',
    directories: migrationFolders('accounts'),
    loginFile: passwordFile,
    log: silentLog,
  })
  url.username = 'payweave_accounts'
  url.password = ''
  const db = openDatabase({ url: url.href, passwordFile, service: 'accounts', log: silentLog })
  const registry = new Registry()
  const settings = readSettings('accounts', {
    DATABASE_URL: url.href,
    DATABASE_PASSWORD_FILE: passwordFile,
    NATS_URL: 'nats://nowhere',
  })
  const ledger = startLedger({ db, settings, log: silentLog, registry })
  try {
    await eventually(async () => {
      expect(await metricValue(registry, 'payweave_ledger_check_time_seconds')).toBeGreaterThan(0)
    })
  } finally {
    await ledger.close()
    await db.close()
  }
})
