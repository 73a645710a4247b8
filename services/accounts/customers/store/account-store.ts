// Statements that find, create and change customers' accounts.
import { normalizeEmail } from '#core/text/text.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Account, FundsAccess } from '../domain/account.ts'
import { normalizeName } from '../domain/normalize.ts'

/** Columns of an account `a` with its institution `i`. */
export const accountColumns = `a.account_id as "accountId", a.institution_id as "institutionId",
  i.name as "institutionName", a.account_number as "accountNumber",
  a.account_type as "accountType", a.mobile_number as "mobileNumber", a.email,
  a.first_name as "firstName", a.last_name as "lastName", a.country, a.currency, a.status, a.level,
  a.funds_access as "fundsAccess"`

/** An institution as a project sees it. */
export type VisibleInstitution = { institutionId: string; name: string; defaultCurrency: string }

const visibleInstitutionStatement = sql(
  'account_visible_institution',
  `select i.institution_id as "institutionId", i.name, i.default_currency as "defaultCurrency"
   from institution i
   where i.name = $2 and exists (
     select from endpoint_grant g where g.project_id = $1 and g.institution_id = i.institution_id)`,
)

/** Finds an institution that a project holds any grant on, by name. Locks nothing. */
export function findVisibleInstitution(
  db: Queryable,
  projectId: string,
  name: string,
): Promise<VisibleInstitution | undefined> {
  return db.row(visibleInstitutionStatement, [projectId, name])
}

const byMobileStatement = sql(
  'account_by_mobile',
  `select ${accountColumns}, (extract(epoch from business_now()) * 1000000)::bigint as "nowUs"
   from institution i
   join account a on a.institution_id = i.institution_id and a.mobile_number = $2
   where a.status in ('available', 'suspended', 'closed') and exists (
     select from endpoint_grant g where g.project_id = $1 and g.institution_id = i.institution_id)
   limit 2`,
)

/** Finds the accounts with a number that a project sees, at most two; `nowUs` is the database clock. Locks nothing. */
export function findAccountsByMobile(
  db: Queryable,
  projectId: string,
  mobileNumber: string,
): Promise<(Account & { nowUs: bigint })[]> {
  return db.rows(byMobileStatement, [projectId, mobileNumber])
}

const lockNumberStatement = sql(
  'account_lock_number',
  `insert into mobile_number_lock (institution_id, mobile_number) values ($1, $2)
   on conflict (institution_id, mobile_number) do update set mobile_number = excluded.mobile_number`,
)

/** Locks a number of an institution: what is made or becomes available with it goes one at a time. */
export async function lockNumber(
  tx: Queryable,
  institutionId: string,
  mobileNumber: string,
): Promise<void> {
  await tx.run(lockNumberStatement, [institutionId, mobileNumber])
}

const numberTakenStatement = sql(
  'account_number_taken',
  `select 1 from account
   where institution_id = $1 and mobile_number = $2 and status = 'available' limit 1`,
)

/** Returns whether an available account has a number; the caller holds the number's lock. */
export async function isNumberTaken(
  tx: Queryable,
  institutionId: string,
  mobileNumber: string,
): Promise<boolean> {
  return (await tx.row(numberTakenStatement, [institutionId, mobileNumber])) !== undefined
}

const insertStatement = sql(
  'account_insert',
  `insert into account
     (account_id, institution_id, account_number, mobile_number, email, email_folded,
      first_name, first_name_folded, last_name, last_name_folded, country, currency, status,
      level, funds_access)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
   on conflict (account_id) do nothing`,
)

/** Inserts an account; one that is there stays as it is. */
export async function insertAccount(tx: Queryable, account: Account): Promise<void> {
  await tx.run(insertStatement, [
    account.accountId,
    account.institutionId,
    account.accountNumber,
    account.mobileNumber,
    account.email,
    normalizeEmail(account.email),
    account.firstName,
    normalizeName(account.firstName),
    account.lastName,
    normalizeName(account.lastName),
    account.country,
    account.currency,
    account.status,
    account.level,
    account.fundsAccess,
  ])
}

/** What a review that ended well gives an account. */
export type Completion = {
  accountNumber: string
  currency: string
  level: number
  fundsAccess: FundsAccess
}

const completeStatement = sql(
  'account_complete',
  `update account set status = 'available', account_number = $2, currency = $3, level = $4,
     funds_access = $5, update_time = business_now()
   where account_id = $1 and status = 'pending_review'`,
)

/** Makes a reviewed account available; the caller holds the locks of its review and its number. */
export async function completeAccount(
  tx: Queryable,
  accountId: string,
  { accountNumber, currency, level, fundsAccess }: Completion,
): Promise<void> {
  const values = [accountId, accountNumber, currency, level, fundsAccess]
  if ((await tx.run(completeStatement, values)) !== 1) throw new Error('no account waits for this')
}

const rejectStatement = sql(
  'account_reject',
  `update account set status = 'rejected', update_time = business_now()
   where account_id = $1 and status = 'pending_review'`,
)

/** Rejects a reviewed account; the caller holds the lock of its review. */
export async function rejectAccount(tx: Queryable, accountId: string): Promise<void> {
  if ((await tx.run(rejectStatement, [accountId])) !== 1)
    throw new Error('no account waits for this')
}
