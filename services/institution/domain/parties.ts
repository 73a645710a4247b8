// Decides which side of a transaction is whose account. Pure.
import { Failure, missing } from '#core/errors/errors.ts'
import type {
  AccountFacts,
  NewTransaction,
  Party,
  Session,
  Sides,
  TransactionType,
} from './transaction.ts'

/** Sides on which the session's account may be. */
const ownSides = {
  p2p: ['debit'],
  cashout: ['debit'],
  deposit: ['credit'],
  inttransfer: ['debit', 'credit'],
} as const satisfies Record<TransactionType, readonly Sides['own'][]>

/**
 * PARTY_NOT_ALLOWED, ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, ACCOUNT_UNAVAILABLE, SAME_PARTIES, in this order; MISSING_PARAMETER for a
 * party without a number.
 */
export function findSides(
  { type, described }: Pick<NewTransaction, 'type' | 'described'>,
  { account, far }: Pick<Session, 'account' | 'far'>,
): Sides {
  const parties = { debit: described.debitParty, credit: described.creditParty }
  const allowed: readonly Sides['own'][] = ownSides[type]
  const own = allowed.find((side) => names(parties[side], account))
  if (own === undefined) throw notOwn(parties, allowed)
  const other = own === 'debit' ? 'credit' : 'debit'
  const farAccount = type === 'p2p' ? found(parties[other], far, other) : undefined
  if (!account.isAvailable || farAccount?.isAvailable === false) {
    throw new Failure('ACCOUNT_UNAVAILABLE', 'an account is suspended or closed')
  }
  if (isSame(parties[other], account, farAccount)) {
    throw new Failure('SAME_PARTIES', 'both parties are one account')
  }
  return own === 'debit'
    ? { own, debit: account, credit: farAccount }
    : { own, debit: farAccount, credit: account }
}

/** Whether a party names an account; the number of the account decides when it is given. */
function names(party: Party, account: AccountFacts): boolean {
  if (party.accountNumber !== '') return party.accountNumber === account.accountNumber
  return party.mobileNumber !== '' && party.mobileNumber === account.mobileNumber
}

function namesNothing({ accountNumber, mobileNumber }: Party): boolean {
  return accountNumber === '' && mobileNumber === ''
}

function notOwn(parties: Record<Sides['own'], Party>, allowed: readonly Sides['own'][]): Failure {
  const [first] = allowed
  if (first !== undefined && allowed.every((side) => namesNothing(parties[side]))) {
    return missingNumber(first)
  }
  return new Failure('PARTY_NOT_ALLOWED', 'the session is for another account')
}

function missingNumber(side: Sides['own']): Failure {
  const field = `${side}_party.mobile_number`
  return missing(field)
}

function found(party: Party, far: Session['far'], side: Sides['own']): AccountFacts {
  if (namesNothing(party)) throw missingNumber(side)
  if (far.isAmbiguous) throw new Failure('AMBIGUOUS_MATCH', 'several accounts have the number')
  if (far.account === undefined) throw new Failure('ACCOUNT_NOT_FOUND', 'there is no such party')
  return far.account
}

/** Outside, the holder's own number is the same account only where nothing says that it is another one. */
function isSame(party: Party, account: AccountFacts, far: AccountFacts | undefined): boolean {
  if (far !== undefined) return far.accountId === account.accountId
  return party.organizationId === '' && names(party, account)
}
