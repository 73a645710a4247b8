// Runs the black-box tests of the whole system: first those that share one, then those that break one of their own, then what looks at the traces of all.
import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// quote-execution counts the money of people whom others pay too.
const breaking = [
  'tools/sandbox',
  'tools/planted-defects',
  'recovery/faults',
  'recovery/bill-faults',
  'accounts/keys',
  'recovery/campaign',
  'recovery/kill-pushes',
  'money/quote-times',
  'money/quote-execution',
  'recovery/exhaustion',
  'recovery/disk-full',
  'recovery/disk-full-writes',
  'recovery/frozen-replica',
  'rpc-input/sweep',
  'payments/routing',
].map((name) => `test/system/${name}.test.ts`)
const last = ['test/system/accounts/secrets.test.ts']

/** Begun last, one of them would keep a single worker busy at the end of its group. */
const longest = [
  'planted-defects',
  'sandbox',
  'campaign',
  'faults',
  'kill-pushes',
  'quote-times',
  'settings',
  'onboarding',
  'payers-browser',
  'cli-tools',
  'bills',
  'institution',
  'delivery',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await BaseSequencer.prototype.sort.call(this, files)
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.indexOf(path.basename(moduleId, '.test.ts'))
  return place < 0 ? longest.length : place
}

type Group = {
  include: string[]
  exclude?: string[]
  testTimeout?: number
  maxWorkers?: number
}

/** Groups run one after the other. */
function group(name: string, groupOrder: number, settings: Group) {
  return { extends: true as const, test: { name, ...settings, sequence: { groupOrder } } }
}

export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    // Node reads the files itself, as in the other tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 240_000,
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/system/shared-mesh.ts'],
    projects: [
      group('shared', 0, {
        include: ['test/system/**/*.test.ts'],
        exclude: [...breaking, ...last],
        // They wait more than they work.
        maxWorkers: 3,
      }),
      // Parts and whole systems are started in these: with a third at once, answers take seconds.
      group('breaking', 1, { include: breaking, testTimeout: 90_000 }),
      group('last', 2, { include: last }),
    ],
  },
})
