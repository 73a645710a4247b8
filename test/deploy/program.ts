// Finds a program that judges manifests: on the PATH, or in a package of Debian.
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'vitest'
import { cacheFolder } from '../../deploy/local/nats/program.ts'
import { programFromPackage } from '../../deploy/local/preflight/system-package.ts'
import { findProgram } from '../../deploy/local/process/tied-process.ts'

/** From the PATH, from the cache, or out of Debian’s package; elsewhere the test says why it does not run. */
export async function programOrSkip(
  context: TestContext,
  program: string,
  packageName: string,
): Promise<string | undefined> {
  const installed = findProgram(program)
  if (installed !== undefined) return installed
  const cache = cacheFolder(tmpdir())
  const cached = path.join(cache, program)
  if (fs.existsSync(cached)) return cached
  const work = fs.mkdtempSync(path.join(cache, 'obtain-'))
  try {
    fs.renameSync(await programFromPackage(packageName, program, work), cached)
    return cached
  } catch (error) {
    if (process.env['CI']) throw error
    context.skip(`${program} is not installed and could not be obtained: ${String(error)}`)
    return undefined
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}
