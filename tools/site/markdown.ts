// Renders the Markdown of the pages: addresses of headings, links between pages, samples in several languages, colours of code.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import createRenderer, { type MarkdownIt, type Token } from 'markdown-it'

type Highlighter = {
  getLanguage(name: string): object | undefined
  highlight(code: string, options: { language: string }): { value: string }
}
// Its types would make those of browsers known to the whole project.
const hljs = createRequire(import.meta.url)('highlight.js/lib/common') as Highlighter

const root = path.join(import.meta.dirname, '..', '..')

/** What the text of a page is rendered with. */
export type PageData = {
  /** The file of the repository that its links start from. */
  source: string
  /** What an address relative to `/docs/` needs before it: `docs/` on the page of `/docs` itself. */
  base: string
}

/** Languages in which a page may show one thing side by side, with the names that readers see. */
const sampleLanguages: Readonly<Record<string, string>> = {
  sh: 'curl',
  ts: 'TypeScript',
  js: 'TypeScript',
  python: 'Python',
  php: 'PHP',
}

/** Whether a page shows the same step in several languages, one after the other. */
function isGuide(source: string): boolean {
  return source.startsWith('docs/guides/')
}

/** A renderer; `addressOf` has the addresses of files that are pages, relative to `/docs/`. */
export function createMarkdown(addressOf: ReadonlyMap<string, string>): MarkdownIt {
  const markdown = new createRenderer({ html: true, highlight })
  markdown.core.ruler.push('site', ({ tokens, env }) => {
    numberHeadings(tokens)
    for (const { children } of tokens) {
      for (const token of children ?? []) rewriteLink(token, env as PageData, addressOf)
      dropUnlinked(children ?? [])
    }
    dropPictures(tokens)
    dropComments(tokens)
    if (isGuide((env as PageData).source)) groupSamples(tokens)
  })
  const { rules } = markdown.renderer
  rules.table_open = () => '<div class="table" tabindex="0"><table>\n'
  rules.table_close = () => '</table></div>\n'
  return markdown
}

function highlight(text: string, language: string): string {
  const known = hljs.getLanguage(language) === undefined ? 'plaintext' : language
  const { value } = hljs.highlight(text, { language: known })
  return `<pre tabindex="0"><code>${value}</code></pre>`
}

/** The anchor of a heading, as GitHub makes it, but error codes keep their capitals. */
export function anchorOf(title: string): string {
  const text = /^[A-Z_]+$/.test(title) ? title : title.toLowerCase()
  return text.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
}

function numberHeadings(tokens: Token[]): void {
  const seen = new Map<string, number>()
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open') continue
    const parts = tokens[index + 1]?.children ?? []
    const title = parts.map(({ content }) => content).join('')
    const anchor = anchorOf(title)
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    token.attrSet('id', count === 0 ? anchor : `${anchor}-${count}`)
  }
}

function rewriteLink(
  token: Token,
  { source, base }: PageData,
  addressOf: ReadonlyMap<string, string>,
) {
  const href = token.attrGet('href')
  if (token.type !== 'link_open' || typeof href !== 'string' || /^(https?:|#)/.test(href)) return
  const [target = '', ...rest] = href.split(/(?=[?#])/)
  const file = path.join(path.dirname(source), decodeURI(target)).replace(/\/$/, '')
  const address = addressOf.get(file)
  if (address !== undefined) token.attrSet('href', path.join(base, address) + rest.join(''))
  else if (path.extname(file) === '' && !existsSync(path.join(root, file))) {
    token.attrSet('href', `${base}${href}`)
  } else if (existsSync(path.join(root, file))) token.type = 'unlinked'
  else throw new Error(`${source}: there is no ${file}`)
}

/** Files of the repository that are no page stay as text. */
function dropUnlinked(children: Token[]): void {
  for (let at = children.length - 1; at >= 0; at -= 1) {
    if (children[at]?.type !== 'unlinked') continue
    const end = children.findIndex(({ type }, index) => index > at && type === 'link_close')
    children.splice(end, 1)
    children.splice(at, 1)
  }
}

/** Pictures of pages are not served: tables of them are left out. */
function dropPictures(tokens: Token[]): void {
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    if (tokens[at]?.type !== 'table_open') continue
    const end = tokens.findIndex(({ type }, index) => index > at && type === 'table_close')
    const cells = tokens.slice(at, end).filter(({ type }) => type === 'inline')
    if (cells.some(({ children }) => children?.some(({ type }) => type === 'image'))) {
      tokens.splice(at, end - at + 1)
    }
  }
}

/** Comments say how a block is tested. */
function dropComments(tokens: Token[]): void {
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    const { type = '', content = '' } = tokens[at] ?? {}
    if (type === 'html_block' && content.startsWith('<!--')) tokens.splice(at, 1)
  }
}

/** Consecutive blocks in different languages become one block with a choice of the language, without a script. */
function groupSamples(tokens: Token[]): void {
  let group: Token[] = []
  let count = 0
  const close = () => {
    if (group.length > 1) {
      count += 1
      wrap(group, count)
    }
    group = []
  }
  for (const token of tokens) {
    const name = token.type === 'fence' ? sampleLanguages[token.info.trim()] : undefined
    if (name === undefined) close()
    else {
      if (group.some(({ info }) => sampleLanguages[info.trim()] === name)) close()
      group.push(token)
    }
  }
  close()
}

function wrap(group: Token[], number: number): void {
  const names = group.map(({ info }) => sampleLanguages[info.trim()] ?? '')
  const choices = names.map((name, index) => {
    const id = `sample-${number}-${name.toLowerCase()}`
    const checked = index === 0 ? ' checked' : ''
    return `<input type="radio" name="sample-${number}" id="${id}" value="${name}"${checked}><label for="${id}">${name}</label>`
  })
  for (const [index, token] of group.entries()) {
    const opening =
      index === 0
        ? `<fieldset class="samples"><legend>Language</legend>\n${choices.join('\n')}\n`
        : ''
    const closing = index === group.length - 1 ? '</fieldset>\n' : ''
    const code = highlight(token.content, token.info.trim())
    token.type = 'html_block'
    token.content = `${opening}<div class="sample" data-language="${names[index]}">${code}</div>\n${closing}`
  }
}
