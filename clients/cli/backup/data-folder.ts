// What a base backup takes of the data folder of PostgreSQL: all but what a start makes anew.
import fs from 'node:fs/promises'
import path from 'node:path'

/** A file or folder of the data folder, below it. */
export type Entry = { path: string; isFolder: boolean; bytes: number }

/** Folders whose content belongs to the running server; they are in the backup, and empty. */
const emptied = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const leftOut =
  /^(postmaster\.(pid|opts)|backup_label.*|tablespace_map.*|backup_manifest.*|current_logfiles.*|pg_internal\.init.*|pgsql_tmp.*|.*\.auto\.conf\.tmp)$/

/** What a backup takes, each folder before what is in it. Rejects with the system's error. */
export async function dataEntries(folder: string, below = ''): Promise<Entry[]> {
  const names = await fs.readdir(path.join(folder, below)).catch(unlessGone<string[]>([]))
  const entries: Entry[] = []
  for (const name of names.filter((one) => !leftOut.test(one)).toSorted()) {
    const entry = path.join(below, name)
    // A link of the data folder, of its log for example, stands for what it leads to.
    const found = await fs.stat(path.join(folder, entry)).catch(unlessGone(undefined))
    if (found === undefined) continue
    entries.push({ path: entry, isFolder: found.isDirectory(), bytes: found.size })
    if (found.isDirectory() && !emptied.has(entry)) {
      entries.push(...(await dataEntries(folder, entry)))
    }
  }
  return entries
}

/** Which server runs on a data folder: copies of a database share its identifier. */
export type ServerOfFolder = { systemIdentifier: string; dataFolder: string; port: string }

/** Reads which server runs on a data folder. Rejects with the system's error, also when none does. */
export async function serverOf(folder: string): Promise<ServerOfFolder> {
  const control = await fs.readFile(path.join(folder, 'global', 'pg_control'))
  const lines = await fs.readFile(path.join(folder, 'postmaster.pid'), 'utf8')
  const [, dataFolder = '', , port = ''] = lines.split('\n')
  return { systemIdentifier: control.readBigUInt64LE(0).toString(), dataFolder, port }
}

/** The server removes files while they are listed. */
function unlessGone<T>(none: T) {
  return (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return none
    throw error
  }
}
