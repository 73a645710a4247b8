// Reads the pages of the documentation: their code blocks, what each says of how it is tested, and their inline commands.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export const root = path.resolve(import.meta.dirname, '../..')

/** Blocks in these languages hold commands or programs; each is run, or its page says why not. */
export const programLanguages = new Set(
  'sh bash shell console fish js javascript mjs ts typescript python py php sql'.split(' '),
)
/** Blocks in these languages hold data; nothing runs them. */
export const dataLanguages = new Set(['', 'conf', 'json', 'promql', 'yaml'])

/** A fenced block of a page. */
export interface Block {
  /** Page and line, for example `README.md:8`. */
  place: string
  language: string
  code: string
  /** The comment before the fence, for example `not run: it starts a system`; empty without one. */
  note: string
}

/** Every page of the repository; the history of changes is none. */
export function pages(): string[] {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']
  const found = execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n')
  return found.filter((file) => file !== '' && file !== 'CHANGELOG.md').toSorted()
}

/** The text of a page. */
export function readPage(page: string): string {
  return fs.readFileSync(path.join(root, page), 'utf8')
}

/** Whether a page is a guide, which shows each step in several languages. */
export function isGuide(page: string): boolean {
  return page.startsWith('docs/guides/')
}

/** The fenced blocks of a page, in their order. */
export function blocksOf(page: string, text = readPage(page)): Block[] {
  const fence = /^(?: *<!-- ([^\n]*) -->\n\n?)?( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^ *\3$/gms
  return [...text.matchAll(fence)].map((match) => {
    const [, note = '', indent = '', , language = '', code = ''] = match
    return {
      place: `${page}:${lineOf(text, match.index) + (note === '' ? 0 : 1)}`,
      language: language.trim(),
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      note,
    }
  })
}

/** Commands of our own tools that a page names in its text: `npx payweave ledger check`. */
export function inlineCommands(page: string): { place: string; command: string }[] {
  const text = readPage(page).replaceAll(/^( *)```.*?^ *```$/gms, (block) =>
    block.replaceAll(/[^\n]/g, ' '),
  )
  const found = text.matchAll(
    /`((?:[A-Z_]+=\S+ )*(?:(?:npx )?payweave|npx vitest|npm run|kubectl) [^`]*)`/g,
  )
  return [...found].map((match) => ({
    place: `${page}:${lineOf(text, match.index)}`,
    command: (match[1] ?? '')
      .replace(/^payweave /, 'npx payweave ')
      .replaceAll(/<[a-z ]+>/g, 'x')
      .replace(/ \| .*/s, ''),
  }))
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
