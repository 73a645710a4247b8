// Holds the tree against the layout: which folder may import which, the same folders in all services, and how many files each holds.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '')

/** What has the folders of a service: services, the modules of accounts and connectors. */
const modules = [
  'services/payments',
  'services/institution',
  'services/quotes',
  'services/billing',
  'services/delivery',
  'services/accounts/access',
  'services/accounts/customers',
  'services/accounts/ledger',
  'connectors/simulator',
  'connectors/kit',
  'connectors/example',
  'connectors/momo',
  'connectors/stripe',
]

/** By folder: the folders of the same service that its files may import. */
const layers: Record<string, readonly string[]> = {
  domain: ['domain'],
  store: ['store', 'domain'],
  ports: ['ports', 'domain'],
  operations: ['operations', 'domain', 'store', 'ports'],
  workers: ['workers', 'operations', 'domain', 'store', 'ports'],
  api: ['api', 'operations', 'domain', 'store', 'ports', 'workers'],
  http: ['http', 'operations', 'domain', 'store', 'ports'],
}
/** Mappings of messages decide nothing: the sender of a message may use them. */
const mapping = /^api\/([a-z-]+-)?(messages|events)\.ts$/
/** Instruments are created in one place and counted where the work is done. */
const metrics = /(^|-)metrics\.ts$/
/** What a pure file may use beside `core/`. */
const pure = new Set(['node:crypto', 'node:util', 'node:stream/consumers', 'ipaddr.js'])

type Import = { from: string; isType: boolean }

function importsOf(path: string): Import[] {
  const pattern =
    /^(?:import|export)\s(type\s)?(?:[^'"]*?\bfrom\s+)?['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(pattern)].map(([, type, from, dynamic = '']) => ({
    from: from ?? dynamic,
    isType: type !== undefined,
  }))
}

/** The imports of a file of a layer that its folder does not allow. */
function forbidden(module: string, path: string): string[] {
  const [layer = ''] = relative(module, path).split('/')
  const allowed = layers[layer] ?? []
  return importsOf(path)
    .filter(({ from, isType }) => {
      if (!from.startsWith('.')) {
        return layer === 'domain' && !isType && !from.startsWith('#core/') && !pure.has(from)
      }
      const place = relative(module, join(dirname(path), from))
      // Another module of the same process.
      if (place.startsWith('..')) return false
      const [folder = ''] = place.split('/')
      if (mapping.test(place) || metrics.test(place)) return layer === 'domain'
      return !allowed.includes(folder)
    })
    .map(({ from }) => `${path} imports ${from}`)
}

it.each(modules)('%s has the folders of the layout and imports by them', (module) => {
  const own = files.filter((path) => path.startsWith(`${module}/`) && path.endsWith('.ts'))
  const folders = new Set(
    own
      .map((path) => relative(module, path).split('/'))
      .flatMap(([folder = '', file]) => (file === undefined ? [] : [folder])),
  )
  expect([...folders].filter((folder) => layers[folder] === undefined)).toEqual([])
  const layered = own.filter(
    (path) => !path.endsWith('.test.ts') && relative(module, path).includes('/'),
  )
  expect(layered.length).toBeGreaterThan(3)
  expect(layered.flatMap((path) => forbidden(module, path))).toEqual([])
})

/** By file, the files of ours that it imports, types too; but for tests and generated code. */
function importGraph(): Map<string, string[]> {
  const aliases = new Map([
    ['#core/', 'core/'],
    ['#platform/', 'platform/'],
  ])
  const product = files.filter(
    (path) =>
      /^(core|platform|gateway|services|connectors|clients|console|deploy|tools|examples|test)\/.*\.ts$/.test(
        path,
      ) && !path.endsWith('.test.ts'),
  )
  const known = new Set(product)
  return new Map(
    product.map((path) => {
      const targets = importsOf(path).map(({ from }) => {
        const [alias, folder] = [...aliases].find(([prefix]) => from.startsWith(prefix)) ?? []
        if (alias !== undefined) return folder + from.slice(alias.length)
        return join(dirname(path), from)
      })
      return [path, targets.filter((target) => known.has(target))]
    }),
  )
}

/**
 * By folder of the tree: the places that its files may import beside their own; the longest name that fits a file counts. So
 * `core/` and `platform/` know nothing above them, no service knows another part, and nothing of the product knows tools and tests.
 */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  platform: ['core'],
  services: ['core', 'platform'],
  connectors: ['core', 'platform'],
  gateway: ['core', 'platform'],
  // A local start seeds its databases by the stores of the services.
  deploy: ['core', 'platform', 'services/accounts', 'services/billing', 'gateway/openapi'],
  // Packages that other programs install, and programs that install them.
  'clients/grpc': [],
  'clients/sdk-typescript': [],
  'clients/cli-package': ['clients/cli'],
  examples: [],
  // The command line bootstraps installations, checks a restored ledger and runs the conformance checks.
  clients: [
    'core',
    'platform',
    'deploy',
    'gateway/pages',
    'services/accounts',
    'tools/conformance',
  ],
  // Pages preview the payers' pages and run the triggers of a sandbox.
  console: ['core', 'platform', 'gateway/pages', 'clients/cli', 'deploy/local'],
  tools: [
    'core',
    'platform',
    'services',
    'connectors',
    'gateway',
    'deploy',
    'clients',
    'console',
    // They start and break systems as tests do.
    'test/support',
    'test/defects',
    'test/console',
    'test/browser',
  ],
}

it('every file imports only what its place in the tree allows', () => {
  const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`)
  const homes = Object.keys(mayImport).toSorted((one, other) => other.length - one.length)
  const against = [...importGraph()].flatMap(([path, targets]) => {
    const home = homes.find((place) => isIn(path, place))
    if (home === undefined) return []
    const allowed = [home, ...(mayImport[home] ?? [])]
    return targets
      .filter((target) => !allowed.some((place) => isIn(target, place)))
      .map((target) => `${path} imports ${target}`)
  })
  expect(against).toEqual([])
})

it('no file imports itself through others', () => {
  const graph = importGraph()
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, above: string[]) => {
    if (above.includes(path)) {
      cycles.push([...above.slice(above.indexOf(path)), path].join(' > '))
      return
    }
    if (finished.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...above, path])
    finished.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  expect(graph.size).toBeGreaterThan(400)
  expect(cycles).toEqual([])
})

/** What is generated: the pages that `/docs` serves by their addresses, and pictures. */
const generated = new Set(['docs/site', 'docs/screenshots'])

it('no folder holds more than 25 files, but for those that are generated', () => {
  const counts = new Map<string, number>()
  for (const folder of files.map(dirname).filter((one) => !generated.has(one))) {
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  expect([...counts].filter(([, count]) => count > 25)).toEqual([])
})
