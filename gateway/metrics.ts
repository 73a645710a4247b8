// Metrics of the edge; no label takes anything that a client sent.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Lookup } from '#platform/rpc/client/ttl-cache.ts'

/** Where the edge counts. */
export type GatewayMetrics = {
  /** Shows the number of requests in flight. */
  watchInFlight(count: () => number): void
  /** Counts a connection that was closed because the process had too many requests open. */
  connectionShed(): void
  /** Counts a request that was refused before its project was known. `reason` is an error code or a status. */
  refusedUnknown(reason: string): void
  /** A request was answered. `route` is a path of ours or a fixed word, never the URL. */
  answered(route: string, method: string, status: number, durationMs: number): void
  /** One look into the cache of credentials. */
  looked(kind: string, outcome: Lookup): void
}

/** Answers of one status to one method of a route. */
type Answers = {
  method: string
  status: number
  count: number
}

type RouteCounts = {
  answers: Answers[]
  durations: Histogram.Internal<'route'>
}

type Lookups = Record<Lookup, number>

const bucketsS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Registers the metrics of the gateway. */
export function gatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry]
  const routes = new Map<string, RouteCounts>()
  showAnswers(routes, registers)
  const durations = new Histogram({
    name: 'payweave_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response.',
    labelNames: ['route'] as const,
    buckets: bucketsS,
    registers,
  })
  const bounds = showBounds(registers)
  const refused = new Map<string, number>()
  showRefusals(refused, registers)
  const lookups = new Map<string, Lookups>()
  showLookups(lookups, registers)

  function countsOf(route: string): RouteCounts {
    const known = routes.get(route)
    if (known !== undefined) return known
    const counts = { answers: [], durations: durations.labels({ route }) }
    routes.set(route, counts)
    return counts
  }

  const answered: GatewayMetrics['answered'] = (route, method, status, durationMs) => {
    const { answers, durations: seconds } = countsOf(route)
    seconds.observe(durationMs / 1_000)
    const same = answers.find((one) => one.status === status && one.method === method)
    if (same === undefined) answers.push({ method, status, count: 1 })
    else same.count += 1
  }

  return {
    ...bounds,
    refusedUnknown: (reason) => refused.set(reason, (refused.get(reason) ?? 0) + 1),
    answered,
    looked(kind, outcome) {
      const counts = lookups.get(kind) ?? { hit: 0, miss: 0, stale: 0 }
      lookups.set(kind, counts)
      counts[outcome] += 1
    },
  }
}

function showBounds(
  registers: Registry[],
): Pick<GatewayMetrics, 'watchInFlight' | 'connectionShed'> {
  let inFlight: (() => number) | undefined
  void new Gauge({
    name: 'payweave_http_requests_in_flight',
    help: 'Requests in flight.',
    registers,
    collect() {
      this.set(inFlight?.() ?? 0)
    },
  })
  const shed = new Counter({
    name: 'payweave_http_connections_shed_total',
    help: 'Connections with several requests that were closed because the process had too many open.',
    registers,
  })
  return {
    watchInFlight(count) {
      inFlight = count
    },
    connectionShed: () => shed.inc(),
  }
}

// The library hashes the labels of every increment, which costs more than counting: that is left to the scrape.
function showAnswers(routes: Map<string, RouteCounts>, registers: Registry[]): void {
  void new Counter({
    name: 'payweave_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['route', 'method', 'status'],
    registers,
    collect() {
      this.reset()
      for (const [route, { answers }] of routes) {
        for (const { method, status, count } of answers) this.inc({ route, method, status }, count)
      }
    },
  })
}

function showRefusals(refused: Map<string, number>, registers: Registry[]): void {
  void new Counter({
    name: 'payweave_http_unknown_refusals_total',
    help: 'Requests rejected before their project was known, by reason, or by status where there is no reason. The log has samples of them.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of refused) this.inc({ reason }, count)
    },
  })
}

function showLookups(lookups: Map<string, Lookups>, registers: Registry[]): void {
  void new Counter({
    name: 'payweave_access_cache_lookups_total',
    help: 'Look-ups in the cache of credentials, by result: hit, miss, or stale (past its lifetime, while accounts did not respond).',
    labelNames: ['kind', 'result'],
    registers,
    collect() {
      this.reset()
      for (const [kind, counts] of lookups) {
        for (const [result, count] of Object.entries(counts)) {
          if (count > 0) this.inc({ kind, result }, count)
        }
      }
    },
  })
}
