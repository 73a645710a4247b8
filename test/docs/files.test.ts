// Every file that a page names is there: by its path from the page's folder or from the root of the repository.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { pages, readPage, root } from './pages.ts'

/** Patterns of file names, and files that every service has. */
const elsewhere = new Set([
  'NNNN-name.contract.sql',
  'NNNN-name.concurrent.sql',
  'main.ts',
  'engine.ts',
])

it.each(pages())('the page %s names files that exist', (page) => {
  const named = [...readPage(page).matchAll(/`([\w./-]+\.(?:ts|mjs|cjs|sql))`/g)]
  const missing = named
    .map(([, name = '']) => name)
    .filter((name) => !elsewhere.has(name))
    .filter((name) =>
      [path.dirname(page), '.'].every((from) => !fs.existsSync(path.join(root, from, name))),
    )
  expect(missing).toEqual([])
})
