// Reads and writes routes and the audit of their changes.
import { newId } from '#core/identity/id.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Choice, Route, RouteKey } from '../domain/routing.ts'

/** A route with its last change. */
export type StoredRoute = Route & { changedBy: string; updateTime: Date }

/** All routes at a version of them. */
export type RouteList = { version: bigint; routes: StoredRoute[] }

type RouteRow = Omit<StoredRoute, 'fallback'> & { fallback: string; version: bigint }

const newerStatement = sql(
  'route_list_newer',
  `select v.version, r.kind, r.project_id as "projectId", r.currency, r.channel, r.method, r.connector,
     r.fallback_connector as fallback, r.changed_by as "changedBy", r.update_time as "updateTime"
   from route_version v left join route r on true
   where v.one and v.version <> $1`,
)

/** All routes, unless they are still of this version: then undefined. Locks nothing. */
export async function readRoutes(
  db: Queryable,
  knownVersion: bigint | undefined,
): Promise<RouteList | undefined> {
  const rows = await db.rows<RouteRow>(newerStatement, [knownVersion ?? -1n])
  const [first] = rows
  if (first === undefined) return undefined
  // No route is one row of the version alone.
  const stored = rows.filter((row) => row.connector !== null)
  return {
    version: first.version,
    routes: stored.map((row) => ({ ...row, fallback: row.fallback || undefined })),
  }
}

const nextVersionStatement = sql(
  'route_version_next',
  'update route_version set version = version + 1 where one',
)

/** Begins a change of routes: locks their version until the end of the transaction, so that changes follow one another. */
export async function beginRouteChange(tx: Queryable): Promise<void> {
  await tx.run(nextVersionStatement, [])
}

const putStatement = sql(
  'route_put',
  `insert into route (kind, project_id, currency, channel, method, connector, fallback_connector,
     changed_by, update_time)
   values ($1::route_kind, $2, $3, $4, $5, $6, $7, $8, clock_now())
   on conflict (kind, project_id, currency, channel, method) do update
     set connector = excluded.connector, fallback_connector = excluded.fallback_connector,
       changed_by = excluded.changed_by, update_time = excluded.update_time`,
)

/** Makes or replaces a route. */
export async function putRoute(tx: Queryable, route: Route, changedBy: string): Promise<void> {
  const { connector, fallback = '' } = route
  await tx.run(putStatement, [...keyValues(route), connector, fallback, changedBy])
}

const deleteStatement = sql(
  'route_delete',
  `delete from route where kind = $1::route_kind and project_id = $2 and currency = $3
     and channel = $4 and method = $5`,
)

/** Deletes a route; false when there is none. */
export async function deleteRoute(tx: Queryable, key: RouteKey): Promise<boolean> {
  return (await tx.run(deleteStatement, keyValues(key))) > 0
}

const countStatement = sql('route_count', 'select count(*)::integer as count from route')

/** How many routes there are. */
export async function countRoutes(tx: Queryable): Promise<number> {
  return (await tx.row<{ count: number }>(countStatement, []))?.count ?? 0
}

/** A change of a route, as the audit has it; without a choice it was deleted. */
export type RouteChange = RouteKey & {
  changeTime: Date
  caller: string
  requestId: string | null
  connector: string | null
  fallback: string | null
}

const insertChangeStatement = sql(
  'route_change_insert',
  `insert into route_change (change_id, change_time, kind, project_id, currency, channel, method,
     caller, request_id, connector, fallback_connector)
   values ($1, clock_now(), $2::route_kind, $3, $4, $5, $6, $7, $8, $9, $10)`,
)

/** Writes who changed which route, in the transaction of the change. */
export async function insertRouteChange(
  tx: Queryable,
  actor: { caller: string; requestId: string | undefined },
  { key, choice }: { key: RouteKey; choice: Choice | undefined },
): Promise<void> {
  await tx.run(insertChangeStatement, [
    newId(),
    ...keyValues(key),
    actor.caller,
    actor.requestId ?? null,
    choice?.connector ?? null,
    choice?.fallback ?? null,
  ])
}

const changesStatement = sql(
  'route_change_list',
  `select change_time as "changeTime", caller, request_id as "requestId", kind,
     project_id as "projectId", currency, channel, method, connector,
     fallback_connector as fallback
   from route_change order by change_time desc, change_id desc limit $1`,
)

/** The newest changes, newest first. Locks nothing. */
export function listRouteChanges(db: Queryable, limit: number): Promise<RouteChange[]> {
  return db.rows(changesStatement, [limit])
}

function keyValues({ kind, projectId, currency, channel, method }: RouteKey): string[] {
  return [kind, projectId, currency, channel, method]
}
