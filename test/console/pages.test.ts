// Tests what pages may contain and load, and the files and streams beside them.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { samplePng } from '../support/files/png.ts'
import { pagesOf } from './every-page.ts'
import { type Harness, startHarness } from './harness.ts'
import { type Browser, formTokenIn } from './http-browser.ts'
import { endlessSubject } from './peers.ts'
import type { Project } from './projects.ts'
import { evil } from './rows.ts'
import { picture } from './staff-peers.ts'

let harness: Harness
let browser: Browser
beforeAll(async () => {
  harness = await startHarness()
  browser = await harness.signedIn('ama')
})
afterAll(() => harness?.close())

const everyPage = () => pagesOf(harness.peers)

const isUnknown = (page: string) => /nowhere|search/.test(page)

it('no text of a service or of the address becomes markup, and nothing runs without the nonce of its page', async () => {
  const nonces = new Set<string>()
  for (const page of everyPage()) {
    const { text, headers, status } = await browser.get(page)
    expect([page, status]).toEqual([page, isUnknown(page) ? 404 : 200])
    expect(text, page).not.toMatch(/<img src=x|<script>window/)
    const policy = headers.get('content-security-policy') ?? ''
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(nonce).toMatch(/^[\w+/]{22}==$/)
    nonces.add(nonce)
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    const escaped = nonce.replaceAll('+', '&#43;')
    for (const [tag] of text.matchAll(/<(?:script|style|link)\b[^>]*>/g)) {
      expect(tag.includes(`nonce="${nonce}"`) || tag.includes(`nonce="${escaped}"`), tag).toBe(true)
    }
    const tags = text.match(/<[^<>]+>/g)?.map((tag) => tag.replaceAll(/"[^"]*"/g, '""')) ?? []
    expect(tags.filter((tag) => / (on\w+|style)=/.test(tag))).toEqual([])
    expect(text, page).not.toMatch(/(href|action)="(?![/#])/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-frame-options')).toBe('DENY')
  }
  expect(nonces.size).toBe(everyPage().length)
})

it('the first page of a project counts today, draws the day and shows what waits', async () => {
  const { projectId, payment } = harness.peers.projects.demo
  const { text } = await browser.get(`/projects/${projectId}?merchant=${payment.merchantId}`)
  const plain = text.replaceAll(/<title>[^<]*<\/title>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  // Four hours since midnight; the peers count 9 × (7 × index mod 11) paid in each.
  expect(plain).toContain('paid 171 4275.00 USD pending 3 75.00 USD failed 19 475.00 USD')
  expect(text).toContain('aria-label="In the last 24 hours 1053 paid and 234 not"')
  expect(text.match(/<rect class="good"/g)).toHaveLength(21)
  expect(text).toContain('03:00 UTC: 63 paid, 14 not')
  expect(plain).toContain('Money held')
  expect(plain).toContain('100.00 USD')
  expect(text).not.toContain('Every receiver takes its pushes')
})

it('a page shows its calls as commands that a shell reads as they are meant', async () => {
  const { projectId } = harness.peers.projects.demo
  const reference = `it's "$(id)" \\ \`id\``
  const query = new URLSearchParams({ transaction: reference }).toString()
  const { text } = await browser.get(`/projects/${projectId}/payments?${query}`)
  const shown = /<pre tabindex="0">(curl [^<]*)<\/pre>/.exec(text)?.[1] ?? ''
  const command = shown.replaceAll(/&(?:#39|quot|amp|lt|gt);/g, (entity) => plainOf[entity] ?? '')
  const script = `curl() { printf '%s\\0' "$@"; }; ${command}`
  const env = { GRPC_PAYMENTS: 'http://payments.test', GRPC_TOKEN: 'secret' }
  const args = execFileSync('/bin/sh', ['-c', script], { env }).toString().split('\0')
  expect(args[1]).toBe('http://payments.test/payweave.payments.v1.PaymentsService/ListPayments')
  expect(args[3]).toBe('authorization: Bearer secret')
  expect(JSON.parse(args[7] ?? '')).toMatchObject({ projectId, transactionId: reference })
})

/** What templates escape. */
const plainOf: Record<string, string> = {
  '&#39;': "'",
  '&quot;': '"',
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
}

it('Now shows what is wrong with the parts, what waits, and alerts with their runbooks', async () => {
  const { part, parts } = harness
  await parts.read()
  const { text } = await browser.get('/now')
  const plain = text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  expect(plain).toMatch(/PayweaveLedgerBroken page payments .* ledger-broken/)
  expect(plain).toMatch(/PayweavePartDown pending quotes .* part-down/)
  expect(plain).toContain(`payments ${new URL(part.url).host} not ready not ready: broker`)
  expect(plain).toContain('100 MiB 21 ms')
  expect(plain).toContain('quotes 127.0.0.1:1 not ready does not answer')
  expect(plain).toContain('Calls of payments to the back end 41')
  expect((await browser.get('/now/runbooks/ledger-broken')).text).toContain('## Diagnosis')
  for (const name of ['backup', '..%2fcontribute', 'ledger-broken.md']) {
    expect((await browser.get(`/now/runbooks/${name}`)).status).toBe(404)
  }
  const ledger = (await browser.get('/ledger')).text.replaceAll(/<[^>]+>/g, ' ')
  expect(ledger.replaceAll(/\s+/g, ' ')).toContain(
    'Last check 2026-01-02 03:04:05 UTC Transfers 3 Rule Finding L1',
  )
  expect(ledger).toContain('The ledger violates its rules. Not checked: L5.')
  part.ready = { status: 'ready', parts: {} }
  part.metrics = part.metrics.filter((line) => !line.includes('findings'))
  await parts.read()
  const later = (await browser.get('/now')).text
  expect(later).not.toContain('not ready: broker')
  expect(later).not.toContain('PayweaveLedgerBroken')
})

it('a file of a new customer is a picture in the page or a download, and can run nothing', async () => {
  const { staff } = harness.peers
  const base = `/inbox/onboardings/${staff.reviewId}`
  const { text } = await browser.get(base)
  expect(text).toContain(`<img src="${base}/files/${staff.pictureId}"`)
  expect(text).not.toContain(`<img src="${base}/files/${staff.oddId}"`)
  const shown = await browser.get(`${base}/files/${staff.pictureId}`)
  expect(shown.text).toBe(picture.toString())
  const load = await browser.get(`${base}/files/${staff.paperId}`)
  for (const [{ headers }, type, disposition] of [
    [shown, 'image/png', 'inline'],
    [load, 'application/pdf', 'attachment'],
  ] as const) {
    expect(headers.get('content-type')).toBe(type)
    expect(headers.get('content-disposition')).toMatch(new RegExp(`^${disposition}; filename=`))
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
  }
  for (const path of [
    `${base}/files/${staff.oddId}`,
    `${base}/files/${staff.reviewId}`,
    `/inbox/onboardings/${staff.projectId}`,
    `/inbox/onboardings/${staff.projectId}/files/${staff.pictureId}`,
    '/inbox/onboardings/none',
  ]) {
    expect([path, (await browser.get(path)).status]).toEqual([path, 404])
  }
})

describe('the branding of a merchant', () => {
  const place = () => {
    const { projectId, payment } = harness.peers.projects.demo
    return { base: `/projects/${projectId}/branding`, merchant_id: payment.merchantId }
  }
  /** Sends the form as a browser does, as its developer. */
  async function send(path: string, fields: Record<string, string | Blob>) {
    const { base, merchant_id } = place()
    const developer = await harness.signedIn('abena')
    const form_token = formTokenIn((await developer.get(base)).text)
    const body = new FormData()
    for (const [name, value] of Object.entries({ form_token, merchant_id, ...fields })) {
      body.set(name, value)
    }
    return developer.get(`${base}/${path}`, { method: 'POST', body })
  }
  const fields = {
    color: '#0B57D0',
    support_email: 'help@shop.example',
    support_phone: '+1 868 555-0190',
    website_url: 'https://shop.example',
  }
  const png = (bytes: Buffer) => new Blob([new Uint8Array(bytes)], { type: 'image/png' })

  it('a preview shows a page of a payer that can run, send and load nothing from elsewhere', async () => {
    const { base, merchant_id } = place()
    const { text, headers } = await browser.get(
      `${base}/preview?merchant=${merchant_id}&state=paid`,
    )
    expect(text).toContain('#ffd400')
    expect(text).toContain(`src="${base}/logo.png?merchant=${merchant_id}"`)
    expect(text).not.toMatch(/<script|<noscript|<img src=x/)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain('sandbox allow-same-origin')
    expect(policy).toContain("form-action 'none'")
    expect(policy).toContain("frame-ancestors 'self'")
    const [, nonce = ''] = /style-src 'nonce-([^']+)'/.exec(policy) ?? []
    expect(text).toContain(`<style nonce="${nonce}">`)
    const logo = await browser.get(`${base}/logo.png?merchant=${merchant_id}`)
    const { text: stored, headers: ofLogo } = logo
    expect([stored, ofLogo.get('content-type')]).toEqual([samplePng().toString(), 'image/png'])
    expect((await browser.get(`${base}/preview?merchant=${merchant_id}&state=x`)).status).toBe(400)
  })

  it('a preview of what is not stored yet shows it, and stores nothing', async () => {
    harness.peers.calls.length = 0
    const { text } = await send('preview', { ...fields, logo_png: png(picture), language: 'fr' })
    expect(text).toContain('--accent:#0b57d0')
    expect(text).toContain(`src="data:image/png;base64,${picture.toString('base64')}"`)
    expect(text).toContain('tel:+18685550190')
    expect(text).toContain('<html lang="fr"')
    expect(harness.peers.calls.map(({ rpc }) => rpc)).not.toContain('UpdateMerchant')
  })

  it('what is stored is what was typed; the logo stays unless one is chosen or taken away', async () => {
    const { changed } = harness.peers
    const logo = () => Buffer.from(changed.branding.logoPng ?? [])
    const answer = await send('update', { ...fields, logo_png: png(Buffer.alloc(0)) })
    expect(answer.headers.get('location')).toContain('notice=stored')
    const paths = ['color', 'support_email', 'support_phone', 'website_url']
    expect(changed.branding).toMatchObject({
      color: '#0b57d0',
      supportPhone: '+18685550190',
      updateMask: { paths },
    })
    await send('update', { ...fields, logo_png: png(picture) })
    expect(changed.branding).toMatchObject({ updateMask: { paths: [...paths, 'logo_png'] } })
    expect(logo()).toEqual(picture)
    await send('update', { ...fields, remove_logo: 'on' })
    expect(logo()).toEqual(Buffer.alloc(0))
  })

  it.each([
    [{ color: 'red' }, 'must be a colour such as #0b57d0'],
    [{ support_email: 'help' }, 'must be an e-mail address'],
    [{ support_phone: '12' }, 'must be a number in E.164 with plus sign'],
    [{ website_url: 'http://shop.example' }, 'must be an https URL'],
    [{ website_url: 'https://me@shop.example' }, 'must name no user'],
    [{ logo_png: png(Buffer.alloc(64 * 1024 + 1)) }, 'must be at most 65536 bytes'],
    [{ logo_png: png(Buffer.alloc(200 * 1024)) }, 'must be at most 65536 bytes'],
  ])('a form with a bad field, %o, is shown again with what is wrong', async (bad, mistake) => {
    harness.peers.changed.branding = {}
    const { status, text } = await send('update', { ...fields, ...bad })
    expect([status, harness.peers.changed.branding]).toEqual([400, {}])
    expect(text).toContain(`aria-invalid="true"> <strong class="mistake">${mistake}</strong>`)
    expect(text).toContain('value="help')
  })

  it('a form with too many parts is refused', async () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, 'x']))
    expect((await send('update', many)).status).toBe(413)
  })
})

