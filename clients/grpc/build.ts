// Makes dist/ for `npm pack`: the client compiled to JavaScript with declarations, and the generated contracts beside
// it.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const dist = join(import.meta.dirname, 'dist')

function run(command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

rmSync(dist, { recursive: true, force: true })
run('tsc', '-p', 'clients/grpc')
run('buf', 'generate', '--template', join('clients', 'grpc', 'buf.gen.yaml'))
// The compiler rewrites imports of .ts to .js in code, but not in declarations.
for (const file of globSync(join(dist, 'clients', 'grpc', '*.d.ts'))) {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/(['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
}
