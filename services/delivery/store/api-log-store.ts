// Statements on the API log. An entry's id is a UUID v7, so its order is that of time.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { asyncCommit } from '#platform/events/outbox-store.ts'

/** A request as lists show it. */
export type LoggedRequestRow = {
  entryId: string
  projectId: string
  merchantId: string | null
  requestId: string
  /** Method and path: "POST /quote". */
  route: string
  version: string
  status: number
  errorCode: string | null
  durationMs: number
  clientLeft: boolean
  idempotencyKey: string | null
}

/** What is shown of one request alone: masked JSON. */
export type LoggedContent = {
  query: string | null
  requestBody: string | null
  responseBody: string | null
}

const insertStatement = sql(
  'api_request_insert',
  `with ${asyncCommit}
   insert into api_request (
     entry_id, project_id, merchant_id, request_id, route, version, status, error_code, duration_ms, client_left,
     idempotency_key, query, request_body, response_body
   )
   select n.* from unnest(
     (select $1::uuid[]), $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::smallint[], $8::text[],
     $9::integer[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[]
   ) as n, async_commit
   where async_commit.commits = 'off'
   on conflict (project_id, entry_id) do nothing`,
)

/**
 * Adds requests, but for those whose entry is there already. The commit does not wait for the disk: a crash of the database
 * may lose it. Rejects as a Queryable does.
 */
export async function insertRequests(
  db: Queryable,
  requests: readonly (LoggedRequestRow & LoggedContent)[],
): Promise<void> {
  await db.run(insertStatement, [
    requests.map(({ entryId }) => entryId),
    requests.map(({ projectId }) => projectId),
    requests.map(({ merchantId }) => merchantId),
    requests.map(({ requestId }) => requestId),
    requests.map(({ route }) => route),
    requests.map(({ version }) => version),
    requests.map(({ status }) => status),
    requests.map(({ errorCode }) => errorCode),
    requests.map(({ durationMs }) => durationMs),
    requests.map(({ clientLeft }) => clientLeft),
    requests.map(({ idempotencyKey }) => idempotencyKey),
    requests.map(({ query }) => query),
    requests.map(({ requestBody }) => requestBody),
    requests.map(({ responseBody }) => responseBody),
  ])
}

/** Which requests to list, in the order from the newest; unset filters take any. */
export type LoggedRequestFilter = {
  projectId: string
  /** Only entries below this one. */
  before: string
  /** The smallest entry. */
  from: string
  minStatus: number
  maxStatus: number
  errorCode: string | undefined
  route: string | undefined
  requestId: string | undefined
  idempotencyKey: string | undefined
  limit: number
}

const shown = `entry_id as "entryId", project_id as "projectId", merchant_id as "merchantId", request_id as "requestId",
  route, version, status, error_code as "errorCode", duration_ms as "durationMs", client_left as "clientLeft",
  idempotency_key as "idempotencyKey"`

const place = 'project_id = $1 and entry_id < $2 and entry_id >= $3'
const newestFirst = 'order by entry_id desc'

/** By the index that holds what the condition names; what else is asked for is compared with the first $4 rows of it. */
function listOf(name: string, condition: string): { page: Sql; scanEnd: Sql } {
  return {
    page: sql(
      `api_request_list_${name}`,
      `select * from (
         select ${shown} from api_request where ${place} ${condition} ${newestFirst} limit $4
       ) as scanned
       where status between $6 and $7 and ($8::text is null or "errorCode" = $8)
         and ($9::text is null or route = $9)
       order by "entryId" desc limit $10`,
    ),
    scanEnd: sql(
      `api_request_scan_end_${name}`,
      `select entry_id as "entryId" from (
         select entry_id from api_request where ${place} ${condition} ${newestFirst} limit $4
       ) as scanned offset $4 - 1`,
    ),
  }
}

// The fifth parameter is the text that the last two go by; the others need none.
const unused = 'and ($5::text is null or true)'
const lists = {
  all: listOf('all', unused),
  notSucceeded: listOf('not_succeeded', `and status >= 400 ${unused}`),
  byRequestId: listOf('by_request_id', 'and request_id = $5::uuid'),
  byIdempotencyKey: listOf('by_idempotency_key', 'and idempotency_key = $5'),
}
const firstRefusedStatus = 400

/** So many entries are read for one page at most: few of them may be those that are asked for. */
const maxScanned = 2_000

/**
 * A page of a project's requests, newest first, and the entry below which the next page begins if there may be one: the
 * last of the page, or of what was read for it. Locks nothing. Rejects as a Queryable does.
 */
export async function listRequests(
  db: Queryable,
  filter: LoggedRequestFilter,
): Promise<{ requests: LoggedRequestRow[]; next: string | undefined }> {
  const { projectId, before, from, requestId, idempotencyKey, limit } = filter
  const list = listFor(filter)
  const scanned = [projectId, before, from, maxScanned, requestId ?? idempotencyKey ?? null]
  const found = await db.rows<LoggedRequestRow>(list.page, [
    ...scanned,
    filter.minStatus,
    filter.maxStatus,
    filter.errorCode ?? null,
    filter.route ?? null,
    limit + 1,
  ])
  if (found.length > limit) {
    return { requests: found.slice(0, limit), next: found[limit - 1]?.entryId }
  }
  const end = await db.row<{ entryId: string }>(list.scanEnd, scanned)
  return { requests: found, next: end?.entryId }
}

function listFor({ requestId, idempotencyKey, minStatus }: LoggedRequestFilter) {
  if (requestId !== undefined) return lists.byRequestId
  if (idempotencyKey !== undefined) return lists.byIdempotencyKey
  return minStatus >= firstRefusedStatus ? lists.notSucceeded : lists.all
}

const findStatement = sql(
  'api_request_find',
  `select ${shown}, query, request_body as "requestBody", response_body as "responseBody"
   from api_request where project_id = $1 and entry_id = $2`,
)

/** One request of a project with its content. Rejects as a Queryable does. */
export function findRequest(
  db: Queryable,
  projectId: string,
  entryId: string,
): Promise<(LoggedRequestRow & LoggedContent) | undefined> {
  return db.row(findStatement, [projectId, entryId])
}
