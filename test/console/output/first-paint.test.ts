// Tests that nothing but its one style sheet delays the first paint of a page, by what the page and its files are made of.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assets } from '../../../console/pages/render.ts'
import { pagesOf } from '../every-page.ts'
import { type Harness, startHarness } from '../harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.close())

/** A page and its style sheet, uncompressed, fit into a few round trips of a new connection. */
const maxHtmlBytes = 36 * 1024
const maxStyleBytes = 16 * 1024

it('a page waits for one style sheet alone before it is painted, and is small', async () => {
  const browser = await harness.signedIn('ama')
  for (const page of pagesOf(harness.peers)) {
    const { text } = await browser.get(page)
    const [head = '', body = ''] = text.split('</head>')
    const links = [...text.matchAll(/<link\b[^>]*>/g)].map(([tag]) => tag)
    expect([page, links.length, head.includes(links[0] ?? '?')]).toEqual([page, 1, true])
    expect(links[0]).toContain(`rel="stylesheet"`)
    expect(links[0]).toContain(`href="${assets.style.path}"`)
    const scripts = [...text.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag)
    // A script without an address would stop the parser, and one without `defer` would too.
    expect([page, scripts.filter((tag) => !/ src="[^"]+"[^>]* defer/.test(tag))]).toEqual([
      page,
      [],
    ])
    expect(text).not.toMatch(/<style\b|@import|http-equiv="refresh"/)
    const images = [...body.matchAll(/<(?:img|iframe)\b[^>]*>/g)].map(([tag]) => tag)
    expect([page, images.filter((tag) => / src="https?:/.test(tag))]).toEqual([page, []])
    expect([page, Buffer.byteLength(text) < maxHtmlBytes]).toEqual([page, true])
  }
})

it('the style sheet loads nothing more, and is small', () => {
  const { content } = assets.style
  expect(content).not.toMatch(/@import|@font-face|url\(/)
  expect(Buffer.byteLength(content)).toBeLessThan(maxStyleBytes)
})

it('the files of a page are kept by browsers, so that the next page needs none', async () => {
  for (const { path } of Object.values(assets)) {
    const { headers } = await harness.browse().get(path)
    expect(headers.get('cache-control')).toContain('immutable')
  }
})
