// Tests that pages stay small when their lists are full.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assets } from '../../console/pages/render.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'
import { type Browser } from './http-browser.ts'
import { usualTexts } from './rows.ts'

let harness: Harness
let browser: Browser
beforeAll(async () => {
  harness = await startHarness(usualTexts)
  browser = await harness.signedIn('ama')
  harness.peers.pages.areFull = true
})
afterAll(() => harness?.close())

const maxBytes = 60 * 1024
const assetBytes = Object.values(assets).reduce((sum, { content }) => sum + content.length, 0)

const ofProject = [
  '',
  'payments',
  'approvals',
  'developers',
  'pushes',
  'pushes/replays',
  'receivers',
  'balances',
  'balances/settlements',
  'ledger',
  'bills',
  'customers',
  'transfers',
  'quotes',
  'api-log',
  'access',
]
const ofStaff = [
  '',
  'now',
  'inbox',
  'approvals',
  'stuck',
  'ledger',
  'catalogue',
  'receivers',
  'dead-letters',
  'dead-letters/events',
  'dead-letters/events/decisions',
  'audit/catalogue',
  'audit/actions',
  'api-log',
  'routing',
  'audit',
]

it.each([...ofProject.map((place) => `project ${place}`), ...ofStaff])(
  'the page %j weighs less than 60 KB when its lists are full',
  async (place) => {
    const { projectId } = harness.peers.projects.demo
    const path = `/${place.replace('project ', `projects/${projectId}/`)}`.replace(/(.)\/$/, '$1')
    // A part of a page is missing when its service answers late.
    const text = await eventually(async () => {
      const page = await browser.get(path)
      expect(page.status).toBe(200)
      expect(page.text.match(/<tr>/g)?.length).toBeGreaterThan(10)
      return page.text
    })
    expect(Buffer.byteLength(text) + assetBytes).toBeLessThan(maxBytes)
  },
)

const partsOfDemo = (plural: 'payments' | 'pushes') => {
  const { projectId, payment, delivery } = harness.peers.projects.demo
  const id = plural === 'payments' ? payment.paymentId : delivery.deliveryId
  return `/projects/${projectId}/${plural}/${id}`
}

it.each(['payments', 'pushes'] as const)(
  'a page of one of the %s weighs less than 60 KB when its pushes have as many attempts as are kept',
  async (plural) => {
    const { text, status } = await browser.get(partsOfDemo(plural))
    expect(status).toBe(200)
    expect(text).toContain('attempt 100: ')
    expect(text).not.toContain('attempt 1: ')
    expect(Buffer.byteLength(text) + assetBytes).toBeLessThan(maxBytes)
  },
)

it('all attempts of a push are on its pages, the newest first, and a payment says how many entries are older', async () => {
  const push = partsOfDemo('pushes')
  const read = async (place: string) => {
    const { text } = await browser.get(`${push}${place}`)
    return [...text.matchAll(/attempt (\d+): /g)].map(([, number]) => Number(number))
  }
  const pages = await Promise.all(
    ['', ...[10, 20, 30, 40, 50, 60, 70, 80, 90].map((at) => `?attempts=${at}`)].map(read),
  )
  expect(pages.flat()).toEqual(Array.from({ length: 100 }, (_, at) => 100 - at))
  expect((await browser.get(push)).text).toContain(`href="${push}?attempts=10" rel="next"`)
  const payment = (await browser.get(partsOfDemo('payments'))).text
  expect(payment).toMatch(/<p>\d+ older entries are not shown\. <a href="[^"]+\/pushes\?subject=/)
})

it('a list without pages says how many more there are', async () => {
  expect((await browser.get('/routing')).text).toMatch(/These are the first \d+ of 1000\./)
})

it.each(['calls', 'tasks'])(
  'every one of the 200 %s that fail is on one of the pages of Stuck, with its retry',
  async (list) => {
    let path: string | undefined = '/stuck'
    let retries = 0
    for (let pages = 0; path !== undefined && pages < 40; pages += 1) {
      const { text }: { text: string } = await browser.get(path)
      retries += text.match(new RegExp(`action="/stuck/${list}"`, 'g'))?.length ?? 0
      path = text.match(new RegExp(`href="(/stuck\\?${list}=\\d+)"`))?.[1]
    }
    expect(retries).toBe(200)
  },
)

it('Stuck says where its lists of calls and tasks end', async () => {
  const ends = 'Here and in the CSV file are the oldest 200.'
  const text = await eventually(async () => {
    const page = await browser.get('/stuck')
    return page.text.includes('Profiles and consents') ? page.text : false
  })
  expect(text.split(ends)).toHaveLength(3)
})
