// Shows that the checker finds every rule broken that somebody with a superuser's hands can break, and nothing in a whole ledger.
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId, randomId } from '#core/id.ts'
import type { Database } from '#runtime/db.ts'
import { checkLedger, startChecks } from '../../services/accounts/ledger/check.ts'
import { countUnfolded } from '../../services/accounts/ledger/fold-store.ts'
import { createHold, voidHold } from '../../services/accounts/ledger/hold.ts'
import {
  postTransfer,
  readBalance,
  reverseTransfer,
} from '../../services/accounts/ledger/ledger.ts'
import { ledgerMetrics } from '../../services/accounts/ledger/metrics.ts'
import { foldInternal } from '../../services/accounts/ledger/workers.ts'
import { silentLog } from '../support/database.ts'
import { type LedgerWorld, ledgerWorld, moving, newCustomer, statement } from './world.ts'

let world: LedgerWorld
let db: Database
let owner: Database
let projectId: string
let accountId: string
let transferId: string

const clearing = { internal: 'clearing' } as const

// Each test breaks a ledger of its own.
beforeEach(async () => {
  world = await ledgerWorld()
  db = world.db
  owner = world.database.open({ service: undefined })
  projectId = newId()
  accountId = await newCustomer(db, { projectId, amountMinor: 1_000n })
  transferId = newId()
  await postTransfer(db, { projectId, transferId, lines: moving({ accountId }, clearing, 300n) })
})
afterEach(() => world.close())

/** Changes rows as nobody who works with the ledger can: as superuser, with triggers and checks off. */
async function plant(change: string, values: unknown[] = []): Promise<void> {
  await owner.transaction(async (tx) => {
    await tx.run(statement(`set local session_replication_role = replica`), [])
    await tx.run(statement(`set local search_path = accounts`), [])
    await tx.run(statement(change), values)
  })
}

async function brokenRules(): Promise<string[]> {
  const { findings } = await checkLedger(db)
  return [...new Set(findings.map(({ rule }) => rule))]
}

const hold = (amountMinor: bigint, livesMs = 60_000) => {
  const expireTime = new Date(world.clock.now().getTime() + livesMs)
  const address = { accountId }
  const holdId = newId()
  const wanted = { projectId, holdId, address, currency: 'TTD', amountMinor, expireTime }
  return createHold(db, wanted).then(() => holdId)
}

describe('a whole ledger', () => {
  it('has no findings, whatever is folded and whatever is held', async () => {
    await hold(100n)
    await voidHold(db, projectId, await hold(10n))
    await reverseTransfer(db, {
      projectId,
      transferId: newId(),
      reversesId: transferId,
      description: '',
    })
    for (const most of [2, 1_000]) {
      expect(await checkLedger(db)).toMatchObject({ findings: [], transfersChecked: 3n })
      await foldInternal(db, most)
    }
    expect(await countUnfolded(db)).toBe(0)
    expect(await checkLedger(db)).toMatchObject({ findings: [] })
    const balance = await readBalance(db, { address: clearing, projectId, currency: 'TTD' })
    expect(balance.postedMinor).toBe(0n)
  })

  it('is not stopped by a check, nor stops it', async () => {
    await db.transaction(async (tx) => {
      const lines = moving({ accountId }, clearing, 1n)
      await postTransfer(tx, { projectId, transferId: newId(), lines })
      expect(await checkLedger(db)).toMatchObject({ findings: [], transfersChecked: 2n })
    })
  })
})

