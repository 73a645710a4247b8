// The simulator as a process of its own, for tests that kill it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { startStandIns } from './harness.ts'

const main = join(import.meta.dirname, '../../connectors/simulator/main.ts')

export type SimulatorProcess = ReturnType<typeof simulatorProcess>

/** Runs one simulator at a time on some standIns. */
export function simulatorProcess(standIns: Awaited<ReturnType<typeof startStandIns>>) {
  const { port, publicPort, adminPort, secrets, database, publicUrl } = standIns
  const { paymentsUrl, accountsUrl, institutionUrl } = standIns
  let child: ChildProcess | undefined
  return {
    run(env: Record<string, string>) {
      child = spawn(process.execPath, [main], {
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: {
          PATH: process.env['PATH'],
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          HOST: '127.0.0.1',
          PORT: String(port),
          CONNECTOR_PUBLIC_PORT: String(publicPort),
          ADMIN_PORT: String(adminPort),
          DATABASE_URL: database.url,
          PAYMENTS_URL: paymentsUrl,
          ACCOUNTS_URL: accountsUrl,
          INSTITUTION_URL: institutionUrl,
          SECRETS_DIR: join(secrets, 'simulator'),
          PUBLIC_BASE_URL: 'http://pay.test:8080',
          CONNECTOR_PUBLIC_URL: publicUrl,
          ...env,
        },
      })
      let output = ''
      child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
      child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
      return { child, output: () => output }
    },
    async end(signal: NodeJS.Signals): Promise<void> {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}
