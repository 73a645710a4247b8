// Makes the templates of the Helm chart from the rendered production overlay, so that the manifests have one source.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, parseAllDocuments, Scalar, stringify } from 'yaml'
import { type Manifest, manifestsRoot, optional, render } from '../kustomize.ts'
import { parameterOf } from './parameters.ts'

export const chartRoot = path.join(manifestsRoot, '..', 'helm', 'payweave')

/** Which value includes the objects of a folder of deploy/k8s. Everything else is always there. */
const switches: Record<string, string> = {
  'components/cnpg': 'postgres',
  'components/cnpg-backup': 'postgres',
  'components/restore-drill': 'postgres',
  'components/monitoring': 'monitoring',
  'components/certificate-alerts': 'monitoring',
  'components/rpc-clients': 'rpcClients',
  'components/traces': 'traces',
  'components/external-secrets': 'externalSecrets',
  'components/gateway-api': 'gatewayApi',
  toolbox: 'toolbox',
}

const postgresFolders = Object.keys(switches).filter((folder) => switches[folder] === 'postgres')

type Template = { name: string; condition?: string; owns: (manifest: Manifest) => boolean }

const isOf =
  (...kinds: string[]) =>
  ({ kind }: Manifest) =>
    kinds.includes(kind)

/** Whether an object is for the Prometheus operator or a dashboard of Grafana. */
export function isMonitoring({ kind, metadata }: Manifest): boolean {
  const labels: Record<string, string> = metadata['labels' as never] ?? {}
  return /^(PodMonitor|ServiceMonitor|PrometheusRule)$/.test(kind) || 'grafana_dashboard' in labels
}

/** The templates, in the order in which one of them takes an object. */
const templates: Template[] = [
  {
    name: 'postgres-monitoring',
    condition: 'and .Values.postgres.enabled .Values.monitoring.enabled',
    owns: (manifest) =>
      isMonitoring(manifest) && postgresFolders.some((folder) => ownerOf(folder)(manifest)),
  },
  ...Object.entries(switches).map(([folder, value]) => ({
    name: path.basename(folder),
    condition: `.Values.${value}.enabled`,
    owns: ownerOf(folder),
  })),
  {
    name: 'ingress',
    condition: 'and .Values.ingress.enabled (not .Values.gatewayApi.enabled)',
    owns: isOf('Ingress'),
  },
  { name: 'settings', owns: isOf('ConfigMap') },
  { name: 'certificates', owns: isOf('Certificate', 'Issuer') },
  { name: 'network', owns: isOf('NetworkPolicy') },
  { name: 'nats', owns: ({ metadata }) => ['nats', 'stream-controller'].includes(metadata.name) },
  { name: 'parts', owns: () => true },
]

/** The text of each generated template, by its file name. */
export function chartTemplates(): Map<string, string> {
  const production = render('production')
  const withAll = render(optional)
  const added = withAll.filter((one) => find(production, one) === undefined)
  // Components change autoscalers; what else they change are settings, which are values.
  const changed = withAll.filter(
    (one) =>
      one.kind === 'HorizontalPodAutoscaler' && !isDeepStrictEqual(one, find(production, one)),
  )
  // Helm makes the namespace, or it is there already.
  const objects = [...production, ...added].filter(
    (one) => one.kind !== 'Namespace' && find(changed, one) === undefined,
  )
  const files = Map.groupBy(objects, (one) => templates.find(({ owns }) => owns(one)))
  return new Map([
    ...[...files].map(
      ([of, manifests]) => [`${of?.name}.yaml`, template(manifests, of?.condition)] as const,
    ),
    ['in-flight.yaml', template(changed, '.Values.inFlight.enabled')],
    [
      'in-flight-off.yaml',
      template(
        production.filter((one) => find(changed, one) !== undefined),
        'not .Values.inFlight.enabled',
      ),
    ],
    ['migrate-expand.yaml', template(hooks('expand', 'post-install,pre-upgrade'))],
    ['migrate-contract.yaml', template(hooks('contract', 'post-upgrade'), '.Values.contract')],
    ['restore-check.yaml', template(render('production/restore-check'), '.Values.restoreCheck')],
  ])
}

/** The object of the same kind and name. */
function find(manifests: Manifest[], like: Manifest): Manifest | undefined {
  return manifests.find((one) => identity(one) === identity(like))
}