describe('the checker finds', () => {
  it('L1: a transfer that does not sum to zero', async () => {
    await plant('update posting set amount_minor = amount_minor + 1 where line = 1')
    expect(await brokenRules()).toContain('L1')
  })

  it('L2: money out of nothing', async () => {
    await plant('update ledger_account set posted_minor = posted_minor + 1')
    expect(await brokenRules()).toEqual(['L2', 'L3'])
  })

  it('L2: a folded balance that is lost', async () => {
    await foldInternal(db, 1_000)
    await plant(`delete from internal_balance where internal = 'opening'`)
    expect(await brokenRules()).toEqual(['L2', 'L3'])
  })

  it('L3: money that changed its holder without a transfer', async () => {
    await newCustomer(db, { projectId, amountMinor: 500n })
    await plant(
      `update ledger_account set posted_minor = posted_minor + case holder_id when $1 then 5 else -5 end`,
      [accountId],
    )
    expect(await brokenRules()).toEqual(['L3'])
  })

  it('L3: lines that changed their account', async () => {
    await plant(`update posting set internal = 'fee_income' where internal = 'clearing'`)
    expect(await brokenRules()).toEqual(['L3'])
  })

  it('L3: held money without a hold', async () => {
    await plant('update ledger_account set held_minor = 1')
    expect(await brokenRules()).toEqual(['L3'])
  })

  it('L4: a balance below its floor', async () => {
    await plant('alter table ledger_account drop constraint ledger_account_available')
    const lines = moving({ accountId }, clearing, 701n)
    await postTransfer(db, { projectId, transferId: newId(), lines })
    expect(await brokenRules()).toEqual(['L4'])
  })

  it('L5: lines that were removed or added', async () => {
    await plant('delete from posting where transfer_id = $1', [transferId])
    expect(await brokenRules()).toContain('L5')
  })

  it('L5: a transfer that was taken back twice, and not as it was posted', async () => {
    await plant('drop index transfer_reversed_once')
    await plant(
      `insert into transfer (project_id, transfer_id, fingerprint, line_count, reverses_id, reference,
         description, method, metadata, post_time)
       select project_id, id::uuid, '', 0, transfer_id, '', '', '', '{}', post_time
       from transfer, unnest($1::text[]) as r(id) where transfer_id = $2`,
      [[randomId(), randomId()], transferId],
    )
    await plant('update transfer set line_count = 2 where line_count = 0')
    const { findings } = await checkLedger(db)
    const told = findings.map(({ description }) => description).join('\n')
    expect(told).toContain('was taken back 2 times')
    expect(told).toContain('does not take back')
  })

  it('L5: a protection that is gone', async () => {
    await plant('alter table posting disable trigger posting_immutable')
    await plant('grant update on transfer to payweave_accounts')
    const { findings } = await checkLedger(db)
    expect(findings).toEqual([
      { rule: 'L5', description: 'posting is not protected by posting_immutable' },
      { rule: 'L5', description: 'transfer may be changed by the service: update' },
    ])
  })

  it('L6: a hold that nobody let go, and one whose end is not what it says', async () => {
    await hold(1n, 5_000)
    const posted = await hold(1n)
    expect(await brokenRules()).toEqual([])
    world.clock.advance(5_000 + 61_000)
    await voidHold(db, projectId, posted)
    expect(await brokenRules()).toEqual(['L6'])
    await plant(`update hold set state = 'posted' where hold_id = $1`, [posted])
    const { findings } = await checkLedger(db)
    expect(findings.map(({ rule }) => rule)).toEqual(['L6', 'L6'])
  })

  it('no more than 100 of a rule, and shows their number as a metric', async () => {
    await plant(
      `insert into ledger_account (holder_id, holder, currency, posted_minor)
       select gen_random_uuid(), 'customer', 'USD', 1 from generate_series(1, 150)`,
    )
    const { findings } = await checkLedger(db)
    expect(findings.filter(({ rule }) => rule === 'L3')).toHaveLength(100)
    const registry = new Registry()
    const checks = startChecks(
      db,
      silentLog,
      ledgerMetrics(registry, () => countUnfolded(db)),
    )
    await expect
      .poll(() => registry.metrics(), { timeout: 5_000 })
      .toContain('payweave_ledger_findings{rule="L3"} 100')
    expect(await registry.metrics()).toMatch(/payweave_ledger_check_time_seconds 1\d{9}/)
    await checks.close()
  })
})
