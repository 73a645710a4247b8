// Takes the pictures of every state of a payer's page that docs/integrate/checkout.md shows: `npm run screenshots`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Brand } from '../../gateway/pages/brand/brands.ts'
import { palettesOf } from '../../gateway/pages/brand/palette.ts'
import { receiptStates, states } from '../../gateway/pages/preview/samples.ts'
import { startPages } from '../edge/stand-ins/checkout.ts'
import { samplePng } from '../support/files/png.ts'
import { findChromium, launchChromium } from './chromium.ts'
import { uncheck } from './in-page.js'
import { shrinkPng } from './png.ts'
import { serveCardForm } from './stand-in-pages.ts'
import { follow, visit } from './visit.ts'

const brand: Brand = {
  palettes: palettesOf('#ffd400'),
  logoVersion: 'v1',
  supportEmail: 'help@shop.example',
  supportPhone: '+1 868 555 0190',
  websiteUrl: 'https://shop.example/',
}
const logo = samplePng()

const folder = join(import.meta.dirname, '..', '..', 'docs', 'screenshots')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })

const pages = await startPages({ publicBaseUrl: 'https://pay.example' })
const browser = await launchChromium(await findChromium())
const { page } = await visit(browser)
await serveCardForm(page, pages.origin)

async function take(name: string): Promise<void> {
  const file = `${name.replaceAll(/\W+/g, '-')}.png`
  writeFileSync(join(folder, file), shrinkPng(await page.screenshot({ fullPage: true })))
}

for (const [name, shown, query = ''] of states) {
  await page.goto(`${pages.page(shown).url}${query}`)
  await take(name)
}
for (const [name, shown] of receiptStates) {
  await page.goto(pages.page(shown).receiptUrl)
  await take(name)
}
await page.goto(`${pages.page({ payer: 'paid', payment: 'paid' }).receiptUrl}?lang=ar`)
await take('receipt in Arabic')
await page.goto(`${pages.page({}).url}?lang=ar`)
await take('open in Arabic')
const mistaken = pages.page({})
await page.goto(mistaken.url)
await page.locator('form').evaluate(uncheck)
await page.locator('#pin').fill('12')
await follow(page, () => page.locator('form button').click())
await take('mistaken PIN')
await page.goto(`${pages.page({}).url}/cancel`)
await take('cancel')
await page.emulateMedia({ media: 'print' })
await page.goto(pages.page({ channel: 'agent', method: 'cash' }).url)
await take('cash code on paper')
await page.emulateMedia({ media: 'screen' })
await page.emulateMedia({ colorScheme: 'dark' })
await page.goto(pages.page({}).url)
await take('open in the dark')
await page.emulateMedia({ colorScheme: 'light' })
await page.goto(`${pages.origin}/pay/unknown`)
await take('not found')

Object.assign(pages.seen, { brand, logo })
await page.goto(pages.page({}).url)
await take('branded')
await page.emulateMedia({ colorScheme: 'dark' })
await take('branded in the dark')
await page.emulateMedia({ colorScheme: 'light' })
await page.goto(pages.page({ payer: 'paid', payment: 'paid' }).receiptUrl)
await take('branded receipt')

await browser.close()
await pages.close()
