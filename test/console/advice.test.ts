// Tests that what pages advise can be done, and that empty lists which a person can fill or filter advise something.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { routeRows } from '../../gateway/http/app.ts'

const root = join(import.meta.dirname, '../../console')
const files = globSync('**/*.{ts,eta,js}', { cwd: root })
const served = new Set(routeRows.map(({ method, path }) => `${method} ${path}`))

/** What an expression finds in the code of the console, with where it is. */
function found(expression: RegExp): { file: string; text: string }[] {
  return files.flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8')
    return [...code.matchAll(expression)].map(([all, text = all]) => ({ file, text }))
  })
}

it('every route that a page of the console names is a route of the gateway', () => {
  const named = found(/\b(?:GET|POST) \/[\w/]+/g)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(({ text }) => !served.has(text))).toEqual([])
})

it('a list that is empty as yet, or where nothing matches, says what to do', () => {
  const empty = found(/\bempty:[^'`]*['`]([^'`]+)['`]/g)
  expect(empty.length).toBeGreaterThan(40)
  expect(
    empty.filter(({ text }) => /\b(yet|matches|requested|in this time)\.$/.test(text)),
  ).toEqual([])
})
