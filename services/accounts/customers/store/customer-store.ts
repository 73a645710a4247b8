// Statements on the customers that a project sees, for people. Accounts are found by their whole number or address only.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Account } from '../domain/account.ts'
import { accountColumns } from './account-store.ts'
import { type LookupType, lookupColumns } from './session-store.ts'

/** An account as a project sees it. */
export type Customer = Account & {
  createTime: Date
  /** Whether this project created the profile. */
  createdHere: boolean
}

const own = 'exists (select from review where project_id = $1 and review.account_id = a.account_id)'
const columns = `${accountColumns}, a.create_time as "createTime", ${own} as "createdHere"`
const granted = `(a.status in ('available', 'suspended', 'closed') and exists (
     select from endpoint_grant g where g.project_id = $1 and g.institution_id = i.institution_id))`

const listOwnStatement = sql(
  'customer_list_own',
  `select ${accountColumns}, a.create_time as "createTime", true as "createdHere"
   from review r
   join account a on a.account_id = r.account_id
   join institution i on i.institution_id = a.institution_id
   where r.project_id = $1 and (r.create_time, r.account_id) < (
     coalesce((select create_time from review where account_id = $2 and project_id = $1),
       case when $2::uuid is null then 'infinity'::timestamptz else '-infinity' end),
     coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
   order by r.create_time desc, r.account_id desc limit $3`,
)

/** Accounts whose profile a project created, newest first; `afterId`: behind this one. Locks nothing. */
export function listOwnCustomers(
  db: Queryable,
  projectId: string,
  afterId: string | undefined,
  limit: number,
): Promise<Customer[]> {
  return db.rows(listOwnStatement, [projectId, afterId ?? null, limit])
}

function lookupStatement(type: LookupType) {
  return sql(
    `customer_by_${type.toLowerCase()}`,
    `select ${columns}
     from institution i
     join account a on a.institution_id = i.institution_id and a.${lookupColumns[type]} = $2
     where ${granted}
     order by a.create_time desc, a.account_id limit $3`,
  )
}

const lookupStatements = {
  MOBILE: lookupStatement('MOBILE'),
  EMAIL: lookupStatement('EMAIL'),
  ACCOUNT_NUMBER: lookupStatement('ACCOUNT_NUMBER'),
} as const satisfies Record<LookupType, unknown>

/** Accounts with this number or normalized address that a project sees. Locks nothing. */
export function findCustomers(
  db: Queryable,
  projectId: string,
  lookup: { type: LookupType; value: string },
  limit: number,
): Promise<Customer[]> {
  return db.rows(lookupStatements[lookup.type], [projectId, lookup.value, limit])
}

const findStatement = sql(
  'customer_find',
  `select ${columns}
   from account a
   join institution i on i.institution_id = a.institution_id
   where a.account_id = $2 and (${granted} or ${own})`,
)

/** An account that a project sees or whose profile it created; undefined for any other. Locks nothing. */
export function findCustomer(
  db: Queryable,
  projectId: string,
  accountId: string,
): Promise<Customer | undefined> {
  return db.row(findStatement, [projectId, accountId])
}
