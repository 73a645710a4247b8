// Tests what people still see while services are down: every page but what needs them, and what is missing.
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
