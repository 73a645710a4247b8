// Makes small Debian systems in the cache folder for tests that need whole servers; this machine stays as it is.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../deploy/local/nats/program.ts'
import { programFromPackage } from '../../deploy/local/preflight/system-package.ts'
import { findProgram } from '../../deploy/local/process/tied-process.ts'

const run = promisify(execFile)
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'
const obtainWithinMs = 900_000

/** What to make. */
export type DebianSystem = {
  /** Names its folder; a change of what is in it needs a new name. */
  name: string
  release: string
  /** Further releases, from which single packages may come as `package/release`. */
  others?: string[]
  /** `extract`: programs alone, none is configured, so that no server starts. `minbase`: a system that packages can be installed in. */
  variant: 'extract' | 'minbase'
  packages: string[]
  /** Files below `/etc` that the scripts of packages would write. */
  configuration?: Record<string, string>
  /** Empty folders, to mount something on. */
  folders?: string[]
}

/** The root folder of a system, from the cache or made there by mmdebstrap, whose package is unpacked and not installed. */
export async function debianSystem(
  { name, release, others = [], variant, packages, configuration = {}, folders = [] }: DebianSystem,
  note: (line: string) => void,
): Promise<string> {
  const cache = cacheFolder('/var/cache/payweave')
  const root = path.join(cache, name)
  if (fs.existsSync(path.join(root, 'complete'))) return root
  note(`obtaining ${packages.join(', ') || 'the base'} of Debian ${release} into ${root}`)
  const work = fs.mkdtempSync(path.join(cache, 'obtain-'))
  try {
    const program =
      findProgram('mmdebstrap') ?? (await programFromPackage('mmdebstrap', 'mmdebstrap', work))
    const made = path.join(work, 'root')
    const options = [
      '--mode=root',
      `--variant=${variant}`,
      ...(packages.length > 0 ? [`--include=${packages.join(',')}`] : []),
      `--keyring=${keyring}`,
      `--aptopt=APT::Default-Release "${release}"`,
      // A mirror may be a snapshot of some day; the signature is verified all the same.
      '--aptopt=Acquire::Check-Valid-Until "false"',
    ]
    const mirror = await mirrorOfMachine()
    const sources = [release, ...others].map((suite) => `deb ${mirror} ${suite} main`)
    await run(program, [...options, release, made, ...sources], {
      timeout: obtainWithinMs,
      maxBuffer: 2 ** 26,
    })
    if (variant === 'extract') complete(made, configuration)
    for (const folder of folders) fs.mkdirSync(path.join(made, folder), { recursive: true })
    fs.writeFileSync(path.join(made, 'complete'), '')
    fs.rmSync(root, { recursive: true, force: true })
    fs.renameSync(made, root)
    return root
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}

/** Where this machine takes its packages from, without those that are security updates alone. Rejects where there is none. */
async function mirrorOfMachine(): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)'])
  const mirror = stdout.split('\n').find((uri) => uri !== '' && !uri.includes('security'))
  if (mirror === undefined)
    throw new Error('apt knows no mirror of Debian: fill /etc/apt/sources.list')
  return mirror
}

/** What the scripts of packages would have done. */
function complete(root: string, configuration: Record<string, string>): void {
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    fs.symlinkSync(`usr/${folder}`, path.join(root, folder))
  }
  for (const folder of ['proc', 'sys', 'dev', 'tmp', 'run', 'root']) {
    fs.mkdirSync(path.join(root, folder), { recursive: true })
  }
  fs.chmodSync(path.join(root, 'tmp'), 0o1777)
  for (const [file, text] of Object.entries(configuration)) {
    fs.writeFileSync(path.join(root, 'etc', file), text)
  }
}
