// What people do in a real browser: by keyboard, in their own time zone, without JavaScript.
import { expect, it } from 'vitest'
import { follow, visit } from '../browser/visit.ts'
import { picture } from './staff-peers.ts'
import { describeInTab, projectBase, type Tab } from './tab.ts'

const demo = (tab: Tab) => tab.harness.peers.projects.demo
const pushes = (tab: Tab) => `${projectBase(tab)}/pushes`
const push = (tab: Tab) => `${pushes(tab)}/${demo(tab).delivery.deliveryId}`
const payment = (tab: Tab) => `${projectBase(tab)}/payments/${demo(tab).payment.paymentId}`

describeInTab((signedIn) => {
  it('keys search, walk a list and open a row', async () => {
    const tab = signedIn()
    const page = await tab.open(pushes(tab))
    await page.keyboard.press('j')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(page.url()).toBe(new URL(push(tab), tab.harness.url).href)
    await page.keyboard.press('/')
    await page.keyboard.type(demo(tab).payment.paymentId)
    await follow(page, () => page.keyboard.press('Enter'))
    expect(page.url()).toBe(new URL(payment(tab), tab.harness.url).href)
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('keys walk rows without a link and press none of their buttons', async () => {
    const tab = signedIn()
    const { calls } = tab.harness.peers
    const page = await tab.open(`${projectBase(tab)}/receivers`)
    const row = page.locator('main tbody tr').first()
    expect(await row.locator('a[href]').count()).toBe(0)
    await page.keyboard.press('j')
    expect(await row.and(page.locator(':focus')).count()).toBe(1)
    calls.length = 0
    await page.keyboard.press('Enter')
    // The Tab key leads from the row to its first button, which Enter presses.
    await page.keyboard.press('Tab')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(calls.filter(({ rpc }) => rpc === 'CreateReplayJob')).toHaveLength(1)
  })

  it('a branding is tried in the preview before it is stored', async () => {
    const tab = signedIn()
    const page = await tab.open(`${projectBase(tab)}/branding`)
    await page.getByLabel('Colour').fill('#aa0011')
    await page
      .getByLabel('Logo:')
      .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: picture })
    await page.getByLabel('State of the preview').selectOption('paid')
    await page.getByLabel('Website').fill('https://shop.example')
    await page.getByLabel('Phone number for payers').fill('+18685550190')
    await page.getByLabel('E-mail address for payers').fill('help@shop.example')
    await page.getByRole('button', { name: 'Preview' }).click()
    const shown = page.frameLocator('iframe[name=preview]')
    await shown.locator('img[src^="data:image/png"]').waitFor()
    await shown.getByRole('link', { name: 'help@shop.example' }).waitFor()
    await follow(page, () => page.getByRole('button', { name: 'Store', exact: true }).click())
    await page.getByText('Stored. The next page').waitFor()
    expect(tab.harness.peers.changed.branding).toMatchObject({ color: '#aa0011' })
  })

  it('times are those of the browser, with UTC beside them', async () => {
    const context = { locale: 'en-US', timezoneId: 'America/Port_of_Spain' }
    const tab = signedIn()
    const other = await visit(tab.browser, context)
    await other.page.context().addCookies(await tab.page.context().cookies())
    await other.page.goto(new URL(payment(tab), tab.harness.url).href)
    const time = other.page.locator('time').first()
    expect(await time.textContent()).toContain('Jan 1, 2026, 11:04:05')
    expect(await time.getAttribute('title')).toBe('2026-01-02 03:04:05 UTC')
    await other.close()
  })

  it('every page but the live tail works without JavaScript', async () => {
    const tab = signedIn()
    const plain = await visit(tab.browser, { javaScriptEnabled: false })
    await plain.page.context().addCookies(await tab.page.context().cookies())
    await plain.page.goto(new URL(pushes(tab), tab.harness.url).href)
    await plain.page.getByLabel('State').selectOption('exhausted')
    await follow(plain.page, () => plain.page.getByRole('button', { name: 'Filter' }).click())
    expect(plain.page.url()).toContain('state=exhausted')
    await follow(plain.page, () => plain.page.locator('a.row').first().click())
    await follow(plain.page, () => plain.page.getByRole('button', { name: 'Resend' }).click())
    await plain.page.getByText('A new round has begun').waitFor()
    await plain.close()
  })
})
