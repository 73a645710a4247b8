// Operators' changes of routes. Each is audited, and every replica applies it within a second.
import { Failure, invalid } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { checkKey, checkRoute, type Route, type RouteKey } from '../domain/routing.ts'
import type { Connectors } from '../ports/backend.ts'
import {
  beginRouteChange,
  countRoutes,
  deleteRoute,
  insertRouteChange,
  putRoute,
} from '../store/route-store.ts'

/** The dependencies of changes of routes. */
export type RouteContext = {
  db: Database
  connectors: Connectors
  /** Reads the routes again in this process, so that it need not wait for its next poll. */
  reload: () => Promise<void>
}

/** Who makes a change, for the audit. */
export type Actor = { caller: string; requestId: string | undefined }

/** Maximum number of routes, because each replica keeps all of them in memory. */
const maxRoutes = 1_000

/** Makes or replaces a route. INVALID_PARAMETER for one that could never apply, an unknown connector, and one too many. */
export async function setRoute(
  { db, connectors, reload }: RouteContext,
  actor: Actor,
  route: Route,
): Promise<void> {
  checkRoute(route, connectors.names)
  await db.transaction(async (tx) => {
    await beginRouteChange(tx)
    await putRoute(tx, route, actor.caller)
    await insertRouteChange(tx, actor, { key: route, choice: route })
    if ((await countRoutes(tx)) > maxRoutes) {
      throw invalid('key', `would be of route ${maxRoutes + 1}: there may be ${maxRoutes}`)
    }
  })
  await reload()
}

/** Deletes a route. INVALID_PARAMETER for a key that no route can have, ROUTE_NOT_FOUND when there is none. */
export async function removeRoute(
  { db, reload }: RouteContext,
  actor: Actor,
  key: RouteKey,
): Promise<void> {
  checkKey(key)
  await db.transaction(async (tx) => {
    await beginRouteChange(tx)
    if (!(await deleteRoute(tx, key))) {
      throw new Failure('ROUTE_NOT_FOUND', 'there is no route with this key')
    }
    await insertRouteChange(tx, actor, { key, choice: undefined })
  })
  await reload()
}
