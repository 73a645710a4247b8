// Tests the pages of the settlements that the ledger refused, on a real database.
import { create } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { GetBackfillRequestSchema } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { Database } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import type { RetryOptions } from '../operations/settlement-retry.ts'
import { keepRefusals } from '../store/backfill-store.ts'
import { settlementPostingService } from './settlements.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open()
})
afterAll(() => database?.drop())

it('the refused settlements are listed oldest first, page after page, each once', async () => {
  const ids = Array.from({ length: 5 }, () => newId())
  const projectId = newId()
  // All of one statement have one time.
  for (const some of [ids.slice(0, 3), ids.slice(3)]) {
    const refusals = some.map((settlementId) => ({ settlementId, projectId, reason: 'a test' }))
    await keepRefusals(db, refusals, [])
  }
  // Payments is not asked.
  const api = settlementPostingService({ db } as RetryOptions, () => {})
  const found: string[] = []
  let pageToken = ''
  do {
    const request = create(GetBackfillRequestSchema, { pageSize: 2, pageToken })
    const page = await api.getBackfill(request, {} as never)
    expect(page.refused?.length).toBeLessThanOrEqual(2)
    found.push(...(page.refused ?? []).map(({ settlementId = '' }) => settlementId))
    pageToken = page.nextPageToken ?? ''
  } while (pageToken !== '')
  expect(found).toEqual([...ids.slice(0, 3).toSorted(), ...ids.slice(3).toSorted()])
  const [settlementId = ''] = ids
  const ofId = create(GetBackfillRequestSchema, { settlementId })
  expect((await api.getBackfill(ofId, {} as never)).refused).toMatchObject([{ settlementId }])
  await keepRefusals(db, [], ids)
  const foreign = create(GetBackfillRequestSchema, { pageToken: 'none' })
  await expect(api.getBackfill(foreign, {} as never)).rejects.toMatchObject({
    reason: 'INVALID_PARAMETER',
  })
})
