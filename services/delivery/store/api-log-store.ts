// Statements on the API log. An entry's id is a UUID v7, so its order is that of time.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { asyncCommit } from '#platform/db/async-commit.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'

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

/** Compressed queries and bodies of the requests of a project in a batch, in their order. */
export type ProjectContents = { projectId: string; compressedLines: Uint8Array }

const insertStatement = sql(
  'api_request_insert',
  `with ${asyncCommit}
   insert into api_request (
     entry_id, project_id, merchant_id, request_id, route, version, status, error_code, duration_ms, client_left,
     idempotency_key, query, request_body, response_body, contents, contents_entry_id, place
   )
   select n.* from unnest(
     (select $1::uuid[]), $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::smallint[], $8::text[],
     $9::integer[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[], $16::uuid[], $17::smallint[]
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
  contents: readonly ProjectContents[],
): Promise<void> {
  const refs = contentRefsOf(requests, contents)
  const column = (type: ArrayType, of: (request: LoggedRequestRow & LoggedContent) => unknown) =>
    arrayParameter(type, requests.map(of))
  const ref = (type: ArrayType, of: (ref: ContentRef) => unknown) =>
    arrayParameter(
      type,
      refs.map((one) => one && of(one)),
    )
  await db.run(insertStatement, [
    column('uuid', ({ entryId }) => entryId),
    column('uuid', ({ projectId }) => projectId),
    column('uuid', ({ merchantId }) => merchantId),
    column('uuid', ({ requestId }) => requestId),
    column('text', ({ route }) => route),
    column('text', ({ version }) => version),
    column('smallint', ({ status }) => status),
    column('text', ({ errorCode }) => errorCode),
    column('integer', ({ durationMs }) => durationMs),
    column('boolean', ({ clientLeft }) => clientLeft),
    column('text', ({ idempotencyKey }) => idempotencyKey),
    column('text', ({ query }) => query),
    column('text', ({ requestBody }) => requestBody),
    column('text', ({ responseBody }) => responseBody),
    ref('bytea', ({ compressedLines }) => compressedLines),
    ref('uuid', ({ contentsEntryId }) => contentsEntryId),
    ref('smallint', ({ place }) => place),
  ])
}

/** Where the content of a request is that was recorded with others: in the row of the first of them. */
type ContentRef = {
  contentsEntryId: string
  place: number
  compressedLines: Uint8Array | undefined
}

/** The first request of each project has the contents; the others have its entry. */
function contentRefsOf(
  requests: readonly LoggedRequestRow[],
  contents: readonly ProjectContents[],
): (ContentRef | undefined)[] {
  const byProject = new Map(
    contents.map(({ projectId, compressedLines }) => [
      projectId,
      { compressedLines, contentsEntryId: '', count: 0 },
    ]),
  )
  return requests.map(({ projectId, entryId }) => {
    const project = byProject.get(projectId)
    if (project === undefined) return undefined
    if (project.count === 0) project.contentsEntryId = entryId
    const { contentsEntryId, count: place } = project
    project.count += 1
    const compressedLines = place === 0 ? project.compressedLines : undefined
    return { compressedLines, contentsEntryId, place }
  })
}

/** Which requests to list, in the order from the newest; unset filters take any. */
export type LoggedRequestFilter = {
  /** Undefined: all projects. */
  projectId: string | undefined
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

const scopes = {
  project: 'project_id = $1 and entry_id < $2 and entry_id >= $3',
  // The condition on the duration names the indexes of all.
  all: '$1::uuid is null and duration_ms >= 0 and entry_id < $2 and entry_id >= $3',
}
type Scope = keyof typeof scopes
const newestFirst = 'order by entry_id desc'

/** By the index that holds what the condition names; what else is asked for is compared with the first $4 rows of it. */
function listOf(scope: Scope, by: string, condition: string): { page: Sql; scanEnd: Sql } {
  const inScope = scopes[scope]
  const name = scope === 'project' ? by : `of_all_${by}`
  return {
    page: sql(
      `api_request_list_${name}`,
      `select * from (
         select ${shown} from api_request where ${inScope} ${condition} ${newestFirst} limit $4
       ) as scanned
       where status between $6 and $7 and ($8::text is null or "errorCode" = $8)
         and ($9::text is null or route = $9)
       order by "entryId" desc limit $10`,
    ),
    scanEnd: sql(
      `api_request_scan_end_${name}`,
      `select entry_id as "entryId" from (
         select entry_id from api_request where ${inScope} ${condition} ${newestFirst} limit $4
       ) as scanned offset $4 - 1`,
    ),
  }
}

// The fifth parameter is the text that the last two go by; the others need none.
const unused = 'and ($5::text is null or true)'
const listsOf = (scope: Scope) => ({
  all: listOf(scope, 'all', unused),
  notSucceeded: listOf(scope, 'not_succeeded', `and status >= 400 ${unused}`),
  byRequestId: listOf(scope, 'by_request_id', 'and request_id = $5::uuid'),
  byIdempotencyKey: listOf(scope, 'by_idempotency_key', 'and idempotency_key = $5'),
})
const listsOfProject = listsOf('project')
const listsOfAll = listsOf('all')
const firstRefusedStatus = 400

/** So many entries are read for one page at most: few of them may be those that are asked for. */
const maxScanned = 2_000

/**
 * A page of requests of a project or of all, newest first, and the entry below which the next page begins if there may be one: the
 * last of the page, or of what was read for it. Locks nothing. Rejects as a Queryable does.
 */
export async function listRequests(
  db: Queryable,
  filter: LoggedRequestFilter,
): Promise<{ requests: LoggedRequestRow[]; next: string | undefined }> {
  const { projectId, before, from, requestId, idempotencyKey, limit } = filter
  const list = listFor(filter)
  const scanned = [projectId ?? null, before, from, maxScanned, requestId ?? idempotencyKey ?? null]
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

function listFor({ projectId, requestId, idempotencyKey, minStatus }: LoggedRequestFilter) {
  const lists = projectId === undefined ? listsOfAll : listsOfProject
  if (requestId !== undefined) return lists.byRequestId
  if (idempotencyKey !== undefined) return lists.byIdempotencyKey
  return minStatus >= firstRefusedStatus ? lists.notSucceeded : lists.all
}

const findStatement = sql(
  'api_request_find',
  `select ${shown}, query, request_body as "requestBody", response_body as "responseBody", place, (
     select first.contents from api_request as first
     where first.project_id = found.project_id and first.entry_id = found.contents_entry_id
   ) as "compressedLines"
   from api_request as found where project_id = $1 and entry_id = $2`,
)

/** Where the content of a request is: in lines of a batch, or in its own columns while `place` is null. */
export type StoredContent = LoggedContent & {
  place: number | null
  compressedLines: Buffer | null
}

/** One request of a project with its content. Rejects as a Queryable does. */
export function findRequest(
  db: Queryable,
  projectId: string,
  entryId: string,
): Promise<(LoggedRequestRow & StoredContent) | undefined> {
  return db.row(findStatement, [projectId, entryId])
}
