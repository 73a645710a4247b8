// The manifests of a connector: what Payweave's processes call is what runs, with secrets that are documented and no way in but its own.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { readSettings } from '#platform/config/config.ts'
import { type Manifest, manifestsRoot, ofKind, podTemplates, renderFolder } from './kustomize.ts'

const manifests = renderFolder(path.join(manifestsRoot, 'connector'))
const guide = readFileSync(path.join(manifestsRoot, '../../docs/connectors/README.md'), 'utf8')
const production = readFileSync(
  path.join(manifestsRoot, 'overlays/production/common/settings.env'),
  'utf8',
)
const [template] = podTemplates(manifests)
const pod = template?.pod

it('the Service that BACKEND_URL names selects the pods of the connector', () => {
  const [service] = ofKind(manifests, 'Service')
  expect(production).toContain(`BACKEND_URL=https://${service?.metadata.name}:8080`)
  expect(pod?.metadata.labels).toMatchObject(service?.['spec'].selector)
  expect(
    service?.['spec'].ports.map(
      ({ name, port }: { name: string; port: number }) => `${name} ${port}`,
    ),
  ).toEqual(['rpc 8080', 'admin 8081', 'webhooks 8082'])
  expect(pod?.metadata.labels).toMatchObject({ 'payweave.io/back-end': 'true' })
})

it('the pod runs as every part does, as an account of its own', () => {
  const [container] = pod?.['spec'].containers ?? []
  expect(pod?.['spec']).toMatchObject({
    serviceAccountName: 'connector',
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true },
  })
  expect(container).toMatchObject({
    securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    resources: { limits: { memory: '384Mi' } },
  })
  expect(container.readinessProbe).toBeDefined()
  expect(ofKind(manifests, 'ServiceAccount')).toMatchObject([{ metadata: { name: 'connector' } }])
})

it('its Secrets are in the guide', () => {
  const secrets = pod?.['spec'].volumes
    .filter(
      ({ secret }: Record<string, { optional?: boolean }>) => secret && secret.optional !== true,
    )
    .map(({ secret }: Record<string, { secretName: string }>) => secret?.secretName)
  expect(secrets).toEqual(['connector-secrets'])
  for (const name of secrets) expect(guide).toContain(`\`${name}\``)
})

it('only the edge reaches its webhooks, and only Payweave its RPCs', () => {
  const [policy] = ofKind(manifests, 'NetworkPolicy')
  const ways = policy?.['spec'].ingress.map(
    ({ from, ports }: { from: object[]; ports: { port: string }[] }) =>
      `${ports.map(({ port }) => port).join()} ${Object.keys(from[0] ?? {}).join()}`,
  )
  expect(ways).toEqual(['serving podSelector', 'webhooks namespaceSelector'])
})

it('its settings are complete in production', () => {
  const env: { name: string; value: string }[] = pod?.['spec'].containers[0].env ?? []
  const common = production.matchAll(/^([A-Z_]+)=(.*)$/gm)
  const settings = readSettings('simulator', {
    ...Object.fromEntries([...common].map(([, name, value]) => [name, value])),
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
  })
  expect(settings).toMatchObject({ payweaveEnv: 'production', port: 8080, migrateAtStart: true })
})

const both = renderFolder(path.join(import.meta.dirname, 'connectors'))
const podOf = (name: string): Manifest => {
  const found = podTemplates(both).find(({ owner }) => owner === `Deployment ${name}`)
  if (found === undefined) throw new Error(`no Deployment ${name}`)
  return found.pod
}

it.each(['connector-momo', 'connector-stripe'])(
  '%s has objects, secrets and an identity of its own beside the other connector',
  (name) => {
    const other = name === 'connector-momo' ? 'connector-stripe' : 'connector-momo'
    const named = both.filter(({ metadata }) => metadata.name === name)
    expect(named.map(({ kind }) => kind).toSorted()).toEqual([
      'Certificate',
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ])
    const text = JSON.stringify(named)
    expect(text).not.toContain(other)
    expect(text).not.toMatch(/"connector"|back-end-tls|connector-secrets/)
    const { metadata, spec } = podOf(name)
    expect(metadata.labels).toMatchObject({ 'payweave.io/back-end': 'true' })
    expect(spec.serviceAccountName).toBe(name)
    const [{ image, env }] = spec.containers
    expect(image).toBe('registry.example.com/payweave:0.1.0')
    expect(env).toContainEqual({ name: 'BACKEND_NAME', value: name })
    const secrets = Object.fromEntries(
      spec.volumes.map((volume: Manifest['spec']) => [volume.name, volume.secret]),
    )
    expect(secrets['secrets'].secretName).toBe(`${name}-secrets`)
    expect(secrets['tls']).toMatchObject({ secretName: `${name}-tls`, optional: false })
    const byKind = new Map(named.map((one) => [one.kind, one['spec']]))
    expect(byKind.get('Certificate')).toMatchObject({
      secretName: `${name}-tls`,
      dnsNames: [`payweave-${name}`, name],
      issuerRef: { name: 'mesh' },
    })
    expect(byKind.get('HorizontalPodAutoscaler').scaleTargetRef.name).toBe(name)
    const selectors = [
      byKind.get('Service').selector,
      byKind.get('Deployment').selector.matchLabels,
      byKind.get('PodDisruptionBudget').selector.matchLabels,
      byKind.get('NetworkPolicy').podSelector.matchLabels,
    ]
    for (const selector of selectors) {
      const selected = podTemplates(both).filter(
        ({
          pod: {
            metadata: { labels = {} },
          },
        }) => Object.entries(selector).every(([key, value]) => labels[key] === value),
      )
      expect(selected.map(({ owner }) => owner)).toEqual([`Deployment ${name}`])
    }
    const guides = readFileSync(
      path.join(manifestsRoot, `../../docs/connectors/${name.slice(10)}.md`),
      'utf8',
    )
    expect(guides).toContain(`\`${name}-secrets\``)
    expect(guides).toContain(`\`deploy/k8s/${name}\``)
  },
)

it.each([
  ['momo', 'MTN MoMo', 4],
  ['stripe', 'Stripe', 2],
])(
  'the manifests of %s set all that the connector of %s reads, and the guide names its keys',
  (name, _provider, variables) => {
    const [container] = podOf(`connector-${name}`)['spec'].containers
    const [file = ''] = container.args
    expect(file).toBe(`connectors/${name}/main.ts`)
    const root = path.join(manifestsRoot, '../..')
    const main = readFileSync(path.join(root, file), 'utf8')
    const read = [...main.matchAll(/(?:variable|url|currency)\('([A-Z_]+)'\)/g)].map(
      ([, variable]) => variable,
    )
    expect(read).toHaveLength(variables)
    if (main.includes('publicUrl()')) read.push('CONNECTOR_PUBLIC_URL')
    const names = container.env.map((one: { name: string }) => one.name)
    expect(names).toEqual(expect.arrayContaining([...read, 'DATABASE_URL']))
    const page = readFileSync(path.join(root, `docs/connectors/${name}.md`), 'utf8')
    for (const variable of read) expect(page).toContain(`\`${variable}\``)
    const keys = [...main.matchAll(/secrets?\([`']([^`']+)[`']\)/g)].map(([, key = '']) => key)
    expect(keys.length).toBeGreaterThan(1)
    for (const key of keys)
      expect(page).toContain(`\`${key.replace('$'.concat('{product}'), 'collection')}\``)
  },
)
