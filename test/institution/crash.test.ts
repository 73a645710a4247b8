// Kills the service at every step of a transaction, before and after each call and statement, and lets another process
// carry on: there is exactly one outcome, and accounts, quotes and the back end agree with it.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  CreateTransactionRequestSchema,
  type Transaction,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { QuoteTransactionStatus } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Database, Sql } from '#platform/db/db.ts'
import { institutionService } from '../../services/institution/api/transactions.ts'
import { type Engine, startInstitution } from '../../services/institution/engine.ts'
import { reportTransfer } from '../../services/institution/operations/reports.ts'
import type { Peers } from '../../services/institution/ports/peers.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { no } from './accounts.ts'
import { type Harness, type Order, settings, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  // Only the processes of the tests may work on its rows.
  await harness.closeProcess()
})
afterAll(() => harness.stop())

type When = 'before' | 'after'

/** A call or statement, and for which time it is made. */
type Step = { name: string; time: number }

/** Where a process dies: at one of its steps, before it is made or after it was carried out. */
type Point = Step & { when: When }

/** Looking for work changes nothing, and comes at any time. */
const looks = new Set([
  'transaction_take',
  'transaction_find',
  'transaction_find_named',
  'transaction_now',
  'resolveSession',
  'getRate',
])

/** A process that notes each step that changes something, and dies at a point; nothing of it is answered from then on. */
function startProcess(point?: Point) {
  const steps: Step[] = []
  let isDead = false
  let die: () => void = () => {}
  const died = new Promise<void>((resolve) => {
    die = resolve
  })
  const never = () => new Promise<never>(() => {})

  async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (isDead) return never()
    if (looks.has(name)) return work()
    const time = steps.filter((step) => step.name === name).length + 1
    steps.push({ name, time })
    if (name !== point?.name || time !== point.time) return work()
    if (point.when === 'after') await work().catch(() => {})
    isDead = true
    die()
    return never()
  }

  const { db: real } = harness
  const db: Database = {
    ...real,
    row: <T>(statement: Sql, values: unknown[]) =>
      step(statement.name, () => real.row<T>(statement, values)),
    rows: <T>(statement: Sql, values: unknown[]) =>
      step(statement.name, () => real.rows<T>(statement, values)),
    run: (statement, values) => step(statement.name, () => real.run(statement, values)),
  }
  const peers = Object.fromEntries(
    Object.entries(harness.peers).map(([name, group]) => [
      name,
      Object.fromEntries(
        Object.entries(group as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
          ([call, method]) => [call, (...args: unknown[]) => step(call, () => method(...args))],
        ),
      ),
    ]),
  ) as unknown as Peers
  const engine = startInstitution({
    db,
    log: silentLog,
    metrics: new Registry(),
    settings,
    peers,
    notifyOutbox: () => {},
  })
  return { engine, steps, died, isDead: () => isDead }
}

async function send({ institution }: Engine, asked: Order): Promise<Transaction> {
  const { createTransaction } = institutionService(institution)
  const request = create(CreateTransactionRequestSchema, asked)
  const { transaction } = await createTransaction(request, undefined as never)
  return transaction as Transaction
}

/** One transaction with all that is around it. */
function scenario(kind: Kind) {
  const { accounts, quotes } = harness
  const isExchange = kind.includes('quote')
  const isTransfer = kind.includes('transfer')
  const ama = accounts.person()
  const kofi = accounts.person(isExchange ? { currency: 'TTD' } : {})
  const token = accounts.session(ama)
  const quote = isExchange ? quotes.quote() : undefined
  if (kind.includes('refused')) ama.balance = 1n
  const asked = harness.order(token, ama, kofi, {
    ...(quote === undefined
      ? {}
      : { quoteId: quote.quoteId, amount: '678.29', senderAmount: '100.00' }),
    ...(isTransfer
      ? {
          type: TransactionType.CASHOUT,
          creditParty: { accountNumber: randomUUID(), currency: kofi.currency },
        }
      : {}),
  })
  const before = ama.balance
  return { ama, token, quote, asked, isTransfer, before }
}

const kinds = [
  'p2p',
  'p2p with a quote',
  'p2p with a quote, refused',
  'transfer with a quote',
  'transfer that fails',
  'transfer whose hold expires',
] as const
type Kind = (typeof kinds)[number]

/** Longer than a hold lives: the deadline of its transfer and 30 days. */
const holdLifeMs = settings.transferTtlS * 1_000 + 31 * 86_400_000

