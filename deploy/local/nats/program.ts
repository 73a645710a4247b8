// Finds nats-server on this machine or obtains it without root.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { isAtLeast, minVersions } from '#platform/events/nats/version.ts'
import { LaunchError } from '../preflight/launch-error.ts'
import { programFromPackage } from '../preflight/system-package.ts'
import { findProgram } from '../process/tied-process.ts'

/** An archive that is taken only if its SHA-256 is the pinned one. */
export type Release = { url: string; sha256: string }

/** Where to look and where to put what was obtained. */
export type NatsProgramOptions = {
  /** Used for the cache when the home folder cannot be written. */
  fallbackDir: string
  log: (line: string) => void
  cacheDir?: string
  /** Stands for the pinned release of this platform. */
  release?: Release
  /** Stand for the folders that are searched besides the PATH. */
  systemFolders?: string[]
}

const run = promisify(execFile)
const version = '2.12.15'
const probeTimeoutMs = 3_000
const downloadTimeoutMs = 120_000
const base = `https://github.com/nats-io/nats-server/releases/download/v${version}`

// The sums are those that the publisher pins in its own images (nats-io/nats-docker, 2.12.x).
const releases: Record<string, Release> = {
  'linux-x64': {
    url: `${base}/nats-server-v${version}-linux-amd64.tar.gz`,
    sha256: '58ab8131f819263897e2fc38e503e1b755b63bcafeecc7d12582487df48ca15e',
  },
  'linux-arm64': {
    url: `${base}/nats-server-v${version}-linux-arm64.tar.gz`,
    sha256: 'b724db99fefbf8f5c808baa82819ee50350aee9734017e4a478f7e545cef3ab6',
  },
}

/** How to get the program by hand, one line a system. */
export const natsInstallLines = [
  'Debian, Ubuntu: sudo apt-get install nats-server',
  'Alpine:         sudo apk add nats-server',
  'macOS:          brew install nats-server',
  'any with Go:    go install github.com/nats-io/nats-server/v2@latest',
  'or set NATS_URL to a NATS server that has JetStream enabled',
]

/** The program's path: from the PATH, from the cache, or freshly obtained into the cache. */
export async function natsProgram(options: NatsProgramOptions): Promise<string> {
  const { log, systemFolders } = options
  const found = await foundNatsProgram(options)
  if (found) return found
  const cacheDir = options.cacheDir ?? cacheFolder(options.fallbackDir)
  const cached = path.join(cacheDir, 'nats-server')
  const release = options.release ?? releases[`${process.platform}-${process.arch}`]
  const failures: string[] = []
  for (const [source, obtain] of [
    ['the official release', (dir: string) => fromRelease(release, dir)],
    [
      'the system package',
      (dir: string) => programFromPackage('nats-server', 'nats-server', dir, systemFolders),
    ],
  ] as const) {
    const work = fs.mkdtempSync(path.join(cacheDir, 'obtain-'))
    try {
      log(`nats-server is not installed: trying ${source}`)
      const program = await obtain(work)
      if (!(await serves(program)))
        throw new Error(`it does not run, or is older than ${minVersions.local}`)
      fs.renameSync(program, cached)
      return cached
    } catch (error) {
      failures.push(`${source}: ${reasonOf(error)}`)
    } finally {
      fs.rmSync(work, { recursive: true, force: true })
    }
  }
  throw new LaunchError(
    ['nats-server is not installed and could not be obtained. Install it:', ...natsInstallLines]
      .concat(failures.map((failure) => `(${failure})`))
      .join('\n  '),
  )
}

/** The program's path when it is on this machine already; nothing is obtained. */
export async function foundNatsProgram(
  options: Pick<NatsProgramOptions, 'fallbackDir' | 'cacheDir' | 'systemFolders'>,
): Promise<string | undefined> {
  const installed = findProgram('nats-server', options.systemFolders)
  if (installed && (await serves(installed))) return installed
  const cached = path.join(options.cacheDir ?? cacheFolder(options.fallbackDir), 'nats-server')
  return fs.existsSync(cached) && (await serves(cached)) ? cached : undefined
}

/** The person's folder of programs that were obtained; below the given one when there is no other. */
export function cacheFolder(fallbackDir: string): string {
  const home = process.env.XDG_CACHE_HOME || (process.env.HOME && `${process.env.HOME}/.cache`)
  const folders = home ? [path.join(home, 'payweave')] : []
  for (const folder of [...folders, path.join(fallbackDir, 'program')]) {
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      fs.accessSync(folder, fs.constants.W_OK)
      return folder
    } catch {
      // A home that does not exist or is read-only; the data folder can be written.
    }
  }
  throw new LaunchError(`cannot write to ${fallbackDir}`)
}

async function serves(program: string): Promise<boolean> {
  try {
    const { stdout } = await run(program, ['--version'], { timeout: 5_000 })
    return isAtLeast(/v\d+\.\d+\.\d+/.exec(stdout)?.[0], minVersions.local)
  } catch {
    return false
  }
}

async function fromRelease(release: Release | undefined, work: string): Promise<string> {
  if (!release) throw new Error('none is pinned for this platform')
  const probe = await fetch(release.url, {
    method: 'HEAD',
    signal: AbortSignal.timeout(probeTimeoutMs),
  })
  if (!probe.ok) throw new Error(`the download answers ${probe.status}`)
  const answer = await fetch(release.url, { signal: AbortSignal.timeout(downloadTimeoutMs) })
  if (!answer.ok) throw new Error(`the download answers ${answer.status}`)
  const bytes = Buffer.from(await answer.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (sha256 !== release.sha256) throw new Error(`the download has another SHA-256, ${sha256}`)
  const archive = path.join(work, 'release.tar.gz')
  fs.writeFileSync(archive, bytes)
  await run('tar', ['-xzf', archive, '-C', work, '--strip-components=1'])
  return path.join(work, 'nats-server')
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`.trim().split('\n').slice(-2).join(' ')
}
