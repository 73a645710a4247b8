// Finds a program of this machine that tests need, and installs Debian's where it may. No test logic here.
import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** Where a program is, or why there is none. */
export type SystemProgram = { path: string; missing?: never } | { path?: never; missing: string }

/** What is needed. */
export type Wanted = {
  /** Its name for people, for example `Chromium`. */
  name: string
  /** Names of the file, the best one first. */
  files: string[]
  /** Packages of Debian that have it, and what it needs. */
  packages: string[]
  /** Whether a program that was found is good enough. */
  isEnough?: (path: string) => boolean
  /** With CI or PAYWEAVE_REQUIRE_BROWSER set, tests fail without it. */
  isRequired?: true
}

const run = promisify(execFile)
const installWithinMs = 8 * 60_000

/**
 * Finds a program, and installs it when this is root on Debian. Where it is not to be had the tests say so and are
 * passed over, unless it is required.
 */
export async function findSystemProgram(wanted: Wanted): Promise<SystemProgram> {
  const found = onPath(wanted) ?? (await installed(wanted))
  if (typeof found === 'string') return { path: found }
  const { CI = '', PAYWEAVE_REQUIRE_BROWSER: browser = '' } = process.env
  const isRequired = wanted.isRequired === true && (CI !== '' || browser !== '')
  if (isRequired) throw new Error(`${wanted.name}: ${found.missing}`)
  return found
}

/** What the title of a group of tests says when it is passed over, and why. */
export function passedOver({ missing }: SystemProgram): string {
  return missing === undefined ? '' : ` [passed over: ${missing}]`
}

function onPath({ files, isEnough = () => true }: Wanted): string | undefined {
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(delimiter)]
  return folders
    .flatMap((folder) => files.map((file) => join(folder, file)))
    .filter(isExecutable)
    .find(isEnough)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function installed(wanted: Wanted): Promise<string | { missing: string }> {
  const install = `apt-get install -y --no-install-recommends ${wanted.packages.join(' ')}`
  const none = `there is no ${wanted.name} here`
  if (!isDebian()) return { missing: `${none}: install it` }
  if (process.getuid?.() !== 0) return { missing: `${none}: sudo ${install}` }
  // Several test files may want it at once. The lists of packages are fetched only where they are missing or old.
  const lock = join(tmpdir(), 'payweave-install.lock')
  const script = `${install} || { apt-get update && ${install}; }`
  try {
    await run('flock', [lock, 'sh', '-c', script], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: installWithinMs,
      maxBuffer: 64 * 1024 * 1024,
    })
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    return { missing: `"${install}" failed: ${stderr.trim().split('\n').at(-1) ?? message}` }
  }
  return onPath(wanted) ?? { missing: `"${install}" installed no ${wanted.name}` }
}

function isDebian(): boolean {
  try {
    return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
  } catch {
    return false
  }
}
