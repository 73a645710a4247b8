// Holds how packages are installed: no program of a package runs, npm prints no warnings, and the lockfile names no registry.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const { allowScripts = {} } = JSON.parse(read('package.json')) as {
  allowScripts?: Record<string, boolean>
}
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { hasInstallScript?: boolean; resolved?: string }>
}

it('npm runs no install script and prints errors alone', () => {
  const settings = read('.npmrc')
    .split('\n')
    .filter((line) => line !== '' && !/^[;#]/.test(line))
  expect(settings).toEqual(
    expect.arrayContaining([
      'ignore-scripts=true',
      'loglevel=error',
      'omit-lockfile-registry-resolved=true',
    ]),
  )
})

it('every package with an install script is refused by name, and no other package is listed', () => {
  const scripted = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([place]) => place.replace(/^.*node_modules\//, ''))
  const refused = Object.keys(allowScripts).filter((name) => allowScripts[name] === false)
  expect(refused.toSorted()).toEqual([...new Set(scripted)].toSorted())
  expect(Object.keys(allowScripts)).toHaveLength(refused.length)
})

it('the lockfile names no registry', () => {
  const named = Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)
  expect(named.map(([place]) => place)).toEqual([])
})
