// The hosted page as a payer without JavaScript uses it, and as an attacker does.
import { describe, expect, it } from 'vitest'
import { refusals } from '#core/text/refusals.ts'
import { eventually } from '../../support/eventually.ts'
import { readPdf } from '../../support/files/pdf.ts'
import { samplePng } from '../../support/files/png.ts'
import {
  createdOf,
  dateTimePattern,
  detailsOf,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  sharedMesh,
} from '../harness.ts'
import { internalTeam } from '../tools/grpc.ts'
import {
  cardFormOf,
  cardFrameOf,
  cashCodeOf,
  collectCash,
  formOf,
  open,
  type Page,
  payByCard,
  payByPin,
  submit,
  submitPin,
  unescaped,
} from './browser.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

async function pageOf(more: Json): Promise<{ id: string; url: string; page: Page }> {
  const created = await shop.create(order(more))
  const [url = ''] = created.urls
  return { id: created.id, url, page: await open(url) }
}

/** The page without the only script that it may have: a file of our own. */
function withoutOwnScript({ html }: Page): string {
  const script = /<script src="\/pay\/live\.js" defer(?: data-[a-z]+="[^"<>]*")*><\/script>/
  return html.replace(script, '')
}

const stateIs = (id: string, state: string) => shop.stateIs(id, state)

/** What a page would load or talk to besides itself. */
function addressesIn({ html }: Page): string[] {
  const attributes = /\s(?:src|href|action|data|poster|srcset|formaction)="([^"]*)"/g
  const styles = /url\(([^)]*)\)|@import\s+["']([^"']+)/g
  return [...html.matchAll(attributes), ...html.matchAll(styles)].map((match) =>
    unescaped(match[1] ?? match[2] ?? ''),
  )
}

describe('a hosted page', { concurrent: true }, () => {
  it('the page shows the payee, the amount with the fee, the expiry and the methods', async () => {
    const { id, page } = await pageOf({
      description: 'Two tickets',
      payers: [payer(20, { payment_method: 'card' })],
      fees: { pays_fees: 1 },
    })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toMatch(/^text\/html; ?charset=utf-8$/i)
    const text = unescaped(page.html)
    expect(text).toContain('Demo Store')
    expect(text).toContain('103.40')
    expect(text).toContain('TTD')
    expect(text).toContain('Two tickets')
    const { timestamps } = detailsOf(await shop.status(id)) as { timestamps: Json }
    expect(timestamps['expire_time']).toMatch(dateTimePattern)
    expect(text).toContain(timestamps['expire_time'])
    for (const means of ['wallet', 'card']) expect(text).toMatch(new RegExp(means, 'i'))
    expect(text).not.toMatch(/\bcash\b/i)
  })

  it('a hosted page has a strict content security policy and may not be framed or kept', async () => {
    const { page } = await pageOf({})
    const policy = page.headers.get('content-security-policy') ?? ''
    const rules = policy.split(';').map((rule) => rule.trim())
    expect(rules).toContain("default-src 'none'")
    expect(rules).toContain("frame-ancestors 'none'")
    expect(rules).toContain("form-action 'self'")
    expect(rules).toContain("base-uri 'none'")
    expect(policy).not.toMatch(/unsafe|\*|data:/)
    expect(page.headers.get('cache-control')).toContain('no-store')
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? []
    const [, again] =
      /'nonce-([^']+)'/.exec((await open(page.url)).headers.get('content-security-policy') ?? '') ??
      []
    expect(nonce).toBeDefined()
    expect(again).not.toBe(nonce)
  })

  it('a hosted page asks nothing of any other origin, but for the card frame of the back end', async () => {
    const origin = new URL(mesh.sandbox.base_url).origin
    const own = async (payers: Json[]) => {
      const { page } = await pageOf({ payers })
      expect(withoutOwnScript(page)).not.toMatch(/<script/i)
      return addressesIn(page).map((address) => new URL(address, page.url).origin)
    }
    const wallet = await own([payer(20)])
    const pos = await own([payer(20, { payment_channel: 'direct_pos', payment_method: 'qr_code' })])
    const cash = await own([payer(20, { payment_channel: 'agent', payment_method: 'cash' })])
    expect(new Set([...wallet, ...pos, ...cash])).toEqual(new Set([origin]))
    const card = await own([payer(20, { payment_method: 'card' })])
    const allowed = [origin, new URL(mesh.sandbox.simulator_url).origin]
    expect(allowed).toEqual(expect.arrayContaining(card))
  })

  it('a hosted page for an unknown token is a 404 in HTML', async () => {
    for (const token of ['unknown', 'A'.repeat(43), 'x'.repeat(22)]) {
      const page = await open(`${mesh.sandbox.base_url}/pay/${token}`)
      expect(page.status).toBe(404)
      expect(page.headers.get('content-type')).toMatch(/^text\/html/)
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.html).not.toContain('<form')
    }
  })

  it('a hosted page shows hostile texts as texts', async () => {
    const hostile = `"><img src=x onerror=alert(1)></title><script>alert(2)</script>'&lt;b&gt;`
    const { page } = await pageOf({
      description: hostile,
      payers: [payer(20, { first_name: hostile.slice(0, 90), last_name: '<b>x</b>' })],
      urls: { success: 'https://example.com/?a="><script>', error: "https://example.com/?b='<x>" },
    })
    expect(page.status).toBe(200)
    expect(withoutOwnScript(page)).not.toMatch(/<(img|script|b)\b/i)
    expect(unescaped(page.html)).toContain('<script>alert(2)</script>')
  })
})

