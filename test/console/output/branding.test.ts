// Tests that a form of the branding changes what was changed on its page alone.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Harness, startHarness } from '../harness.ts'
import { type Browser, formTokenIn } from '../http-browser.ts'

let harness: Harness
let developer: Browser
beforeAll(async () => {
  harness = await startHarness()
  developer = await harness.signedIn('abena')
})
afterAll(() => harness?.close())

/** The form as its page shows it: the fields that are no button, with their values. */
async function formOf(base: string): Promise<Record<string, string>> {
  const { text } = await developer.get(base)
  const inputs = text.match(/<input [^>]*>/g) ?? []
  const fields = inputs.flatMap((input) => {
    const [, name = ''] = / name="([^"]*)"/.exec(input) ?? []
    const [, value = ''] = / value="([^"]*)"/.exec(input) ?? []
    return /^(?:shown_.*|color|support_.*|website_url)$/.test(name) ? [[name, value]] : []
  })
  return { ...Object.fromEntries(fields), form_token: formTokenIn(text) }
}

it('a form that is older than another change stores its own change alone, and nothing where it has none', async () => {
  const { projectId, payment, branding } = harness.peers.projects.demo
  const base = `/projects/${projectId}/branding`
  Object.assign(branding, {
    supportEmail: 'old@shop.example',
    supportPhone: '+18685550100',
    websiteUrl: 'https://shop.example',
  })
  const shown = await formOf(base)
  const send = async (fields: Record<string, string>) => {
    const body = new FormData()
    const all = { ...shown, merchant_id: payment.merchantId, ...fields }
    for (const [name, value] of Object.entries(all)) body.set(name, value)
    harness.peers.changed.branding = {}
    harness.peers.calls.length = 0
    return await developer.get(`${base}/update`, { method: 'POST', body })
  }
  branding.supportEmail = 'new@shop.example'
  const stored = await send({ color: '#AA0011' })
  expect(stored.headers.get('location')).toContain('notice=stored')
  expect(harness.peers.changed.branding).toMatchObject({
    color: '#aa0011',
    updateMask: { paths: ['color'] },
  })
  const refused = await send({ color: 'red' })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('name="shown_support_email" value="old@shop.example"')
  await send({})
  expect(harness.peers.calls.map(({ rpc }) => rpc)).not.toContain('UpdateMerchant')
})