it('the inbox says which decision on a new customer stands', async () => {
  const base = `/inbox/onboardings/${harness.peers.staff.reviewId}`
  const accept = { level: '1', funds_access: 'full', reason: 'their passport' }
  const accepted = await browser.post(`${base}/accept`, accept)
  expect(accepted.headers.get('location')).toBe('/inbox?notice=accepted')
  expect((await browser.get('/inbox?notice=accepted')).text).toContain('The profile is accepted')
  const rejected = await browser.post(`${base}/reject`, { reason: 'blurred' })
  expect(rejected.headers.get('location')).toBe('/inbox?notice=rejected')
  for (const wrong of [{ level: '3' }, { funds_access: 'some' }, { reason: ' ' }]) {
    expect((await browser.post(`${base}/accept`, { ...accept, ...wrong })).status).toBe(400)
  }
})

it('the payments are a CSV file whose cells are no formulas, page after page', async () => {
  const { projectId, payment } = harness.peers.projects.demo
  const { text } = await browser.get(`/projects/${projectId}/payments.csv`)
  const [head, ...rows] = text.trimEnd().split('\r\n')
  expect(head).toBe(
    'payment_id,transaction_id,amount,paid,currency,state,description,created,changed',
  )
  expect(rows).toHaveLength(2)
  for (const row of rows) {
    expect(row).toContain(`${payment.paymentId},`)
    expect(row).toContain(',25.00,0.00,USD,paid,')
    expect(row).toContain(`,"'${evil.replaceAll('"', '""')}",`)
  }
})

