// Uses the simulator's pages as a payer's browser and an agent do, without any script.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals } from '#core/text/refusals.ts'
import { ChargeChannel, WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, newCharge, open, returnUrl, startHarness, submit } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const reportsOf = (id: string, count: number) =>
  eventually(() => {
    const reports = harness.payments.of(id)
    expect(reports).toHaveLength(count)
    return reports.map(({ outcome }) => outcome)
  })
const announce = async (options: Parameters<typeof newCharge>[0] = {}) => {
  const charge = newCharge({ now: harness.testClock.now(), ...options })
  await harness.charges.announceCharges({ charges: [charge] })
  return charge
}
const withdraw = (chargeId: string) =>
  harness.charges.withdrawCharges({
    withdrawals: [{ chargeId, reason: WithdrawReason.CANCELLED }],
  })

describe('the card form', () => {
  const year = String((new Date().getUTCFullYear() + 1) % 100).padStart(2, '0')
  const good = { number: '4242 4242 4242 4242', expiry: `12/${year}`, cvc: '123' }
  const openFrame = async (target = returnUrl) => {
    const { chargeId } = await announce()
    return { chargeId, url: (await openFrameOf(chargeId, target)).frameUrl }
  }
  const openFrameOf = (chargeId: string, target = returnUrl) =>
    harness.charges.openCardFrame({ chargeId, returnUrl: target })

  it('the card form shows merchant and amount, and may be framed by the payer’s pages alone', async () => {
    const { url } = await openFrame()
    const { status, headers, html } = await open(url)
    expect(status).toBe(200)
    expect(html).toContain('12.50 USD')
    expect(html).toContain('Demo &lt;Store&gt;')
    // Its only script is a file of its own, which speaks to the payer's pages alone.
    expect(html.match(/<script[^>]*>/g)).toEqual([
      '<script src="/card.js" defer data-host="http://pay.test:8080" data-state="ready">',
    ])
    expect(html).not.toMatch(/\sstyle=/)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(policy).toContain('frame-ancestors http://pay.test:8080')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect((await open(`${harness.publicUrl}/simulator.css`)).headers.get('content-type')).toBe(
      'text/css',
    )
  })

  it.each([
    ['ar', 'rtl', 'ادفع بالبطاقة'],
    ['pt-BR', 'ltr', 'Pagar com cartão'],
    ['xx', 'ltr', 'Pay by card'],
  ])('the card form asked for in %s is written %s', async (language, direction, title) => {
    const { chargeId } = await announce()
    const theme = { accentColor: '#14703f', darkAccentColor: '#74d29b' }
    const { frameUrl } = await harness.charges.openCardFrame({
      chargeId,
      returnUrl,
      language,
      theme,
    })
    const { html } = await open(frameUrl)
    expect(html).toContain(`dir="${direction}"`)
    expect(html).toContain(`<h1>${title}</h1>`)
    expect(html).toContain('--accent: #14703f')
    expect(html).toContain('--accent: #74d29b')
    const { html: mistaken } = await submit(frameUrl, { ...good, number: '1' })
    expect(mistaken).toContain(`<h1>${title}</h1>`)
  })

  it('the card form takes no colours or languages but well-formed ones', async () => {
    const { url } = await openFrame()
    const { html } = await open(`${url}?lang=%22%3E&accent=red;}&dark=74d29b`)
    expect(html).toContain('<html lang="en"')
    expect(html).not.toContain('red;')
  })

  it('the card form approves 4242 4242 4242 4242 and leads back to the payer’s page', async () => {
    const { chargeId, url } = await openFrame()
    const { status, html } = await submit(url, good)
    expect(status).toBe(200)
    expect(html).toContain('data-outcome="approved"')
    expect(html).toContain(`href="${returnUrl}" target="_top"`)
    expect(html).not.toContain('4242')
    expect(await reportsOf(chargeId, 2)).toEqual(['PROCESSING', 'PAID'])
    expect(harness.payments.of(chargeId)[0]?.method).toBe('CARD')
    expect((await open(url)).html).toContain('paid already')
    expect((await submit(url, good)).status).toBe(409)
  })

  it.each([
    ['4000 0000 0000 0002', 'declined'],
    ['4000-0000-0000-9995', 'insufficient funds'],
    ['4000-0000-0000-9995', refusals.en.insufficient_funds.advice],
    ['4000 0000 0000 0069', refusals.en.invalid_details.why],
    ['5555 5555 5555 4444', 'declined'],
  ])(
    'the card form declines %s with the word %s, and lets the payer try again',
    async (number, word) => {
      const { chargeId, url } = await openFrame()
      const refused = await submit(url, { ...good, number })
      expect(refused.html).toContain('data-outcome="declined"')
      expect(refused.html).toContain(word)
      expect(await reportsOf(chargeId, 2)).toEqual(['PROCESSING', 'REFUSED'])
      expect((await submit(url, good)).html).toContain('data-outcome="approved"')
    },
  )

  it.each([
    ['number', '4242', 'Enter the card number'],
    ['number', '', 'Enter the card number'],
    ['expiry', '12/20', 'has expired'],
    ['expiry', '13/99', 'MM/YY'],
    ['cvc', '1', 'security code'],
  ])('the card form asks to correct %s %s and makes no attempt', async (name, value, message) => {
    const { chargeId, url } = await openFrame()
    const { status, html } = await submit(url, { ...good, [name]: value })
    expect(status).toBe(422)
    expect(html).toContain(message)
    expect(html).not.toContain('4242 4242')
    expect(harness.payments.of(chargeId)).toEqual([])
  })

  it('a form that is submitted twice is one attempt', async () => {
    const { chargeId, url } = await openFrame()
    const attemptId = /name="attempt_id" value="([^"]+)"/.exec((await open(url)).html)?.[1] ?? ''
    const fields = { ...good, attempt_id: attemptId }
    const [first, second] = await Promise.all([submit(url, fields), submit(url, fields)])
    expect([first.html, second.html]).toEqual([
      expect.stringContaining('data-outcome="approved"'),
      expect.stringContaining('data-outcome="approved"'),
    ])
    await reportsOf(chargeId, 2)
  })

  it('the card form refuses what was withdrawn or has expired', async () => {
    const withdrawn = await openFrame()
    await withdraw(withdrawn.chargeId)
    expect((await open(withdrawn.url)).html).toContain('withdrawn')
    expect((await submit(withdrawn.url, good)).status).toBe(409)
    const late = await announce({ expiresInMs: 60_000 })
    const { frameUrl } = await openFrameOf(late.chargeId)
    harness.testClock.advance(61_000)
    expect((await submit(frameUrl, good)).html).toContain('time to pay has run out')
    expect(harness.payments.of(late.chargeId)).toEqual([])
  })

  it('the card form leads back over TLS or to the payer’s pages only', async () => {
    const { chargeId } = await announce()
    await openFrameOf(chargeId, 'https://shop.example/thanks')
    const elsewhere = ['http://shop.example/', 'javascript:alert(1)', 'https://u:p@shop.example/']
    for (const target of elsewhere) {
      await expect(openFrameOf(chargeId, target)).rejects.toMatchObject({
        reason: 'INVALID_PARAMETER',
      })
    }
    await expect(openFrameOf(chargeId, '')).rejects.toMatchObject({ reason: 'MISSING_PARAMETER' })
    await expect(openFrameOf(randomUUID())).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
  })

  it('an unknown form is a page that says so', async () => {
    const { status, html } = await open(`${harness.publicUrl}/card/${'x'.repeat(43)}`)
    expect([status, html.includes('no such card form')]).toEqual([404, true])
  })
})

