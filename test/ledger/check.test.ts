// Shows that the checker finds every rule broken that somebody with a superuser's hands can break, and nothing in a whole ledger.
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import { ledgerService } from '../../services/accounts/ledger/api/ledger.ts'
import { ledgerMetrics } from '../../services/accounts/ledger/metrics.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import { createHold, voidHold } from '../../services/accounts/ledger/operations/hold.ts'
import {
  postTransfer,
  readBalance,
  reverseTransfer,
} from '../../services/accounts/ledger/operations/ledger.ts'
import {
  lockCheck,
  readCheckRecords,
} from '../../services/accounts/ledger/store/check-result-store.ts'
import { ruleChecks } from '../../services/accounts/ledger/store/check-store.ts'
import { countPendingRollUp } from '../../services/accounts/ledger/store/roll-up-store.ts'
import {
  checkLedger,
  type Finding,
  startChecks,
} from '../../services/accounts/ledger/workers/check.ts'
import { rollUpInternal } from '../../services/accounts/ledger/workers/workers.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, moving, newCustomer, startHarness, statement } from './harness.ts'

let harness: Harness
let db: Database
let owner: Database
let projectId: string
let accountId: string
let transferId: string

const clearing = { internal: 'clearing' } as const

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
  owner = harness.database.open({ service: undefined })
  projectId = newId()
  accountId = await newCustomer(db, { projectId, amountMinor: 1_000n })
  await newCustomer(db, { projectId, amountMinor: 500n })
  transferId = newId()
  await postTransfer(db, { projectId, transferId, lines: moving({ accountId }, clearing, 300n) })
})
afterAll(() => harness.close())

const undone = new Error('undone')

/** What the checker finds after changes that nobody who works with the ledger can make; they are undone then. */
async function findingsAfter(...changes: (string | Planting)[]): Promise<Finding[]> {
  let findings: Finding[] = []
  const planting = owner.transaction(async (tx) => {
    await tx.run(statement('set local search_path = accounts'), [])
    // Triggers are off in this role.
    await tx.run(statement('set local session_replication_role = replica'), [])
    for (const change of changes) {
      await (typeof change === 'string' ? tx.run(statement(change), []) : change(tx))
    }
    await tx.run(statement('set local role payweave_accounts'), [])
    findings = (await checkLedger(tx)).findings
    throw undone
  })
  await planting.catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return findings
}

type Planting = (tx: Queryable) => Promise<unknown>

/** The metric that a rule was checked, and when. */
function checkTimeOf(rule: string): RegExp {
  return new RegExp(`payweave_ledger_check_time_seconds\\{rule="${rule}"\\} 1\\d{9}`)
}

async function rulesAfter(...changes: (string | Planting)[]): Promise<string[]> {
  return [...new Set((await findingsAfter(...changes)).map(({ rule }) => rule))]
}

async function hold(q: Queryable, livesS: number): Promise<string> {
  const holdId = newId()
  const expireTime = new Date(Date.now() + livesS * 1_000)
  const wanted = { projectId, holdId, address: { accountId }, currency: 'TTD', amountMinor: 1n }
  await createHold(q, { ...wanted, expireTime })
  return holdId
}

/** The job over a database, the metrics that it shows, and the handlers that read it; it has these earlier results alone. */
async function startedChecks(
  checkDb: Database = db,
  earlier: { name: string; agoS: number }[] = [],
) {
  await owner.run(statement('delete from accounts.ledger_check'), [])
  for (const { name, agoS } of earlier) {
    const insert = `insert into accounts.ledger_check (name, rule, try_time)
      values ('${name}', 'L1', now() - interval '${agoS} seconds')`
    await owner.run(statement(insert), [])
  }
  const registry = new Registry()
  const metrics = ledgerMetrics(registry, {
    countPendingRollUp: () => countPendingRollUp(db),
    readCheckRecords: () => readCheckRecords(db),
  })
  const checks = startChecks({ db, checkDb, log: silentLog, metrics })
  const service = ledgerService({ db, writer: batchingLedger(db), checkDb })
  return {
    close: checks.close,
    shown: () => registry.metrics(),
    last: async () => service.getLastLedgerCheck({} as never, {} as never),
    checkWithin: async (ms: number) =>
      service.checkLedger({} as never, { timeoutMs: () => ms } as never),
  }
}

/** The database, on which the statements that compare lines (L5) go over their limit of time. */
function tooLarge(): Database {
  return {
    ...db,
    rows: (sql, values) =>
      sql.name === 'check_lines'
        ? Promise.reject(new Failure('TIMEOUT', 'the statement took too long'))
        : db.rows(sql, values),
  }
}