it("a hosted page and its receipt have the merchant's branding as soon as it changed", async () => {
  const team = internalTeam(mesh)
  const projectId = await team.projectId(mesh.sandbox.projects.demo.subscription_key)
  const own = { projectId, businessName: 'Gallery', mobileNumber: '+12025550198' }
  const made = await team.access.createMerchant(own)
  const merchantId = made.merchant?.merchantId ?? ''
  const body = order({ payers: [payer(20)] })
  const created = await shop.call('POST', '/payments/request', {
    body: { api_key: made.apiKey, transaction_request: body },
  })
  const { urls } = createdOf(created)
  const [url = ''] = urls
  expect((await open(url)).html).not.toContain('<img')
  const look = { color: '#ffd400', logoPng: samplePng(), supportEmail: 'help@shop.example' }
  await team.access.updateMerchant({ projectId, merchantId, ...look })
  const { html } = await eventually(
    () => open(url),
    (page) => expect(page.html).toContain('help@shop.example'),
  )
  const logo = /<img src="([^"]+)"/.exec(html)?.[1] ?? ''
  const answer = await fetch(new URL(unescaped(logo), url))
  expect(answer.headers.get('content-type')).toBe('image/png')
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(samplePng())
  await payByPin(url, '123456')
  const paid = await eventually(
    () => open(url),
    (page) => expect(page.html).toContain('/receipts/'),
  )
  const receipt = /href="(\/receipts\/[\w-]{49})"/.exec(paid.html)?.[1] ?? ''
  const page = await open(new URL(receipt, url).href)
  expect(page.html).toContain('Gallery')
  expect(page.html).toContain('help@shop.example')
  const pdf = await fetch(new URL(`${receipt}/pdf`, url))
  const { letters } = await readPdf(Buffer.from(await pdf.arrayBuffer()))
  expect(letters).toContain('help@shop.example')
  team.close()
})

