// Removes what a local start has stored: its PostgreSQL and its stream. Credentials, secrets and logs stay.
import fs from 'node:fs'
import path from 'node:path'
import { endOrphan } from './postgres/orphan.ts'
import { LaunchError } from './preflight/launch-error.ts'
import { takeLock } from './process/lock.ts'

/**
 * Removes the stored data of a data folder; the next start makes it anew, with the same keys. Throws a LaunchError while a
 * system runs on the folder, and for a folder without a PostgreSQL of its own.
 */
export async function resetData(dataDir: string, log: (line: string) => void): Promise<void> {
  const cluster = path.join(dataDir, 'postgres', 'cluster')
  if (!fs.existsSync(cluster)) {
    throw new LaunchError(
      `${dataDir} has no PostgreSQL of a local start, so there is nothing to reset`,
    )
  }
  const lock = takeLock(dataDir)
  try {
    await endOrphan(cluster, log)
    // The stream first: if this process ends in between, the next start publishes what the outboxes still have.
    for (const folder of [path.join(dataDir, 'nats', 'store'), cluster]) remove(folder)
  } finally {
    lock.release()
  }
}

/** No start finds half of a folder. */
function remove(folder: string): void {
  const aside = `${folder}.removed`
  fs.rmSync(aside, { recursive: true, force: true })
  if (fs.existsSync(folder)) fs.renameSync(folder, aside)
  fs.rmSync(aside, { recursive: true, force: true })
}
