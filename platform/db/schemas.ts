// Which folders of migrations make each service's schema, in the order in which they run.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Tables of the platform that a schema holds besides its service's own. */
const shared = {
  payments: ['clock', 'outbox', 'dead-letters', 'keys', 'approvals', 'actions'],
  accounts: ['clock', 'outbox', 'inbox', 'dead-letters', 'keys'],
  institution: ['clock', 'outbox', 'actions'],
  quotes: ['clock'],
  billing: ['clock', 'outbox', 'keys', 'approvals'],
  delivery: ['clock', 'inbox', 'dead-letters'],
  simulator: ['clock'],
  console: ['clock'],
} as const satisfies Record<string, readonly string[]>

/** A service with a schema of its own. */
export type SchemaOwner = keyof typeof shared

/** Every service with a schema, in no order that matters. */
export const schemaOwners = Object.keys(shared) as SchemaOwner[]

const root = join(import.meta.dirname, '../..')

function folderOf(service: SchemaOwner): string {
  if (service === 'console') return service
  return join(service === 'simulator' ? 'connectors' : 'services', service)
}

/**
 * Absolute folders for `migrate`: the platform's first, since a service's tables depend on them; then the service's own, and the
 * folders in it, where it has more files than one folder holds.
 */
export function migrationFolders(service: SchemaOwner): string[] {
  const own = join(root, folderOf(service), 'migrations')
  const folders = shared[service].map((name) => join(root, 'platform', 'db', 'migrations', name))
  return existsSync(own) ? [...folders, own, ...foldersIn(own)] : folders
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .toSorted()
}
