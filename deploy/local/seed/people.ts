// Seeds the sandbox's people with their accounts and opening balances; never runs against production.
import type { Queryable } from '#platform/db/db.ts'
import type { Account } from '../../../services/accounts/customers/domain/account.ts'
import { insertAccount } from '../../../services/accounts/customers/store/account-store.ts'
import {
  type Line,
  openCustomerLedger,
  postTransfer,
} from '../../../services/accounts/ledger/operations/ledger.ts'

type Person = Pick<Account, 'firstName' | 'lastName' | 'level'> & {
  /** Last two digits of the number +1 202 555 01NN. */
  nn: string
  accountNumber: string
  currency: string
  openingMinor: bigint
  isSuspended?: true
}

/** The people of the sandbox, in the order of its documentation. */
export const people: readonly Person[] = [
  person('00', '1000000100', 'Ama Mensah', 2, 'USD', 1_000_000n),
  person('01', '1000000101', 'Kofi Boateng', 2, 'USD', 500_000n),
  person('02', '1000000102', 'Esi Owusu', 1, 'USD', 50_000n),
  person('03', '1000000103', 'Yaw Darko', 0, 'USD', 5_000n),
  person('05', '1000000105', 'Abena Sarpong', 1, 'TTD', 300_000n),
  person('06', '1000000106', 'Kwame Asante', 1, 'USD', 10_000n),
  person('09', '1000000109', 'Adwoa Tetteh', 1, 'USD', 10_000n),
  person('09', '2000000109', 'Kojo Tetteh', 1, 'USD', 10_000n),
  { ...person('10', '1000000110', 'Nana Quaye', 1, 'USD', 10_000n), isSuspended: true },
  person('11', '1000000111', 'Akosua Badu', 2, 'USD', 100_000n),
]

const floats = [
  { currency: 'USD', openingMinor: 100_000_000n, transferId: seedId('f', '0000000840') },
  { currency: 'TTD', openingMinor: 100_000_000n, transferId: seedId('f', '0000000780') },
]

const fundsAccessOfLevel = ['none', 'limited', 'full'] as const

/**
 * Inserts the people at an institution, and posts what they and the float of a project begin with. Ids are fixed, so
 * that running it again changes nothing.
 */
export async function seedPeople(
  tx: Queryable,
  { institutionId, institutionName }: Pick<Account, 'institutionId' | 'institutionName'>,
  projectId: string,
): Promise<void> {
  for (const one of people) {
    const account = accountOf(one, { institutionId, institutionName })
    const { accountId, currency } = account
    await insertAccount(tx, account)
    await openCustomerLedger(tx, { accountId, currency })
    const transferId = seedId('b', one.accountNumber)
    const line = { address: { accountId }, currency, amountMinor: one.openingMinor }
    await postOpening(tx, projectId, transferId, line)
  }
  for (const { currency, openingMinor, transferId } of floats) {
    const line = { address: { floatProjectId: projectId }, currency, amountMinor: openingMinor }
    await postOpening(tx, projectId, transferId, line)
  }
}

async function postOpening(
  tx: Queryable,
  projectId: string,
  transferId: string,
  line: Line,
): Promise<void> {
  const { currency, amountMinor } = line
  const opening = { address: { internal: 'opening' as const }, currency, amountMinor: -amountMinor }
  const details = { description: 'Opening balance', method: 'opening' }
  await postTransfer(tx, { projectId, transferId, lines: [line, opening], details })
}

function accountOf(
  { nn, accountNumber, firstName, lastName, level, currency, isSuspended }: Person,
  institution: Pick<Account, 'institutionId' | 'institutionName'>,
): Account {
  return {
    ...institution,
    accountId: seedId('a', accountNumber),
    accountNumber,
    accountType: 'personal',
    mobileNumber: `+120255501${nn}`,
    email: `${firstName.toLowerCase()}@example.com`,
    firstName,
    lastName,
    country: currency === 'TTD' ? 'TT' : 'US',
    currency,
    status: isSuspended === true ? 'suspended' : 'available',
    level,
    fundsAccess: fundsAccessOfLevel[level] ?? 'none',
  }
}

function person(
  nn: string,
  accountNumber: string,
  name: string,
  level: number,
  currency: string,
  openingMinor: bigint,
): Person {
  const [firstName = '', lastName = ''] = name.split(' ')
  return { nn, accountNumber, firstName, lastName, level, currency, openingMinor }
}

/** A UUID that is the same in every sandbox: of an account, its opening balance or a float's. */
function seedId(kind: 'a' | 'b' | 'f', number: string): string {
  return `5eed0000-0000-4000-8000-0${kind}${number}`
}
