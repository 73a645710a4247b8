// Proves that the contracts are well kept: lint, no breaking change since the last release, and
// generated code and pages that are current. It changes nothing in the tree.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const releasedImage = join('proto', 'released.binpb')

function buf(...args: string[]): void {
  const run = spawnSync('buf', args, { cwd: root, encoding: 'utf8' })
  if (run.status === 0) return
  process.stderr.write(`buf ${args.join(' ')}\n${run.stdout}${run.stderr}${run.error ?? ''}\n`)
  process.exit(1)
}

function filesBelow(folder: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    files.set(relative(folder, path), readFileSync(path, 'utf8'))
  }
  return files
}

function differences(expected: Map<string, string>, actual: Map<string, string>): string[] {
  const names = new Set([...expected.keys(), ...actual.keys()])
  return [...names].filter((name) => expected.get(name) !== actual.get(name)).toSorted()
}

buf('lint', 'proto')
buf('format', '--diff', '--exit-code', 'proto')

const fresh = mkdtempSync(join(tmpdir(), 'payweave-gen-'))
try {
  // One image, as the released one is: the folder has two modules, which buf would compare one by one.
  const image = join(fresh, 'contracts.binpb')
  buf('build', 'proto', '--output', image)
  buf('breaking', image, '--against', releasedImage)
  buf('generate', '--output', fresh)
  for (const folder of ['gen', join('docs', 'rpc')]) {
    const stale = differences(filesBelow(join(fresh, folder)), filesBelow(join(root, folder)))
    if (stale.length === 0) continue
    process.stderr.write(`${folder} is not current, run "npm run generate":\n${stale.join('\n')}\n`)
    process.exitCode = 1
  }
} finally {
  rmSync(fresh, { recursive: true, force: true })
}
