// Random histories of quotes and transactions, and what carries them out as clients do: refusals are answers, defects are not.
import * as fc from 'fast-check'
import { Failure, reasons } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { type Transaction, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { type Quote, QuoteKind } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { newAccount, newShop, type Shop } from '../ledger/harness.ts'
import type { Harness } from './harness.ts'
import { currencies } from './worth.ts'

/** A customer of a ledger, by the place in `Ledger.people`. */
export type Person = { accountId: string; currency: string; level: number; openingMinor: bigint }

/** A transaction that was accepted, and the person whose session ran it. */
export type Made = { transaction: Transaction; route: Route; ranBy: Person; quotedFor?: string }

/** A project of its own with people and all that was accepted of them. */
export type Ledger = { shop: Shop; people: Person[]; made: Map<string, Made>; refusals: string[] }

/** Two of each of the currencies that accounts of the sandbox have, and one of each other exponent. */
const purses = [
  ['USD', 1_000_000n],
  ['USD', 30_000n],
  ['TTD', 300_000n],
  ['TTD', 2_000n],
  ['JPY', 500_000n],
  ['BHD', 1_000_000n],
  ['XOF', 900_000n],
] as const

export async function newLedger({ accountsDb }: Harness): Promise<Ledger> {
  const shop = await newShop(accountsDb)
  const people: Person[] = []
  for (const [index, [currency, openingMinor]] of purses.entries()) {
    const level = 2 - (index % 3)
    const wanted = { currency, level, amountMinor: openingMinor }
    people.push({ accountId: await newAccount(accountsDb, shop, wanted), ...wanted, openingMinor })
  }
  return { shop, people, made: new Map(), refusals: [] }
}

/** Between two people, or between one and the outside. */
export type Route = 'p2p' | 'cashout' | 'transferOut' | 'deposit' | 'transferIn'

/** What a client does beside the plain thing. Of those from `foreignQuote` on none may be accepted. */
type Twist =
  | 'none'
  | 'repeat'
  | 'reuse'
  | 'otherBody'
  | 'foreignQuote'
  | 'backward'
  | 'moreThanQuoted'
  | 'noQuote'

type Move = {
  kind: 'move'
  route: Route
  own: number
  far: number
  farCurrency: string
  /** Minor units, or thousandths of what the payer began with. */
  size: { minor: number } | { share: number }
  /** In thousandths of the amount that they go with. */
  senderFee: number
  recipientFee: number
  total: 'none' | 'right' | 'wrong'
  twist: Twist
}

export type Step =
  | Move
  | { kind: 'end'; pick: number; outcome: TransferOutcome }
  | { kind: 'wait'; hours: number }

const { COMPLETED, FAILED, CANCELLED } = TransferOutcome
const feeShare = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 900, max: 1_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_001, max: 900_000 }) },
)

// Without its bias, which is for small amounts: too many are worth nothing in another currency.
const move: fc.Arbitrary<Move> = fc.noBias(
  fc.record({
    kind: fc.constant('move' as const),
    route: fc.constantFrom<Route[]>(
      'p2p',
      'p2p',
      'p2p',
      'cashout',
      'transferOut',
      'deposit',
      'transferIn',
    ),
    own: fc.nat({ max: purses.length - 1 }),
    far: fc.nat({ max: purses.length - 1 }),
    farCurrency: fc.constantFrom(...currencies),
    size: fc.oneof(
      { weight: 2, arbitrary: fc.record({ minor: fc.integer({ min: 1, max: 300 }) }) },
      { weight: 4, arbitrary: fc.record({ share: fc.integer({ min: 1, max: 150 }) }) },
      { weight: 1, arbitrary: fc.record({ share: fc.integer({ min: 1, max: 1_100 }) }) },
    ),
    senderFee: feeShare,
    recipientFee: feeShare,
    total: fc.constantFrom<Move['total'][]>(
      'none',
      'none',
      'none',
      'none',
      'right',
      'right',
      'right',
      'wrong',
    ),
    twist: fc.constantFrom<Twist[]>(
      ...Array.from({ length: 6 }, () => 'none' as const),
      'repeat',
      'repeat',
      'reuse',
      'otherBody',
      'foreignQuote',
      'foreignQuote',
      'backward',
      'backward',
      'moreThanQuoted',
      'noQuote',
    ),
  }),
)

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: move },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      pick: fc.nat({ max: 9 }),
      outcome: fc.constantFrom(COMPLETED, COMPLETED, FAILED, CANCELLED),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      hours: fc.integer({ min: 1, max: 30 }),
    }),
  },
)

/** Does a step; an answer that is a refusal is noted, a defect is thrown. */
export async function run(harness: Harness, ledger: Ledger, one: Step): Promise<void> {
  if (one.kind === 'wait') harness.testClock.advance(one.hours * 3_600_000)
  else if (one.kind === 'end') await end(harness, ledger, one)
  else await tolerated(ledger, () => make(harness, ledger, one))
}

async function end(
  { reports }: Harness,
  { made }: Ledger,
  one: { pick: number; outcome: TransferOutcome },
) {
  const open = [...made.values()].filter(({ route }) => route !== 'p2p')
  const found = open[one.pick % (open.length || 1)]
  if (found === undefined) return
  const { movementId: transferId } = found.transaction
  await reports.reportTransfer({ transferId, outcome: one.outcome, reason: '' })
}

async function tolerated<T>(ledger: Ledger, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure) || reasons[error.reason].http >= 500) throw error
    ledger.refusals.push(error.reason)
    return undefined
  }
}