/** The migration job of a phase, with what it needs, at moments of an installation or upgrade. */
function hooks(phase: 'expand' | 'contract', moments: string): Manifest[] {
  return render(`production/${phase}`).map((manifest) => {
    const annotations = {
      'helm.sh/hook': moments,
      'helm.sh/hook-weight': manifest.kind === 'Job' ? '0' : '-1',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    }
    return { ...manifest, metadata: { ...manifest.metadata, annotations } }
  })
}

/** What identifies an object in a namespace. */
export function identity({ kind, metadata }: Manifest): string {
  return `${kind} ${withoutHash(metadata.name)}`
}

/** Without the hash that kustomize appends to the name of a ConfigMap whose content comes from values. */
export function withoutHash(name: string): string {
  return name.replace(/^((settings|stores)(-expand|-contract|-restore-check)?)-[a-z0-9]{10}$/, '$1')
}

/** Whether an object comes from the files, or the generators, of a folder of deploy/k8s. */
function ownerOf(folder: string): Template['owns'] {
  const at = path.join(manifestsRoot, folder)
  const { resources = [], configMapGenerator = [] } = parse(
    readFileSync(path.join(at, 'kustomization.yaml'), 'utf8'),
  ) as { resources?: string[]; configMapGenerator?: { name: string; behavior?: string }[] }
  const named = new Set(
    resources.flatMap((file) =>
      parseAllDocuments(readFileSync(path.join(at, file), 'utf8')).map((document) =>
        identity(document.toJS() as Manifest),
      ),
    ),
  )
  const generated = configMapGenerator.filter(({ behavior }) => behavior === undefined)
  return (manifest) =>
    named.has(identity(manifest)) ||
    (manifest.kind === 'ConfigMap' &&
      generated.some(({ name }) => manifest.metadata.name.startsWith(name)))
}

const readsSettings = /^(settings|stores)(-expand|-contract|-restore-check)?$/
/** The settings of a process on one line: a change of them starts its pods anew, as the hashed names of kustomize do. */
const settingsOfPod = `>-
          {{ template "payweave.settings" . }} {{ template "payweave.stores" . }}`

/** The objects as one template; a value of the chart stands where an operator may want another one. */
function template(manifests: Manifest[], condition?: string): string {
  const actions: string[] = []
  const mark = (action: string) => `ACTION_${actions.push(action) - 1}_END`
  const documents = manifests.map((manifest) => {
    const copy = walk(manifest, [], (value, keys) => {
      const action = parameterOf(manifest, keys, value)
      if (action !== undefined) return mark(action)
      return typeof value === 'string' ? literal(withoutHash(value)) : undefined
    }) as Manifest
    annotate(copy, mark)
    return stringify(copy, { lineWidth: 0 })
      .replace(/ACTION_(\d+)_END/g, (_, index: string) => actions[Number(index)] ?? '')
      .replaceAll(braces, '{{ "{{" }}')
  })
  const header = '# Made from deploy/k8s by `npx vitest run test/deploy/helm -u`; do not edit.\n'
  const text = `${header}${documents.join('---\n')}`
  return condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`
}

const braces = 'OPENING_BRACES'

/** Text that Go's templates leave as it is; quoted, since it may begin with a brace. */
function literal(text: string): string | Scalar {
  if (!text.includes('{{')) return text
  const scalar = new Scalar(text.replaceAll('{{', braces))
  scalar.type = text.includes('\n') ? 'BLOCK_LITERAL' : 'QUOTE_DOUBLE'
  return scalar
}

/** Puts the settings into the pods that read them. */
function annotate(manifest: Manifest, mark: (action: string) => string): void {
  if (manifest.kind !== 'Deployment') return
  const { metadata, spec } = manifest['spec'].template
  const sources: Manifest['spec'][] = spec.containers[0].envFrom ?? []
  if (!sources.some(({ configMapRef }) => readsSettings.test(configMapRef?.name))) return
  metadata.annotations = { ...metadata.annotations, 'payweave.io/settings': mark(settingsOfPod) }
}

type Visit = (value: unknown, keys: string[]) => string | Scalar | undefined

/** A copy in which `visit` has replaced what it gave a text for. */
function walk(value: unknown, keys: string[], visit: Visit): unknown {
  const replaced = visit(value, keys)
  if (replaced !== undefined) return replaced
  if (Array.isArray(value)) return value.map((one, at) => walk(one, [...keys, String(at)], visit))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, walk(one, [...keys, key], visit)]),
  )
}

/** The files of the chart that Helm renders, by their name: those that people wrote, and the generated ones as committed. */
export function committedTemplates(): Map<string, string> {
  const folder = path.join(chartRoot, 'templates')
  return new Map(
    readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  )
}