describe('a whole ledger', () => {
  it('a sound ledger has no findings, with and without roll-ups and holds', async () => {
    await hold(db, 600)
    await voidHold(db, projectId, await hold(db, 600))
    const [reversesId, back] = [newId(), newId()]
    const lines = moving({ accountId }, clearing, 10n)
    await postTransfer(db, { projectId, transferId: reversesId, lines })
    await reverseTransfer(db, { projectId, transferId: back, reversesId, description: '' })
    for (const most of [2, 1_000]) {
      expect(await checkLedger(db)).toMatchObject({ findings: [], transfersChecked: 5n })
      await rollUpInternal(db, most)
    }
    expect(await countPendingRollUp(db)).toBe(0)
    expect((await checkLedger(db)).findings).toEqual([])
    const balance = await readBalance(db, { address: clearing, projectId, currency: 'TTD' })
    expect(balance.postedMinor).toBe(300n)
  })

  it('a sound ledger is checked while a transfer is in progress', async () => {
    await db.transaction(async (tx) => {
      const lines = moving({ accountId }, clearing, 1n)
      await postTransfer(tx, { projectId, transferId: newId(), lines })
      expect((await checkLedger(db)).findings).toEqual([])
    })
  })
})

describe('the checker finds', () => {
  it('the checker finds L1: a transfer that does not sum to zero', async () => {
    const change = 'update posting set amount_minor = amount_minor + 5 where line = 1'
    expect(await rulesAfter(change)).toContain('L1')
  })

  it('the checker finds L2: money out of nothing, and a rolled-up balance that is lost', async () => {
    const more = 'update ledger_account set posted_minor = posted_minor + 1'
    expect(await rulesAfter(more)).toEqual(['L2', 'L3'])
    const lost = `delete from internal_balance where internal = 'opening'`
    expect(await rulesAfter((tx) => rollUpInternal(tx), lost)).toEqual(['L2', 'L3'])
  })

  it('the checker finds L3: money that changed its holder, and lines that changed their account', async () => {
    const holder = `update ledger_account
      set posted_minor = posted_minor + case holder_id when '${accountId}' then 5 else -5 end`
    expect(await rulesAfter(holder)).toEqual(['L3'])
    const lines = `update posting set internal = 'fee_income' where internal = 'clearing'`
    expect(await rulesAfter(lines)).toEqual(['L3'])
  })

  it('the checker finds L3: held money without a hold', async () => {
    const change = 'update ledger_account set held_minor = held_minor + 1'
    expect(await rulesAfter(change)).toEqual(['L3'])
  })

  it('the checker finds L4: a balance below its floor', async () => {
    const findings = await rulesAfter(
      'alter table ledger_account drop constraint ledger_account_available',
      (tx) => tx.run(statement('update ledger_account set floor_minor = posted_minor + 1'), []),
    )
    expect(findings).toEqual(['L4'])
  })

  it('the checker finds L5: lines that were removed, and lines that were added', async () => {
    const removed = `delete from posting where transfer_id = '${transferId}'`
    expect(await rulesAfter(removed)).toContain('L5')
    const added = `insert into posting
      select project_id, transfer_id, line + 2, holder_id, holder, internal, currency, amount_minor,
        fee_minor, post_time
      from posting where transfer_id = '${transferId}'`
    expect(await rulesAfter(added)).toContain('L5')
  })

  it('the checker finds L5: a transfer that was taken back twice, and not as it was posted', async () => {
    const findings = await findingsAfter(
      'drop index transfer_reversed_once',
      `insert into transfer (project_id, transfer_id, fingerprint, line_count, reverses_id, reference,
         description, method, metadata, post_time)
       select project_id, gen_random_uuid(), '', 2, transfer_id, '', '', '', '{}', post_time
       from transfer cross join generate_series(1, 2) where transfer_id = '${transferId}'`,
    )
    const descriptions = findings.map(({ description }) => description).join('\n')
    expect(descriptions).toContain(`${transferId} of project ${projectId} was taken back 2 times`)
    expect(descriptions).toContain(`does not take back ${transferId}`)
  })

  it('the checker finds L5: a protection that is gone', async () => {
    const findings = await findingsAfter(
      'alter table posting disable trigger posting_immutable',
      'grant update on transfer to payweave_accounts',
    )
    expect(findings).toEqual([
      { rule: 'L5', description: 'posting is not protected by posting_immutable' },
      { rule: 'L5', description: 'transfer may be changed by the service: update' },
    ])
  })

  it('the checker finds L6: a hold that was never released, and one with a wrong final state', async () => {
    const later = (seconds: number) =>
      `select set_config('payweave.clock_offset', '${seconds} seconds', true)`
    const short: Planting = (tx) => hold(tx, 300)
    expect(await rulesAfter(short)).toEqual([])
    expect(await rulesAfter(short, later(330))).toEqual([])
    expect(await rulesAfter(short, later(390))).toEqual(['L6'])
    const posted = `update hold set state = 'posted' where state = 'voided'`
    expect(await rulesAfter(posted)).toEqual(['L6'])
  })

  it('the checker shows what fx_rounding has in each currency, rolled up or not, of all projects', async () => {
    const rounding = { internal: 'fx_rounding' } as const
    const position = { internal: 'fx_position' } as const
    const post = (projectId: string, amountMinor: bigint, currency: string) => {
      const lines = moving(position, rounding, amountMinor, currency)
      return postTransfer(db, { projectId, transferId: newId(), lines })
    }
    await post(projectId, 3n, 'TTD')
    await rollUpInternal(db, 100)
    await post(newId(), 4n, 'TTD')
    await post(projectId, 1n, 'JPY')
    const checks = await startedChecks()
    await eventually(async () =>
      expect(await checks.shown()).toContain(
        'payweave_ledger_fx_rounding_minor_units{currency="TTD"} 7',
      ),
    )
    expect(await checks.shown()).toContain(
      'payweave_ledger_fx_rounding_minor_units{currency="JPY"} 1',
    )
    await checks.close()
  })

  it('the checker finds at most 100 of a rule, and shows their number as a metric', async () => {
    const many = `insert into accounts.ledger_account (holder_id, holder, currency, posted_minor)
      select gen_random_uuid(), 'customer', 'USD', 1 from generate_series(1, 150)`
    await owner.run(statement(many), [])
    const { findings } = await checkLedger(db)
    expect(findings.filter(({ rule }) => rule === 'L3')).toHaveLength(100)
    const checks = await startedChecks()
    // L6 is checked last.
    await eventually(async () => expect(await checks.shown()).toMatch(checkTimeOf('L6')))
    expect(await checks.shown()).toContain('payweave_ledger_findings{rule="L3"} 100')
    const last = await checks.last()
    expect(last.findings?.filter(({ rule }) => rule === 'L3')).toHaveLength(100)
    expect(last).toMatchObject({ uncheckedRules: [], checkTime: expect.anything() })
    await checks.close()
  })

  it('a rule that cannot be checked is shown, and hides no other', async () => {
    const checks = await startedChecks(tooLarge())
    await eventually(async () => expect(await checks.shown()).toMatch(checkTimeOf('L6')))
    const shown = await checks.shown()
    expect(shown).toContain('payweave_ledger_findings{rule="L3"} 100')
    expect(shown).toContain('payweave_ledger_check_time_seconds{rule="L5"} 0')
    const last = await checks.last()
    expect(last.uncheckedRules).toEqual(['L5'])
    expect(last.checkTime).toBeUndefined()
    expect(last.findings?.map(({ rule }) => rule)).toContain('L3')
    expect(await checks.checkWithin(60_000)).toMatchObject({
      findings: last.findings,
      uncheckedRules: ['L5'],
    })
    const late = await checks.checkWithin(0)
    expect(late.uncheckedRules).toEqual(['L1', 'L2', 'L3', 'L4', 'L5', 'L6'])
    await checks.close()
  })

  it('a check begins with what was never tried, then with what was tried longest ago', async () => {
    const names = ruleChecks.map((check) => check.statement.name)
    const [first = '', second = '', ...others] = names
    const began: string[] = []
    const observed: Database = {
      ...db,
      rows(sql, values) {
        if (names.includes(sql.name)) began.push(sql.name)
        return db.rows(sql, values)
      },
    }
    const checks = await startedChecks(observed, [
      { name: first, agoS: 600 },
      { name: second, agoS: 1_200 },
    ])
    await eventually(() => expect(began).toEqual([...others, second, first]))
    await checks.close()
  })

  it('one replica checks at a time', async () => {
    const other = await db.session()
    expect(await lockCheck(other)).toBe(true)
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const observed: Database = {
      ...db,
      async session() {
        const session = await db.session()
        void session.closed.then(resolve)
        return session
      },
    }
    const checks = await startedChecks(observed)
    await ended
    expect(await readCheckRecords(db)).toEqual([])
    const shown = await checks.shown()
    expect(shown).toContain('payweave_ledger_check_time_seconds{rule="L6"} 0')
    expect(shown).not.toContain('payweave_ledger_findings{')
    other.close()
    await checks.close()
  })
})
