// Holds the network policies against the settings that hold addresses: who may connect to whom, and to nobody else.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Setting } from '#platform/config/setting.ts'
import { settings } from '#platform/config/settings.ts'
import { type Manifest, ofKind, optional, overlays, podTemplates, render } from './kustomize.ts'

type Fields = Manifest['spec']

function selects(selector: Fields, labels: Record<string, string>): boolean {
  const wanted = Object.entries(selector.matchLabels ?? {})
  const expressions: Fields[] = selector.matchExpressions ?? []
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every(({ key, values }) => values.includes(labels[key]))
  )
}

/** A PostgreSQL server as CloudNativePG makes it: with the name of its Cluster, and what the Cluster hands on. */
function serverOf({ metadata, spec }: Manifest): Manifest {
  const labels = { ...spec.inheritedMetadata?.labels, 'cnpg.io/cluster': metadata.name }
  const pod = { metadata: { name: metadata.name, labels }, spec: { containers: [{ ports: [] }] } }
  return { apiVersion: 'v1', kind: 'Pod', ...pod }
}

/** The Cluster that the restore drill makes. */
function drillOf(manifests: Manifest[]): Manifest[] {
  return ofKind(manifests, 'ConfigMap')
    .filter(({ metadata }) => metadata.name.startsWith('restore-drill-'))
    .map(
      ({ data }) => JSON.parse((data as Record<string, string>)['cluster.json'] ?? '') as Manifest,
    )
}

/** The pods of the manifests by the name of their owner, with those that operators make. */
function podsOf(manifests: Manifest[]): Map<string, Manifest> {
  const clusters = [...ofKind(manifests, 'Cluster'), ...drillOf(manifests)]
  return new Map([
    ...podTemplates(manifests).map(({ owner, pod }) => [owner.split(' ')[1] ?? '', pod] as const),
    ...clusters.map((cluster) => [cluster.metadata.name, serverOf(cluster)] as const),
  ])
}

/** Whether the policies let one pod connect to a port of another. */
function network(manifests: Manifest[]) {
  const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec)
  const pods = podsOf(manifests)
  const podOf = (name: string): Manifest => {
    const pod = pods.get(name)
    if (pod === undefined) throw new Error(`no pod of ${name}`)
    return pod
  }
  const opens = (rule: Fields, port: number, target: Manifest): boolean => {
    const named = target['spec'].containers[0].ports?.find(
      (one: Fields) => one.containerPort === port,
    )
    return rule.ports.some((one: Fields) => one.port === port || one.port === named?.name)
  }
  const allowed = (side: 'ingress' | 'egress', own: Manifest, other: Manifest, port: number) =>
    policies
      .filter((policy) => selects(policy.podSelector, own.metadata.labels ?? {}))
      .flatMap((policy) => policy[side] ?? [])
      .some(
        (rule: Fields) =>
          opens(rule, port, side === 'ingress' ? own : other) &&
          (rule.to ?? rule.from).some(
            (peer: Fields) =>
              peer.podSelector !== undefined &&
              peer.namespaceSelector === undefined &&
              selects(peer.podSelector, other.metadata.labels ?? {}),
          ),
      )
  return {
    policies,
    names: [...pods.keys()],
    connects: (from: string, to: string, port: number) =>
      allowed('egress', podOf(from), podOf(to), port) &&
      allowed('ingress', podOf(to), podOf(from), port),
    halfOpen: (from: string, to: string, port: number) =>
      allowed('egress', podOf(from), podOf(to), port) !==
      allowed('ingress', podOf(to), podOf(from), port),
  }
}

/** Who reads the address of whom. The back end is the simulator, in sandboxes. */
function callers(): Map<string, readonly string[]> {
  const rows = Object.entries(settings) as [string, Setting][]
  const found = rows.flatMap(([name, row]) => {
    const callee = /^(ACCOUNTS|PAYMENTS|INSTITUTION|QUOTES|BILLING|DELIVERY|BACKEND)_URL$/.exec(
      name,
    )
    if (callee === null) return []
    const part = callee[1] === 'BACKEND' ? 'simulator' : (callee[1]?.toLowerCase() ?? '')
    return [[part, row.for] as const]
  })
  return new Map(found)
}

