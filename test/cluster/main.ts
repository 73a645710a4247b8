// Runs the cluster tests: `npm run test:cluster -- --fault switchover`. Needs root on Debian; docs/cluster-tests.md says what it does.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { labPrograms } from './lab/programs.ts'
import { checkOut, thisVersion } from './lab/version.ts'
import { type Options, readOptions, usage } from './options.ts'

/** A network, a file system table and a process table of its own: however the run ends, nothing of it is left. */
const isolated = [
  '--net',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child=KILL',
  '--mount-proc',
  '--propagation=private',
]
/** The first process of the run's process table is a shell, since it has to reap what others leave: Patroni waits for that. */
const init = ['sh', '-c', '"$@"; exit $?', 'sh']

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) {
    process.stderr.write(`${usage}\n`)
    return 2
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    process.stderr.write('The cluster tests make network namespaces: run them as root on Linux.\n')
    return 2
  }
  fs.rmSync(options.folder, { recursive: true, force: true })
  fs.mkdirSync(options.folder, { recursive: true, mode: 0o755 })
  const programs = await labPrograms(note)
  const version = startVersion(options)
  const script = path.join(import.meta.dirname, 'run.ts')
  const settings = JSON.stringify({ ...options, programs, version })
  const words = [...isolated, '--', ...init, process.execPath, script, settings]
  const child = spawn('unshare', words, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void child.kill('SIGKILL'))
  }
  return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

/** The folder of the version that the cluster begins with: an earlier one if the run upgrades it. */
function startVersion({ faults, old, folder }: Options): string {
  if (!faults.includes('upgrade')) return thisVersion
  const earlier = path.join(folder, 'old')
  note(`the cluster begins with version ${checkOut(old, earlier)}`)
  return earlier
}

function note(line: string): void {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main()
