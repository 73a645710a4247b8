// Makes dist/ for `npm pack`: the client compiled to JavaScript with declarations, and the generated contracts beside it.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const dist = join(import.meta.dirname, 'dist')
rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync('tsc', ['-p', import.meta.dirname], { stdio: 'inherit' })
if (status !== 0) process.exit(1)
// Reflection is for tools that have no contracts.
cpSync(join(import.meta.dirname, '..', 'gen'), join(dist, 'gen'), {
  recursive: true,
  filter: (source) => !source.endsWith(join('gen', 'grpc')),
})
// The compiler turns .ts into .js in what runs, but not in declarations.
for (const file of globSync(join(dist, 'client', '*.d.ts'))) {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/(['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
}