describe('paying by wallet', { concurrent: true }, () => {
  it('paying by wallet with the right PIN succeeds, and the page says so', async () => {
    const { id, url } = await pageOf({ payers: [payer(20)] })
    const answer = await payByPin(url, '123456')
    expect(answer.status).toBe(303)
    expect(new URL(answer.headers.get('location') ?? '', url).href).toBe(url)
    await stateIs(id, 'paid')
    const after = await open(url)
    expect(after.html).toMatch(/\bpaid\b/i)
    expect(after.html).not.toContain('<form')
  })

  it('paying by wallet with a declined PIN is refused, can be retried, and fails the fifth time', async () => {
    const { id, url } = await pageOf({ payers: [payer(20)] })
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      expect((await payByPin(url, '000002')).status).toBe(303)
      await eventually(
        () => open(url),
        ({ html }) => {
          expect(html).toMatch(/refused|declined/i)
          expect(html).toContain('name="pin"')
        },
      )
      expect(payerStatesOf(await shop.status(id))).toEqual(['Pending'])
    }
    await payByPin(url, '000002')
    await stateIs(id, 'Failed')
    const after = await open(url)
    expect(after.html).toMatch(/failed|refused/i)
    expect(after.html).not.toContain('<form')
  })

  it('paying by wallet after a refusal, whose reason the page has, pays once', async () => {
    const { id, url } = await pageOf({ payers: [payer(20)] })
    await payByPin(url, '000051')
    const { why, advice } = refusals.fr.insufficient_funds
    await eventually(
      () => open(`${url}?lang=fr`),
      ({ html }) => expect(unescaped(html)).toContain(`${why} ${advice}`),
    )
    await payByPin(url, '123456')
    await stateIs(id, 'paid')
  })

  it('paying by wallet twenty times at once pays once', async () => {
    const { id, page } = await pageOf({ payers: [payer(20)] })
    const form = formOf(page)
    await eventually(
      () => Promise.all(Array.from({ length: 20 }, () => submit(form, { pin: '123456' }))),
      (answers) => expect(answers.map((answer) => answer.status)).toContain(303),
    )
    await stateIs(id, 'paid')
    const receipts = await mesh.rows(
      `select kind from payments.settlement where payment_id = $1 and kind::text like '%receipt'`,
      [id],
    )
    expect(receipts).toEqual([{ kind: 'payer_receipt' }])
  })

  it('paying by wallet is refused for a form that is not ours or comes from elsewhere', async () => {
    const { id, url, page } = await pageOf({ payers: [payer(20)] })
    const form = formOf(page)
    const other = formOf((await pageOf({})).page)
    const attacks = [
      submit({ ...form, fields: {} }, { pin: '123456' }),
      submit({ ...form, fields: other.fields }, { pin: '123456' }),
      submit(form, { pin: '123456' }, { origin: 'https://evil.example' }),
      submit(form, { pin: '123456' }, { origin: 'null' }),
      submit(form, { pin: '123456' }, { 'sec-fetch-site': 'cross-site' }),
      submit(form, { pin: '123456' }, { 'sec-fetch-site': 'same-site' }),
    ]
    for (const page of await Promise.all(attacks)) {
      expect(page.status).toBeGreaterThanOrEqual(400)
      expect(page.status).toBeLessThan(500)
      expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    }
    const byGet = await open(
      `${form.action}?${new URLSearchParams({ ...form.fields, pin: '123456' }).toString()}`,
    )
    expect(byGet.status).toBeGreaterThanOrEqual(400)
    expect(payerStatesOf(await shop.status(id))).toEqual(['Pending'])
    expect((await open(url)).html).toContain('name="pin"')
  })

  it('paying by wallet takes no amount from the form', async () => {
    const { id, url, page } = await pageOf({ payers: [payer(20)] })
    const { action, fields } = formOf(page)
    const more = { amount: '0.01', amount_minor: '1', currency: 'JPY' }
    await submitPin(() => ({ action, fields: { ...fields, ...more } }), '123456')
    const paid = await stateIs(id, 'paid')
    expect(detailsOf(paid)['payments_status']).toMatchObject({ paid: '100.00 TTD' })
    expect((await open(url)).html).toContain('100.00')
  })

  it('paying by wallet never shows the PIN again', async () => {
    const { url, page } = await pageOf({ payers: [payer(20)] })
    const mistaken = await submit(formOf(page), { pin: '98a7654' })
    expect(mistaken.html).not.toContain('98a7654')
    expect(mistaken.html).toContain('name="pin"')
    expect((await open(url)).html).not.toContain('98a7654')
  })
})