const types = {
  p2p: TransactionType.P2P,
  cashout: TransactionType.CASHOUT,
  transferOut: TransactionType.INTTRANSFER,
  deposit: TransactionType.DEPOSIT,
  transferIn: TransactionType.INTTRANSFER,
} as const

/** Who pays and who gets, before anybody has said how much. */
function sidesOf({ people }: Ledger, { route, own: ownAt, far: farAt, farCurrency }: Move) {
  const own = people[ownAt] as Person
  const far = route === 'p2p' ? (people[farAt] as Person) : undefined
  const farSide = { currency: far?.currency ?? farCurrency, number: far?.accountId ?? 'ELSEWHERE' }
  const ownSide = { currency: own.currency, number: own.accountId }
  const isIn = route === 'deposit' || route === 'transferIn'
  const [debit, credit] = isIn ? [farSide, ownSide] : [ownSide, farSide]
  return { own, debit, credit, isIn }
}

async function make(harness: Harness, ledger: Ledger, one: Move): Promise<void> {
  const { own, debit, credit } = sidesOf(ledger, one)
  const requested =
    'minor' in one.size
      ? BigInt(one.size.minor)
      : (own.openingMinor * BigInt(one.size.share)) / 1_000n
  if (requested === 0n) return
  const isExchange = debit.currency !== credit.currency
  const quote =
    isExchange && one.twist !== 'noQuote'
      ? await quoted(harness, ledger, one, requested)
      : undefined
  const got = quote?.quoted?.minorUnits ?? requested
  const amounts =
    one.twist === 'backward' && quote !== undefined
      ? { debitMinor: got, creditMinor: requested }
      : { debitMinor: requested, creditMinor: one.twist === 'moreThanQuoted' ? got + 1n : got }
  const asked = await bodyOf(harness, ledger, one, { ...amounts, quoteId: quote?.quoteId ?? '' })
  const post = (body: typeof asked) =>
    tolerated(ledger, async () => {
      const { transaction } = await harness.institution.createTransaction(body)
      if (transaction === undefined) throw new Error('the answer is empty')
      const quotedFor = quote === undefined ? {} : { quotedFor: quote.accountId }
      ledger.made.set(transaction.movementId, {
        transaction,
        route: one.route,
        ranBy: own,
        ...quotedFor,
      })
    })
  await Promise.all(one.twist === 'repeat' ? [post(asked), post(asked)] : [post(asked)])
  if (one.twist === 'repeat') await post(asked)
  if (one.twist === 'otherBody') await post({ ...asked, description: 'other' })
  if (one.twist === 'reuse') {
    const token = { case: 'sessionToken' as const, value: await tokenOf(harness, ledger, own) }
    await post({ ...asked, transactionId: newId(), token })
  }
}

/** The quote of a move: for money that comes in of the institution's, the way back of it too. */
async function quoted(
  harness: Harness,
  ledger: Ledger,
  one: Move,
  requestedMinor: bigint,
): Promise<Quote> {
  const { own, debit, credit, isIn } = sidesOf(ledger, one)
  const isBackward = one.twist === 'backward'
  const other = ledger.people.find((person) => person !== own && person.currency === own.currency)
  const holder = one.twist === 'foreignQuote' ? (other ?? own) : own
  const currency = isBackward ? credit.currency : debit.currency
  const { quote } = await harness.quotes.createQuote({
    projectId: ledger.shop.projectId,
    institutionName: ledger.shop.institutionId,
    sessionToken: await tokenOf(harness, ledger, holder),
    requested: { currency, minorUnits: requestedMinor },
    ...(isIn || isBackward
      ? { kind: QuoteKind.INSTITUTION }
      : { kind: QuoteKind.TRANSFER, creditParty: { currency: credit.currency } }),
  })
  if (quote === undefined) throw new Error('the answer has no quote')
  return quote
}

async function tokenOf(
  { accounts }: Harness,
  { shop }: Ledger,
  { accountId }: Person,
): Promise<string> {
  const { session } = await accounts.openSession({
    projectId: shop.projectId,
    lookupType: LookupType.ACCOUNT_NUMBER,
    lookupValue: accountId,
  })
  if (session === undefined) throw new Error('the account has no session')
  return session.sessionToken
}

async function bodyOf(
  harness: Harness,
  ledger: Ledger,
  one: Move,
  {
    debitMinor,
    creditMinor,
    quoteId,
  }: { debitMinor: bigint; creditMinor: bigint; quoteId: string },
) {
  const { own, debit, credit } = sidesOf(ledger, one)
  const senderPays = (debitMinor * BigInt(one.senderFee)) / 1_000n
  const recipientPays = (creditMinor * BigInt(one.recipientFee)) / 1_000n
  const total = senderPays + (debit.currency === credit.currency ? recipientPays : 0n)
  const fee = (type: string, minor: bigint, currency: string) => ({
    type,
    amount: formatAmount(minor, currency),
    currency,
  })
  return {
    projectId: ledger.shop.projectId,
    institutionName: ledger.shop.institutionId,
    token: { case: 'sessionToken' as const, value: await tokenOf(harness, ledger, own) },
    transactionId: newId(),
    type: types[one.route],
    amount: formatAmount(creditMinor, credit.currency),
    senderAmount: formatAmount(debitMinor, debit.currency),
    debitParty: { accountNumber: debit.number, currency: debit.currency },
    creditParty: { accountNumber: credit.number, currency: credit.currency },
    fees: [
      fee('sender_pays', senderPays, debit.currency),
      fee('recipient_pays', recipientPays, credit.currency),
      ...(one.total === 'none'
        ? []
        : [fee('total', one.total === 'wrong' ? total + 1n : total, debit.currency)]),
    ],
    quoteId,
    description: '',
  }
}