/** The parts whose health and metrics the console reads. */
const shownParts = new Set(
  settings.METRICS_URLS.reader
    .read(String(settings.METRICS_URLS.defaults.production))
    .map(({ part }) => part),
)

/** The port of a pod by its name. */
function portNamed(manifests: Manifest[], part: string, name: string): string {
  const found = podTemplates(manifests).find(({ owner }) => owner === `Deployment ${part}`)
  const ports: Fields[] = found?.pod['spec'].containers[0].ports ?? []
  return String(ports.find((port) => port.name === name)?.containerPort)
}

/** What the namespace of the ingress controller may connect to, by part. */
function portsFromEdge(manifests: Manifest[]): Record<string, string> {
  const rules = ofKind(manifests, 'NetworkPolicy').flatMap(({ spec }) =>
    (spec.ingress ?? []).map((rule: Fields) => ({ rule, labels: spec.podSelector.matchLabels })),
  )
  const open = rules.filter(({ rule }) =>
    rule.from.some(
      (peer: Fields) => peer.namespaceSelector?.matchLabels['payweave.io/access'] === 'edge',
    ),
  )
  return Object.fromEntries(
    open.map(({ rule, labels }) => {
      const part = labels['app.kubernetes.io/name']
      expect(rule.from).toHaveLength(1)
      return [part, rule.ports.map((one: Fields) => portNamed(manifests, part, one.port)).join()]
    }),
  )
}

/** Where the Ingresses lead, by part. */
function portsOfIngress(manifests: Manifest[]): Record<string, string> {
  const backends = ofKind(manifests, 'Ingress').flatMap(({ spec }) =>
    spec.rules.flatMap((rule: Fields) => rule.http.paths.map((one: Fields) => one.backend.service)),
  )
  return Object.fromEntries(
    backends.map(({ name, port }) => {
      const service = ofKind(manifests, 'Service').find(({ metadata }) => metadata.name === name)
      const found = service?.spec.ports.find((one: Fields) => one.name === port.name)
      const part = service?.spec.selector['app.kubernetes.io/name']
      return [part, portNamed(manifests, part, found?.targetPort)]
    }),
  )
}

/** The ranges that delivery's own guard refuses. */
function specialRanges(): string[] {
  const file = path.join(import.meta.dirname, '..', '..', 'core', 'text', 'address.ts')
  const lists = /const specialV4 = [^]*?const globalV6|const specialV6 = .*/g
  const text = (readFileSync(file, 'utf8').match(lists) ?? []).join(' ')
  return text.match(/[0-9a-f:.]+\/\d+/g) ?? []
}

