// Takes the pictures that docs/console.md shows: `npm run screenshots`. The services behind the pages are those of the tests.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium, launchChromium } from '../browser/chromium.ts'
import { shrinkPng } from '../browser/png.ts'
import { follow, visit } from '../browser/visit.ts'
import { ownPostgres } from '../support/servers.ts'

const folder = join(import.meta.dirname, '..', '..', 'docs', 'screenshots')
const server = await ownPostgres()
process.env['TEST_DATABASE_URL'] = server.url
const { startHarness } = await import('./harness.ts')
const { usualTexts } = await import('./rows.ts')
const harness = await startHarness(usualTexts)
const browser = await launchChromium(await findChromium())
const { page } = await visit(browser, { viewport: { width: 1_100, height: 700 } })

/** Of a longer page, its beginning. */
const maxHeight = 1_300

async function take(name: string): Promise<void> {
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 }
  await page.setViewportSize({ width, height: maxHeight })
  const whole = await page.locator('body').boundingBox()
  const clip = { x: 0, y: 0, width, height: Math.min(maxHeight, whole?.height ?? maxHeight) }
  const picture = await page.screenshot({ clip })
  await page.setViewportSize({ width, height })
  writeFileSync(join(folder, `console-${name}.png`), shrinkPng(picture))
}

await page.goto(harness.link)
await take('sign-in')
await follow(page, () => page.getByRole('link', { name: 'Ama Mensah' }).click())
const { projectId, payment, delivery, job } = harness.peers.projects.demo
const { staff } = harness.peers
const base = `/projects/${projectId}`
for (const [name, path] of [
  ['home', base],
  ['payments', `${base}/payments`],
  ['payment', `${base}/payments/${payment.paymentId}`],
  ['push', `${base}/pushes/${delivery.deliveryId}`],
  ['replay', `${base}/pushes/replays/${job.jobId}`],
  ['developers', `${base}/developers`],
  ['transfers', `${base}/transfers`],
  ['settlements', `${base}/balances/settlements`],
  ['branding', `${base}/branding`],
  ['now', '/now'],
  ['inbox', '/inbox'],
  ['ledger', `/ledger?project=${staff.projectId}&id=${staff.transferId}`],
  ['audit', '/audit'],
] as const) {
  await page.goto(new URL(path, harness.url).href)
  await take(name)
}
await page.emulateMedia({ colorScheme: 'dark' })
await page.setViewportSize({ width: 390, height: 844 })
await page.goto(new URL(`${base}/payments/${payment.paymentId}`, harness.url).href)
await take('payment-on-a-phone')

await browser.close()
await harness.close()
await server.remove()
