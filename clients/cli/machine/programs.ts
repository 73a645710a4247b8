// Checks whether the programs that a start needs are installed: Node.js, packages, PostgreSQL, nats-server.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { foundNatsProgram, natsInstallLines } from '../../../deploy/local/nats/program.ts'
import { postgresIdentity, postgresPrograms } from '../../../deploy/local/postgres/binaries.ts'
import { LaunchError } from '../../../deploy/local/preflight/launch-error.ts'
import { findProgram } from '../../../deploy/local/process/tied-process.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const oldestNode = 24
const platforms = new Set(['linux-x64', 'linux-arm64'])

/** Checks the running Node.js and the platform. */
export function nodeResults(version = process.versions.node): CheckResult[] {
  const platform = `${process.platform}-${process.arch}`
  return [
    Number(version.split('.')[0]) >= oldestNode
      ? ok('node', version)
      : failed('node', `${version} is older than ${oldestNode}`, 'run npm ci: it installs its own'),
    platforms.has(platform)
      ? ok('platform', platform)
      : warning(
          'platform',
          `${platform} has no bundled PostgreSQL and Node.js`,
          'set DATABASE_URL and NATS_URL to your own servers',
        ),
  ]
}

type Manifest = { version?: string; dependencies?: Record<string, string> }

const manifestOf = (folder: string): Manifest | undefined => {
  const file = path.join(folder, 'package.json')
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Manifest) : undefined
}

/** Checks that the packages of package.json are installed in their exact versions. */
export function packagesResult(folder = root): CheckResult {
  const wanted = Object.entries(manifestOf(folder)?.dependencies ?? {})
  const wrong = wanted.filter(
    ([name, version]) => manifestOf(path.join(folder, 'node_modules', name))?.version !== version,
  )
  if (wrong.length === 0) return ok('packages', `${wanted.length} with the right versions`)
  const names = wrong.map(([name]) => name).join(', ')
  return failed('packages', `missing or in another version: ${names}`, 'run npm ci')
}

/**
 * Checks PostgreSQL's programs by running one as the user that a start would use. A LaunchError becomes a result; any
 * other error is thrown.
 */
export function postgresResult(env: NodeJS.ProcessEnv, dataDir: string): CheckResult {
  if (env['DATABASE_URL']) return ok('postgresql', 'yours, by DATABASE_URL')
  try {
    const programs = postgresPrograms()
    const { runAs } = postgresIdentity(programs, existing(dataDir))
    const { stdout } = spawnSync(programs.postgres, ['--version'], { encoding: 'utf8' })
    const [by] = runAs
    const how = by === undefined ? 'as this user' : `as nobody, by ${path.basename(by)}`
    return ok('postgresql', `${stdout.trim()}, ${how}`)
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return failed('postgresql', error.message, 'see above, or set DATABASE_URL')
  }
}

/**
 * Checks for nats-server on the PATH, in the cache, or to be fetched. Rejects with a LaunchError when the cache cannot
 * be written.
 */
export async function natsResult(env: NodeJS.ProcessEnv, dataDir: string): Promise<CheckResult> {
  if (env['NATS_URL']) return ok('nats-server', 'yours, by NATS_URL')
  const found = await foundNatsProgram({ fallbackDir: existing(dataDir) })
  if (found !== undefined) return ok('nats-server', found)
  const mayBeFetched = findProgram('apt-get') !== undefined && findProgram('dpkg') !== undefined
  if (mayBeFetched) {
    return warning(
      'nats-server',
      'not installed; the first start downloads it into a cache folder',
      'if that is not possible, install it: apt-get install nats-server',
    )
  }
  return failed('nats-server', 'not installed', natsInstallLines.join(' · '))
}

/** Checks the tools that end the parts when the launcher is killed, and that let root start PostgreSQL. */
export function toolsResult(isRoot = process.getuid?.() === 0): CheckResult {
  const tools = ['setpriv', 'unshare'].filter((name) => findProgram(name) !== undefined)
  const says = tools.length === 0 ? 'neither setpriv nor unshare' : tools.join(' and ')
  if (tools.includes('setpriv')) return ok('tools', isRoot ? `${says}, for root` : says)
  const advice = 'install util-linux'
  if (isRoot && tools.length === 0) return failed('tools', `${says}, and this is root`, advice)
  return warning('tools', `${says}: a killed launcher may leave its stores running`, advice)
}

/** The folder, or the nearest one above it that exists. */
export function existing(folder: string): string {
  return fs.existsSync(folder) ? folder : existing(path.dirname(folder))
}
