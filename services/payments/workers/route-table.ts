// Keeps the routes in memory, and polls their version, so that a change in any replica applies here within a second.
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Routing, routingOf } from '../domain/routing.ts'
import type { Connectors } from '../ports/backend.ts'
import { type RouteList, readRoutes } from '../store/route-store.ts'

/** Pause between two polls of the version. A change applies in every replica after this pause and one read. */
const pauseMs = 500

/** The routes of this process. */
export type RouteTable = {
  /** The routes as they are now. */
  routing: () => Routing
  /** Reads changes at once. Rejects as a Queryable does. */
  reload(): Promise<void>
  close(): Promise<void>
}

/** The dependencies of the route table. */
export type RouteTableOptions = {
  db: Database
  log: Logger
  connectors: Pick<Connectors, 'names' | 'defaultName'>
  /** Ends the wait for the first read. */
  stopping?: AbortSignal | undefined
}

/**
 * Reads the routes, and again whenever their version has changed. Resolves once they were read: until then nothing may be
 * routed. Rejects with an AbortError when `stopping` aborts the wait.
 */
export async function openRouteTable(options: RouteTableOptions): Promise<RouteTable> {
  const { db, log, connectors } = options
  const tableOf = ({ version, routes }: RouteList) => {
    const named = new Set(
      routes.flatMap(({ connector, fallback }) => [connector, fallback ?? connector]),
    )
    for (const connector of named) {
      if (!connectors.names.includes(connector))
        log.error({ connector }, 'route to an unknown connector')
    }
    log.info({ kind: 'routes', count: routes.length }, 'routes read')
    return { version, routing: routingOf(routes, connectors.defaultName) }
  }
  let current = tableOf(await firstRead(options))

  async function reload(): Promise<void> {
    const list = await readRoutes(db, current.version)
    // Two reads may overlap: the older one must not win.
    if (list !== undefined && list.version > current.version) current = tableOf(list)
  }

  const loop = startLoop({
    kind: 'routes',
    log,
    pauseMs,
    async round() {
      await reload()
      return false
    },
  })
  return { routing: () => current.routing, reload, close: () => loop.close() }
}

async function firstRead({ db, log, stopping }: RouteTableOptions): Promise<RouteList> {
  for (;;) {
    try {
      const list = await readRoutes(db, undefined)
      if (list !== undefined) return list
    } catch (error) {
      log.warn({ err: error, kind: 'routes' }, 'routes not read')
    }
    await delay(pauseMs, undefined, { signal: stopping })
  }
}
