// Runs the pure tests beside the code and those in test/, but for the ones of the whole system.
import { defineConfig } from 'vitest/config'

// The tests of the whole system have a configuration of their own, test/system/vitest.config.ts.
const exclude = ['node_modules/**', 'gen/**', '.payweave/**', 'test/system/**']
// They leave nothing behind in their process, so many files take one after the other: most of the
// time of a small file is the start of a process and the reading of what it imports.
const together = [
  'core',
  'gateway',
  'services',
  'connectors',
  'test/accounts',
  'test/billing',
  'test/edge',
  'test/institution',
  'test/ledger',
  'test/payments',
  'test/quotes',
  'test/settlements',
].map((folder) => `${folder}/**/*.test.ts`)

/** Both run at once. */
function project(name: string, test: { include: string[]; exclude: string[]; isolate: boolean }) {
  return { extends: true as const, test: { name, ...test } }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Node reads the files itself, as it does in the product: Vite's reading of them is a fifth of the time. Nothing here
    // mocks a module, so no loader is needed either.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Processes, not threads: a server started by a test is tied to the life of its test's process.
    pool: 'forks',
    // One more than CI has cores: a third of the time of most files is waiting.
    maxWorkers: 3,
    // No claim: the time of a test that will never end, on a machine that stalls.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    projects: [
      project('apart', {
        include: ['**/*.test.ts'],
        exclude: [...exclude, ...together],
        isolate: true,
      }),
      project('together', { include: together, exclude, isolate: false }),
    ],
  },
})
