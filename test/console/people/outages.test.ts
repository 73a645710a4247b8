// Tests what people still see while services are down: every page but what needs them, and what is missing.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Harness, startHarness } from '../harness.ts'
import type { Browser } from '../http-browser.ts'

let harness: Harness
let browser: Browser
beforeAll(async () => {
  harness = await startHarness()
  browser = await harness.signedIn('ama')
})
afterEach(() => harness.stopped.clear())
afterAll(() => harness?.close())

it('the Inbox shows what the other services answer while one is down, and names what is missing', async () => {
  harness.stopped.set('billing', 'refuses')
  const { text, status } = await browser.get('/inbox')
  expect(status).toBe(200)
  expect(text).toContain('does not answer: approvals of bills, each bill in review.')
  expect(text).toMatch(/<dt>Refunds<\/dt><dd><a class="row" href="\/approvals">1</)
  expect(text).not.toContain('<dt>Bills</dt>')
  expect(text).toContain('action="/inbox/refunds"')
  expect(text).not.toContain('action="/inbox/bills"')
  harness.stopped.clear()
  harness.stopped.set('accounts', 'refuses')
  const unclaimed = await browser.get('/inbox')
  expect(unclaimed.status).toBe(200)
  expect(unclaimed.text).toMatch(/amount in suspense, .*who works on what\./)
  expect(unclaimed.text).toContain('bill in review')
  expect(unclaimed.text).not.toMatch(/action="\/inbox\//)
})

it('the approvals of a project show those of the service that answers, and name the others', async () => {
  const { projectId } = harness.peers.projects.demo
  for (const [stopped, missing, shown] of [
    ['billing', 'approvals of bills', 'Refunds'],
    ['payments', 'approvals of refunds', 'Bills'],
  ] as const) {
    harness.stopped.set(stopped, 'refuses')
    const { text, status } = await browser.get(`/projects/${projectId}/approvals`)
    harness.stopped.clear()
    expect([stopped, status]).toEqual([stopped, 200])
    expect(text).toContain(`since a service does not answer: ${missing}.`)
    expect(text).toContain(`<h2>${shown}</h2>`)
    expect(text).toContain('button>Reject<')
  }
})

it('Stuck shows what the other services answer while some are down, and names what is missing', async () => {
  harness.stopped.set('quotes', 'refuses')
  harness.stopped.set('institution', 'hangs')
  const { text, status } = await browser.get('/stuck')
  expect(status).toBe(200)
  expect(text).toContain('since a service does not answer: quotes, transfers.')
  expect(text).toContain('Calls to the back end')
  expect(text).not.toContain('Held quotes')
})

it.each(['refuses', 'hangs'] as const)(
  'while accounts %s every call, the staff has Now, its runbooks and each payment, without the list of projects',
  async (how) => {
    const { projectId, payment } = harness.peers.projects.demo
    const list = 'aria-label="Projects"'
    const paths = [
      '/now',
      '/now/runbooks/part-down',
      '/dead-letters.csv',
      `/projects/${projectId}/payments/${payment.paymentId}`,
    ]
    expect((await browser.get('/now')).text).toContain(list)
    harness.stopped.set('accounts', how)
    const answers = await Promise.all(paths.map((path) => browser.get(path)))
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200))
    for (const { text } of answers) expect(text).not.toContain(list)
    expect(answers[3]?.text).toContain(`project ${projectId}`)
  },
)

it('while delivery does not answer, a payment keeps its facts and buttons, and Home its figures; both name what is missing', async () => {
  const { projectId, payment } = harness.peers.projects.demo
  const base = `/projects/${projectId}`
  const path = `${base}/payments/${payment.paymentId}`
  const form = /action="[^"]+\/(?:cancel|refund)"/
  expect((await browser.get(path)).text).toMatch(form)
  harness.stopped.set('delivery', 'refuses')
  const one = await browser.get(path)
  expect(one.status).toBe(200)
  expect(one.text).toContain('since a service does not answer: pushes.')
  expect(one.text).toMatch(form)
  expect(one.text).not.toContain('<h2>Pushes</h2>')
  const home = await browser.get(base)
  expect(home.status).toBe(200)
  expect(home.text).toContain('since a service does not answer: receivers that fail.')
  expect(home.text).toContain('<h2>Today</h2>')
  expect(home.text).toContain('<h2>Money held</h2>')
})

const parts = {
  accounts: /each institution, .*each project/,
  payments: /approvals of refunds, .*each failed refund, .*each rejected event of payments/,
  delivery: /each push, .*each rejected event of delivery/,
}
it.each([
  ['refuses', 'refundId', ['accounts']],
  ['refuses', 'refusedId', ['payments']],
  ['refuses', 'refundId', ['delivery']],
  ['hangs', 'billPaymentId', ['accounts', 'payments', 'delivery']],
] as const)(
  'a search finds what a service has, and names what it has not looked at, while another %s every call: %s without %s',
  async (how, item, names) => {
    const { staff, projects } = harness.peers
    const { projectId, transfer } = projects.demo
    const base = `/projects/${projectId}`
    for (const name of names) harness.stopped.set(name, how)
    const [found, inProject, unknown, inNone] = await Promise.all(
      [
        `/search?q=${staff[item]}`,
        `${base}/search?q=${transfer.movementId}`,
        `${base}/search?q=${randomUUID()}`,
        `/search?q=${randomUUID()}`,
      ].map((path) => browser.get(path)),
    )
    expect(found?.headers.get('location')).toBe(`/inbox?item=${staff[item]}`)
    expect(inProject?.headers.get('location')).toBe(`${base}/transfers/${transfer.movementId}`)
    expect([unknown?.status, inNone?.status]).toEqual([503, 503])
    for (const name of names) {
      const { text = '' } = (name === 'accounts' ? inNone : unknown) ?? {}
      expect(text).toMatch(parts[name])
    }
  },
)
