// Tests when the script of a live page reloads it, run in a bare context instead of a browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'

const script = readFileSync(join(import.meta.dirname, 'live.js'), 'utf8')

type Page = {
  phase?: string
  stamp?: string
  pin?: string
  hasFrame?: boolean
  hidden?: boolean
  ok?: boolean
  isOffline?: boolean
}

/** Runs the script up to its first poll; returns where it went, what it requested and whether it polls again. */
async function look({ phase = 'ended', stamp = '3-3-0', ok = true, ...page }: Page) {
  const waits: Array<() => unknown> = []
  const asked: string[] = []
  const went: string[] = []
  const elements: Record<string, unknown> = {
    '#pin': page.pin === undefined ? null : { value: page.pin },
    iframe: page.hasFrame === true ? {} : null,
  }
  runInNewContext(script, {
    AbortSignal,
    document: {
      currentScript: { dataset: { page: '/pay/x?lang=fr', watch: '/pay/x/state', stamp: '1-1-0' } },
      hidden: page.hidden ?? false,
      querySelector: (selector: string) => elements[selector] ?? null,
    },
    fetch(address: string) {
      asked.push(address)
      if (page.isOffline === true) return Promise.reject(new Error('no network'))
      return Promise.resolve({ ok, json: () => Promise.resolve({ phase, stamp }) })
    },
    location: { replace: (address: string) => void went.push(address) },
    setTimeout: (run: () => unknown) => void waits.push(run),
  })
  waits[0]?.()
  // Everything that it waits for is there already: one turn of the loop ends the look.
  await new Promise((resolve) => setImmediate(resolve))
  return { went, asked, looksAgain: waits.length === 2 }
}

it('a change reloads the page, in its language, and the script stops', async () => {
  expect(await look({})).toEqual({
    went: ['/pay/x?lang=fr'],
    asked: ['/pay/x/state'],
    looksAgain: false,
  })
  expect((await look({ phase: 'open', pin: '', stamp: '1-1-1' })).went).toHaveLength(1)
  expect((await look({ phase: 'processing', stamp: '2-1-0' })).went).toHaveLength(1)
})

it('the end of a payment is shown also while the payer is typing', async () => {
  expect((await look({ pin: '12', hasFrame: true })).went).toHaveLength(1)
})

it.each<[string, Page]>([
  ['nothing has changed', { phase: 'open', stamp: '1-1-0' }],
  ['the payer is typing and can still pay', { phase: 'open', stamp: '1-2-0', pin: '12' }],
  ['the card form is at work', { phase: 'processing', stamp: '2-1-0', hasFrame: true }],
  ['the answer is a refusal', { ok: false }],
  ['there is no network', { isOffline: true }],
])('the page stays when %s', async (_, page) => {
  expect(await look(page)).toEqual({ went: [], asked: ['/pay/x/state'], looksAgain: true })
})

it('a hidden page does not poll', async () => {
  expect(await look({ hidden: true })).toEqual({ went: [], asked: [], looksAgain: true })
})
