// A reader who tries a request on /docs/try-it, which fills in the keys of the sandbox.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, launchChromium } from '../../browser/chromium.ts'
import { visit } from '../../browser/visit.ts'
import { passedOver } from '../../support/system-program.ts'
import { merchant, sharedMesh } from '../harness.ts'

const chromium = await findChromium()
const mesh = sharedMesh()
const { projects } = mesh.sandbox
const timeout = 30_000

describe.skipIf(chromium.missing !== undefined)(`/docs/try-it${passedOver(chromium)}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(chromium)
  })
  afterAll(() => browser?.close())

  it('a payment is created by trying the example on /docs/try-it, at any name of the machine, without entering a key', async () => {
    const { page, complaints, close } = await visit(browser)
    const local = mesh.sandbox.base_url.replace('127.0.0.1', 'localhost')
    await page.goto(`${local}/docs/try-it`)
    const operation = page.locator('#operations-Payment_requests-createPaymentRequest')
    await operation.getByRole('button', { name: 'Try it out' }).click({ timeout })
    const body = operation.locator('textarea.body-param__text')
    const { transaction_request } = JSON.parse(await body.inputValue()) as {
      transaction_request: { id: string }
    }
    const { id } = transaction_request
    const asked = page.waitForRequest((request) => request.method() === 'POST')
    await operation.getByRole('button', { name: 'Execute' }).click()
    const request = await asked
    expect(new URL(request.url()).origin).toBe(local)
    const sentMs = Date.parse(`${request.headers()['pw-request-date']}Z`)
    expect(Math.abs(Date.now() - sentMs)).toBeLessThan(timeout)
    expect((await request.response())?.status()).toBe(200)
    await operation.locator('.live-responses-table').getByText(id).first().waitFor({ timeout })

    const listed = await merchant(mesh).call('GET', '/payments/list', {
      query: { version: '2026-12-01', api_key: projects.demo.api_key, transaction_id: id },
    })
    expect(listed.body['payments']).toMatchObject([{ transaction_id: id }])
    expect(complaints()).toEqual([])
    await close()
  }, 90_000)
})
