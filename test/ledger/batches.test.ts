// Shows that transfers and holds that are written together have the same results as one by one, even if one of them fails.
import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import {
  batchingLedger,
  type LedgerWriter,
} from '../../services/accounts/ledger/operations/batching.ts'
import type { HoldLines, NewHold } from '../../services/accounts/ledger/operations/hold.ts'
import {
  type Address,
  type NewTransfer,
  readBalance,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { eventually } from '../support/eventually.ts'
import { balanceOf, type Harness, moving, newCustomer, startHarness, statement } from './harness.ts'

const currency = 'TTD'
const clearing = { internal: 'clearing' } as const
let harness: Harness
let db: Database
let ledger: LedgerWriter
/** Another process on the same accounts. */
let otherDb: Database
let projectId: string

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
  otherDb = harness.database.open({})
  ledger = batchingLedger(db)
})
beforeEach(() => {
  projectId = newId()
})
afterAll(() => harness.close())

const customer = (amountMinor: bigint) => newCustomer(db, { projectId, amountMinor })
const transfer = (from: Address, to: Address, amountMinor: bigint): NewTransfer => ({
  projectId,
  transferId: newId(),
  lines: moving(from, to, amountMinor),
})
const hold = (address: NewHold['address'], amountMinor: bigint): NewHold => ({
  projectId,
  holdId: newId(),
  address,
  currency,
  amountMinor,
  expireTime: new Date(Date.now() + 3_600_000),
})

/** Results of some calls: reasons of refusals, `repeated`, or `done`. */
async function outcomes(calls: Promise<{ repeated: boolean }>[]): Promise<string[]> {
  return Promise.all(
    calls.map((call) =>
      call.then(
        ({ repeated }) => (repeated ? 'repeated' : 'done'),
        (error: unknown) => (error instanceof Failure ? error.reason : String(error)),
      ),
    ),
  )
}

const deadlockCount = statement(
  'select deadlocks from pg_stat_database where datname = current_database()',
)
const countUpdates = statement(
  `select count(*)::integer as updates, count(distinct xid)::integer as statements from accounts.update_log`,
)

it('many transfers and holds on one account change its row once a batch', async () => {
  const owner = harness.database.open({ service: undefined })
  const shared = await customer(100_000n)
  await owner.run(statement('create table accounts.update_log (xid xid8)'), [])
  await owner.run(
    statement(
      `create function accounts.log_update() returns trigger language plpgsql security definer as $$
       begin insert into accounts.update_log values (pg_current_xact_id()); return null; end $$`,
    ),
    [],
  )
  await owner.run(
    statement(
      `create trigger log_update after update on accounts.ledger_account for each row
       when (new.holder_id = '${shared}') execute function accounts.log_update()`,
    ),
    [],
  )
  const address = { accountId: shared }
  const holds = Array.from({ length: 60 }, () => hold(address, 5n))
  await Promise.all([
    ...Array.from({ length: 60 }, () => ledger.postTransfer(transfer(address, clearing, 10n))),
    ...holds.map((one) => ledger.createHold(one)),
  ])
  await Promise.all(
    holds.map(({ holdId }) =>
      ledger.postHold({ projectId, holdId, lines: moving(address, clearing, 4n) }),
    ),
  )
  expect(await owner.row(countUpdates, [])).toEqual({ updates: 3, statements: 3 })
  expect(await balanceOf(db, shared)).toEqual({ postedMinor: 99_160n, heldMinor: 0n })
  await owner.run(statement('drop trigger log_update on accounts.ledger_account'), [])
})

it('a transfer that is refused is refused alone: too little, no account, repeated, in conflict', async () => {
  const [rich, poor, payee] = await Promise.all([customer(1_000n), customer(5n), customer(0n)])
  const to = { accountId: payee }
  const first = transfer({ accountId: rich }, to, 10n)
  await ledger.postTransfer(first)
  const twice = transfer({ accountId: rich }, to, 20n)
  const calls = [
    transfer({ accountId: rich }, to, 100n),
    transfer({ accountId: poor }, to, 206n),
    transfer({ accountId: newId() }, to, 1n),
    first,
    { ...first, lines: moving({ accountId: rich }, to, 11n) },
    twice,
    twice,
    transfer(clearing, { floatProjectId: projectId }, 7n),
    transfer({ accountId: rich }, { accountId: poor }, 200n),
  ].map((one) => ledger.postTransfer(one))
  expect(await outcomes(calls)).toEqual([
    'done',
    'INSUFFICIENT_FUNDS',
    'LEDGER_ACCOUNT_NOT_FOUND',
    'repeated',
    'LEDGER_CONFLICT',
    'done',
    'repeated',
    'done',
    'done',
  ])
  expect(await balanceOf(db, rich)).toEqual({ postedMinor: 670n, heldMinor: 0n })
  expect(await balanceOf(db, poor)).toEqual({ postedMinor: 205n, heldMinor: 0n })
  expect((await checkLedger(db)).findings).toEqual([])
})

