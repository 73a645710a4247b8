#!/usr/bin/env node
// `npx payweave`: runs the command line with a Node.js that can. Plain JavaScript, so that any version can read it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const oldestMajor = 24
const bundled = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  // Most of a short command's time is the compiling of what it imports.
  module.enableCompileCache()
  const { runCommandLine } = await import('./main.ts')
  process.exitCode = await runCommandLine(process.argv.slice(2))
} else if (existsSync(bundled)) {
  // Ctrl-C reaches the child too, and it ends by itself.
  process.on('SIGINT', () => {})
  const { status } = spawnSync(
    bundled,
    [fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    {
      stdio: 'inherit',
    },
  )
  process.exitCode = status ?? 1
} else {
  process.stderr.write(
    `payweave needs Node.js ${oldestMajor} or newer; this is ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