it.each([
  ['bills', 'success', ({ bill }: Project) => `${bill.transactionId},5.00,USD,success,`],
  ['transfers', 'completed', ({ transfer }: Project) => `${transfer.movementId},"'`],
])(
  'the %s are a CSV file whose cells are no formulas, page after page',
  async (list, state, of) => {
    const { demo } = harness.peers.projects
    const path = `/projects/${demo.projectId}/${list}.csv`
    const [head, ...rows] = (await browser.get(`${path}?state=${state}`)).text
      .trimEnd()
      .split('\r\n')
    expect(head).toMatch(/transaction_id,amount,currency,/)
    expect(rows).toHaveLength(2)
    for (const line of rows) {
      expect(line).toContain(of(demo))
      expect(line).toContain(`,"'${evil.replaceAll('"', '""')}",`)
    }
    expect((await browser.get(`${path}?state=failed`)).text.trimEnd()).toBe(head)
  },
)

it('the requests of all projects are a list that leads to each, and a CSV file that names its project', async () => {
  const { demo, other } = harness.peers.projects
  const { text } = await browser.get('/api-log')
  for (const { projectId, request } of [demo, other]) {
    expect(text).toContain(`href="/projects/${projectId}/api-log/${request.entryId}"`)
  }
  const file = (await browser.get('/api-log.csv?outcome=refused')).text
  const [head, ...rows] = file.trimEnd().split('\r\n')
  expect(head).toMatch(/^project_id,entry_id,ended,route,/)
  expect(rows[1]).toMatch(new RegExp(`^${other.projectId},${other.request.entryId},`))
  expect((await browser.get('/api-log.csv?outcome=failed')).text.trimEnd()).toBe(head)
})

