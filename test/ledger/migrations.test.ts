// Tests that a new version of the ledger's tables comes while another process reads them.
import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { moving, statement } from './harness.ts'

it('the tables of batches come while a check reads the ledger, and the old trigger goes after it', async () => {
  const folders = migrationFolders('accounts')
  const index = folders.findIndex((folder) => basename(folder) === 'migrations')
  const own = folders[index] ?? ''
  const temporary = await mkdtemp(join(tmpdir(), 'payweave-migrations-'))
  const before = join(temporary, basename(own))
  await mkdir(before)
  for (const file of await readdir(own)) {
    if (file < '0036') await copyFile(join(own, file), join(before, file))
  }
  const database = await createTestDatabase('accounts', [...folders.slice(0, index), before])
  const db = database.open()
  const go = (phase: 'expand' | 'contract') =>
    migrate({
      adminUrl: database.url,
      service: 'accounts',
      directories: folders,
      log: silentLog,
      phase,
    })
  const last = "select from schema_migration where name = 'migrations/0047-limit-day.sql'"
  const { expanding } = await db.transaction(async (tx) => {
    await tx.run(statement('select from posting'), [])
    const expanding = go('expand')
    // The indexes that are built while others write come after it, and wait until the check has ended.
    await eventually(async () => (await db.run(statement(last), [])) === 1)
    return { expanding }
  })
  expect(await expanding).toContain('migrations/0036-batches.sql')
  const lines = moving({ internal: 'clearing' }, { internal: 'held' }, 5n)
  const post = () => postTransfer(db, { projectId: newId(), transferId: newId(), lines })
  expect(await post()).toMatchObject({ repeated: false })
  expect(await go('contract')).toEqual(['migrations/0037-transfer-sum.contract.sql'])
  expect(await post()).toMatchObject({ repeated: false })
  await database.drop()
  await rm(temporary, { recursive: true })
})
