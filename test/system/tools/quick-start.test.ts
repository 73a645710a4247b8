// Runs the programs of docs/integrate/quick-start.md that are not for a shell or Node.js, as a reader would save them.
import { execFile } from 'node:child_process'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { blocksOf, root } from '../../docs/pages.ts'
import { php } from '../../support/php.ts'
import { python } from '../../support/python.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { passedOver } from '../../support/system-program.ts'
import { sharedMesh } from '../harness.ts'

const run = promisify(execFile)
const folder = temporaryFolder('quick-start')
symlinkSync(sharedMesh().dataDir, join(folder, '.payweave'))
afterAll(() => rmSync(folder, { recursive: true }))
const blocks = blocksOf('docs/integrate/quick-start.md')

for (const [language, program] of [
  ['python', python],
  ['php', php],
] as const) {
  it.skipIf(program.missing !== undefined)(
    `the quick start in ${language} works${passedOver(program)}`,
    async () => {
      const programs = blocks.filter((block) => block.language === language)
      expect(programs).toHaveLength(1)
      const file = `first.${language}`
      writeFileSync(join(folder, file), programs.map(({ code }) => code).join(''))
      const path = join(root, 'clients', 'sdk-python')
      const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
      const { stdout, stderr } = await run(program.path ?? '', [file], { cwd: folder, env })
      expect(stderr).toBe('')
      expect(stdout).toMatch(/^created: http\S+\/pay\/\S+\npaid: 25\.00\nRefunded: order-\S+\n$/)
    },
  )
}
