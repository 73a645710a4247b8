// Keeps docs/operate/metrics.md equal to what the running processes show, and every name in docs and alerts to one that exists.
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { webhookMetrics, workMetrics } from '../../../connectors/kit/metrics.ts'
import { processNames } from '../../../deploy/local/process/parts.ts'
import { adminPort } from '../../../deploy/local/settings.ts'
import { sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const root = path.resolve(import.meta.dirname, '../../..')

type Metric = { type: string; help: string; parts: string[] }
const metrics = new Map<string, Metric>()
let ofNode: string[]

beforeAll(async () => {
  const found = new Set<string>()
  for (const part of processNames) {
    const port = adminPort(mesh, part)
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    for (const [, name = '', help = '', type = ''] of text.matchAll(described)) {
      if (!name.startsWith('payweave_')) {
        found.add(name)
        continue
      }
      const known = metrics.get(name) ?? { type, help, parts: [] }
      metrics.set(name, { ...known, parts: [...known.parts, part] })
    }
  }
  ofNode = [...found]
  // No connector of the kit runs in a local system.
  for (const { name, help, type } of await ofConnectors())
    metrics.set(name, { type: String(type), help, parts: ['connector'] })
})

/** Metrics that connectors of the kit have beside those of the platform. */
async function ofConnectors() {
  const registry = createMetrics('connector')
  const platform = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name))
  workMetrics(registry, async () => [], [])
  webhookMetrics(registry)
  return (await registry.getMetricsAsJSON()).filter(({ name }) => !platform.has(name))
}

const described = /^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm
const intro = `# Metrics

Every process exposes its metrics at \`/metrics\` of its admin port, in the Prometheus format, with its name in the label \`part\`. A test generates
this table from the running processes (\`npx vitest run --config test/system/vitest.config.ts test/system/tools/metrics.test.ts -u\`).

| for | rate and errors | duration | saturation |
|---|---|---|---|
| requests at the edge | \`payweave_http_requests_total\` by status | \`payweave_http_request_duration_seconds\` | \`payweave_http_requests_in_flight\` |
| RPCs | \`payweave_rpc_duration_seconds_count\` by code | \`payweave_rpc_duration_seconds\` | \`payweave_rpc_requests_in_flight\`, \`payweave_db_connections\`, \`nodejs_eventloop_lag_seconds\` |
| events out | \`payweave_outbox_published_total\`, \`payweave_outbox_publish_failed_total\` | \`payweave_outbox_oldest_unconfirmed_seconds\` | \`payweave_outbox_unconfirmed\` |
| events in | \`payweave_inbox_processed_total\`, \`payweave_inbox_retried_total\` | \`payweave_inbox_delay_seconds\` | \`payweave_inbox_dead_letters\` |
| pushes | \`payweave_delivery_attempts_total\` by outcome | \`payweave_delivery_attempt_seconds\` | \`payweave_delivery_in_flight\`, \`payweave_delivery_oldest_due_seconds\` |

Every process also has Node's metrics (\`process_*\`, \`nodejs_*\`: CPU, memory, event loop, garbage collection). The lag of the event loop is
sampled every 250 ms, and its values include this interval.

| Metric | Type | Shown by | Meaning |
|---|---|---|---|
`

function table(): string {
  const rows = [...metrics]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { type, help, parts }]) => {
      const everywhere = parts.length === processNames.length
      return `| \`${name}\` | ${type} | ${everywhere ? 'all' : parts.join(', ')} | ${help} |\n`
    })
  return intro + rows.join('')
}

/** Files of people and alerts that name metrics. */
function filesThatName(): string[] {
  return ['docs', 'deploy', 'services', 'connectors', 'README.md'].flatMap((start) => {
    const at = path.join(root, start)
    if (!fs.statSync(at).isDirectory()) return [start]
    return fs
      .readdirSync(at, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(md|ya?ml|json)$/.test(file))
      .map((file) => path.join(start, file))
  })
}

const area =
  /\bpayweave_(?:http|rpc|db|key|access_cache|trace|outbox|inbox|ledger|delivery|payments|accounts|institution|quotes|billing|simulator|connector)_\w+/g

describe('metrics', () => {
  it('the page of metrics describes them as the processes expose them', async () => {
    expect(metrics.size).toBeGreaterThan(40)
    await expect(table()).toMatchFileSnapshot('../../../docs/operate/metrics.md')
  })

  it('metrics have names and units by the conventions of Prometheus', () => {
    const counters = [...metrics].filter(([, { type }]) => type === 'counter')
    expect(counters.filter(([name]) => !name.endsWith('_total'))).toEqual([])
    const timed = [...metrics].filter(([, { type }]) => type === 'histogram')
    expect(timed.filter(([name]) => !name.endsWith('_seconds'))).toEqual([])
  })

  it('metrics that docs, alerts and dashboards name are exposed by a process', () => {
    const exists = (name: string) =>
      metrics.has(name) || metrics.has(name.replace(/_(bucket|count|sum)$/, ''))
    const unknown = filesThatName().flatMap((file) => {
      const names = fs.readFileSync(path.join(root, file), 'utf8').match(area) ?? []
      return [...new Set(names)].filter((name) => !exists(name)).map((name) => `${file}: ${name}`)
    })
    expect(unknown).toEqual([])
  })

  it('metrics of Node include the lag of the event loop', () => {
    expect(ofNode).toContain('nodejs_eventloop_lag_seconds')
  })
})
