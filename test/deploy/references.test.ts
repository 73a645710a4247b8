// Holds the manifests together: every name that one object says of another is there, or is made outside and documented.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { jobs, type Manifest, ofKind, overlays, podTemplates, render } from './kustomize.ts'

type Fields = Manifest['spec']

const guide = readFileSync(
  path.join(import.meta.dirname, '..', '..', 'docs', 'operate', 'kubernetes.md'),
  'utf8',
)

function namesOf(manifests: Manifest[], kind: string): string[] {
  return ofKind(manifests, kind).map(({ metadata }) => metadata.name)
}

function matches(selector: Record<string, string>, labels: Record<string, string> = {}): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value)
}

/** Secrets and ConfigMaps that a pod cannot start without. */
function wantedBy({ spec }: Manifest): { secrets: string[]; configMaps: string[] } {
  const sources: Fields[] = (spec.volumes ?? []).flatMap(
    (volume: Fields) => volume.projected?.sources ?? [volume],
  )
  const containers: Fields[] = spec.containers
  const needed = (found: Fields[]) => found.filter((one) => one && one.optional !== true)
  return {
    secrets: needed(sources.map(({ secret }) => secret)).map(
      ({ secretName, name }) => secretName ?? name,
    ),
    configMaps: [
      ...needed(sources.map(({ configMap }) => configMap)),
      ...containers.flatMap(({ envFrom = [] }) => envFrom.map((one: Fields) => one.configMapRef)),
      ...containers.flatMap(({ env = [] }) =>
        needed(env.map((one: Fields) => one.valueFrom?.configMapKeyRef)),
      ),
    ].map(({ name }) => name),
  }
}

describe.each([...overlays, ...jobs])('the objects of %s', (overlay) => {
  const manifests = render(overlay)
  const pods = podTemplates(manifests)

  it(`the objects of ${overlay} are all in one namespace, which has each name once`, () => {
    const namespace = overlay.startsWith('sandbox') ? 'payweave-sandbox' : 'payweave'
    const others = manifests.filter(({ kind }) => kind !== 'Namespace')
    for (const { kind, metadata } of others) expect(metadata.namespace, kind).toBe(namespace)
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(names).toEqual([...new Set(names)])
  })

  it(`the objects of ${overlay} name ConfigMaps and accounts that are there`, () => {
    const configMaps = namesOf(manifests, 'ConfigMap')
    const accounts = namesOf(manifests, 'ServiceAccount')
    for (const { owner, pod } of pods) {
      for (const name of wantedBy(pod).configMaps) expect(configMaps, owner).toContain(name)
      expect(accounts, owner).toContain(pod['spec'].serviceAccountName)
    }
  })

  it('all named secrets are made by a certificate or explained in the guide', () => {
    const made = new Set(ofKind(manifests, 'Certificate').map(({ spec }) => spec.secretName))
    const named = pods.flatMap(({ pod }) => wantedBy(pod).secrets).filter((name) => !made.has(name))
    const unexplained = named.filter(
      (name) => !guide.includes(`\`${name.replace(/^[a-z]+-secrets$/, '<part>-secrets')}\``),
    )
    expect(unexplained).toEqual([])
  })

  it(`the objects of ${overlay} mount what they declare, and declare what they mount`, () => {
    for (const { owner, pod } of pods) {
      const claims = ofKind(manifests, 'StatefulSet').flatMap(({ spec }) =>
        spec.volumeClaimTemplates.map((claim: Fields) => claim.metadata.name),
      )
      const volumes = (pod['spec'].volumes ?? []).map((volume: Fields) => volume.name)
      const mounted: string[] = pod['spec'].containers.flatMap((container: Fields) =>
        (container.volumeMounts ?? []).map((mount: Fields) => mount.name),
      )
      const declared = owner.startsWith('StatefulSet') ? [...volumes, ...claims] : volumes
      // Containers of one pod may share a volume.
      expect([...new Set(mounted)].toSorted(), owner).toEqual(declared.toSorted())
    }
  })
})

describe.each(overlays)('the selectors of %s', (overlay) => {
  const manifests = render(overlay)
  const pods = podTemplates(manifests)
  const selected = (selector: Record<string, string>) =>
    pods.filter(({ pod }) => matches(selector, pod.metadata.labels))

  it(`the selectors of ${overlay} choose the pods of one part and no others`, () => {
    for (const { kind, metadata, spec } of manifests) {
      const selector = kind === 'Service' ? spec.selector : spec?.selector?.matchLabels
      if (!['Deployment', 'StatefulSet', 'Service', 'PodDisruptionBudget'].includes(kind)) continue
      const owners = selected(selector).map(({ owner }) => owner.split(' ')[1])
      expect(owners, `${kind} ${metadata.name}`).toEqual([metadata.name])
    }
  })

  it('the selectors of services match pods that have their ports', () => {
    for (const { metadata, spec } of ofKind(manifests, 'Service')) {
      const ports = selected(spec.selector).flatMap(({ pod }) =>
        pod['spec'].containers.flatMap((container: Fields) => container.ports),
      )
      for (const { port, targetPort } of spec.ports) {
        const target = ports.find(({ name }) => name === targetPort)
        expect(target?.containerPort, `${metadata.name} ${targetPort}`).toBe(port)
      }
    }
  })

  it('the selectors of ingresses and monitors match a service and its port', () => {
    const services = ofKind(manifests, 'Service')
    for (const { spec } of ofKind(manifests, 'Ingress')) {
      const { service } = spec.rules[0].http.paths[0].backend
      const target = services.find(({ metadata }) => metadata.name === service.name)
      expect(target?.spec.ports.map((port: Fields) => port.name)).toContain(service.port.name)
    }
    for (const { spec } of ofKind(manifests, 'ServiceMonitor')) {
      const scraped = services.filter(
        (service) =>
          matches(spec.selector.matchLabels, service.metadata.labels) &&
          service.spec.ports.some((port: Fields) => port.name === spec.endpoints[0].port),
      )
      expect(scraped.length).toBe(ofKind(manifests, 'Deployment').length)
    }
  })
})
