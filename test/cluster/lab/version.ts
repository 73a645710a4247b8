// The versions of the product that a run starts: this tree, and an earlier revision of it in a folder of its own.
import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The folder of this tree. */
export const thisVersion = path.resolve(import.meta.dirname, '../../..')

/** Every migration, as a path of git. */
const migrations = ':(glob)**/migrations/**/*.sql'

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: thisVersion, encoding: 'utf8' }).trim()
}

/** The newest tag; without one the last commit before migrations changed, which may be in the work tree alone. */
function defaultRevision(): string {
  const [tag = ''] = git('tag', '--merged', 'HEAD', '--sort=-creatordate').split('\n')
  if (tag !== '') return tag
  if (git('status', '--porcelain', '--', migrations) !== '') return 'HEAD'
  return `${git('log', '-1', '--format=%H', '--', migrations)}^`
}

/**
 * Puts the files of a revision into a new folder, with the packages of this tree, and returns the commit. Throws what git
 * says of an unknown revision.
 */
export function checkOut(revision: string | undefined, folder: string): string {
  const commit = git('rev-parse', '--verify', `${revision ?? defaultRevision()}^{commit}`)
  fs.mkdirSync(folder)
  const archive = `${folder}.tar`
  git('archive', '--output', archive, commit)
  execFileSync('tar', ['-xf', archive, '-C', folder])
  fs.rmSync(archive)
  fs.symlinkSync(path.join(thisVersion, 'node_modules'), path.join(folder, 'node_modules'))
  return commit
}

type Database = typeof import('../../../deploy/local/postgres/database.ts')
type Logins = typeof import('../../../deploy/local/postgres/logins.ts')

/** Runs the migrations of a phase by the command of a version's migration job; returns how many files ran. */
export async function migrate(
  version: string,
  databaseUrl: string,
  phase: 'expand' | 'contract',
): Promise<number> {
  const program = path.join(version, 'clients/cli/payweave.mjs')
  const env = { PATH: process.env['PATH'], PAYWEAVE_ENV: 'sandbox', DATABASE_URL: databaseUrl }
  const { stdout } = await run(process.execPath, [program, 'migrate', phase, '--json'], { env })
  const schemas = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { applied: string[] })
  return schemas.reduce((sum, { applied }) => sum + applied.length, 0)
}

/** What a version prepares a database with. */
export async function preparationOf(version: string): Promise<Database & Logins> {
  const folder = path.join(version, 'deploy/local/postgres')
  const database = (await import(path.join(folder, 'database.ts'))) as Database
  const logins = (await import(path.join(folder, 'logins.ts'))) as Logins
  return { ...database, ...logins }
}