/** Lets the hold of a transfer expire; true once the service tried to cancel it, which the back end no longer can. */
function outliveHold(transferId: string, { institution }: Engine): boolean {
  const { accounts, backend, testClock } = harness
  backend.state.isMoving = true
  const { expireTime } = accounts.movements.get(transferId)?.request?.hold ?? {}
  const nowMs = Date.now() + testClock.offsetMs
  if (expireTime !== undefined && timestampMs(expireTime) > nowMs) testClock.advance(holdLifeMs)
  institution.notify()
  return backend.cancels.has(transferId)
}

/** Lets every transfer of the back end that this sender made end, as often as it takes. */
async function endTransfers(process: Engine, kind: Kind, steps: Set<string>): Promise<void> {
  for (const [transferId] of harness.backend.transfers) {
    if (steps.has(transferId)) continue
    if (kind === 'transfer whose hold expires' && !outliveHold(transferId, process)) continue
    const outcome = kind === 'transfer that fails' ? 'failed' : 'completed'
    await reportTransfer(process.institution, transferId, { outcome, reason: '' }).catch(
      (error: unknown) => {
        if (!(error instanceof Failure)) throw error
      },
    )
  }
}

/** Reads until the transaction has ended or is not there. */
async function ending(
  engine: Engine,
  asked: Order,
  kind: Kind,
  old: Set<string>,
): Promise<{ transaction: Transaction | undefined }> {
  const { getTransaction } = institutionService(engine.institution)
  const { projectId = '', institutionName = '', transactionId = '' } = asked
  return eventually(async () => {
    await endTransfers(engine, kind, old)
    try {
      const request = { projectId, institutionName, transactionId, movementId: '' }
      const { transaction } = await getTransaction(request as never, undefined as never)
      const isPending = transaction?.status === TransactionStatus.PENDING
      return !isPending && { transaction: transaction as Transaction }
    } catch (error) {
      if (error instanceof Failure && error.reason === 'TRANSACTION_NOT_FOUND')
        return { transaction: undefined }
      if (error instanceof Failure && error.reason === 'SERVICE_UNAVAILABLE') return false
      throw error
    }
  })
}

type Scenario = ReturnType<typeof scenario>

/** What there was before a scenario. */
type Before = { standing: number; transfers: Set<string> }

/** What accounts, quotes and the back end know of a scenario. */
function traces({ ama, token, quote, before }: Scenario, was: Before) {
  return {
    movements: harness.accounts.standing().length - was.standing,
    paid: before - ama.balance,
    isSpent: harness.accounts.isSpent(token),
    transfers: harness.backend.transfers.size - was.transfers.size,
    isReserved: quote?.reservedBy !== undefined,
    receiptOfQuote: quote?.receiptId,
  }
}

const nothing = { movements: 0, paid: 0n, isSpent: false, transfers: 0, isReserved: false }

async function expectNothing(one: Scenario, was: Before): Promise<void> {
  await eventually(() => expect(one.quote?.reservedBy).toBeUndefined())
  expect(traces(one, was)).toMatchObject(nothing)
}

async function expectOnce(
  one: Scenario,
  was: Before,
  { transaction, kind, engine }: { transaction: Transaction; kind: Kind; engine: Engine },
): Promise<void> {
  const { quote, asked, isTransfer } = one
  const hasFailed = kind === 'transfer that fails'
  const end = hasFailed ? 'FAILED' : 'COMPLETED'
  const made = {
    movements: hasFailed ? 0 : 1,
    paid: hasFailed ? 0n : 10_000n,
    isSpent: true,
    transfers: isTransfer ? 1 : 0,
    isReserved: quote !== undefined,
    receiptOfQuote: quote && transaction.institutionReceiptId,
  }
  await eventually(() => quote === undefined || quote.status === QuoteTransactionStatus.COMPLETED)
  expect(TransactionStatus[transaction.status]).toBe(end)
  expect(traces(one, was)).toEqual(made)
  expect(await harness.events(transaction.transactionId)).toEqual(
    isTransfer ? ['ACCEPTED', end] : [end],
  )
  // The client repeats what was never answered.
  expect((await send(engine, asked)).institutionReceiptId).toBe(transaction.institutionReceiptId)
  expect(traces(one, was)).toEqual(made)
}

/** Runs a scenario until it is over, or until its process dies. */
async function runFirst(
  kind: Kind,
  { asked, quote }: Scenario,
  { transfers }: Before,
  point: Point | undefined,
) {
  const first = startProcess(point)
  const finish = async (): Promise<void> => {
    const word = await send(first.engine, asked).then(
      () => 'made',
      () => 'refused',
    )
    if (word === 'refused') return
    await ending(first.engine, asked, kind, transfers)
    // The quotes service is notified after the end.
    await eventually(() => quote === undefined || quote.status > QuoteTransactionStatus.PENDING)
  }
  const pumping = setInterval(() => {
    void endTransfers(first.engine, kind, transfers).catch(() => {})
  }, 20)
  // It may die in what it ends as it closes.
  await Promise.race([first.died, finish().then(() => first.engine.close())])
  clearInterval(pumping)
  return { steps: first.steps, reached: first.isDead() }
}

