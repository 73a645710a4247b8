// Finds PHP with the extensions that its examples need. No test logic here.
import { spawnSync } from 'node:child_process'
import { findSystemProgram } from './system-program.ts'

const needed = "exit(extension_loaded('openssl') && PHP_VERSION_ID >= 80000 ? 0 : 1);"

/** PHP 8 with `openssl`. */
export const php = await findSystemProgram({
  name: 'PHP',
  files: ['php'],
  packages: ['php-cli'],
  isEnough: (path) => spawnSync(path, ['-r', needed]).status === 0,
})
