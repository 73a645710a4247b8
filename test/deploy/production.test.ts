// Holds the choices of production for which the defaults of Kubernetes and of its operators would not do.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import {
  edge,
  manifestsRoot,
  ofKind,
  optional,
  overlays,
  render,
  restored,
  rpcTeam,
} from './kustomize.ts'

const production = render('production')

it('a gateway that hangs leaves its Service within four seconds', () => {
  const gateway = ofKind(production, 'Deployment').find(
    ({ metadata }) => metadata.name === 'gateway',
  )
  const { readinessProbe } = gateway?.spec.template.spec.containers[0] ?? {}
  const { periodSeconds, timeoutSeconds, failureThreshold } = readinessProbe
  // It hangs just after a check. A check that lasts longer than the period delays the next one.
  const maxS = periodSeconds + Math.max(periodSeconds, timeoutSeconds) * failureThreshold
  expect(maxS).toBeLessThanOrEqual(4)
  // One slow answer is no reason to take it out.
  expect(failureThreshold).toBeGreaterThan(1)
})

it('a new image of PostgreSQL arrives by a switchover, and a deleted server does not wait for its clients', () => {
  const [cluster] = ofKind(production, 'Cluster')
  expect(cluster?.spec).toMatchObject({
    primaryUpdateStrategy: 'unsupervised',
    primaryUpdateMethod: 'switchover',
    smartShutdownTimeout: 0,
    // A field that came with the oldest version that will do.
    probes: { liveness: { isolationCheck: { enabled: true } } },
  })
})

// PayweavePostgresVolumeFills is raised when less than two tenths are free.
it.each(overlays)(
  'the log that PostgreSQL of %s keeps for a standby leaves three tenths of its volume free',
  (overlay) => {
    const [cluster] = ofKind(render(overlay), 'Cluster')
    const { parameters } = cluster?.spec.postgresql ?? {}
    const gibibytes = (text: string) => Number(/^(\d+)G(?:B|i)$/.exec(text)?.[1])
    const keptGib =
      gibibytes(parameters.max_slot_wal_keep_size) + gibibytes(parameters.max_wal_size)
    expect(keptGib).toBeLessThanOrEqual(gibibytes(cluster?.spec.walStorage.size) * 0.7)
  },
)

it('the authority keeps its key when it is renewed, and what it signs gets new keys', () => {
  const certificates = ofKind(production, 'Certificate')
  const policies = certificates.map(({ spec }) => [
    spec.isCA === true,
    spec.privateKey.rotationPolicy,
  ])
  expect(policies.filter(([isAuthority]) => isAuthority)).toEqual([[true, 'Never']])
  expect(new Set(policies.filter(([isAuthority]) => !isAuthority).map(String))).toEqual(
    new Set(['false,Always']),
  )
})

it('another process for pushes starts when one has half of what it can have in flight', () => {
  const root = path.join(manifestsRoot, '..', '..')
  const source = readFileSync(path.join(root, 'services/delivery/workers/worker.ts'), 'utf8')
  const most = Number(/defaultMaxInFlight = (\d+)/.exec(source)?.[1])
  const component = path.join(manifestsRoot, 'components/in-flight/kustomization.yaml')
  expect(readFileSync(component, 'utf8')).toContain(`Half of the ${most} that a process may have`)
  const scaler = ofKind(render(optional), 'HorizontalPodAutoscaler').find(
    ({ metadata }) => metadata.name === 'delivery',
  )
  const [, inFlight] = scaler?.spec.metrics ?? []
  expect(inFlight.pods.target.averageValue).toBe(String(most / 2))
})

it('a restored database comes from the backups of the lost one and archives under a name of its own', () => {
  const [cluster] = ofKind(render(restored), 'Cluster')
  const { bootstrap, externalClusters, plugins } = cluster?.spec ?? {}
  expect(bootstrap.initdb).toBeUndefined()
  expect(bootstrap.recovery.source).toBe(externalClusters[0].name)
  const [lost] = ofKind(production, 'Cluster')
  const [archived] = lost?.spec.plugins ?? []
  expect(externalClusters[0].plugin).toEqual({
    name: archived.name,
    parameters: archived.parameters,
  })
  const [archives] = plugins
  expect(archives).toMatchObject({ name: archived.name, isWALArchiver: true })
  expect(archives.parameters.barmanObjectName).toBe(archived.parameters.barmanObjectName)
  expect(archives.parameters.serverName).not.toBe(archived.parameters.serverName)
  // Services find it, and its owner is known to it, as before.
  const { database, owner, secret } = lost?.spec.bootstrap.initdb ?? {}
  expect(bootstrap.recovery).toEqual({ source: 'backups', database, owner, secret })
  const same = ['instances', 'imageName', 'postgresql', 'managed', 'storage', 'walStorage']
  for (const field of same) expect(cluster?.spec[field], field).toEqual(lost?.spec[field])
})

it('the restored ledger is checked by a job with the rights of the migrations', () => {
  const [job] = ofKind(render('production/restore-check'), 'Job')
  const [container] = job?.spec.template.spec.containers ?? []
  expect(container.args).toEqual(['clients/cli/payweave.mjs', 'restore', 'check'])
  expect(job?.spec).toMatchObject({ backoffLimit: 0 })
  expect(job?.spec.ttlSecondsAfterFinished).toBeUndefined()
})

