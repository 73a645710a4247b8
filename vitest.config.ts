// Runs every test: the pure ones beside the code and the black-box ones in test/.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**', 'gen/**', '.payweave/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Processes, not threads: a server started by a test is tied to the life of its test's process.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
})
