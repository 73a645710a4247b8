// Finds the Chromium of this machine, installs Debian's where it may, and starts it. No test logic here.
import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

/** Where Chromium is, or why there is none. */
export type Chromium = { path: string; missing?: never } | { path?: never; missing: string }

const run = promisify(execFile)
const names = ['chromium', 'chromium-browser', 'google-chrome']
const installWithinMs = 8 * 60_000
const install = 'apt-get install -y --no-install-recommends chromium'

/**
 * Finds Chromium, and installs it when this is root on Debian. Where it is not to be had the tests say so and are
 * passed over; with CI or PAYWEAVE_REQUIRE_BROWSER set that is a failure.
 */
export async function findChromium(): Promise<Chromium> {
  const found = onPath() ?? (await installed())
  if (typeof found === 'string') return { path: found }
  const { CI = '', PAYWEAVE_REQUIRE_BROWSER: required = '' } = process.env
  if (CI !== '' || required !== '') throw new Error(`The pages are not tested: ${found.missing}`)
  return found
}

/** What the title of a group of tests says when it is passed over, and why. */
export function passedOver({ missing }: Chromium): string {
  return missing === undefined ? '' : ` [passed over: ${missing}]`
}

/** Starts the browser in a folder of its own, without anything that calls home. */
export function launchChromium({ path, missing }: Chromium): Promise<Browser> {
  if (path === undefined) throw new Error(missing)
  return chromium.launch({
    executablePath: path,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Letters without hints and coloured edges: screenshots of two machines differ less, and are small.
      '--font-render-hinting=none',
      '--disable-lcd-text',
    ],
    // Chromium refuses to start as root with its sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
  })
}

function onPath(): string | undefined {
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(delimiter)]
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function installed(): Promise<string | { missing: string }> {
  if (!isDebian()) return { missing: 'there is no Chromium here: install it' }
  if (process.getuid?.() !== 0) return { missing: `there is no Chromium here: sudo ${install}` }
  // Several test files may want it at once. The lists of packages are fetched only where they are missing or old.
  const lock = join(tmpdir(), 'payweave-chromium.lock')
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
  return onPath() ?? { missing: `"${install}" installed no Chromium` }
}

function isDebian(): boolean {
  try {
    return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
  } catch {
    return false
  }
}
