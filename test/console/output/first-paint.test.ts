// Tests what every page is made of: nothing but its one style sheet delays its first paint, and it names the RPCs that it has read.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assets } from '../../../console/pages/render.ts'
import { listActivity } from '../../../console/store/activity-store.ts'
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

it('a page names every RPC that it has read', async () => {
  const browser = await harness.signedIn('ama')
  const person = harness.personOf('ama')
  const known = new Set<string>()
  const newest = async () => {
    const rows = await listActivity(harness.db, { person, projectId: '', before: '', limit: 100 })
    return rows.filter(({ activityId }) => !known.has(activityId))
  }
  for (const { activityId } of await newest()) known.add(activityId)
  let named = 0
  for (const page of pagesOf(harness.peers).filter((one) => !/nowhere|search/.test(one))) {
    const { text } = await browser.get(page)
    const read = await newest()
    const missing = read
      .map(({ rpc }) => rpc)
      .filter((rpc) => !text.includes(`<code>${rpc}</code>`))
    expect([page, missing]).toEqual([page, []])
    for (const { activityId } of read) known.add(activityId)
    named += read.length
  }
  expect(named).toBeGreaterThan(100)
  const projects = (await browser.get('/')).text
  expect(projects).toContain('<code>payweave.accounts.v1.AccessService/ListProjects</code>')
  const inbox = (await browser.get('/inbox')).text
  expect(inbox).toContain('$GRPC_ACCOUNTS/payweave.accounts.v1.OnboardingService/ListOnboardings')
})