it('a replay of a lane is of its receiver and kind alone', async () => {
  const { projectId, delivery } = harness.peers.projects.demo
  const request_id = delivery.deliveryId
  const lane = { kind: 'notify', origin: 'https://shop.example', request_id }
  for (const [path, fields] of [
    [`/projects/${projectId}/pushes/replays`, lane],
    ['/receivers/replays', { ...lane, project_id: projectId }],
  ] as const) {
    Object.assign(harness.peers.changed, { replayed: {} })
    expect((await browser.post(path, fields)).status).toBe(303)
    expect(harness.peers.changed.replayed).toMatchObject({ kind: 1, origin: lane.origin })
  }
})

it('the receipt of a bill payment is a download for all but viewers', async () => {
  const { demo, other } = harness.peers.projects
  const path = `/projects/${demo.projectId}/bills/${demo.bill.transactionId}`
  expect((await browser.get(path)).text).toContain(`href="${path}/receipt.pdf"`)
  const { text, headers } = await browser.get(`${path}/receipt.pdf`)
  expect(text).toBe(`%PDF-${demo.bill.receiptId}`)
  expect(headers.get('content-type')).toBe('application/pdf')
  expect(headers.get('content-disposition')).toContain('attachment')
  const foreign = `/projects/${demo.projectId}/bills/${other.bill.transactionId}/receipt.pdf`
  expect((await browser.get(foreign)).status).toBe(404)
  const viewer = await harness.signedIn('kwame')
  expect((await viewer.get(path)).text).not.toContain('receipt.pdf')
  expect((await viewer.get(`${path}/receipt.pdf`)).status).toBe(403)
})

it('a reader of a file that takes nothing is cut off', async () => {
  const { projectId } = harness.peers.projects.demo
  const { hostname, port, host } = new URL(harness.url)
  const session = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `GET /projects/${projectId}/pushes.csv?subject=${endlessSubject} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${session}\r\n\r\n`,
  )
  // It takes the first bytes and no more, of a file that has no end.
  await once(socket, 'readable')
  const served = harness.sockets().find(({ remotePort }) => remotePort === socket.localPort)
  if (served === undefined) throw new Error('the console does not know the connection')
  await once(served, 'close')
  expect(served.destroyed).toBe(true)
  socket.destroy()
})

it('a list is a CSV file whose cells are no formulas, page after page', async () => {
  const { projectId, delivery } = harness.peers.projects.demo
  const { text, headers } = await browser.get(`/projects/${projectId}/pushes.csv`)
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toBe('attachment; filename="pushes.csv"')
  const [head, ...rows] = text.trimEnd().split('\r\n')
  expect(head).toMatch(/^delivery_id,event_id,/)
  expect(rows).toHaveLength(2)
  for (const row of rows) {
    expect(row).toContain(delivery.deliveryId)
    expect(row).toContain(`,"'${evil.replaceAll('"', '""')}",`)
  }
})

describe('a tail', () => {
  it('a tail brings the changes of its project, and ends when its reader leaves', async () => {
    const { projectId, delivery } = harness.peers.projects.demo
    const leaving = new AbortController()
    const session = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(`${harness.url}/projects/${projectId}/pushes/tail/events`, {
      headers: { cookie: session },
      signal: leaving.signal,
    })
    if (!answer.ok) throw new Error(await answer.text())
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    let text = ''
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString()
      if (text.split('event: change').length > 200) break
    }
    leaving.abort()
    const [, data = ''] = /event: change\ndata: (.*)\n\n/.exec(text) ?? []
    expect(JSON.parse(data)).toMatchObject({
      deliveryId: delivery.deliveryId,
      kind: 'notify',
      number: 1,
      outcome: 'connection failed',
    })
  })

  it('a tail without a session is refused, and does not prolong one', async () => {
    const { projectId } = harness.peers.projects.demo
    const path = `/projects/${projectId}/pushes/tail/events`
    const init = { headers: { 'sec-fetch-dest': 'empty' } }
    expect((await harness.browse().get(path, init)).status).toBe(401)
  })
})
