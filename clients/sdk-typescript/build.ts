// Makes dist/ for `npm pack`: the SDK as ES modules and as CommonJS, each with declarations.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const dist = join(import.meta.dirname, 'dist')

rmSync(dist, { recursive: true, force: true })
for (const config of ['tsconfig.json', 'tsconfig.cjs.json']) {
  const words = ['-p', join(import.meta.dirname, config)]
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), words, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
writeFileSync(join(dist, 'cjs', 'package.json'), '{ "type": "commonjs" }\n')
// The compiler rewrites imports of .ts to .js in code, but not in declarations.
for (const file of globSync(join(dist, '**', '*.d.ts'))) {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/(['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
}