it('a hold that is refused is refused alone, placed or posted', async () => {
  const [rich, poor] = await Promise.all([customer(1_000n), customer(5n)])
  const address = { accountId: rich }
  const [used, open] = [hold(address, 10n), hold(address, 20n)]
  await ledger.createHold(used)
  const placed = [
    used,
    { ...used, amountMinor: 11n },
    open,
    hold({ accountId: poor }, 6n),
    hold({ accountId: newId() }, 1n),
    { ...hold(address, 1n), expireTime: new Date(0) },
    hold({ floatProjectId: projectId }, 1n),
    hold(address, 30n),
  ].map((one) => ledger.createHold(one))
  expect(await outcomes(placed)).toEqual([
    'repeated',
    'LEDGER_CONFLICT',
    'done',
    'INSUFFICIENT_FUNDS',
    'LEDGER_ACCOUNT_NOT_FOUND',
    'INVALID_PARAMETER',
    'INSUFFICIENT_FUNDS',
    'done',
  ])
  const posting = (holdId: string, amountMinor: bigint): HoldLines => ({
    projectId,
    holdId,
    lines: moving(address, clearing, amountMinor),
  })
  const posted = [
    posting(used.holdId, 10n),
    posting(used.holdId, 10n),
    posting(open.holdId, 21n),
    posting(newId(), 1n),
  ].map((one) => ledger.postHold(one))
  expect(await outcomes(posted)).toEqual([
    'done',
    'repeated',
    'INVALID_PARAMETER',
    'HOLD_NOT_FOUND',
  ])
  expect(await balanceOf(db, rich)).toEqual({ postedMinor: 990n, heldMinor: 50n })
  expect((await checkLedger(db)).findings).toEqual([])
})

it('what is wrong with a write in itself is reported before a lack of money', async () => {
  const [rich, poor] = await Promise.all([customer(100n), customer(5n)])
  const lapsed = { ...hold({ accountId: poor }, 6n), expireTime: new Date(0) }
  const open = hold({ accountId: rich }, 10n)
  await ledger.createHold(open)
  const underHold = { ...transfer({ accountId: poor }, clearing, 6n), transferId: open.holdId }
  expect(await outcomes([ledger.createHold(lapsed), ledger.postTransfer(underHold)])).toEqual([
    'INVALID_PARAMETER',
    'LEDGER_CONFLICT',
  ])
})

it('debits that together pass a balance are refused only as far as they do', async () => {
  const shared = await customer(100n)
  const calls = Array.from({ length: 30 }, () =>
    ledger.postTransfer(transfer({ accountId: shared }, clearing, 7n)),
  )
  const ended = await outcomes(calls)
  expect(ended.filter((one) => one === 'done')).toHaveLength(14)
  expect(ended.filter((one) => one === 'INSUFFICIENT_FUNDS')).toHaveLength(16)
  expect(await balanceOf(db, shared)).toEqual({ postedMinor: 2n, heldMinor: 0n })
})

it('two processes write the same accounts and the same transfers in any order, exactly once, without a deadlock', async () => {
  const processes = [ledger, batchingLedger(otherDb)]
  const property = fc.asyncProperty(
    fc.array(
      fc.record({ from: fc.nat(4), to: fc.nat(5), amount: fc.integer({ min: 1, max: 60 }) }),
      {
        minLength: 10,
        maxLength: 40,
      },
    ),
    fc.infiniteStream(fc.nat(2)),
    async (moves, order) => {
      const people = await Promise.all(Array.from({ length: 5 }, () => customer(100n)))
      const at = (index: number): Address =>
        index < people.length ? { accountId: people[index] ?? '' } : clearing
      const transfers = moves.map(({ from, to, amount }) =>
        transfer(at(from), at(to === from ? 5 : to), BigInt(amount)),
      )
      const before = (await readBalance(db, { address: clearing, projectId, currency })).postedMinor
      // Each process writes all of them, one from the end: the first that commits a transfer posts it, the other one repeats it.
      const calls = processes.map((process, index) => {
        const mine = index === 0 ? transfers : transfers.toReversed()
        return mine.map(async (one) => {
          for (let turns = order.next().value ?? 0; turns > 0; turns -= 1)
            await new Promise(setImmediate)
          return process.postTransfer(one)
        })
      })
      const [forth, back] = await Promise.all(calls.map(outcomes))
      const expected = new Map(people.map((accountId) => [accountId, 100n]))
      let cleared = 0n
      for (const [index, { lines }] of transfers.entries()) {
        const both = [forth?.[index], back?.[transfers.length - 1 - index]]
        const isPosted = both.includes('done')
        expect(both.filter((one) => one === 'done')).toHaveLength(isPosted ? 1 : 0)
        for (const one of both) expect(['done', 'repeated', 'INSUFFICIENT_FUNDS']).toContain(one)
        for (const { address, amountMinor } of isPosted ? lines : []) {
          if ('accountId' in address)
            expected.set(address.accountId, (expected.get(address.accountId) ?? 0n) + amountMinor)
          else cleared += amountMinor
        }
      }
      for (const [accountId, postedMinor] of expected)
        expect(await balanceOf(db, accountId)).toEqual({ postedMinor, heldMinor: 0n })
      const after = await readBalance(db, { address: clearing, projectId, currency })
      expect(after.postedMinor - before).toBe(cleared)
    },
  )
  await fc.assert(property, { numRuns: 6 })
  expect((await checkLedger(db)).findings).toEqual([])
  expect((await db.row<{ deadlocks: bigint }>(deadlockCount, []))?.deadlocks).toBe(0n)
}, 60_000)

