// Writes the documentation site to docs/site: `npm run site`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSite } from './build.ts'

const folder = join(import.meta.dirname, '..', '..', 'docs', 'site')
const files = await buildSite()
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const [name, content] of files) writeFileSync(join(folder, name), content)
