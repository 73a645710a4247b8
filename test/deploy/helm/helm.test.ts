// Holds the Helm chart against the kustomize overlay that it is made from: the same objects, for defaults and for other values.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  type Manifest,
  manifestsRoot,
  ofKind,
  optional,
  render,
  renderFolder,
  restored,
} from '../kustomize.ts'
import { programOrSkip } from '../program.ts'
import {
  chartRoot,
  chartTemplates,
  committedTemplates,
  identity,
  isMonitoring,
  withoutHash,
} from './chart.ts'
import { complaints, defaults, merged, release, renderChart } from './render-chart.ts'

const root = path.join(manifestsRoot, '..', '..')
const handmade = new Set(['_names.tpl', 'NOTES.txt'])

const productionRoot = path.join(manifestsRoot, 'overlays', 'production')

/** The objects of a kustomization that names files and folders from the folder of the production overlay. */
function renderText(kustomization: { [field: string]: unknown }): Manifest[] {
  const cache = path.join(root, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(path.join(cache, 'overlay-'))
  // kustomize reads folders from anywhere, but files from its own folder only.
  const moved = (names: unknown = []) =>
    (names as string[]).map((name) => {
      const from = path.join(productionRoot, name)
      if (!name.endsWith('.yaml')) return path.relative(folder, from)
      copyFileSync(from, path.join(folder, name))
      return name
    })
  try {
    const { resources, components } = kustomization
    const folders = { resources: moved(resources), components: moved(components) }
    const text = stringify({ ...kustomization, ...folders })
    writeFileSync(path.join(folder, 'kustomization.yaml'), text)
    return renderFolder(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Production without some of its components. */
function without(...names: string[]): Manifest[] {
  const text = readFileSync(path.join(productionRoot, 'kustomization.yaml'), 'utf8')
  const production = parse(text) as { components: string[] }
  const dropped = names.map((name) => `../../components/${name}`)
  expect(production.components).toEqual(expect.arrayContaining(dropped))
  const components = production.components.filter((name) => !dropped.includes(name))
  return renderText({ ...production, components })
}

/** Objects by their name, without what differs by design: hashed names, the namespace itself, what starts pods anew. */
function comparable(manifests: Manifest[]): Record<string, Manifest> {
  const objects = manifests
    .filter(({ kind }) => kind !== 'Namespace')
    .map((manifest) => {
      const text = JSON.stringify(manifest, (_, value: unknown) =>
        typeof value === 'string' ? withoutHash(value) : value,
      )
      const copy = JSON.parse(text) as Manifest
      const metadata = copy['spec']?.template?.metadata
      if (metadata?.annotations !== undefined) {
        delete metadata.annotations['payweave.io/settings']
        if (Object.keys(metadata.annotations).length === 0) delete metadata.annotations
      }
      return [identity(copy), copy] as const
    })
  expect(objects.map(([name]) => name)).toHaveLength(new Set(objects.map(([name]) => name)).size)
  return Object.fromEntries(objects)
}

const isHook = ({ metadata }: Manifest) =>
  'helm.sh/hook' in (metadata['annotations' as never] ?? {})

/** The hooks of one phase, without what makes them hooks. */
function hooksOf(phase: string, manifests: Manifest[]): Record<string, Manifest> {
  const found = manifests.filter((one) => isHook(one) && one.metadata.name.includes(`-${phase}`))
  return comparable(
    found.map((one) => {
      const { annotations: _, ...metadata } = one.metadata as Record<string, unknown>
      return { ...one, metadata } as Manifest
    }),
  )
}

const ofPayments = (manifests: Manifest[]): Manifest['spec'] =>
  manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'payments')?.[
    'spec'
  ].template.metadata

const kubectlOrSkip = (context: Parameters<typeof programOrSkip>[0]) =>
  programOrSkip(context, 'kubectl', 'kubernetes-client')

/** What an operator may set, and the same as a kustomization over production. */
const own = {
  image: {
    repository: 'registry.example.org/pay/payweave',
    digest: `sha256:${'5'.repeat(64)}`,
    pullSecrets: ['registry'],
  },
  storageClass: 'fast',
  hosts: { api: 'pay.example.org', console: 'desk.example.org' },
  settings: { BACKEND_URL: 'https://rail:8443', TRUSTED_PROXIES: '10.2.3.0/28', LOG_LEVEL: 'warn' },
  database: { host: 'a.example.org:5432,b.example.org:5432', options: 'sslmode=verify-full&a="b"' },
  parts: {
    gateway: { replicas: { min: 5, max: 9 }, resources: { limits: { cpu: 3 } } },
    billing: { replicas: { max: 6 }, resources: { requests: { memory: '300Mi' } } },
  },
  ingress: {
    className: 'edge',
    annotations: { 'example.org/owner': 'payments' },
    certificates: { api: 'pay-certificate', console: 'desk-certificate' },
  },
  postgres: {
    instances: 5,
    storage: '1Ti',
    walStorage: '90Gi',
    resources: { requests: { cpu: '6' }, limits: { memory: '32Gi' } },
    parameters: { max_connections: 600, shared_buffers: '8GB' },
  },
  backup: { destination: 's3://copies.example.org/pay', retention: '90d' },
}
const replace = (at: string, value: unknown) => ({ op: 'replace', path: at, value })
const ingressOf = (name: 'api' | 'console') => [
  replace('/spec/ingressClassName', own.ingress.className),
  replace('/spec/tls/0/hosts/0', own.hosts[name]),
  replace('/spec/tls/0/secretName', own.ingress.certificates[name]),
  replace('/spec/rules/0/host', own.hosts[name]),
]
const patchesOf = Object.entries({
  'Ingress gateway': [
    ...ingressOf('api'),
    { op: 'add', path: '/metadata/annotations/example.org~1owner', value: 'payments' },
  ],
  'Ingress console': ingressOf('console'),
  'HorizontalPodAutoscaler gateway': [
    replace('/spec/minReplicas', 5),
    replace('/spec/maxReplicas', 9),
  ],
  'HorizontalPodAutoscaler billing': [replace('/spec/maxReplicas', 6)],
  'Deployment gateway': [replace('/spec/template/spec/containers/0/resources/limits/cpu', '3')],
  'Deployment billing': [
    replace('/spec/template/spec/containers/0/resources/requests/memory', '300Mi'),
  ],
  'Cluster postgres': [
    replace('/spec/instances', 5),
    replace('/spec/storage/size', '1Ti'),
    replace('/spec/walStorage/size', '90Gi'),
    replace('/spec/resources/requests/cpu', '6'),
    replace('/spec/resources/limits/memory', '32Gi'),
    replace('/spec/postgresql/parameters/max_connections', '600'),
    replace('/spec/postgresql/parameters/shared_buffers', '8GB'),
  ],
  'ObjectStore postgres-backups': [
    replace('/spec/configuration/destinationPath', own.backup.destination),
    replace('/spec/retentionPolicy', own.backup.retention),
  ],
})
const sameByKustomize = {
  namespace: 'shop',
  resources: ['.'],
  replacements: [
    {
      source: { kind: 'Namespace', fieldPath: 'metadata.name' },
      targets: [
        {
          select: { kind: 'PrometheusRule' },
          fieldPaths: ['spec.groups.0.rules.0.labels.namespace'],
        },
      ],
    },
  ],
  components: ['../../components/registry', '../../components/storage-class'],
  images: [
    {
      name: 'registry.example.com/payweave',
      newName: own.image.repository,
      digest: own.image.digest,
    },
  ],
  configMapGenerator: [
    {
      name: 'settings',
      behavior: 'merge',
      literals: [
        ...Object.entries(own.settings).map(([name, value]) => `${name}=${value}`),
        `PUBLIC_BASE_URL=https://${own.hosts.api}`,
        `CONSOLE_URL=https://${own.hosts.console}`,
        'GATEWAY_REPLICAS=5',
      ],
    },
    {
      name: 'stores',
      behavior: 'merge',
      literals: [`DATABASE_HOST=${own.database.host}`, `DATABASE_OPTIONS=${own.database.options}`],
    },
  ],
  patches: patchesOf.map(([target, patch]) => {
    const [kind, name] = target.split(' ')
    return { target: { kind, name }, patch: JSON.stringify(patch) }
  }),
}

describe('the Helm chart', () => {
  it('the Helm chart has the templates that its source makes, and no others', async () => {
    const made = chartTemplates()
    for (const [name, text] of made) {
      await expect(text).toMatchFileSnapshot(path.join(chartRoot, 'templates', name))
    }
    const generated = [...committedTemplates().keys()].filter((name) => !handmade.has(name))
    expect(generated.toSorted()).toEqual([...made.keys()].toSorted())
  })

  it('the Helm chart installs the objects of production, and nothing else', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const { manifests, notes } = renderChart(kubectl)
    const objects = manifests.filter((manifest) => !isHook(manifest))
    expect(comparable(objects)).toEqual(comparable(render('production')))
    expect(notes).toContain('curl --fail https://api.payweave.example.com/readyz')
  })

  it('the Helm chart with other values installs what kustomize makes of the same changes', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const { manifests } = renderChart(kubectl, own, { ...release, Namespace: 'shop' })
    const objects = manifests.filter((manifest) => !isHook(manifest))
    expect(comparable(objects)).toEqual(comparable(renderText(sameByKustomize)))
    for (const { metadata, ...account } of ofKind(objects, 'ServiceAccount')) {
      expect(account['imagePullSecrets'], metadata.name).toEqual([{ name: 'registry' }])
    }
    const plain = renderChart(kubectl).manifests
    const started = (all: Manifest[]) => ofPayments(all).annotations['payweave.io/settings']
    expect(started(manifests)).toContain('"TRUSTED_PROXIES": "10.2.3.0/28"')
    expect(started(plain)).not.toEqual(started(manifests))
  })

  it('the Helm chart leaves out and adds what the components of kustomize do', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const chart = (values: { [name: string]: object }) =>
      comparable(renderChart(kubectl, values).manifests.filter((one) => !isHook(one)))
    const off = { enabled: false }
    const on = { enabled: true }
    expect(chart({ postgres: off })).toEqual(
      comparable(without('cnpg', 'cnpg-backup', 'restore-drill')),
    )
    expect(chart({ monitoring: off })).toEqual(
      comparable(without('monitoring', 'certificate-alerts').filter((one) => !isMonitoring(one))),
    )
    const all = ['rpcClients', 'inFlight', 'traces', 'gatewayApi', 'externalSecrets', 'toolbox']
    expect(chart(Object.fromEntries(all.map((name) => [name, on])))).toEqual(
      comparable(render(optional)),
    )
  })

  it('the Helm chart restores the database as the component of kustomize does', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const values = (targetTime: string) => ({
      postgres: { recovery: { enabled: true, targetTime } },
      backup: { serverName: 'postgres-restored-1' },
    })
    const { manifests } = renderChart(kubectl, values(''))
    expect(comparable(manifests.filter((one) => !isHook(one)))).toEqual(
      comparable(render(restored)),
    )
    const targetTime = '2026-11-21T09:30:00Z'
    const [cluster] = ofKind(renderChart(kubectl, values(targetTime)).manifests, 'Cluster')
    expect(cluster?.spec.bootstrap.recovery.recoveryTarget).toEqual({ targetTime })
  })

  it('the Helm chart migrates by the same jobs, at the moments that the phases need', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const moment = (manifests: Manifest[], phase: string) =>
      manifests.find(({ kind, metadata }) => kind === 'Job' && metadata.name.endsWith(phase))
        ?.metadata['annotations' as never]?.['helm.sh/hook']
    const { manifests } = renderChart(kubectl)
    expect(moment(manifests, 'expand')).toBe('post-install,pre-upgrade')
    expect(moment(manifests, 'contract')).toBeUndefined()
    const elsewhere = renderChart(kubectl, { postgres: { enabled: false }, contract: true })
    expect(moment(elsewhere.manifests, 'expand')).toBe('pre-install,pre-upgrade')
    expect(moment(elsewhere.manifests, 'contract')).toBe('post-upgrade')
    for (const phase of ['expand', 'contract'] as const) {
      const hooks = hooksOf(phase, elsewhere.manifests)
      const jobs = comparable(render(`production/${phase}`))
      // The chart has one set of settings, for services and jobs.
      const settings = `ConfigMap settings-${phase}`
      expect(hooks[settings]?.['data']).toMatchObject(jobs[settings]?.['data'])
      expect({ ...hooks, [settings]: null }).toEqual({ ...jobs, [settings]: null })
    }
  })

  it('the Helm chart checks a restored ledger by the same job, and not as a hook', async (context) => {
    const kubectl = await kubectlOrSkip(context)
    if (kubectl === undefined) return
    const chart = (values: { [name: string]: unknown }) =>
      comparable(renderChart(kubectl, values).manifests.filter((one) => !isHook(one)))
    const plain = chart({})
    const checking = Object.entries(chart({ restoreCheck: true }))
    const added = Object.fromEntries(checking.filter(([name]) => plain[name] === undefined))
    const jobs = comparable(render('production/restore-check'))
    // The chart has one set of settings, for services and jobs.
    const settings = 'ConfigMap settings-restore-check'
    expect(added[settings]?.['data']).toMatchObject(jobs[settings]?.['data'])
    expect({ ...added, [settings]: null }).toEqual({ ...jobs, [settings]: null })
  })

  it('the Helm chart refuses values that it does not know or cannot use', () => {
    expect(complaints(defaults)).toEqual([])
    const wrong: [{ [name: string]: unknown }, string][] = [
      [{ replicas: 3 }, 'additional properties'],
      [{ parts: { gateway: { replicas: { min: 'three' } } } }, 'must be integer'],
      [{ parts: { gateway: { resources: { limits: { cpu: 'two' } } } } }, 'must match pattern'],
      [{ postgres: { instances: 1 } }, '>= 2'],
      [{ image: { pullSecrets: [{ name: 'registry' }] } }, 'must be string'],
      [{ image: { digest: 'latest' } }, 'must match pattern'],
      [{ hosts: { api: 'https://pay.example.org' } }, 'must match format "hostname"'],
      [{ settings: { PUBLIC_BASE_URL: 'https://pay.example.org' } }, 'property name must be valid'],
      [{ settings: { lower: 'x' } }, 'property name must be valid'],
      [{ database: { host: 'owner:secret@db:5432' } }, 'must match pattern'],
      [{ settings: { LIMIT: 3_000_000 } }, '<= 999999'],
      [{ contract: 'yes' }, 'must be boolean'],
      [{ restoreCheck: 'yes' }, 'must be boolean'],
    ]
    for (const [values, reason] of wrong) {
      expect(complaints(merged(values)).join('\n'), JSON.stringify(values)).toContain(reason)
    }
  })

  it('the Helm chart uses each of its values', () => {
    const text = [...committedTemplates().values()].join('\n')
    const used = new Set(text.match(/\.Values(\.\w+)+/g))
    const paths = (value: unknown, at: string): string[] =>
      used.has(at) || typeof value !== 'object' || value === null
        ? [at]
        : Object.entries(value).flatMap(([name, one]) => paths(one, `${at}.${name}`))
    expect(paths(defaults, '.Values').filter((at) => !used.has(at))).toEqual([])
  })
})
