// Starts one PostgreSQL and one NATS server for the whole test run and removes them at its end.
import fs from 'node:fs'
import path from 'node:path'
import { startNats } from '../../deploy/local/nats/nats.ts'
import { startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { freePorts, keepStream, temporaryFolder } from './servers.ts'

const log = () => {}

/**
 * Tests read TEST_DATABASE_URL (superuser, database `postgres`; each test makes a database of its own),
 * TEST_NATS_URL and TEST_FOLDER, for files that may last as long as the run.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Every project of the run asks for it, and the first one has it.
  if (process.env['TEST_DATABASE_URL'] !== undefined) return undefined
  const folder = temporaryFolder('test')
  process.env['TEST_FOLDER'] = folder
  // The process of each file and the processes of ours that it starts all compile the same.
  process.env['NODE_COMPILE_CACHE'] ??= path.join(folder, 'compiled')
  const [databasePort = 0, natsPort = 0] = await freePorts(2)
  const starts = [
    // Whole-machine crashes are not tested here, so waiting for the disk would only cost time.
    startPostgres({
      dataDir: path.join(folder, 'postgres'),
      port: databasePort,
      log,
      settings: {
        fsync: 'off',
        shared_buffers: '64MB',
        checkpoint_timeout: '30min',
        // There are many databases here, each with a few rows.
        autovacuum_naptime: '1min',
      },
    }).then((server) => ({ name: 'TEST_DATABASE_URL', url: server.adminUrl, stop: server.stop })),
    startNats({ dataDir: path.join(folder, 'nats'), port: natsPort, log }).then(async (server) => {
      const stream = await keepStream(server.url)
      const stop = () => stream.close().then(() => server.stop())
      return { name: 'TEST_NATS_URL', url: server.url, stop }
    }),
  ]
  const teardown = async () => {
    const started = await Promise.allSettled(starts)
    const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    await Promise.all(servers.map((server) => server.stop()))
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    for (const { name, url } of await Promise.all(starts)) process.env[name] = url
  } catch (error) {
    await teardown()
    throw error
  }
  return teardown
}
