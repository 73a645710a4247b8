// Proves that every scrape shows what the edge has counted.
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { gatewayMetrics } from './metrics.ts'

describe('the metrics of the edge', () => {
  it('the metrics of the edge show each answer once, by route, method and status', async () => {
    const registry = new Registry()
    const metrics = gatewayMetrics(registry)
    for (const status of [200, 200, 401]) {
      metrics.answered('/payments/status', 'GET', status, 3)
    }
    metrics.answered('unknown', 'PUT', 404, 1)
    metrics.watchInFlight(() => 1)
    metrics.connectionShed()
    metrics.refusedUnknown('INVALID_HEADER')
    metrics.refusedUnknown('INVALID_HEADER')
    const expected = [
      'payweave_http_requests_total{route="/payments/status",method="GET",status="200"} 2',
      'payweave_http_requests_total{route="/payments/status",method="GET",status="401"} 1',
      'payweave_http_requests_total{route="unknown",method="PUT",status="404"} 1',
      'payweave_http_request_duration_seconds_count{route="/payments/status"} 3',
      'payweave_http_requests_in_flight 1',
      'payweave_http_connections_shed_total 1',
      'payweave_http_unknown_refusals_total{reason="INVALID_HEADER"} 2',
    ]
    // A scrape takes nothing away and adds nothing.
    for (const shown of [await registry.metrics(), await registry.metrics()]) {
      for (const line of expected) expect(shown.split('\n')).toContain(line)
    }
  })

  it('the metrics of the edge show cache look-ups by their result', async () => {
    const registry = new Registry()
    const metrics = gatewayMetrics(registry)
    metrics.looked('api_key', 'miss')
    metrics.looked('api_key', 'hit')
    metrics.looked('api_key', 'hit')
    const lines = (await registry.metrics()).split('\n')
    const lookups = 'payweave_access_cache_lookups_total'
    expect(lines).toContain(`${lookups}{kind="api_key",result="hit"} 2`)
    expect(lines).toContain(`${lookups}{kind="api_key",result="miss"} 1`)
  })
})
