// Holds every pod against our own rules: restricted, bounded, spread, probed, stopped in order, with settings that exist.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { serving } from '#platform/config/setting.ts'
import { settings } from '#platform/config/settings.ts'
import { isAtLeast, minVersions } from '#platform/events/nats/version.ts'
import {
  jobs,
  type Manifest,
  ofKind,
  optional,
  overlays,
  podTemplates,
  render,
} from './kustomize.ts'

type Container = Manifest['spec']['containers'][number]

const root = path.join(import.meta.dirname, '..', '..')
/** Folders of the processes that are not services. */
const folders: Record<string, string> = {
  gateway: 'gateway',
  console: 'console',
  simulator: 'connectors/simulator',
}

/** `owner: fault` for each container that has one. */
function faults(manifests: Manifest[], faultOf: (container: Container, pod: Manifest) => string[]) {
  return podTemplates(manifests).flatMap(({ owner, pod }) =>
    [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap((container: Container) =>
      faultOf(container, pod).map((fault) => `${owner}: ${fault}`),
    ),
  )
}

function sourceOf(file: string): string {
  return readFileSync(path.join(root, file), 'utf8')
}

/** A tag for people, and the digest that decides. */
const pinnedImage = /^\S+:\d+\.\S+@sha256:[0-9a-f]{64}$/

/** Whether an image is one release: those of others by digest, which cannot be moved, and ours by the tag of its overlay. */
function isOfRelease(image: string): boolean {
  const ours = /^registry\.example\.com\/payweave:\d+\.\d+\.\d+$/
  return ours.test(image) || pinnedImage.test(image)
}

/** What Pod Security "restricted" wants, and what we want beyond it. */
function restrictedFaults(container: Container, { spec }: Manifest): string[] {
  const own = container.securityContext ?? {}
  const pod = spec.securityContext ?? {}
  const checks: Record<string, boolean> = {
    'runs as root': pod.runAsNonRoot === true && pod.runAsUser > 0 && pod.runAsGroup > 0,
    'has no seccomp profile': pod.seccompProfile?.type === 'RuntimeDefault',
    'may gain privileges': own.allowPrivilegeEscalation === false,
    'keeps capabilities': String(own.capabilities?.drop) === 'ALL' && !own.capabilities?.add,
    'writes to its root': own.readOnlyRootFilesystem === true,
    // The restore drill alone creates and removes an object of the cluster.
    'has a token of the API':
      spec.automountServiceAccountToken === (spec.serviceAccountName === 'restore-drill'),
    'has an account of all': !['', 'default', undefined].includes(spec.serviceAccountName),
    'has variables of services': spec.enableServiceLinks === false,
    'shares with its host': !spec.hostNetwork && !spec.hostPID && !spec.hostIPC,
    'has no limits': ['cpu', 'memory'].every(
      (name) => container.resources?.limits?.[name] && container.resources?.requests?.[name],
    ),
    'has a floating image': isOfRelease(container.image),
  }
  const kinds = new Set(['emptyDir', 'secret', 'configMap', 'projected', 'name'])
  const volumes: { name: string }[] = spec.volumes ?? []
  const foreign = volumes.filter((volume) => Object.keys(volume).some((key) => !kinds.has(key)))
  const failed = Object.entries(checks).filter(([, holds]) => !holds)
  return [...failed.map(([fault]) => fault), ...foreign.map((volume) => `mounts ${volume.name}`)]
}

/** Everything that reaches a container by its environment. */
function environmentOf(container: Container, manifests: Manifest[]): Record<string, string> {
  const found: Record<string, string> = {}
  const data = (name: string): Record<string, string> =>
    ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === name)?.['data'] ?? {}
  for (const { configMapRef } of container.envFrom ?? [])
    Object.assign(found, data(configMapRef.name))
  for (const { name, value, valueFrom } of container.env ?? []) {
    const reference = valueFrom?.configMapKeyRef
    const text = reference ? data(reference.name)[reference.key] : value
    found[name] = (text ?? '').replace(/\$\((\w+)\)/g, (_: string, other: string) => {
      if (found[other] === undefined) throw new Error(`${name} uses ${other}, which comes later`)
      return found[other]
    })
  }
  return found
}

