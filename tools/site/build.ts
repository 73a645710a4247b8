// Builds the documentation site: every file of docs/site by its name. It writes nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eleventy } from '@11ty/eleventy'
import { createMarkdown, type PageData } from './markdown.ts'
import { homePage, homeSlug, otherAddresses, type Page, siteSections } from './pages.ts'
import { searchLines } from './search.ts'

const root = join(import.meta.dirname, '..', '..')

type Text = { page: Page; section: string; markdown: string; title: string }

function textOf(page: Page, section: string): Text {
  const markdown =
    'markdown' in page ? page.markdown : readFileSync(join(root, page.source), 'utf8')
  const title = /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '')
  if (title === undefined) throw new Error(`${page.slug} has no title`)
  return { page, section, markdown, title }
}

/** Where the links of a page start from; generated pages stand for pages of docs/. */
function sourceOf(page: Page): string {
  return 'source' in page ? page.source : 'docs/reference.md'
}

function addresses(texts: Text[]): Map<string, string> {
  const pages = texts.flatMap(({ page }) =>
    'source' in page && page.slug !== homeSlug ? [[page.source, page.slug] as const] : [],
  )
  return new Map([...pages, ...Object.entries(otherAddresses)])
}

/** What a page is rendered with. */
function dataOf(text: Text, all: Text[]) {
  const { page, title, section } = text
  const isHome = page.slug === homeSlug
  const base = isHome ? 'docs/' : ''
  const data: PageData = { source: sourceOf(page), base }
  const order = all.filter((other) => other.page.slug !== homeSlug)
  const index = order.indexOf(text)
  const link = (other: Text | undefined) =>
    other && { title: other.page.label ?? other.title, address: `${base}${other.page.slug}` }
  const sections = [...new Set(order.map((other) => other.section))].map((name) => ({
    title: name,
    isOpen: isHome || name === section,
    pages: order
      .filter((other) => other.section === name)
      .map((other) => ({ ...link(other), isCurrent: other === text })),
  }))
  return {
    ...data,
    title,
    sections,
    home: isHome ? 'docs' : '../docs',
    before: isHome ? undefined : link(order[index - 1]),
    next: link(order[index + 1]),
    layout: 'page.njk',
    permalink: `${page.slug}.html`,
    templateEngineOverride: 'md',
  }
}

function own(name: string): string {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
}

/** The headings of the second level, for the list beside the page. */
function contentsOf(html: string): { id: string; title: string }[] {
  return [...html.matchAll(/<h2 id="([^"]+)">(.*?)<\/h2>/g)].map(([, id = '', inner = '']) => ({
    id,
    title: inner.replaceAll(/<[^>]+>/g, ''),
  }))
}

/**
 * The files of the site: pages, what is searched, style and script. Rejects if a page has no title or links to a file that does
 * not exist.
 */
export async function buildSite(): Promise<Map<string, string>> {
  const texts = [
    textOf(homePage, ''),
    ...siteSections().flatMap(({ title, pages }) => pages.map((page) => textOf(page, title))),
  ]
  const eleventy = new Eleventy(import.meta.dirname, 'docs/site', {
    quietMode: true,
    configPath: '',
    config(config) {
      config.setUseGitIgnore(false)
      config.setTemplateFormats(['md'])
      config.setLibrary('md', createMarkdown(addresses(texts)))
      config.addFilter('contents', contentsOf)
      for (const text of texts) {
        config.addTemplate(`${text.page.slug}.md`, text.markdown, dataOf(text, texts))
      }
    },
  })
  const built = await eleventy.toJSON()
  const pages = built
    .map(({ url, content }) => [url.replace(/\/$/, '/index.html').slice(1), content] as const)
    .toSorted(([one], [other]) => one.localeCompare(other))
  return new Map([
    ...pages,
    ['search.json', searchLines(pages)],
    ['site.css', own('site.css')],
    ['site.js', own('site.js')],
  ])
}
