// Runs the pure tests beside the code and those in test/, but for the ones of the whole system.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    // The tests of the whole system have a configuration of their own, test/system/vitest.config.ts.
    exclude: ['node_modules/**', 'gen/**', '.payweave/**', 'test/system/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Processes, not threads: a server started by a test is tied to the life of its test's process.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
})
