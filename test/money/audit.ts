// Holds a ledger against what must be true of it after any history: money is conserved, none is made, limits and quotes are kept.
import { expect } from 'vitest'
import { type Transaction, TransactionStatus } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { balanceOf, statement, userLimits } from '../ledger/harness.ts'
import { eventually } from '../support/eventually.ts'
import type { Harness } from './harness.ts'
import type { Ledger, Made } from './history.ts'
import { covers, worthOf } from './worth.ts'

const open = statement(
  `select count(*)::integer as count from transaction where project_id = $1 and state in ('claimed', 'pending')`,
)

/** Ends every transfer that waits, as often as it takes until nothing is open. */
export async function settle(harness: Harness, ledger: Ledger): Promise<void> {
  const { institutionDb, reports } = harness
  const { projectId } = ledger.shop
  await eventually(async () => {
    for (const { route, transaction } of ledger.made.values()) {
      if (route === 'p2p') continue
      const { movementId: transferId } = transaction
      await reports.reportTransfer({ transferId, outcome: TransferOutcome.COMPLETED, reason: '' })
    }
    expect(await institutionDb.row(open, [projectId])).toEqual({ count: 0 })
  })
  for (const made of ledger.made.values()) {
    const { institutionName, transactionId } = made.transaction
    const known = await harness.institution.getTransaction({
      projectId,
      institutionName,
      transactionId,
    })
    if (known.transaction !== undefined) made.transaction = known.transaction
  }
}

/** What a transaction takes from its debit side and gives to its credit side. */
function movedBy({ amount, senderAmount, fees }: Transaction) {
  const minor = (money: { minorUnits: bigint } | undefined) => money?.minorUnits ?? 0n
  return {
    debit: {
      minor: minor(senderAmount) + minor(fees?.senderPays),
      currency: senderAmount?.currency ?? '',
    },
    credit: { minor: minor(amount) - minor(fees?.recipientPays), currency: amount?.currency ?? '' },
  }
}

function isCompleted({ transaction }: Made): boolean {
  return transaction.status === TransactionStatus.COMPLETED
}

/** Each transaction by itself: no fee above its amount, and nothing that comes to be worth more than what was paid. */
function expectTransactions({ made }: Ledger): void {
  for (const { transaction, ranBy, quotedFor } of made.values()) {
    const { amount, senderAmount, fees } = transaction
    expect((fees?.senderPays?.minorUnits ?? 0n) <= (senderAmount?.minorUnits ?? 0n)).toBe(true)
    expect((fees?.recipientPays?.minorUnits ?? 0n) <= (amount?.minorUnits ?? 0n)).toBe(true)
    const paid = worthOf(senderAmount?.minorUnits ?? 0n, senderAmount?.currency ?? '')
    const got = worthOf(amount?.minorUnits ?? 0n, amount?.currency ?? '')
    expect(got <= paid).toBe(true)
    if (quotedFor !== undefined) expect(quotedFor).toBe(ranBy.accountId)
  }
}

/** Every balance is what the transactions made of it, and all together are worth no more than at first and what came in. */
async function expectBalances({ accountsDb }: Harness, ledger: Ledger): Promise<void> {
  const completed = [...ledger.made.values()].filter(isCompleted)
  let worthBefore = 0n
  let worthAfter = 0n
  for (const { accountId, currency, openingMinor } of ledger.people) {
    let expected = openingMinor
    for (const { transaction } of completed) {
      const { debit, credit } = movedBy(transaction)
      if (transaction.debitParty?.accountNumber === accountId) expected -= debit.minor
      if (transaction.creditParty?.accountNumber === accountId) expected += credit.minor
    }
    const balance = await balanceOf(accountsDb, accountId, currency)
    expect(balance).toEqual({ postedMinor: expected, heldMinor: 0n })
    worthBefore += worthOf(openingMinor, currency)
    worthAfter += worthOf(expected, currency)
  }
  for (const { route, transaction } of completed) {
    if (route !== 'deposit' && route !== 'transferIn') continue
    const { debit } = movedBy(transaction)
    worthBefore += worthOf(debit.minor, debit.currency)
  }
  expect(worthAfter <= worthBefore).toBe(true)
}

