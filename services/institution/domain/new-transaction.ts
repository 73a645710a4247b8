// Builds a transaction from a request, or refuses it. Pure.
import { randomBytes } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { readAmounts } from './amounts.ts'
import { type AccountFacts, findSides, type Sides } from './parties.ts'
import {
  type Amounts,
  type Described,
  type Draft,
  debitMinor,
  type TransactionType,
} from './transaction.ts'

/** A fee as the client wrote it; an empty currency is that of the side which pays it. */
export type StatedFee = { type: string; amount: string; currency: string }

/** A request, well formed but not understood yet. Empty texts were not given. */
export type NewTransaction = {
  projectId: string
  institutionName: string
  transactionId: string
  type: TransactionType
  amount: string
  senderAmount: string
  senderCurrency: string
  description: string
  fees: StatedFee[]
  described: Described
  quoteId: string
  /** Of the client's fields without the token. */
  fingerprint: Buffer
}

/** The session of the token, and the account that the far side of a p2p names. */
export type Session = {
  tokenHash: Buffer
  state: 'live' | 'spent' | 'expired'
  account: AccountFacts
  far: { account: AccountFacts | undefined; isAmbiguous: boolean }
  limitCurrency: string
}

/** A draft that only lacks what its limit counts in the limits' currency. */
export type Priced = Omit<Draft, 'limit'> & {
  own: { accountId: string; currency: string; amountMinor: bigint }
}

/** Validates a request in the order of its refusals, and assigns its ids. */
export function priceTransaction(asked: NewTransaction, session: Session): Priced {
  if (session.state === 'spent') {
    throw new Failure('SESSION_INVALID', 'the session was used by another transaction')
  }
  if (session.state === 'expired') throw new Failure('SESSION_EXPIRED', 'the session has expired')
  const sides = findSides(asked, session)
  const amounts = readAmounts(asked, sides)
  return {
    ...amounts,
    movementId: newId(),
    projectId: asked.projectId,
    institutionId: session.account.institutionId,
    institutionName: session.account.institutionName,
    transactionId: asked.transactionId,
    receiptId: randomBytes(24).toString('base64url'),
    fingerprint: asked.fingerprint,
    type: asked.type,
    quoteId: asked.quoteId === '' ? undefined : asked.quoteId,
    description: asked.description,
    debitAccountId: sides.debit?.accountId,
    creditAccountId: sides.credit?.accountId,
    described: {
      ...asked.described,
      debitParty: { ...asked.described.debitParty, ...numbersOf(sides.debit) },
      creditParty: { ...asked.described.creditParty, ...numbersOf(sides.credit) },
    },
    tokenHash: session.tokenHash,
    own: { accountId: session.account.accountId, ...countedOf(sides.own, amounts) },
  }
}

/** What counts against the limits: all that leaves the session's account, or what comes to it. */
function countedOf(own: Sides['own'], amounts: Amounts) {
  return own === 'debit'
    ? { currency: amounts.senderCurrency, amountMinor: debitMinor(amounts) }
    : { currency: amounts.currency, amountMinor: amounts.amountMinor }
}

function numbersOf(account: AccountFacts | undefined) {
  if (account === undefined) return {}
  return { mobileNumber: account.mobileNumber, accountNumber: account.accountNumber }
}
