// Moves calls that no connector has received to another connector of their routes.
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type BackendCall, isUnsent } from '../domain/backend-call.ts'
import { nextConnector, payoutKey, type RouteKey, type Routing } from '../domain/routing.ts'
import type { PaymentMetrics } from '../metrics.ts'
import type { Connectors } from '../ports/backend.ts'
import { moveCalls } from '../store/task-store.ts'

/** Calls after a failure: those that go to another connector now, by connector, and those that stay. */
export type Moved = { moved: BackendCall[][]; left: BackendCall[] }

/**
 * Makes the function that moves calls of one kind that their connector did not receive. The rows name the new connector before
 * it is called, so that no process calls the first one again. Rejects as a Queryable does.
 */
export function mover({
  db,
  log,
  connectors,
  routing,
  metrics,
}: {
  db: Database
  log: Logger
  connectors: Connectors
  routing: () => Routing
  metrics: Pick<PaymentMetrics, 'fellBack'>
}): (calls: BackendCall[]) => Promise<Moved> {
  function otherConnector(call: BackendCall): string | undefined {
    const key = isUnsent(call) ? routeKeyOf(call) : undefined
    if (key === undefined) return undefined
    const { defaultName, names } = connectors
    return nextConnector(routing(), key, call.connector ?? defaultName, names)
  }

  async function move(calls: BackendCall[], to: string | undefined): Promise<BackendCall[]> {
    const [first] = calls
    if (to === undefined || first === undefined) return []
    const { kind, connector: from } = first
    if (kind !== 'announce' && kind !== 'payout') return []
    const ids = await moveCalls(db, kind, calls, { from, to })
    if (ids.size > 0)
      log.warn({ kind, count: ids.size, connector: to }, 'fallback connector called')
    const moved = calls.filter(({ subjectId }) => ids.has(subjectId))
    count(moved, from ?? connectors.defaultName, to)
    return moved.map((call) => ({
      ...call,
      connector: to,
      attempts: call.attempts + 1,
      unsentAttempts: call.unsentAttempts + 1,
    }))
  }

  function count(moved: BackendCall[], connector: string, fallback: string): void {
    for (const call of moved) {
      const key = routeKeyOf(call)
      if (key !== undefined) metrics.fellBack({ ...key, connector, fallback })
    }
  }

  return async (calls) => {
    const groups = Map.groupBy(calls, otherConnector)
    const moved = await Promise.all([...groups].map(([to, some]) => move(some, to)))
    const ids = new Set(moved.flat().map(({ subjectId }) => subjectId))
    return {
      moved: moved.filter((some) => some.length > 0),
      left: calls.filter(({ subjectId }) => !ids.has(subjectId)),
    }
  }
}

/** What is routed: charges and payouts. A refund and a withdrawal go to the connector that has the charge. */
function routeKeyOf(call: BackendCall): RouteKey | undefined {
  if (call.kind === 'payout') return payoutKey(call)
  if (call.kind !== 'announce') return undefined
  const { projectId, currency, paymentChannel: channel, paymentMethod: method } = call.charge
  return { kind: 'charge', projectId, currency, channel, method }
}