type Counted = { movementId: string; accountId: string; minor: bigint; state: string }

const countedBy = statement(
  `select movement_id as "movementId", limit_account_id as "accountId", limit_minor as minor, state::text
   from movement where project_id = $1 and limit_account_id is not null`,
)
const usage = statement(
  `select account_id as "accountId", span::text, sum(used_minor)::bigint as minor, max(used_minor) as "maxMinor"
   from limit_usage where account_id = any($1::uuid[]) group by account_id, span`,
)

/** What counts is all that left each account, what failed is given back, and no limit is passed. */
async function expectLimits({ accountsDb }: Harness, ledger: Ledger): Promise<void> {
  const counted = await accountsDb.rows<Counted>(countedBy, [ledger.shop.projectId])
  for (const { movementId, minor, accountId } of counted) {
    const made = ledger.made.get(movementId)
    if (made === undefined || made.transaction.debitParty?.accountNumber !== accountId) continue
    const { debit } = movedBy(made.transaction)
    expect(covers(minor, debit.minor, debit.currency)).toBe(true)
  }
  const accounts = ledger.people.map(({ accountId }) => accountId)
  const used = await accountsDb.rows<{
    accountId: string
    span: 'day' | 'month'
    minor: bigint
    maxMinor: bigint
  }>(usage, [accounts])
  for (const { accountId, span, minor, maxMinor } of used) {
    const standing = counted.filter(
      (one) => one.accountId === accountId && one.state !== 'cancelled',
    )
    expect(minor).toBe(standing.reduce((sum, one) => sum + one.minor, 0n))
    const { level } = ledger.people.find((person) => person.accountId === accountId) ?? {}
    const limits = userLimits.levels[level ?? 0]
    const most = span === 'day' ? limits?.dailyMinor : limits?.monthlyMinor
    expect(maxMinor <= (most ?? 0n)).toBe(true)
    const largest = standing.map((one) => one.minor).toSorted((a, b) => (a < b ? 1 : -1))[0] ?? 0n
    expect(largest <= (limits?.singleMinor ?? 0n)).toBe(true)
  }
}

type Used = {
  quoteId: string
  accountId: string
  movementId: string
  currency: string
  residual: number
}

const usedQuotes = statement(
  `select quote_id as "quoteId", account_id as "accountId", movement_id as "movementId",
     quoted_currency as currency, residual::float8 as residual
   from quote where project_id = $1 and state <> 'open'`,
)
const roundingLines = statement(
  `select transfer_id as "movementId", currency, amount_minor as minor
   from posting where project_id = $1 and internal = 'fx_rounding'`,
)

/** Each quote is used by one transaction of its own account, and fx_rounding has one unit for each that left a residual. */
async function expectQuotes(harness: Harness, ledger: Ledger): Promise<void> {
  const { projectId } = ledger.shop
  const used = await harness.quotesDb.rows<Used>(usedQuotes, [projectId])
  const wanted = []
  for (const { movementId, accountId, currency, residual } of used) {
    const made = ledger.made.get(movementId)
    expect(made?.ranBy.accountId).toBe(accountId)
    if (made !== undefined && isCompleted(made) && residual !== 0)
      wanted.push({ movementId, currency, minor: 1n })
  }
  const lines = await harness.accountsDb.rows<{ movementId: string }>(roundingLines, [projectId])
  const byId = (one: { movementId: string }, other: { movementId: string }) =>
    one.movementId < other.movementId ? -1 : 1
  expect(lines.toSorted(byId)).toEqual(wanted.toSorted(byId))
}

/** All of it. */
export async function expectSound(harness: Harness, ledger: Ledger): Promise<void> {
  expectTransactions(ledger)
  await expectBalances(harness, ledger)
  await expectLimits(harness, ledger)
  await expectQuotes(harness, ledger)
  expect((await checkLedger(harness.accountsDb)).findings).toEqual([])
}