it('a batch whose connection is lost writes nothing, and each of its transfers can be repeated', async () => {
  const [payer, payee] = await Promise.all([customer(100n), customer(0n)])
  const transfers = Array.from({ length: 5 }, () =>
    transfer({ accountId: payer }, { accountId: payee }, 10n),
  )
  const owner = harness.database.open({ service: undefined })
  // One that waits for the lock until its backend ends.
  const patient = batchingLedger(
    harness.database.open({ limits: { lockMs: 25_000, statementMs: 25_000 } }),
  )
  const letGo = await lockRow(payee)
  const calls = outcomes(transfers.map((one) => patient.postTransfer(one)))
  const terminate = statement(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where wait_event_type = 'Lock' and datname = current_database()`,
  )
  await eventually(async () => expect(await owner.run(terminate, [])).toBe(1))
  expect(await calls).toEqual(transfers.map(() => 'SERVICE_UNAVAILABLE'))
  await letGo()
  expect(await balanceOf(db, payer)).toEqual({ postedMinor: 100n, heldMinor: 0n })
  const again = transfers.map((one) => ledger.postTransfer(one))
  expect(await outcomes(again)).toEqual(transfers.map(() => 'done'))
  expect(await balanceOf(db, payee)).toEqual({ postedMinor: 50n, heldMinor: 0n })
}, 30_000)

/** Keeps the row of a customer locked in another process until it is let go. */
async function lockRow(accountId: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const text = `select from ledger_account where holder_id = '${accountId}' for update`
  const locking = otherDb.transaction(async (tx) => {
    await tx.run(statement(text), [])
    locked.resolve()
    await released.promise
  })
  await locked.promise
  return () => {
    released.resolve()
    return locking
  }
}

it('an account that another process keeps locked fails its own transfers alone', async () => {
  const [stuck, free] = await Promise.all([customer(100n), customer(100n)])
  const letGo = await lockRow(stuck)
  const calls = [stuck, free].map((accountId) =>
    ledger.postTransfer(transfer({ accountId }, clearing, 1n)),
  )
  expect(await outcomes(calls)).toEqual(['TIMEOUT', 'done'])
  await letGo()
}, 20_000)

it('writes of other accounts are done while an account is locked, also in its batch', async () => {
  const [stuck, free, other] = await Promise.all([customer(100n), customer(500n), customer(500n)])
  const letGo = await lockRow(stuck)
  // Waits for the lock as long as the test runs.
  const patient = batchingLedger(
    harness.database.open({ limits: { lockMs: 25_000, statementMs: 25_000 } }),
  )
  const waiting: Promise<{ repeated: boolean }>[] = []
  const done: Promise<{ repeated: boolean }>[] = []
  const write = (accountId: string, calls: Promise<{ repeated: boolean }>[]) => {
    const from = { accountId }
    calls.push(patient.postTransfer(transfer(from, clearing, 1n)))
    calls.push(patient.createHold(hold(from, 1n)))
  }
  // One of each kind that comes alone, and one among others.
  write(stuck, waiting)
  await new Promise(setImmediate)
  for (let count = 0; count < 100; count += 1) {
    if (count === 10) write(stuck, waiting)
    write(count % 2 === 0 ? free : other, done)
  }
  expect(new Set(await outcomes(done))).toEqual(new Set(['done']))
  await letGo()
  expect(new Set(await outcomes(waiting))).toEqual(new Set(['done']))
  expect(await balanceOf(db, stuck)).toEqual({ postedMinor: 98n, heldMinor: 2n })
}, 30_000)
