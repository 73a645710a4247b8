// Runs the black-box tests of the whole system: first those that share one, then those that break one of their own, then what looks at the traces of all.
import { defineConfig } from 'vitest/config'
import { longestFirst } from '../support/runner/longest-first.ts'

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

/** The longest ones, in the order in which they begin. */
const longest = [
  'tools/docs',
  'hostile/hostile',
  'tools/settings',
  'accounts/onboarding',
  'tools/guides',
  'money/bills',
  'tools/cli-tools',
  'payments/payers-browser',
  'money/institution',
  'tools/sandbox',
  'rpc-input/sweep',
  'recovery/faults',
  'accounts/keys',
  'recovery/kill-pushes',
  'recovery/campaign',
  'tools/planted-defects',
  'recovery/bill-faults',
  'recovery/disk-full-writes',
  'recovery/exhaustion',
  'recovery/disk-full',
].map((name) => `system/${name}`)

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
    sequence: { sequencer: longestFirst(longest) },
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
