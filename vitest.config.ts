// Runs the pure tests beside the code and those in test/, but for the ones of the whole system.
import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/support/runner/longest-first.ts'

// The tests of the whole system have a configuration of their own, test/system/vitest.config.ts.
const exclude = ['node_modules/**', 'gen/**', '.payweave/**', 'test/system/**']
// The others leave nothing behind in their process, so many files take one after the other: most of the time of a small file is the
// start of a process and the reading of what it imports.
const apart = [
  // They change the environment, the clock, the timers or the tracing of their process, or the time limits of its tests.
  'platform/rpc/call-stream/client',
  'platform/rpc/call-stream/late-connection',
  'platform/rpc/client/exchange',
  'platform/telemetry/span-export',
  'test/delivery/leases',
  'test/delivery/recovery',
  'test/deploy/restore-drill',
  'test/simulator/kill',
  'test/simulator/process',
  'test/simulator/receivers-memory',
  // It measures the memory of its process.
  'test/delivery/delivery',
  // Their harness ends what it has started by hooks, which only the first file that reads it would have.
  'test/client/*',
  'test/sdk/*',
  // They start many processes, and read little themselves.
  'deploy/local/**/*',
  'test/browser/*',
  'test/money/*',
  'test/rpc/*',
].map((name) => `${name}.test.ts`)

/** The longest ones of each project, in the order in which they begin. */
const longest = [
  'test/browser/every-page',
  'test/rpc/request-memory',
  'test/delivery/recovery',
  'local/preflight/launch-errors',
  'test/delivery/leases',
  'local/launch',
  'test/browser/live',
  'local/stores',
  'test/browser/pages',
  'test/simulator/kill',
  'test/simulation/simulation',
  'test/console/browser-pages',
  'test/connectors/stripe',
  'test/connectors/momo',
  'test/events/cluster',
  'test/simulator/conformance',
  'test/events/loss',
  'test/delivery/stalled-tail',
]

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
    sequence: { sequencer: longestFirst(longest) },
    projects: [
      project('apart', { include: apart, exclude, isolate: true }),
      project('together', {
        include: ['**/*.test.ts'],
        exclude: [...exclude, ...apart],
        isolate: false,
      }),
    ],
  },
})