describe.each(overlays)('the network of %s', (overlay) => {
  const { policies, names, connects, halfOpen } = network(render(overlay))

  it('the network denies all traffic that is not allowed', () => {
    expect(policies).toContainEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  })

  it('a pod may call exactly the services whose address it reads', () => {
    const wanted = callers()
    for (const from of names) {
      for (const to of names.filter((name) => !/^(nats|postgres.*)$/.test(name) && name !== from)) {
        const may =
          (wanted.get(to)?.includes(from) ?? false) ||
          // The gateway asks for the simulator's health.
          (from === 'gateway' && to === 'simulator')
        expect(connects(from, to, 8080), `${from} to ${to}`).toBe(may)
        expect(halfOpen(from, to, 8080), `${from} to ${to}, one end`).toBe(false)
        const reads = from === 'console' && shownParts.has(to)
        expect(connects(from, to, 8081), `${from} to the admin port of ${to}`).toBe(reads)
      }
    }
  })

  it(`the network of ${overlay} leads the internet to the ports of gateway and console, and to the simulator’s public one alone`, () => {
    const manifests = render(overlay)
    const wanted: Record<string, unknown> = {
      gateway: settings.PORT.defaults[overlay],
      console: settings.PORT.defaults[overlay],
      ...(overlay === 'sandbox' && { simulator: settings.CONNECTOR_PUBLIC_PORT.defaults.sandbox }),
    }
    expect(portsFromEdge(manifests)).toEqual(wanted)
    expect(portsOfIngress(manifests)).toEqual(wanted)
    for (const from of names.filter((name) => name !== 'simulator' && overlay === 'sandbox')) {
      expect(connects(from, 'simulator', Number(wanted['simulator'])), from).toBe(false)
    }
  })

  it(`the network of ${overlay} lets those that read NATS_URL reach NATS`, () => {
    for (const from of names.filter((name) => name !== 'nats')) {
      const may = (settings.NATS_URL.for as readonly string[]).includes(from)
      expect(connects(from, 'nats', 4222), from).toBe(may)
      expect(connects(from, 'nats', 6222), from).toBe(false)
    }
    expect(connects('nats', 'nats', 6222)).toBe(true)
  })

  it(`the network of ${overlay} lets those that read DATABASE_URL reach PostgreSQL`, () => {
    const egress = policies.find(
      ({ podSelector }) => podSelector.matchLabels?.['payweave.io/database'] === 'client',
    )
    for (const { owner, pod } of podTemplates(render(overlay))) {
      const name = owner.split(' ')[1] ?? ''
      const may = (settings.DATABASE_URL.for as readonly string[]).includes(name)
      expect(selects(egress.podSelector, pod.metadata.labels ?? {}), owner).toBe(may)
    }
    expect(egress.egress[0].ports).toEqual([{ protocol: 'TCP', port: 5432 }])
    for (const from of names) {
      const may = (settings.DATABASE_URL.for as readonly string[]).includes(from)
      expect(connects(from, 'postgres', 5432), from).toBe(may || from === 'postgres')
      expect(connects(from, 'postgres', 8000), from).toBe(from === 'postgres')
    }
    // The migration job is an overlay of its own.
    const job = network([...render(overlay), ...ofKind(render(`${overlay}/expand`), 'Job')])
    expect(job.connects('migrate-expand', 'postgres', 5432)).toBe(true)
  })

  it(`the network of ${overlay} lets delivery alone, and backups, reach the internet; delivery never a private address`, () => {
    // Backups of production go to an object store, by HTTPS.
    const isOfDatabase = ({ podSelector }: Fields) =>
      podSelector.matchLabels?.['cnpg.io/cluster'] !== undefined ||
      podSelector.matchExpressions?.some(({ key }: Fields) => key === 'cnpg.io/cluster')
    const toStore = policies
      .filter(isOfDatabase)
      .flatMap(({ egress }) => egress)
      .filter((rule: Fields) => rule.to.some((peer: Fields) => peer.ipBlock?.cidr === '0.0.0.0/0'))
    expect(toStore.map((rule: Fields) => rule.ports)).toEqual(
      overlay === 'production' ? [[{ protocol: 'TCP', port: 443 }]] : [],
    )
    const others = policies.filter((policy) => !isOfDatabase(policy))
    const ranges = others.flatMap((policy) =>
      (policy.egress ?? []).flatMap((rule: Fields) =>
        rule.to
          .filter((peer: Fields) => peer.ipBlock !== undefined)
          .map((peer: Fields) => ({ ...peer.ipBlock, of: policy.podSelector.matchLabels })),
      ),
    )
    const wide = ranges.filter(({ cidr }) => Number(cidr.split('/')[1]) < 8)
    for (const { of } of wide) expect(of['app.kubernetes.io/name']).toBe('delivery')
    expect(wide.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '2000::/3'])
    const left = wide.flatMap(({ except }) => except)
    expect(left.toSorted()).toEqual(specialRanges().toSorted())
  })
})

