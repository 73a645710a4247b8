// Statements that list the audit of access. They only read: each change writes its own entry.
import { type Cursor, endCursor } from '#core/paging.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** An audit entry as it is read. */
export type ListedAuditEntry = {
  auditId: string
  /** When, in microseconds since 1970. */
  occurTimeUs: bigint
  caller: string
  requestId: string | null
  action: string
  projectId: string | null
  targetId: string
  details: Record<string, string>
}

/** Which entries to list; undefined takes any. */
export type AuditFilter = {
  projectId: string | undefined
  caller: string | undefined
  targetId: string | undefined
  /** First time, inclusive, in microseconds since 1970. */
  startUs: bigint | undefined
  /** End of the times, exclusive, in microseconds since 1970. */
  endUs: bigint | undefined
  /** Only entries before this one. */
  before: Cursor | undefined
  limit: number
}

const instant = (micros: string) =>
  `timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond'`

/** A list reads the index of its most selective filter, `first`, from the cursor on. */
function listOf(name: string, first: string) {
  return sql(
    name,
    `select audit_id as "auditId", (extract(epoch from occurred_at) * 1000000)::bigint as "occurTimeUs", caller,
       request_id as "requestId", action, project_id as "projectId", target_id as "targetId", details
     from access_audit
     where ${first} occurred_at >= coalesce(${instant('$4')}, '-infinity')
       and occurred_at < coalesce(${instant('$5')}, 'infinity')
       and (occurred_at, audit_id) < (${instant('$6')}, $7::uuid)
       and ($1::text is null or target_id = $1) and ($2::text is null or caller = $2)
       and ($3::uuid is null or project_id = $3)
     order by occurred_at desc, audit_id desc limit $8`,
  )
}

const statements = {
  targetId: listOf('list_audit_of_target', 'target_id = $1 and'),
  caller: listOf('list_audit_of_caller', 'caller = $2 and'),
  projectId: listOf('list_audit_of_project', 'project_id = $3 and'),
  all: listOf('list_audit', ''),
}

/** Audit entries, newest first. Locks nothing. */
export function listAudit(db: Queryable, filter: AuditFilter): Promise<ListedAuditEntry[]> {
  const { targetId, caller, projectId, startUs, endUs, before = endCursor, limit } = filter
  const first = (['targetId', 'caller', 'projectId'] as const).find(
    (name) => filter[name] !== undefined,
  )
  return db.rows(statements[first ?? 'all'], [
    targetId ?? null,
    caller ?? null,
    projectId ?? null,
    startUs ?? null,
    endUs ?? null,
    before.at,
    before.id,
    limit,
  ])
}