describe.each([...overlays, ...jobs, optional])('pods of %s', (overlay) => {
  const manifests = render(overlay)

  it(`pods of ${overlay} are restricted, bounded and come from a release`, () => {
    expect(faults(manifests, restrictedFaults)).toEqual([])
    for (const { spec } of ofKind(manifests, 'Cluster')) expect(spec.imageName).toMatch(pinnedImage)
  })

  it(`pods of ${overlay} take only settings that exist, and nothing secret from their environment`, () => {
    // The parts of DATABASE_URL, what Node.js reads, and NATS’s own.
    const others = ['DATABASE_HOST', 'DATABASE_OPTIONS', 'NODE_COMPILE_CACHE', 'NODE_OPTIONS']
    const ofNats = ['SERVER_NAME', 'ROUTE_ADDRESS', 'GOMEMLIMIT']
    const ofTools = ['PAYWEAVE_TLS_DIR']
    const known = new Set([...Object.keys(settings), ...others, ...ofNats, ...ofTools])
    const unknown = faults(manifests, (container) => {
      const environment = environmentOf(container, manifests)
      const secrets = (container.env ?? []).filter(
        (entry: Container) => entry.valueFrom?.secretKeyRef,
      )
      const passwords = Object.values(environment).filter((text) =>
        /:\/\/[^/@]*:[^/@]*@/.test(text),
      )
      const names = Object.keys(environment).filter((name) => !known.has(name))
      return [...names, ...secrets.map(() => 'a secret'), ...passwords.map(() => 'a password')]
    })
    expect(unknown).toEqual([])
  })
})

