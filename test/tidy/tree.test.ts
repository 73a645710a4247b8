// Holds the tree against the rules that a machine can check: where SQL, imports and wire types may stand, and how long a file may be.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const tree = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n')
const files = tree.filter((path) => path.endsWith('.ts') && !path.startsWith('gen/'))
const source = files.filter((path) => !path.endsWith('.test.ts') && !path.startsWith('test/'))

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function importsOf(path: string): string[] {
  const pattern = /^(?:import|export)\s(?:[^'"]*?\bfrom\s+)?['"]([^'"]+)['"]/gm
  return [...read(path).matchAll(pattern)].map(([, specifier]) => specifier ?? '')
}

function offenders(paths: string[], offends: (path: string) => boolean): string[] {
  return paths.filter(offends).toSorted()
}

it('no file is longer than 400 lines', () => {
  expect(offenders(files, (path) => read(path).split('\n').length > 401)).toEqual([])
})

it('every file opens with a sentence that says what it is for', () => {
  expect(offenders(files, (path) => !/^(#!.*\n)?\/\/ \S/.test(read(path)))).toEqual([])
})

it('core imports nothing but core and pure libraries', () => {
  const pure = new Set([
    'node:crypto',
    'node:net',
    'canonicalize',
    'currency-codes',
    'i18n-iso-countries',
    'i18n-iso-countries/index.js',
    'libphonenumber-js/max',
  ])
  const isPure = (specifier: string) =>
    /^\.\.?\//.test(specifier) || specifier.startsWith('#core/') || pure.has(specifier)
  const core = source.filter((path) => path.startsWith('core/'))
  expect(offenders(core, (path) => importsOf(path).some((from) => !isPure(from)))).toEqual([])
})

it('SQL stands only in stores, in the platform, the deployment and the tools', () => {
  const mayHoldSql = /(^|\/)[a-z-]*store[a-z-]*\.ts$|^platform\/|^deploy\/|^tools\/|^clients\/cli\//
  const holdsSql = /\bsql\(\s*'/
  const suspects = source.filter((path) => !mayHoldSql.test(path))
  expect(offenders(suspects, (path) => holdsSql.test(read(path)))).toEqual([])
})

it('no service reaches into another service; connectors use the kit of connectors', () => {
  const foreign = (path: string) => {
    const own = /^(?:services|connectors)\/([a-z]+)\//.exec(path)?.[1]
    return importsOf(path).some((from) => {
      const place = from.startsWith('.') ? join(dirname(path), from) : from
      const other = /(?:services|connectors)\/([a-z]+)\//.exec(place)?.[1]
      return own !== undefined && other !== undefined && other !== own && other !== 'kit'
    })
  }
  expect(offenders(source, foreign)).toEqual([])
})

it('only the adapter knows the NATS client, and only platform/rpc knows the transport', () => {
  const outside = (specifiers: string[], home: RegExp) =>
    offenders(
      source.filter((path) => !home.test(path)),
      (path) => importsOf(path).some((from) => specifiers.includes(from)),
    )
  expect(outside(['nats'], /^platform\/events\/nats\/(nats|open)\.ts$/)).toEqual([])
  expect(
    outside(
      ['@connectrpc/connect-node', '@connectrpc/connect-fastify'],
      /^platform\/(rpc|testing\/rpc)\//,
    ),
  ).toEqual([])
})

it('what a file exports as a value, another file imports', () => {
  // The client of teams, and what Vitest, a browser or a compiler reads.
  const entry =
    /^clients\/grpc\/|\.d\.ts$|^test\/(support\/global-setup|system\/shared-mesh|client\/package\.test)\.ts$/
  // Also out of an `await import`.
  const lists = /\{([^{}]*)\}\s*(?:from\s|=\s)/g
  const exported = /^export (?:abstract |async )*(?:function\*?|const|let|class) (\w+)/gm
  const imported = new Set(
    files.flatMap((path) =>
      [...read(path).matchAll(lists)].flatMap(([, list]) => list?.match(/\w+/g) ?? []),
    ),
  )
  const isUnused = (path: string) =>
    [...read(path).matchAll(exported)].some(([, name]) => !imported.has(name ?? ''))
  const paths = files.filter((path) => !entry.test(path))
  expect(offenders(paths, isUnused)).toEqual([])
})

it('tests wait by the one eventually', () => {
  const waits =
    /\bvi\s*\.wait(For|Until)\(|\bexpect\s*\.poll\(|function (until|eventually|waitFor)\b/
  const tests = files.filter((path) => path.endsWith('.test.ts') || path.startsWith('test/'))
  const others = tests.filter((path) => path !== 'test/support/eventually.ts')
  expect(offenders(others, (path) => waits.test(read(path)))).toEqual([])
})

it('helpers of tests that share a process have no hooks of a file, which only the first file would have', () => {
  const helpers = files.filter(
    (path) => !path.endsWith('.test.ts') && !/^test\/(client|sdk)\//.test(path),
  )
  const hooks = /^(before|after)(All|Each)\(/m
  expect(offenders(helpers, (path) => hooks.test(read(path)))).toEqual([])
})

it('nothing is left to do, silenced or exported by default', () => {
  // The brackets keep the pattern from finding itself.
  const traces =
    /\b(TO[D]O|FIX[M]E)\b|@ts-(ignore|nocheck)|\b(it|test|describe)\.(only|skip|todo)\(/
  expect(offenders(files, (path) => traces.test(read(path)))).toEqual([])
})

/** Number of the last migration of each folder from before the rule. */
const lastBeforeConcurrent: Record<string, string> = {
  'connectors/kit/migrations/work': '0003',
  'console/migrations': '0006',
  'platform/db/migrations/dead-letters': '0002',
  'platform/db/migrations/inbox': '0004',
  'services/accounts/migrations': '0045',
  'services/billing/migrations': '0006',
  'services/delivery/migrations': '0024',
  'services/institution/migrations': '0003',
  'services/payments/migrations': '0015',
  'services/quotes/migrations': '0003',
}

it('an index on a table that exists is built while others write', () => {
  const migrations = tree.filter((path) => /\/\d{4}-[^/]*\.sql$/.test(path))
  expect(migrations.length).toBeGreaterThan(100)
  const isNew = (path: string) =>
    basename(path).slice(0, 4) > (lastBeforeConcurrent[dirname(path)] ?? '')
  const blocks = (path: string) => {
    const text = read(path)
    const created = new Set([...text.matchAll(/create table (\w+)/g)].map(([, table]) => table))
    const builds = text.matchAll(/create (?:unique )?index (?!concurrently)\w+\s+on (\w+)/g)
    return [...builds].some(([, table]) => !created.has(table))
  }
  expect(offenders(migrations.filter(isNew), blocks)).toEqual([])
})
