// Runs the black-box tests of the whole system: first those that share one, then those that break one of their own, then what looks at the traces of all.
import { defineConfig } from 'vitest/config'

// quote-execution counts the money of people whom others pay too.
const breaking = [
  'sandbox',
  'faults',
  'kill',
  'kill-bills',
  'kill-transfers',
  'quote-times',
  'quote-execution',
].map((name) => `test/system/${name}.test.ts`)
const last = ['test/system/secrets.test.ts']

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
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    globalSetup: ['test/system/shared-mesh.ts'],
    projects: [
      group('shared', 0, {
        include: ['test/system/*.test.ts'],
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