it('the example of a team gets a certificate of the mesh for clients alone, and reaches a service', () => {
  const objects = render(rpcTeam)
  const withAll = render(optional)
  const only = (kind: string) => {
    const found = ofKind(objects, kind)
    expect(found, kind).toHaveLength(1)
    return found[0] as (typeof found)[number]
  }
  const [installation] = ofKind(production, 'Namespace')
  const certificate = only('Certificate')
  const { secretName, issuerRef, usages, dnsNames } = certificate.spec
  expect(certificate.metadata.namespace).toBe(installation?.metadata.name)
  const issuers = ofKind(production, 'Issuer').map(({ metadata }) => metadata.name)
  expect([issuerRef.kind, issuers.includes(issuerRef.name)]).toEqual(['Issuer', true])
  expect(usages).toEqual(['digital signature', 'client auth'])
  const taken = new Set(ofKind(withAll, 'Certificate').flatMap(({ spec }) => spec.dnsNames ?? []))
  expect(
    dnsNames.filter((name: string) => taken.has(name) || name.startsWith('payweave-')),
  ).toEqual([])
  const expires = ofKind(production, 'PrometheusRule')
    .flatMap(({ spec }) => spec.groups[0].rules)
    .find(({ alert }) => alert === 'PayweaveCertificateExpires')
  const [, watched = ''] = /name=~"([^"]+)"/.exec(expires.expr) ?? []
  expect(certificate.metadata.name).toMatch(new RegExp(`^(${watched})$`))

  // Only its own Secret, by an account of its namespace.
  const account = only('ServiceAccount').metadata
  const secrets = { apiGroups: [''], resources: ['secrets'], resourceNames: [secretName] }
  expect(only('Role')['rules']).toEqual([{ ...secrets, verbs: ['get'] }])
  const { name, namespace } = account
  expect(only('RoleBinding')['subjects']).toEqual([{ kind: 'ServiceAccount', name, namespace }])
  const { remoteNamespace, auth } = only('SecretStore').spec.provider.kubernetes
  expect(remoteNamespace).toBe(certificate.metadata.namespace)
  expect(auth.serviceAccount).toEqual({ name })
  expect(only('ExternalSecret').spec.dataFrom).toEqual([{ extract: { key: secretName } }])

  const opened = ofKind(withAll, 'NetworkPolicy').find(
    ({ metadata }) => metadata.name === 'rpc-clients',
  )?.spec
  const [from] = opened.ingress[0].from
  expect(only('Namespace').metadata.labels).toMatchObject(from.namespaceSelector.matchLabels)
  const [toService] = only('NetworkPolicy').spec.egress
  const [{ namespaceSelector, podSelector }] = toService.to
  expect(namespaceSelector.matchLabels).toEqual({ 'kubernetes.io/metadata.name': remoteNamespace })
  expect(podSelector.matchLabels).toEqual(opened.podSelector.matchLabels)
  const [called] = podSelector.matchExpressions
  expect(opened.podSelector.matchExpressions[0].values).toEqual(
    expect.arrayContaining(called.values),
  )
  const service = ofKind(production, 'Service').find(
    ({ metadata }) => metadata.name === called.values[0],
  )
  const [rpc] = service?.spec.ports ?? []
  expect(rpc.targetPort).toBe(opened.ingress[0].ports[0].port)
  expect(toService.ports).toEqual([{ protocol: 'TCP', port: rpc.port }])
})

it('the example of a Gateway takes the routes, and bodies as large as the Ingress does', () => {
  const objects = render(edge)
  const routes = ofKind(render(optional), 'HTTPRoute')
  const [gateway] = ofKind(objects, 'Gateway')
  expect(routes.length).toBeGreaterThan(1)
  for (const { metadata, spec } of routes) {
    expect(spec.parentRefs).toEqual([
      {
        name: gateway?.metadata.name,
        namespace: gateway?.metadata.namespace,
        sectionName: gateway?.spec.listeners[0].name,
      },
    ])
    expect(gateway?.spec.listeners[0].allowedRoutes.namespaces.selector.matchLabels).toEqual({
      'kubernetes.io/metadata.name': metadata.namespace,
    })
  }
  const [namespace] = ofKind(objects, 'Namespace')
  expect(namespace?.metadata.labels).toMatchObject({ 'payweave.io/access': 'edge' })
  const [limit] = ofKind(objects, 'ClientSettingsPolicy')
  expect(limit?.metadata.namespace).toBe(gateway?.metadata.namespace)
  expect(limit?.spec.targetRef).toMatchObject({ kind: 'Gateway', name: gateway?.metadata.name })
  const ingress = ofKind(production, 'Ingress').find(({ metadata }) => metadata.name === 'gateway')
  expect(ingress?.metadata['annotations' as never]).toMatchObject({
    'nginx.ingress.kubernetes.io/proxy-body-size': limit?.spec.body.maxSize,
  })
})

it('no Ingress and no example of a Gateway logs paths and queries, which have keys, numbers and tokens', () => {
  const unlogged = { 'nginx.ingress.kubernetes.io/enable-access-log': 'false' }
  for (const overlay of overlays) {
    for (const { metadata } of ofKind(render(overlay), 'Ingress')) {
      expect(metadata).toHaveProperty('annotations', expect.objectContaining(unlogged))
    }
  }
  const [gateway] = ofKind(render(edge), 'Gateway')
  const [proxy] = ofKind(render(edge), 'NginxProxy')
  expect(gateway?.spec.infrastructure.parametersRef).toEqual({
    group: 'gateway.nginx.org',
    kind: 'NginxProxy',
    name: proxy?.metadata.name,
  })
  expect(proxy?.metadata.namespace).toBe(gateway?.metadata.namespace)
  expect(proxy?.spec).toEqual({ logging: { accessLog: { disable: true } } })
})