describe.each(overlays)('parts of %s', (overlay) => {
  const manifests = render(overlay)
  const parts = ofKind(manifests, 'Deployment').filter(
    ({ metadata }) => metadata.name !== 'stream-controller',
  )

  it(`parts of ${overlay} are complete, with the simulator only in the sandbox`, () => {
    const names = parts.map(({ metadata }) => metadata.name).toSorted()
    const wanted = serving.filter((name) => overlay === 'sandbox' || name !== 'simulator')
    expect(names).toEqual(wanted.toSorted())
  })

  it(`parts of ${overlay} have one time for billers: the gateway waits as long as billing does`, () => {
    const timeouts = ['gateway', 'billing'].map((name) => {
      const part = parts.find(({ metadata }) => metadata.name === name)
      const [container] = part?.spec.template.spec.containers ?? []
      const given = environmentOf(container, manifests)['BILLER_TIMEOUT_S']
      return given ?? settings.BILLER_TIMEOUT_S.defaults[overlay]
    })
    expect(new Set(timeouts).size).toBe(1)
    expect(settings.BILLER_TIMEOUT_S.for).toEqual(['gateway', 'billing'])
  })

  it(`parts of ${overlay} trust no proxy by default`, () => {
    const believed = faults(manifests, (container) => {
      const proxies = environmentOf(container, manifests)['TRUSTED_PROXIES'] ?? ''
      return proxies === '' ? [] : [proxies]
    })
    expect(believed).toEqual([])
    expect(Object.values(settings.TRUSTED_PROXIES.defaults)).toEqual(['', '', ''])
  })

  it(`parts of ${overlay} start as the process of their name, on the ports of their settings`, () => {
    for (const { metadata, spec } of parts) {
      const [container] = spec.template.spec.containers
      const folder = folders[metadata.name] ?? `services/${metadata.name}`
      expect(container.args).toEqual([`${folder}/main.ts`])
      expect(sourceOf(`${folder}/main.ts`)).toMatch(
        new RegExp(`run(Process|Service)\\(\\s*'${metadata.name}'`),
      )
      const ports = container.ports.map((port: Container) => String(port.containerPort))
      const ofSimulator = settings.CONNECTOR_PUBLIC_PORT.defaults[overlay]
      expect(ports.toSorted()).toEqual([
        settings.PORT.defaults[overlay],
        settings.ADMIN_PORT.defaults[overlay],
        ...(metadata.name === 'simulator' ? [ofSimulator] : []),
      ])
      const mounts = container.volumeMounts.map((mount: Container) => mount.mountPath)
      expect(mounts).toContain(settings.SECRETS_DIR.defaults[overlay])
      expect(mounts).toContain('/tmp')
    }
  })

  it(`parts of ${overlay} include the stream controller, once, with a health check`, () => {
    const controllers = ofKind(manifests, 'Deployment').filter((one) => !parts.includes(one))
    expect(controllers).toHaveLength(1)
    const { replicas, strategy, template } = controllers[0]?.spec ?? {}
    const [container] = template.spec.containers
    expect([replicas, strategy]).toEqual([1, { type: 'Recreate' }])
    expect(container.args).toEqual(['deploy/streams/main.ts'])
    expect(sourceOf('deploy/streams/main.ts')).toContain("runProcess('stream-controller'")
    expect(container.ports).toEqual([
      { name: 'admin', containerPort: Number(settings.ADMIN_PORT.defaults[overlay]) },
    ])
    expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'admin' })
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' })
  })

  it(`parts of ${overlay} have more time to stop than the process takes for it`, () => {
    const source = sourceOf('platform/process/lifecycle.ts')
    const stopWithinS =
      Number(/stopWithinMs = ([\d_]+)/.exec(source)?.[1]?.replace('_', '')) / 1_000
    expect(stopWithinS).toBeGreaterThan(0)
    for (const { spec } of parts) {
      const preStopS = spec.template.spec.containers[0].lifecycle?.preStop?.sleep?.seconds ?? 0
      const graceS = spec.template.spec.terminationGracePeriodSeconds
      expect(graceS).toBeGreaterThanOrEqual(preStopS + stopWithinS + 5)
    }
  })

  it(`parts of ${overlay} have health checks where the kubelet can reach them`, () => {
    for (const { metadata, spec } of parts) {
      const { livenessProbe, readinessProbe } = spec.template.spec.containers[0]
      expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'admin' })
      const byGrpc = overlay === 'sandbox' && !['gateway', 'console'].includes(metadata.name)
      // Of the whole server, which no state of the broker counts for; never the gateway's public /readyz.
      expect(readinessProbe.grpc).toEqual(byGrpc ? { port: 8080 } : undefined)
      const ofProcess = { path: '/readyz', port: 'admin' }
      expect(readinessProbe.httpGet).toEqual(byGrpc ? undefined : ofProcess)
    }
  })

  it(`parts of ${overlay} have a nats-server beside them that is new enough for production`, () => {
    const servers = ofKind(manifests, 'StatefulSet').filter(
      ({ metadata }) => metadata.name === 'nats',
    )
    expect(servers).toHaveLength(1)
    const { image } = servers[0]?.spec.template.spec.containers[0] ?? {}
    const [, version] = /^nats:([^-]+)-/.exec(image) ?? []
    expect(isAtLeast(version, minVersions.production), image).toBe(true)
  })

  it(`parts of ${overlay} have connections to PostgreSQL for all replicas that the autoscalers and an upgrade allow`, () => {
    const pool = Number(/poolSize = (\d+)/.exec(sourceOf('platform/db/db.ts'))?.[1])
    const scalers = ofKind(manifests, 'HorizontalPodAutoscaler')
    const needed = parts
      .filter(({ metadata }) => settings.DATABASE_URL.for.some((name) => name === metadata.name))
      .map(({ metadata, spec }) => {
        const scaler = scalers.find((one) => one.spec.scaleTargetRef.name === metadata.name)
        const most = scaler?.spec.maxReplicas
        const surge = Number.parseInt(spec.strategy.rollingUpdate.maxSurge, 10) / 100
        // The periodic check of the ledger has two of its own, one of them for its lock, and the check by a call has one.
        return (most + Math.ceil(most * surge)) * (pool + (metadata.name === 'accounts' ? 3 : 0))
      })
    expect(needed.length).toBeGreaterThanOrEqual(7)
    const [cluster] = ofKind(manifests, 'Cluster')
    const given = Number(cluster?.spec.postgresql.parameters.max_connections)
    // What is left is for the migration job, CloudNativePG and operators.
    expect(given - needed.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(20)
  })

  it(`parts of ${overlay} have an autoscaler and a budget that lets nodes be emptied`, () => {
    const scalers = ofKind(manifests, 'HorizontalPodAutoscaler')
    const budgets = ofKind(manifests, 'PodDisruptionBudget')
    for (const { metadata } of parts) {
      const scaler = scalers.find(({ spec }) => spec.scaleTargetRef.name === metadata.name)
      const budget = budgets.find(({ metadata: { name } }) => name === metadata.name)
      expect(scaler?.spec.minReplicas).toBeGreaterThanOrEqual(2)
      expect(budget?.spec.maxUnavailable).toBe(1)
    }
    const settled = ofKind(manifests, 'ConfigMap').find(({ metadata }) =>
      metadata.name.startsWith('settings-'),
    )
    const gateway = scalers.find(({ metadata }) => metadata.name === 'gateway')
    expect(settled?.['data'].GATEWAY_REPLICAS).toBe(String(gateway?.spec.minReplicas))
  })
})
