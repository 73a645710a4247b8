// Builds the images of deploy/ with buildah on a base of Debian, for machines that reach no registry of images, and runs them: `npm run test:image`.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { natsProgram } from '../../deploy/local/nats/program.ts'
import { debianSystem } from './debian.ts'

/** A table of mounts of its own: however it ends, none is left. */
const isolated = ['--mount', '--propagation=private']

async function main(): Promise<number> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    process.stderr.write('The image is built and run as root on Linux.\n')
    return 2
  }
  const note = (line: string) => void process.stdout.write(`${line}\n`)
  const tools = await debianSystem(
    {
      name: 'buildah-trixie',
      release: 'trixie',
      variant: 'extract',
      packages: ['buildah', 'netavark', 'dash', 'coreutils'],
      configuration: {
        passwd: 'root:x:0:0::/root:/bin/sh\n',
        group: 'root:x:0:\n',
      },
      folders: ['base', 'node', 'npm', 'source', 'var/tmp', 'var/lib/containers'],
    },
    note,
  )
  const base = await debianSystem(
    { name: 'base-bookworm', release: 'bookworm', variant: 'minbase', packages: [] },
    note,
  )
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-image-'))
  try {
    const natsServer = await natsProgram({ fallbackDir: work, log: note })
    const settings = JSON.stringify({ tools, base, natsServer, work })
    const script = path.join(import.meta.dirname, 'build.ts')
    const words = [...isolated, '--', process.execPath, script, settings]
    const child = spawn('unshare', words, { stdio: 'inherit' })
    return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}

process.exitCode = await main()
