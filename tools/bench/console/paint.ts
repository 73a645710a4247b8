// Measures when Chromium first paints each page of the console, with full lists: from its cache as people see pages, and without one.
import type { BrowserContext } from 'playwright-core'
import { findChromium, launchChromium } from '../../../test/browser/chromium.ts'
import { pages } from '../../../test/console/every-page.ts'
import { ownPostgres } from '../../../test/support/servers.ts'
import { all, quantile, type Times, verdict } from '../load/times.ts'
import { table } from '../report.ts'

const visits = 5
const newVisits = 3
const maxMs = 300
const window = { viewport: { width: 1_440, height: 900 } }
/** Not a page of somebody who is signed in. */
const left: ReadonlySet<string> = new Set(['the end of a session', 'a page that does not exist'])

/** The first contentful paints of a page, in milliseconds from the start of its navigation. */
type Painted = { name: string; kept: Times; fresh: Times }

/** About two minutes. The services behind the pages are those of the tests: what is measured is the console and the browser. */
export async function measurePaint(say: (line: string) => void): Promise<Painted[]> {
  const server = await ownPostgres()
  process.env['TEST_DATABASE_URL'] = server.url
  const { startHarness } = await import('../../../test/console/harness.ts')
  const { usualTexts } = await import('../../../test/console/rows.ts')
  const harness = await startHarness(usualTexts)
  const browser = await launchChromium(await findChromium())
  try {
    harness.peers.pages.areFull = true
    const context = await browser.newContext(window)
    await signIn(context, harness.link)
    const storageState = await context.storageState()
    const found: Painted[] = []
    for (const [name, pathOf] of Object.entries(pages)) {
      if (left.has(name)) continue
      const url = new URL(pathOf(harness.peers), harness.url).href
      const painted: Painted = { name, kept: [], fresh: [] }
      await paintOf(context, url)
      for (let visit = 0; visit < visits; visit += 1) painted.kept.push(await paintOf(context, url))
      for (let visit = 0; visit < newVisits; visit += 1) {
        const other = await browser.newContext({ ...window, storageState })
        painted.fresh.push(await paintOf(other, url))
        await other.close()
      }
      found.push({ name, kept: all([painted.kept]), fresh: all([painted.fresh]) })
      say(`painted ${name}`)
    }
    return found
  } finally {
    await browser.close()
    await harness.close()
    await server.remove()
  }
}

async function signIn(context: BrowserContext, link: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(link)
  await Promise.all([
    page.waitForEvent('load'),
    page.getByRole('link', { name: 'Ama Mensah' }).click(),
  ])
  await page.close()
}

/** When the browser first painted something of a page. */
async function paintOf(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage()
  await page.goto(url)
  const ms = await page.evaluate<number>(`new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const paint = list.getEntriesByName('first-contentful-paint')[0]
      if (paint !== undefined) resolve(paint.startTime)
    }).observe({ type: 'paint', buffered: true })
  })`)
  await page.close()
  return ms
}

/** The result as Markdown. */
export function describePaint(found: Painted[]): string[] {
  const medians = (of: 'kept' | 'fresh') => found.map((one) => quantile(one[of], 0.5))
  const [kept, fresh] = [Math.max(...medians('kept')), Math.max(...medians('fresh'))]
  const shown = (times: Times) => [quantile(times, 0.5), Math.max(...times)].map(whole).join(' / ')
  return [
    `First contentful paint of ${found.length} pages in Chromium, with full lists, ${visits} visits with the browser's cache and ${newVisits} without. The services behind`,
    'the pages answer at once.',
    '',
    `**Slowest median: ${whole(kept)} ms with the cache, ${whole(fresh)} ms without, both < ${maxMs} ms: ${verdict(Math.max(kept, fresh) < maxMs)}.**`,
    '',
    ...table(
      ['page', 'median / slowest ms', 'without the cache'],
      found.map((one) => [one.name, shown(one.kept), shown(one.fresh)]),
    ),
  ]
}

function whole(ms: number): string {
  return ms.toFixed(0)
}