/** Runs a scenario to its end, dying at the point and carried on by another process; answers the steps it took. */
async function live(kind: Kind, point?: Point): Promise<{ steps: Step[]; reached: boolean }> {
  const was: Before = {
    standing: harness.accounts.standing().length,
    transfers: new Set(harness.backend.transfers.keys()),
  }
  const one = scenario(kind)
  const ran = await runFirst(kind, one, was, point)
  harness.testClock.advance(settings.leaseMs + 1_000)
  const { engine } = startProcess()
  const { transaction } = await ending(engine, one.asked, kind, was.transfers)
  await (transaction === undefined
    ? expectNothing(one, was)
    : expectOnce(one, was, { transaction, kind, engine }))
  await engine.close()
  return ran
}

describe.each(kinds)('a %s', (kind) => {
  it(`a ${kind} has one outcome wherever its process is killed`, { timeout: 120_000 }, async () => {
    const { steps } = await live(kind)
    expect(steps.length).toBeGreaterThan(2)
    const missed: Point[] = []
    for (const step of steps) {
      for (const when of ['before', 'after'] as const) {
        const { reached } = await live(kind, { ...step, when })
        if (!reached) missed.push({ ...step, when })
      }
    }
    // What comes by the clock is repeated more often in one run than in another, and at least once in all.
    expect(missed.filter(({ time }) => time === 1)).toEqual([])
  })
})

it('a refused claim never begins: a call that cancels it may still be executed', async () => {
  const { ama, asked, before } = scenario('transfer with a quote')
  const first = startProcess({ name: 'beginMovement', time: 1, when: 'before' })
  void send(first.engine, asked).catch(() => {})
  await first.died
  ama.balance = 1n
  harness.testClock.advance(settings.leaseMs + 1_000)
  // The second holder gets no answer to its call, which is executed later.
  const { movements } = harness.peers
  let late: (() => Promise<unknown>) | undefined
  const { cancelMovement } = movements
  movements.cancelMovement = (...args) => {
    if (late !== undefined) return cancelMovement(...args)
    late = () => cancelMovement(...args)
    // Money has come when the next holder takes the claim.
    ama.balance = before
    return Promise.reject(no('TIMEOUT'))
  }
  const second = startProcess()
  const { transaction } = await ending(second.engine, asked, 'transfer with a quote', new Set())
  movements.cancelMovement = cancelMovement
  expect(late).toBeDefined()
  await late?.()
  expect(transaction).toBeUndefined()
  expect(ama.balance).toBe(before)
  await second.engine.close()
})

it('a claim whose quote was released does not use it', async () => {
  const one = scenario('p2p with a quote, refused')
  const { ama, quote, asked } = one
  const first = startProcess({ name: 'transaction_drop', time: 1, when: 'before' })
  void send(first.engine, asked).catch(() => {})
  await first.died
  expect(quote?.reservedBy).toBeUndefined()
  ama.balance = 1_000_000n
  harness.testClock.advance(settings.leaseMs + 1_000)
  const second = startProcess()
  const { transaction } = await ending(second.engine, asked, 'p2p with a quote', new Set())
  expect(transaction).toBeUndefined()
  expect(ama.balance).toBe(1_000_000n)
  await second.engine.close()
})

it('an unleased claim whose money was spent meanwhile is dropped and can never begin', async () => {
  const { ama, token, asked } = scenario('p2p')
  const first = startProcess({ name: 'beginMovement', time: 1, when: 'before' })
  void send(first.engine, asked).catch(() => {})
  await first.died
  ama.balance = 1n
  harness.testClock.advance(settings.leaseMs + 1_000)
  const second = startProcess()
  const { transaction } = await ending(second.engine, asked, 'p2p', new Set())
  expect(transaction).toBeUndefined()
  expect(harness.accounts.isSpent(token)).toBe(false)
  const [tombstone] = [...harness.accounts.movements.values()].slice(-1)
  expect(tombstone).toMatchObject({ state: 'cancelled', request: undefined })
  ama.balance = 1_000_000n
  expect((await send(second.engine, asked)).status).toBe(TransactionStatus.COMPLETED)
  await second.engine.close()
})
