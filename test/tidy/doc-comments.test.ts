// Checks that exported functions of the shared folders have doc comments, and that those which throw name an error.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const inScope =
  /^(?:core|platform|clients)\/|^(?:services|connectors)\/.*\/api\/|^connectors\/simulator\/http\//
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && inScope.test(path))

/** A function with its doc comment (empty when it has none) and the lines of its body, if it has one here. */
type Found = { place: string; name: string; doc: string; body: string }

// Read line by line rather than parsed: the formatter puts every declaration and member on a line of its own.
const exportedFunction =
  /^export (?:async )?function\*? (\w+)|^export const (\w+)[^=]*= (?:async )?(?:\(|<)(?!.*\) as )|^export type (\w+)(?:<.*>)? = \((?!typeof)/
const exportedHolder =
  /^export (?:abstract )?(?:class|interface|type) (\w+).*\{$|^export interface (\w+)(?:<.*>)?$/
const member =
  /^ {2}(?:readonly |override |static |async )*\*?(\w+)\??(?:<[^(]*>)?(?:\(|: (?:<[^(]*>)?\((?:$|.*=>))/

function functionsIn(path: string): Found[] {
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  const found: Found[] = []
  let holder: string | undefined
  for (const [index, line] of lines.entries()) {
    if (/^\}(?! & \{)/.test(line)) holder = undefined
    const ownName = exportedFunction.exec(line)?.slice(1).find(Boolean)
    const memberName = holder === undefined ? undefined : member.exec(line)?.[1]
    holder = exportedHolder.exec(line)?.slice(1).find(Boolean) ?? holder
    const isMember = memberName !== undefined && memberName !== 'constructor'
    const name = ownName ?? (isMember ? `${holder}.${memberName}` : undefined)
    // The comment of the first overload is that of all.
    if (name === undefined || found.at(-1)?.name === name) continue
    const body = ownName === undefined ? '' : bodyAfter(lines, index)
    found.push({
      place: `${path}:${index + 1} ${name}`,
      name,
      doc: docBefore(lines, index),
      body,
    })
  }
  return found
}

function docBefore(lines: readonly string[], index: number): string {
  if (lines[index - 1]?.trimEnd().endsWith('*/') !== true) return ''
  const from = lines.findLastIndex((line, at) => at < index && line.trimStart().startsWith('/**'))
  return lines.slice(from, index).join('\n')
}

function bodyAfter(lines: readonly string[], index: number): string {
  const end = lines.findIndex(
    (line, at) => at > index && /^[})]/.test(line) && !/^\).*\{$/.test(line),
  )
  return lines.slice(index, end).join('\n')
}

const functions = files.flatMap(functionsIn)
const namesError =
  /[Tt]hrow|[Rr]eject|[Rr]efuse|[Ff]ails with|exits? |\b[A-Z]\w+Error\b|\b[A-Z]+_[A-Z_]+\b|\bFailure\b/

it('every exported function of the shared folders has a doc comment', () => {
  expect(functions.length).toBeGreaterThan(600)
  expect(functions.filter(({ doc }) => doc === '').map(({ place }) => place)).toEqual([])
})

it('the comment of an exported function that throws names an error', () => {
  const throwing = functions.filter(({ body }) => /\bthrow\b/.test(body))
  expect(throwing.length).toBeGreaterThan(50)
  expect(throwing.filter(({ doc }) => !namesError.test(doc)).map(({ place }) => place)).toEqual([])
})
