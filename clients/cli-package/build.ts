// Makes dist/ for `npm pack`: the command line with all that it imports, so that the package needs no other one.
import { join } from 'node:path'
import { build } from 'rolldown'

await build({
  input: join(import.meta.dirname, 'payweave.ts'),
  platform: 'node',
  output: {
    dir: join(import.meta.dirname, 'dist'),
    format: 'esm',
    cleanDir: true,
    banner: '#!/usr/bin/env node',
  },
})
