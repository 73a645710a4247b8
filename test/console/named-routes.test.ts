// Tests that pages name routes of the gateway alone, so that what they advise can be done.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { routeRows } from '../../gateway/http/app.ts'

const root = join(import.meta.dirname, '../../console')
const served = new Set(routeRows.map(({ method, path }) => `${method} ${path}`))

it('every route that a page of the console names is a route of the gateway', () => {
  const named = globSync('**/*.{ts,eta,js}', { cwd: root }).flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8')
    return [...code.matchAll(/\b(?:GET|POST) \/[\w/]+/g)].map(([route]) => ({ file, route }))
  })
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(({ route }) => !served.has(route))).toEqual([])
})
