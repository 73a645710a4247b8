// Loads payments of the past into a folder before the mesh starts on it: copies of one payment that the product made.
import fs from 'node:fs'
import path from 'node:path'
import { measure } from './load/measure.ts'
import { createShape } from './load/requests.ts'
import { loadHistory, type Past } from './store/growth-store.ts'
import { onDatabaseOf, startMeshOn } from './systems.ts'

/** While the bulk load runs alone; the rows are the same, and on disk at its end. */
export const loading = {
  synchronous_commit: 'off',
  maintenance_work_mem: '1GB',
  max_wal_size: '16GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
}

/** Makes one payment and copies it; does nothing in a folder that has its past already. */
export async function bulkLoad(
  folder: string,
  past: Past,
  say: (line: string) => void,
): Promise<void> {
  const mark = path.join(folder, 'loaded')
  if (fs.existsSync(mark)) return
  fs.mkdirSync(folder, { recursive: true, mode: 0o711 })
  const mesh = await startMeshOn(folder)
  // One payment to copy.
  const one = { ids: [], warmUp: { answers: 1, maxMs: 5_000 }, measuredMs: 1 }
  await measure(mesh, { shape: createShape(mesh.target), ...one })
  await mesh.stopServing()
  const begunMs = performance.now()
  await onDatabaseOf(folder, loading, (databaseUrl) => loadHistory(databaseUrl, past))
  fs.writeFileSync(mark, '')
  say(`stored in ${((performance.now() - begunMs) / 1_000).toFixed(0)} s`)
}
