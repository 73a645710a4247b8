// A part whose metrics and health a test sets.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves /metrics and /readyz of a part. */
export async function servePart() {
  const part = {
    metrics: [
      'process_start_time_seconds 1767323045',
      'process_resident_memory_bytes 104857600',
      'nodejs_eventloop_lag_p99_seconds 0.021',
      'payweave_jetstream_up 0',
      'payweave_payments_tasks_open{kind="refund"} 3',
      'payweave_payments_tasks_open{kind="announce"} 41',
      'payweave_ledger_findings{rule="L3"} 1',
      'payweave_ledger_check_time_seconds{rule="L3"} 1767323045',
    ],
    ready: { status: 'not ready', parts: { database: true, broker: false } } as object,
    url: '',
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  const server = createServer((request, response) => {
    const isMetrics = request.url === '/metrics'
    response.end(isMetrics ? `${part.metrics.join('\n')}\n` : JSON.stringify(part.ready))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  part.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return part
}
