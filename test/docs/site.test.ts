// Keeps docs/site equal to what the site is built from: `npm run site` writes it.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { buildSite } from '../../tools/site/build.ts'
import { root } from './pages.ts'

const folder = path.join(root, 'docs/site')
const hint = 'docs/site is not current, run "npm run site"'

it('the documentation site is built from the pages as they are', async () => {
  const files = await buildSite()
  expect(fs.readdirSync(folder).toSorted(), hint).toEqual([...files.keys()].toSorted())
  const stale = [...files].filter(([name, content]) => read(name) !== content)
  expect(
    stale.map(([name]) => name),
    hint,
  ).toEqual([])
})

function read(name: string): string {
  return fs.readFileSync(path.join(folder, name), 'utf8')
}
