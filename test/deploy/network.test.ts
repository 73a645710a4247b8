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

/** Whether the policies let one pod connect to a port of another. */
function network(manifests: Manifest[]) {
  const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec)
  const pods = new Map(
    podTemplates(manifests).map(({ owner, pod }) => [owner.split(' ')[1], pod] as const),
  )
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
    names: [...pods.keys()].filter((name) => name !== undefined),
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
      for (const to of names.filter((name) => name !== 'nats' && name !== from)) {
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
      ...(overlay === 'sandbox' && { simulator: settings.SIMULATOR_PUBLIC_PORT.defaults.sandbox }),
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

describe('the network with all optional components', () => {
  const { connects, policies } = network(render(optional))

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
