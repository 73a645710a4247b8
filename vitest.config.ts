// Runs the pure tests beside the code and those in test/, but for the ones of the whole system.
import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/support/runner/longest-first.ts'

// The tests of the whole system have a configuration of their own, test/system/vitest.config.ts.
const exclude = ['node_modules/**', 'gen/**', '.payweave/**', 'test/system/**']
// The other files leave nothing behind in their process, so one process runs many of them in turn: most of the time of a small file
// is the start of a process and the loading of its imports.
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
  'test/rpc/request-memory',
  'test/browser/every-page',
  'test/browser/site',
  'test/delivery/recovery',
  'local/preflight/launch-errors',
  'local/launch',
  'test/delivery/leases',
  'test/simulator/receivers-memory',
  'test/browser/live',
  'local/postgres/postgres',
  'local/stores',
  'test/simulator/kill',
  'test/browser/pages',
  'test/simulation/simulation',
  'test/console/browser-pages',
  'test/connectors/momo',
  'test/connectors/stripe',
  'test/events/loss',
  'tools/fuzz/fuzz',
  'test/events/cluster',
  'test/simulator/conformance',
  'test/events/direct-publisher',
  'test/delivery/stalled-tail',
  'test/console/browser-actions',
  'test/edge/stalled-bodies',
]

type Group = { include: string[]; exclude: string[]; isolate: boolean; maxWorkers: number }

/** Groups run one after the other. */
function group(name: string, groupOrder: number, settings: Group) {
  return { extends: true as const, test: { name, ...settings, sequence: { groupOrder } } }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Node reads the files itself, as it does in the product: Vite's reading of them is a fifth of the time. Nothing here
    // mocks a module, so no loader is needed either.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Processes, not threads: a server started by a test is tied to the life of its test's process.
    pool: 'forks',
    // No claim: the time of a test that will never end, on a machine that stalls.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    sequence: { sequencer: longestFirst(longest) },
    projects: [
      // Browsers and processes of the product: one more worker than CI has cores keeps these busy.
      group('apart', 0, { include: apart, exclude, isolate: true, maxWorkers: 3 }),
      // Half of the time of these is waiting: with three workers the cores were idle for a third of it.
      group('together', 1, {
        include: ['**/*.test.ts'],
        exclude: [...exclude, ...apart],
        isolate: false,
        maxWorkers: 5,
      }),
    ],
  },
})
