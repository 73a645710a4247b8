// Holds the autoscalers of components/in-flight against the metrics that processes have and the rules of prometheus-adapter.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Manifest, manifestsRoot, ofKind, optional, render } from './kustomize.ts'

type Rule = { seriesQuery: string; resources: { overrides: Record<string, { resource: string }> } }

const metrics = readFileSync(
  path.join(manifestsRoot, '..', '..', 'docs', 'operate', 'metrics.md'),
  'utf8',
)
const { rules } = parse(
  readFileSync(path.join(manifestsRoot, 'components', 'in-flight', 'adapter-values.yaml'), 'utf8'),
) as { rules: { custom: Rule[] } }

/** By autoscaler, the metrics of its pods. */
const scaledBy = ofKind(render(optional), 'HorizontalPodAutoscaler').flatMap(({ metadata, spec }) =>
  spec.metrics
    .filter(({ type }: Manifest['spec']) => type === 'Pods')
    .map(({ pods }: Manifest['spec']) => [metadata.name, pods.metric.name] as const),
) as [part: string, metric: string][]

it('gateway and delivery scale by gauges that they have', () => {
  expect(Object.fromEntries(scaledBy)).toEqual({
    gateway: 'payweave_http_requests_in_flight',
    delivery: 'payweave_delivery_in_flight',
  })
  for (const [part, metric] of scaledBy)
    expect(metrics).toContain(`| \`${metric}\` | gauge | ${part} |`)
})

it('gateway and delivery keep scaling by CPU too', () => {
  for (const { metadata, spec } of ofKind(render(optional), 'HorizontalPodAutoscaler')) {
    expect(spec.metrics[0].resource?.name, metadata.name).toBe('cpu')
  }
})

it('prometheus-adapter finds each metric by namespace and pod, also that of services, by which operators may scale', () => {
  const ofServices = 'payweave_rpc_requests_in_flight'
  expect(metrics).toContain(`| \`${ofServices}\` | gauge | payments, accounts, `)
  for (const metric of [...scaledBy.map(([, name]) => name), ofServices]) {
    const found = rules.custom.filter(({ seriesQuery }) => {
      const names = /__name__=~"([^"]+)"/.exec(seriesQuery)?.[1]
      return names !== undefined && new RegExp(`^(?:${names})$`).test(metric)
    })
    expect(found).toHaveLength(1)
    expect(found[0]?.resources.overrides).toEqual({
      namespace: { resource: 'namespace' },
      pod: { resource: 'pod' },
    })
  }
})
