// What operators see of the edge; it must not carry anything that a client sent.
import { Counter, Gauge, type Registry } from 'prom-client'
import { cheapHistogram, type Series } from '#runtime/histogram.ts'

/** Where the edge counts. */
export type GatewayMetrics = {
  /** A request has arrived at the router. */
  arrived(): void
  /** It has been answered there. */
  left: GatewayMetrics['answered']
  /** `route` is a path of ours or a fixed word, never the URL. */
  answered(route: string, method: string, status: number, durationMs: number): void
  /** One look into the cache of credentials. */
  looked(kind: string, hit: boolean): void
}

type Counted = {
  requests: Counter.Internal
  durations: Series
}

const bucketsS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Registers the metrics of the gateway. */
export function gatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'payweave_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const durations = cheapHistogram({
    name: 'payweave_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['route'],
    buckets: bucketsS,
    registry,
  })
  const routes = new Map<string, Series>()
  let inFlight = 0
  void new Gauge({
    name: 'payweave_http_requests_in_flight',
    help: 'Requests that have arrived and are not answered.',
    registers,
    collect() {
      this.set(inFlight)
    },
  })
  const lookups = new Counter({
    name: 'payweave_access_cache_lookups_total',
    help: 'Looks into the cache of credentials.',
    labelNames: ['kind', 'result'],
    registers,
  })
  // Finding a labelled child costs more than counting: the few that exist are kept.
  const counted = new Map<string, Counted>()
  const looked = new Map<string, Counter.Internal>()

  const answered: GatewayMetrics['answered'] = (route, method, status, durationMs) => {
    const key = `${status} ${method} ${route}`
    let found = counted.get(key)
    if (found === undefined) {
      const series = routes.get(route) ?? durations.series({ route })
      routes.set(route, series)
      found = { requests: requests.labels(route, method, String(status)), durations: series }
      counted.set(key, found)
    }
    found.requests.inc()
    found.durations.observe(durationMs / 1_000)
  }

  return {
    arrived() {
      inFlight += 1
    },
    left(...answer) {
      inFlight -= 1
      answered(...answer)
    },
    answered,
    looked(kind, hit) {
      const result = hit ? 'hit' : 'miss'
      const key = `${kind} ${result}`
      const found = looked.get(key) ?? lookups.labels(kind, result)
      looked.set(key, found)
      found.inc()
    },
  }
}
