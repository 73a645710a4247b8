// Reads migration files and compares them with what a schema says has run.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { ConfigurationError } from '../process/configuration-error.ts'

/**
 * When a migration runs: `expand` before the new version, beside which the old one still works; `contract` after the
 * old version is gone. A contract file ends in `.contract.sql`.
 */
export type Phase = 'expand' | 'contract'

/** One migration file. */
export type Migration = {
  /** `folder/NNNN-name.sql`, as the table `schema_migration` keeps it. */
  name: string
  phase: Phase
  text: string
  checksum: string
  /** The index that a `.concurrent.sql` file builds, outside of a transaction; null for every other file. */
  index: string | null
}

/** A row of `schema_migration`. */
export type Applied = { name: string; checksum: string }

/** The difference between the files and the schema. */
export type Difference = {
  missing: Migration[]
  /** Names of files that were changed after they were applied. */
  changed: string[]
  /** Names that were applied and have no file here: another version of the service has run them. */
  unknown: string[]
}

/**
 * Reads the migration files of some folders, in the order in which they run. Rejects with a ConfigurationError for two
 * folders of one name, a bad file name, a repeated number or a `.concurrent.sql` file with anything but one index, and
 * with the system's error for a folder that cannot be read.
 */
export async function readMigrations(directories: string[]): Promise<Migration[]> {
  const folders = directories.map((directory) => path.basename(directory))
  if (new Set(folders).size !== folders.length) {
    throw new ConfigurationError(`migration folders need different names: ${folders.join(', ')}`)
  }
  const perFolder = await Promise.all(directories.map(readFolder))
  return perFolder.flat()
}

async function readFolder(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).toSorted()
  const numbers = new Set<string>()
  for (const file of files) {
    const number = /^(\d{4})-[a-z0-9-]+(\.contract|\.concurrent)?\.sql$/.exec(file)?.[1]
    if (number === undefined || numbers.has(number)) {
      throw new ConfigurationError(
        `bad or repeated migration number: ${path.join(directory, file)}`,
      )
    }
    numbers.add(number)
  }
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(directory, file), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      const phase = file.endsWith('.contract.sql') ? 'contract' : 'expand'
      const index = file.endsWith('.concurrent.sql') ? builtIndex(file, text) : null
      return { name: `${path.basename(directory)}/${file}`, phase, text, checksum, index }
    }),
  )
}

/** One statement, since PostgreSQL runs several at a time as one transaction; one that may be repeated after a crash. */
const buildsIndex =
  /^create (?:unique )?index concurrently if not exists ([a-z_][a-z0-9_]*)\s+on [^;]+;$/

function builtIndex(file: string, text: string): string {
  const [, index] = buildsIndex.exec(text.replaceAll(/^--.*$/gm, '').trim()) ?? []
  if (index === undefined) {
    throw new ConfigurationError(
      `${file} must be one statement: create index concurrently if not exists <name> on …;`,
    )
  }
  return index
}

/** Compares the files with what has run. */
export function compare(migrations: readonly Migration[], applied: readonly Applied[]): Difference {
  const checksums = new Map(applied.map((row) => [row.name, row.checksum]))
  const names = new Set(migrations.map(({ name }) => name))
  return {
    missing: migrations.filter(({ name }) => !checksums.has(name)),
    changed: migrations
      .filter(({ name, checksum }) => (checksums.get(name) ?? checksum) !== checksum)
      .map(({ name }) => name),
    unknown: applied.map(({ name }) => name).filter((name) => !names.has(name)),
  }
}
