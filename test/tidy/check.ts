// Runs all checks of package.json side by side, each with its output kept together. No check-specific code here.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
const checks = Object.keys(scripts).filter((name) => name.startsWith('check:'))

/** Runs one to its end and prints its output; returns whether it found nothing. */
async function passes(name: string): Promise<boolean> {
  const child = spawn('npm', ['run', '--silent', name], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => said.push(bytes))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  process.stdout.write(`${name}: ${code === 0 ? 'passed' : 'FAILED'}\n`)
  process.stdout.write(Buffer.concat(said))
  return code === 0
}

const passed = await Promise.all(checks.map(passes))
if (!passed.every(Boolean)) process.exitCode = 1
