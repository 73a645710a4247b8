// Checks the types of the Python SDK strictly, and that they hold its callers to money as text or decimals.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { python } from '../support/python.ts'
import { temporaryFolder } from '../support/servers.ts'
import { passedOver } from '../support/system-program.ts'

const root = join(import.meta.dirname, '..', '..')
const settings = {
  include: ['payweave', 'typed.py'],
  pythonVersion: '3.10',
  typeCheckingMode: 'strict',
  reportUnnecessaryTypeIgnoreComment: 'error',
  // Types of it come with the checker; at run time it is not needed.
  reportMissingModuleSource: 'none',
}

describe.skipIf(python.missing !== undefined)(`the Python SDK${passedOver(python)}`, () => {
  it('the types of the Python SDK are whole, and hold its callers to them', () => {
    const folder = temporaryFolder('sdk-python-types')
    cpSync(join(root, 'clients/sdk-python/payweave'), join(folder, 'payweave'), { recursive: true })
    cpSync(join(root, 'test/sdk/python/typed.py'), join(folder, 'typed.py'))
    writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify(settings))
    const pyright = join(root, 'node_modules', 'pyright', 'index.js')
    const { status, stdout } = spawnSync(
      process.execPath,
      [pyright, '--pythonpath', python.path ?? ''],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    )
    rmSync(folder, { recursive: true })
    expect(stdout).toBe('0 errors, 0 warnings, 0 informations\n')
    expect(status).toBe(0)
  })
})
