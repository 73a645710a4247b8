// Runs the black-box tests of the whole system: first those that share one, then those that break one of their own, then what looks at the traces of all.
import { defineConfig } from 'vitest/config'

const breaking = ['sandbox', 'faults', 'kill'].map((name) => `test/system/${name}.test.ts`)
const last = ['test/system/secrets.test.ts']

function group(name: string, groupOrder: number, include: string[], exclude: string[] = []) {
  return { extends: true as const, test: { name, include, exclude, sequence: { groupOrder } } }
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
      group('shared', 0, ['test/system/*.test.ts'], [...breaking, ...last]),
      group('breaking', 1, breaking),
      group('last', 2, last),
    ],
  },
})