describe('the agent’s till', () => {
  it('the agent’s till shows what a cash code is for and collects it once', async () => {
    const { chargeId, cashCode } = await announce({ channel: ChargeChannel.AGENT })
    expect((await open(`${harness.publicUrl}/agent`)).html).toContain('name="cash_code"')
    const shown = await submit(`${harness.publicUrl}/agent`, { cash_code: cashCode })
    expect(shown.html).toContain('Collect 12.50 USD')
    expect(shown.html).toContain('Demo &lt;Store&gt;')
    const spaced = cashCode.replace(/(.{4})/g, '$1 ')
    const [first, second] = await Promise.all([
      submit(`${harness.publicUrl}/agent/collect`, { cash_code: spaced }),
      submit(`${harness.publicUrl}/agent/collect`, { cash_code: cashCode }),
    ])
    expect(new Set([first.status, second.status])).toEqual(new Set([200, 409]))
    expect(await reportsOf(chargeId, 2)).toEqual(['PROCESSING', 'PAID'])
    expect((await submit(`${harness.publicUrl}/agent`, { cash_code: cashCode })).status).toBe(409)
  })

  it('the agent page distinguishes an unknown, a malformed and a withdrawn cash code', async () => {
    const { chargeId, cashCode } = await announce({ channel: ChargeChannel.AGENT })
    await withdraw(chargeId)
    const collect = `${harness.publicUrl}/agent/collect`
    expect((await submit(collect, { cash_code: '000000000000' })).status).toBe(404)
    expect((await submit(collect, { cash_code: '12<34' })).status).toBe(422)
    expect((await submit(collect, { cash_code: cashCode })).html).toContain('withdrawn')
    expect(harness.payments.of(chargeId)).toEqual([])
  })
})
