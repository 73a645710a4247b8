// Statements on projects and their merchants, and the audit of changes.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Environment, Merchant, Project } from '../domain/access.ts'

/** Columns of a project. */
export const projectColumns = `project_id as "projectId", name, environment,
  account_access as "accountAccess", allowed_ips as "allowedIps"`
/** Columns of a merchant, as `m`. */
export const merchantColumns = `m.merchant_id as "merchantId", m.project_id as "projectId",
  m.business_name as "businessName", m.mobile_number as "mobileNumber"`

const findMerchantStatement = sql(
  'find_merchant',
  `select ${merchantColumns} from merchant m where m.project_id = $1 and m.merchant_id = $2`,
)
/** Finds a merchant of a project. Locks nothing. */
export function findMerchant(
  db: Queryable,
  projectId: string,
  merchantId: string,
): Promise<Merchant | undefined> {
  return db.row(findMerchantStatement, [projectId, merchantId])
}

const insertProjectStatement = sql(
  'insert_project',
  `insert into project (project_id, environment, name, account_access, allowed_ips)
   values ($1, $2, $3, $4, $5) on conflict (environment, name) do nothing`,
)
/** Inserts a project; false when its name is taken. */
export async function insertProject(tx: Queryable, project: Project): Promise<boolean> {
  const { projectId, environment, name, accountAccess, allowedIps } = project
  const values = [projectId, environment, name, accountAccess, allowedIps]
  return (await tx.run(insertProjectStatement, values)) === 1
}

const lockProjectStatement = sql(
  'lock_project',
  `select ${projectColumns} from project where project_id = $1 for update`,
)
/** Reads a project and locks its row, so that its keys and grants change one at a time. */
export function lockProject(tx: Queryable, projectId: string): Promise<Project | undefined> {
  return tx.row(lockProjectStatement, [projectId])
}

const findProjectByNameStatement = sql(
  'find_project_by_name',
  `select ${projectColumns} from project where environment = $1 and name = $2`,
)
/** Finds a project by name. Locks nothing. */
export function findProjectByName(
  db: Queryable,
  environment: Environment,
  name: string,
): Promise<Project | undefined> {
  return db.row(findProjectByNameStatement, [environment, name])
}

const updateProjectAccessStatement = sql(
  'update_project_access',
  `update project set account_access = $2, allowed_ips = $3 where project_id = $1
   returning ${projectColumns}`,
)
/** Changes what a project may do; undefined when there is no such project. Locks its row. */
export function updateProjectAccess(
  tx: Queryable,
  projectId: string,
  accountAccess: boolean,
  allowedIps: string[],
): Promise<Project | undefined> {
  return tx.row(updateProjectAccessStatement, [projectId, accountAccess, allowedIps])
}

const insertMerchantStatement = sql(
  'insert_merchant',
  `insert into merchant (project_id, merchant_id, business_name, mobile_number)
   values ($1, $2, $3, $4)`,
)
/** Inserts a merchant. */
export async function insertMerchant(tx: Queryable, merchant: Merchant): Promise<void> {
  const { projectId, merchantId, businessName, mobileNumber } = merchant
  await tx.run(insertMerchantStatement, [projectId, merchantId, businessName, mobileNumber])
}

const findMerchantByNameStatement = sql(
  'find_merchant_by_name',
  `select ${merchantColumns} from merchant m where m.project_id = $1 and m.business_name = $2
   order by m.created_at limit 1`,
)
/** Finds the first merchant of a project with a name. Locks nothing. */
export function findMerchantByName(
  db: Queryable,
  projectId: string,
  businessName: string,
): Promise<Merchant | undefined> {
  return db.row(findMerchantByNameStatement, [projectId, businessName])
}

/** Who did what to whom: an audit entry. */
export type AuditEntry = {
  caller: string
  requestId: string | undefined
  action: string
  projectId: string | undefined
  targetId: string
  /** Further facts; no secrets. */
  details?: Readonly<Record<string, string>>
}

const insertAuditStatement = sql(
  'insert_audit',
  `insert into access_audit (caller, request_id, action, project_id, target_id, details)
   values ($1, $2, $3, $4, $5, $6)`,
)
/** Adds an audit entry, in the transaction of the change. */
export async function insertAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { caller, requestId, action, projectId, targetId, details = {} } = entry
  await tx.run(insertAuditStatement, [
    caller,
    requestId ?? null,
    action,
    projectId ?? null,
    targetId,
    details,
  ])
}
