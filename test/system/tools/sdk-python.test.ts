// Uses every call of the Python SDK against the running system, and runs the example of its README.md.
import { execFile } from 'node:child_process'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { blocksOf, root } from '../../docs/pages.ts'
import { python } from '../../support/python.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { passedOver } from '../../support/system-program.ts'
import { sharedMesh } from '../harness.ts'

const { dataDir } = sharedMesh()
const run = promisify(execFile)
const env = {
  ...process.env,
  PAYWEAVE_DATA_DIR: dataDir,
  PYTHONPATH: join(root, 'clients', 'sdk-python'),
  PYTHONDONTWRITEBYTECODE: '1',
}
const folder = temporaryFolder('sdk-python')
afterAll(() => rmSync(folder, { recursive: true }))

describe.skipIf(python.missing !== undefined)(`the Python SDK${passedOver(python)}`, () => {
  const { path = '' } = python

  it('the Python SDK works against the system', { timeout: 150_000 }, async () => {
    const words = ['-W', 'error', '-m', 'unittest', 'system_payweave.py']
    const cwd = join(root, 'test', 'sdk', 'python')
    const { stderr } = await run(path, words, { cwd, env })
    expect(stderr).toMatch(/^Ran 6 tests[^]*\nOK$/m)
  })

  it('the example of the page works', async () => {
    const [{ code } = { code: '' }] = blocksOf('clients/sdk-python/README.md')
    writeFileSync(join(folder, 'example.py'), code)
    symlinkSync(dataDir, join(folder, '.payweave'))
    const { stdout } = await run(path, ['example.py'], { cwd: folder, env })
    expect(stdout).toContain('send the payer to http')
    expect(stdout).toContain('PAYMENT_NOT_CANCELLABLE')
  })
})
