// Builds a transaction from a request, or refuses it. Pure.
import { randomBytes } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { readAmounts } from './amounts.ts'
import { findSides } from './parties.ts'
import {
  type AccountFacts,
  type Amounts,
  type Draft,
  debitMinor,
  type NewTransaction,
  type Session,
  type Sides,
} from './transaction.ts'

/** A draft that only lacks what its limit counts in the limits' currency. */
export type Priced = Omit<Draft, 'limit'> & {
  own: { accountId: string; currency: string; amountMinor: bigint; isCounted: boolean }
}

/** Validates a request in the order of its refusals, and assigns its ids. */
export function priceTransaction(request: NewTransaction, session: Session): Priced {
  if (session.state === 'spent') {
    throw new Failure('SESSION_INVALID', 'the session was used by another transaction')
  }
  if (session.state === 'expired') throw new Failure('SESSION_EXPIRED', 'the session has expired')
  const sides = findSides(request, session)
  const amounts = readAmounts(request, sides)
  return {
    ...amounts,
    movementId: newId(),
    projectId: request.projectId,
    institutionId: session.account.institutionId,
    institutionName: session.account.institutionName,
    transactionId: request.transactionId,
    receiptId: randomBytes(24).toString('base64url'),
    fingerprint: request.fingerprint,
    type: request.type,
    quoteId: request.quoteId === '' ? undefined : request.quoteId,
    description: request.description,
    debitAccountId: sides.debit?.accountId,
    creditAccountId: sides.credit?.accountId,
    described: {
      ...request.described,
      debitParty: { ...request.described.debitParty, ...numbersOf(sides.debit) },
      creditParty: { ...request.described.creditParty, ...numbersOf(sides.credit) },
    },
    tokenHash: session.tokenHash,
    own: { accountId: session.account.accountId, ...countedOf(sides.own, amounts) },
  }
}

/** All that leaves the session's account counts against its limits; what comes to it does not. */
function countedOf(own: Sides['own'], amounts: Amounts) {
  return own === 'debit'
    ? { currency: amounts.senderCurrency, amountMinor: debitMinor(amounts), isCounted: true }
    : { currency: amounts.currency, amountMinor: amounts.amountMinor, isCounted: false }
}

function numbersOf(account: AccountFacts | undefined) {
  if (account === undefined) return {}
  return { mobileNumber: account.mobileNumber, accountNumber: account.accountNumber }
}
