// Starts one PostgreSQL and one NATS server for the whole test run and removes them at its end.
import fs from 'node:fs'
import path from 'node:path'
import { startNats } from '../../deploy/local/nats.ts'
import { startPostgres } from '../../deploy/local/postgres.ts'
import { freePorts, temporaryFolder } from './servers.ts'

const log = () => {}

/**
 * Tests read TEST_DATABASE_URL (superuser, database `postgres`; each test makes a database of its own)
 * and TEST_NATS_URL.
 */
export async function setup(): Promise<() => Promise<void>> {
  const folder = temporaryFolder('test')
  const [databasePort = 0, natsPort = 0] = await freePorts(2)
  const [postgres, nats] = await Promise.all([
    // Whole-machine crashes are not tested here, so waiting for the disk would only cost time.
    startPostgres({
      dataDir: path.join(folder, 'postgres'),
      port: databasePort,
      log,
      settings: { fsync: 'off', shared_buffers: '64MB', checkpoint_timeout: '30min' },
    }),
    startNats({ dataDir: path.join(folder, 'nats'), port: natsPort, log }),
  ])
  process.env.TEST_DATABASE_URL = postgres.adminUrl
  process.env.TEST_NATS_URL = nats.url
  return async () => {
    await Promise.all([postgres.stop(), nats.stop()])
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
