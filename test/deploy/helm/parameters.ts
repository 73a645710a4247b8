// Which fields of the manifests are values of the Helm chart. What is not here is the same in every installation.
import type { Manifest } from '../kustomize.ts'

const image = 'registry.example.com/payweave:0.1.0'
const quoted = (value: string) => `{{ print ${value} | printf "%q" }}`
const number = (value: string) => `{{ ${value} }}`
/** A map of any keys, with text as values. */
const map = (value: string) =>
  `{ {{- range $name, $value := ${value} }} {{ printf "%q" $name }}: {{ print $value | printf "%q" }},{{ end }} }`

/** The field `bootstrap` of the database and, where it is restored, the one after it: which backups it comes from. */
const bootstrap = (empty: unknown) => {
  const { database, owner, secret } = (empty as { initdb: Record<string, unknown> }).initdb
  const target = `{{ if .Values.postgres.recovery.targetTime }}, recoveryTarget: { targetTime: ${quoted('.Values.postgres.recovery.targetTime')} }{{ end }}`
  const recovery = `{ source: backups, database: ${String(database)}, owner: ${String(owner)}, secret: ${JSON.stringify(secret)}${target} }`
  const parameters = `{ barmanObjectName: postgres-backups, serverName: ${quoted('.Values.backup.recoverFrom')} }`
  const plugin = `{ name: barman-cloud.cloudnative-pg.io, parameters: ${parameters} }`
  return `{{ if .Values.postgres.recovery.enabled }}{ recovery: ${recovery} }
  externalClusters: [{ name: backups, plugin: ${plugin} }]{{ else }}${JSON.stringify(empty)}{{ end }}`
}

/** A field after the one that it is appended to, where the chart has a value for it. */
const pullSecrets = (indent: string) =>
  `{{ if .Values.image.pullSecrets }}\n${indent}imagePullSecrets: [{{ range .Values.image.pullSecrets }}{ name: {{ printf "%q" . }} }, {{ end }}]{{ end }}`
const storageClass = (indent: string, field: string) =>
  `{{ if .Values.storageClass }}\n${indent}${field}: ${quoted('.Values.storageClass')}{{ end }}`

/** The template action for a field, by `Kind/name path`, or what makes it of the value; groups of the pattern fill `$1`, `$2` in. */
const fields: [RegExp, string | ((value: unknown) => string)][] = [
  [/ metadata\.namespace$/, '{{ .Release.Namespace }}'],
  [/^RoleBinding\/.* subjects\.\d+\.namespace$/, '{{ .Release.Namespace }}'],
  [
    /^PrometheusRule\/\S+ spec\.groups\.0\.rules\.0\.labels\.namespace$/,
    '{{ .Release.Namespace }}',
  ],
  // A PostgreSQL of the chart is there only after the installation; one elsewhere is there before.
  [
    /-expand\S* metadata\.annotations\.helm\.sh\/hook$/,
    '{{ if .Values.postgres.enabled }}post-install{{ else }}pre-install{{ end }},pre-upgrade',
  ],
  [/^ConfigMap\/settings-\S+ data$/, '{{ template "payweave.settings" . }}'],
  [/^ConfigMap\/stores-\S+ data$/, '{{ template "payweave.stores" . }}'],
  [
    /^HorizontalPodAutoscaler\/(\w+) spec\.(min|max)Replicas$/,
    number('.Values.parts.$1.replicas.$2'),
  ],
  [
    /^Deployment\/(gateway|payments|accounts|institution|quotes|billing|delivery|console) spec\.template\.spec\.containers\.0\.resources\.(requests|limits)\.(cpu|memory)$/,
    quoted('.Values.parts.$1.resources.$2.$3'),
  ],
  [/^Ingress\/\w+ spec\.ingressClassName$/, quoted('.Values.ingress.className')],
  [/^Ingress\/gateway metadata\.annotations$/, map('.Values.ingress.annotations')],
  [/^Ingress\/gateway spec\.tls\.0\.secretName$/, quoted('.Values.ingress.certificates.api')],
  [/^Ingress\/console spec\.tls\.0\.secretName$/, quoted('.Values.ingress.certificates.console')],
  [/^(Ingress|HTTPRoute)\/gateway spec\S+\.(host|hosts\.0)$/, quoted('.Values.hosts.api')],
  [/^(Ingress|HTTPRoute)\/console spec\S+\.(host|hosts\.0)$/, quoted('.Values.hosts.console')],
  [/^HTTPRoute\/gateway spec\.hostnames\.0$/, quoted('.Values.hosts.api')],
  [/^HTTPRoute\/console spec\.hostnames\.0$/, quoted('.Values.hosts.console')],
  [
    /^HTTPRoute\/\w+ spec\.parentRefs\.0\.(name|namespace|sectionName)$/,
    quoted('.Values.gatewayApi.parent.$1'),
  ],
  [/^Cluster\/postgres spec\.instances$/, number('.Values.postgres.instances')],
  [/^Cluster\/postgres spec\.postgresql\.parameters$/, map('.Values.postgres.parameters')],
  [
    /^Cluster\/postgres spec\.(storage|walStorage)\.size$/,
    quoted('.Values.postgres.$1') + storageClass('    ', 'storageClass'),
  ],
  [
    /^StatefulSet\/nats spec\.volumeClaimTemplates\.0\.spec\.accessModes$/,
    (modes) => JSON.stringify(modes) + storageClass('        ', 'storageClassName'),
  ],
  [
    /^ServiceAccount\/\S+ automountServiceAccountToken$/,
    (value) => `${String(value)}${pullSecrets('')}`,
  ],
  [/^Cluster\/postgres spec\.imageName$/, (image) => `${String(image)}${pullSecrets('  ')}`],
  [
    /^Cluster\/postgres spec\.resources\.(requests|limits)\.(cpu|memory)$/,
    quoted('.Values.postgres.resources.$1.$2'),
  ],
  [/^Cluster\/postgres spec\.bootstrap$/, bootstrap],
  [
    /^Cluster\/postgres spec\.plugins\.0\.parameters\.serverName$/,
    quoted('.Values.backup.serverName'),
  ],
  [/^ObjectStore\/\S+ spec\.configuration\.destinationPath$/, quoted('.Values.backup.destination')],
  [/^ObjectStore\/\S+ spec\.retentionPolicy$/, quoted('.Values.backup.retention')],
]

/** The template action that stands in place of a field of an object, if it is a value of the chart. */
export function parameterOf(
  { kind, metadata }: Manifest,
  keys: string[],
  value: unknown,
): string | undefined {
  if (value === image) return '{{ template "payweave.image" . }}'
  const at = `${kind}/${metadata.name} ${keys.join('.')}`
  for (const [pattern, action] of fields) {
    const match = pattern.exec(at)
    if (match === null) continue
    const text = typeof action === 'string' ? action : action(value)
    return text.replace(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? '')
  }
  return undefined
}