/** What policies allow between pods of ours and what is outside of the namespace: `policy: pods <- peer ports`. */
function crossings(manifests: Manifest[]): string[] {
  const pods = [...podsOf(manifests)]
  return ofKind(manifests, 'NetworkPolicy').flatMap(({ metadata, spec }) => {
    const own = pods.filter(([, pod]) => selects(spec.podSelector, pod.metadata.labels ?? {}))
    const of =
      own.length === pods.length
        ? 'all'
        : own
            .map(([name]) => name)
            .toSorted()
            .join(' ')
    return (['ingress', 'egress'] as const).flatMap((side) =>
      (spec[side] ?? []).flatMap((rule: Fields) => {
        const ports = rule.ports.map((one: Fields) =>
          one.endPort === undefined ? one.port : `${one.port}-${one.endPort}`,
        )
        const peers = ((rule.from ?? rule.to) as Fields[]).flatMap((peer) => {
          const labels = {
            ...peer.namespaceSelector?.matchLabels,
            ...peer.podSelector?.matchLabels,
          }
          if (peer.ipBlock !== undefined) return [peer.ipBlock.cidr]
          return peer.namespaceSelector === undefined ? [] : [Object.values(labels).join('/')]
        })
        const arrow = side === 'ingress' ? '<-' : '->'
        return peers.length === 0
          ? []
          : [`${metadata.name}: ${of} ${arrow} ${peers.join(' ')} ${[...new Set(ports)].join(' ')}`]
      }),
    )
  })
}

describe('the network with all optional components', () => {
  const { connects, halfOpen, names, policies } = network(render(optional))

  it('network policies allow exactly these connections into and out of the namespace', () => {
    const services = 'accounts billing delivery institution payments quotes'
    const parts = `accounts billing console delivery gateway institution nats payments quotes stream-controller`
    const privateRanges = '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16'
    expect(crossings(render(optional)).toSorted()).toEqual([
      'console: console -> identity 443',
      'console: console <- edge serving',
      'delivery-to-internet: delivery -> 0.0.0.0/0 2000::/3 443 1024-65535',
      'dns: all -> kube-system/kube-dns 53',
      'gateway: gateway <- edge serving',
      // To the object store.
      'postgres-backup: postgres postgres-drill -> 0.0.0.0/0 ::/0 443',
      // The API server of Kubernetes.
      `postgres-drill: postgres-drill -> ${privateRanges} 443 6443`,
      'postgres-drill: postgres-drill <- cnpg-system 8000',
      `postgres: postgres -> ${privateRanges} 443 6443`,
      'postgres: postgres <- cnpg-system 8000',
      'postgres: postgres <- monitoring 9187',
      `restore-drill: restore-drill -> ${privateRanges} 443 6443`,
      `rpc-clients: ${services} <- rpc serving`,
      'scrape-nats: nats <- monitoring 7777',
      `scrape: ${parts} <- monitoring 8081`,
      `traces: ${parts} -> traces 4318`,
    ])
  })

  it('the network lets the restore drill reach its own database alone, and nobody else reach either', () => {
    for (const name of names) {
      expect(connects(name, 'postgres-drill', 5432), name).toBe(name === 'restore-drill')
      expect(connects(name, 'restore-drill', 8080), name).toBe(false)
    }
    expect(halfOpen('restore-drill', 'postgres-drill', 5432)).toBe(false)
    expect(connects('restore-drill', 'postgres', 5432)).toBe(false)
  })

  it('the network lets the toolbox call every service, and nobody call the toolbox', () => {
    const services = ['payments', 'accounts', 'institution', 'quotes', 'billing', 'delivery']
    for (const name of services) {
      expect(connects('toolbox', name, 8080), name).toBe(true)
      expect(connects('toolbox', name, 8081), name).toBe(false)
      expect(connects(name, 'toolbox', 8080), name).toBe(false)
    }
    expect(connects('toolbox', 'nats', 4222)).toBe(false)
  })

  it('the network opens the RPC port alone to namespaces of internal teams', () => {
    const isOpen = (rule: Fields) =>
      rule.from.some(
        (peer: Fields) => peer.namespaceSelector?.matchLabels['payweave.io/access'] === 'rpc',
      )
    const rules = policies.flatMap(({ ingress = [] }) => ingress.filter(isOpen))
    expect(rules.map(({ ports }) => ports)).toEqual([[{ protocol: 'TCP', port: 'serving' }]])
  })
})