describe('paying by card', { concurrent: true }, () => {
  const byCard = { payers: [payer(20, { payment_method: 'card' })] }

  it('paying by card in the frame of the back end pays', async () => {
    const { id, url } = await pageOf(byCard)
    await cardFrameOf(url)
    const page = await open(url)
    expect(page.html).not.toMatch(/name="(number|cvc|card)/i)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain(`frame-src ${new URL(mesh.sandbox.simulator_url).origin}`)
    const result = await payByCard(url, '4242 4242 4242 4242')
    expect(result.html).toMatch(/approved/i)
    await stateIs(id, 'paid')
    expect((await open(url)).html).not.toContain('<iframe')
  })

  it('paying by card may be framed by the page and by nobody else', async () => {
    const { url } = await pageOf(byCard)
    const frame = await open(await cardFrameOf(url))
    expect(frame.headers.get('content-security-policy')).toContain(
      `frame-ancestors ${new URL(mesh.sandbox.base_url).origin}`,
    )
  })

  it('a card that is declined or short of funds is refused and can be retried', async () => {
    const { id, url } = await pageOf(byCard)
    for (const [number, reason] of [
      ['4000 0000 0000 0002', 'declined'],
      ['4000000000009995', 'insufficient_funds'],
      ['4000000000000069', 'invalid_details'],
    ] as const) {
      const result = await payByCard(url, number)
      expect(result.html).toMatch(/declined/i)
      expect(result.html).toContain(refusals.en[reason].advice)
      await eventually(
        () => open(url),
        ({ html }) => expect(html).toContain(refusals.en[reason].why),
      )
      expect(payerStatesOf(await shop.status(id))).toEqual(['Pending'])
    }
    await payByCard(url, '4242424242424242')
    await stateIs(id, 'paid')
  })

  it('paying by card sent twice pays once', async () => {
    const { id, url } = await pageOf(byCard)
    const form = await cardFormOf(url)
    const card = { number: '4242424242424242', expiry: '12/39', cvc: '123' }
    await Promise.all([submit(form, card), submit(form, card), submit(form, card)])
    await stateIs(id, 'paid')
    const receipts = await mesh.rows(
      `select kind from payments.settlement where payment_id = $1 and kind::text like '%receipt'`,
      [id],
    )
    expect(receipts).toEqual([{ kind: 'payer_receipt' }])
  })

  it('a card payment is reported with the method that the payer chose on the page', async () => {
    const { id, url } = await pageOf({ payers: [payer(20)] })
    const card = /href="([^"]*method=card)"/.exec((await open(url)).html)?.[1] ?? ''
    await payByCard(new URL(unescaped(card), url).href, '4242424242424242')
    const paid = await stateIs(id, 'paid')
    expect(paid.body['payers']).toMatchObject([{ payment_method: 'card' }])
  })
})

describe('paying in person', { concurrent: true }, () => {
  it('paying in person shows a cash code that an agent collects', async () => {
    const { id, url, page } = await pageOf({
      payers: [payer(20, { payment_channel: 'agent', payment_method: 'cash' })],
    })
    expect(page.html).not.toContain('name="pin"')
    const code = await cashCodeOf(url)
    const result = await collectCash(mesh, code)
    expect(result.html).toMatch(/collected/i)
    await stateIs(id, 'paid')
    const again = await open(`${mesh.sandbox.simulator_url}/agent`)
    expect((await submit(formOf(again), { cash_code: code })).status).toBe(409)
  })

  it('paying in person shows a QR code of its own address at a point of sale', async () => {
    const { id, url, page } = await pageOf({
      payers: [payer(20, { payment_channel: 'direct_pos', payment_method: 'qr_code' })],
    })
    expect(page.html).toMatch(/<svg\b/)
    // The display asks for no PIN; the phone that scanned its code does.
    expect(page.html).not.toContain('<form')
    await payByPin(`${url}?scanned=1`, '123456')
    await stateIs(id, 'paid')
  })
})
