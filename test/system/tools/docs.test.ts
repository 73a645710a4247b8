// Runs every command block of the documentation against the shared system, page by page, as a reader would paste them.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Block,
  blocksOf,
  dataLanguages,
  inlineCommands,
  isGuide,
  pages,
  programLanguages,
  readPage,
  root,
} from '../../docs/pages.ts'
import { type Outcome, runSteps } from '../../docs/session.ts'
import { runHere } from '../../support/command-line.ts'
import { sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const all = pages()
const blocks = all.flatMap((page) => blocksOf(page))
const programs = blocks.filter(({ language }) => programLanguages.has(language))

const checkedLanguages = new Set(['sh', 'sql'])

/** How a block is tested (those of guides: guides.test.ts runs all of them); undefined: its page does not say so in a form that is known. */
function testOf({
  place,
  language,
  note,
}: Block): 'run' | 'checked' | 'elsewhere' | 'guide' | undefined {
  if (isGuide(place)) return 'guide'
  if (/^not run: \S.{9}/.test(note)) return checkedLanguages.has(language) ? 'checked' : undefined
  if (/^run by test\/\S+\.test\.ts$/.test(note)) return 'elsewhere'
  return note === '' && ['sh', 'js'].includes(language) ? 'run' : undefined
}

/** The arguments of commands that were not run, refused by the command line itself. */
async function refusedArguments({ commands }: Outcome): Promise<string[]> {
  const refused: string[] = []
  for (const words of commands) {
    const { code, err } = await runHere(mesh.dataDir, ...words, '--help')
    if (code !== 0) refused.push(`${words.join(' ')}: ${err.split('\n')[0]}`)
  }
  return refused
}

describe('a block of a page', () => {
  it('a block of a page is data, or is run, checked or run by another test', () => {
    const unknown = blocks.filter(
      ({ language }) => !programLanguages.has(language) && !dataLanguages.has(language),
    )
    const untested = programs.filter((block) => testOf(block) === undefined)
    expect([...unknown, ...untested].map(({ place, language }) => [place, language])).toEqual([])
  })

  it('a block without a language has no command', () => {
    const pasted = /^\s*(\$ |npx |npm |kubectl |curl |docker |\. \.payweave)/m
    const hidden = blocks.filter(({ language, code }) => language === '' && pasted.test(code))
    expect(hidden.map(({ place }) => place)).toEqual([])
  })

  it('a block that another test runs is read by that test', () => {
    for (const block of programs.filter((one) => testOf(one) === 'elsewhere')) {
      const test = block.note.replace('run by ', '')
      const page = path.basename(block.place).replace(/\.md:\d+$/, '')
      const source = fs.readFileSync(path.join(root, test), 'utf8')
      expect(source, block.place).toContain(page)
    }
  })

  it('a block that is not run names no missing test', () => {
    const named = programs.flatMap(({ note }) => note.match(/test\/\S+\.test\.ts/g) ?? [])
    expect(named.filter((test) => !fs.existsSync(path.join(root, test)))).toEqual([])
  })
})

describe('the commands of a page', { concurrent: true, timeout: 150_000 }, () => {
  const tested = all
    .map((page) => ({
      page,
      steps: programs
        .filter(({ place, language }) => place.startsWith(`${page}:`) && language !== 'sql')
        .filter((block) => ['run', 'checked'].includes(testOf(block) ?? ''))
        .map((block) => ({ ...block, isRun: testOf(block) === 'run' })),
    }))
    .filter(({ steps }) => steps.length > 0)

  it.for(tested)('the commands of the page $page work', async ({ steps }, { expect }) => {
    const outcome = await runSteps(mesh, steps)
    expect(outcome.failure).toBe('')
    expect(await refusedArguments(outcome)).toEqual([])
  })

  it('commands in the text of a page have arguments that exist', async ({ expect }) => {
    const inline = all.flatMap((page) => inlineCommands(page))
    expect(inline.length).toBeGreaterThan(20)
    const steps = inline.map(({ place, command }) => ({
      place,
      language: 'sh',
      code: command,
      isRun: false,
    }))
    const outcome = await runSteps(mesh, steps)
    expect(outcome.failure).toBe('')
    expect(await refusedArguments(outcome)).toEqual([])
  })
})

it('SQL that is not run parses', async () => {
  const statements = programs.filter(
    (block) => block.language === 'sql' && testOf(block) === 'checked',
  )
  expect(statements.length).toBeGreaterThan(0)
  for (const { code, place } of statements) {
    // The server parses a branch that it never takes.
    const parsed = mesh.rows(`do $parse$ begin if false then ${code} end if; end $parse$`)
    await expect(parsed, place).resolves.toEqual([])
  }
})

it('the log messages that runbooks name are logged', () => {
  const source = sources().join('\n')
  const named = all
    .filter((page) => page.startsWith('docs/runbooks/'))
    .flatMap((page) => readPage(page).split('\n'))
    .filter((line) => /\blogs?\b/.test(line))
    .flatMap((line) => [...line.matchAll(/`([a-z]+(?: [a-z]+)*)`/g)].map(([, text = '']) => text))
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((text) => !source.includes(`'${text}'`))).toEqual([])
})

function sources(): string[] {
  return ['gateway', 'services', 'connectors', 'platform', 'clients', 'deploy']
    .flatMap((folder) => fs.globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => fs.readFileSync(path.join(root, file), 'utf8'))
}
