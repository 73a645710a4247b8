// Finds a Python that the SDK supports, with what its tests need. No test logic here.
import { spawnSync } from 'node:child_process'
import { findSystemProgram } from './system-program.ts'

const needed =
  'import sys, cryptography, ensurepip, setuptools, venv, wheel; sys.version_info >= (3, 10) or sys.exit(1)'

/** Python 3.10 or newer that makes environments and packages, and has `cryptography`. */
export const python = await findSystemProgram({
  name: 'Python',
  files: ['python3'],
  packages: ['python3-venv', 'python3-setuptools', 'python3-wheel', 'python3-cryptography'],
  isEnough: (path) => spawnSync(path, ['-W', 'ignore', '-c', needed]).status === 0,
})
