// One deadline for a request, from the edge inwards: every call made for it has what is left of the time of its route.
import { afterEach, describe, expect, it } from 'vitest'
import { currentContext } from '#platform/rpc/context.ts'
import { routeRows } from '../../gateway/http/app.ts'
import { deadlineOf, routeTimeouts } from '../../gateway/http/route.ts'
import type { EdgeSettings, PageServices } from '../../gateway/options.ts'
import { fixedKeys } from '../support/keys.ts'
import { call, type EdgeFixture, goodHeaders, startEdge } from './harness.ts'
import { draftOf, goodRequests, targetOf } from './stand-ins/good-requests.ts'

let edge: EdgeFixture | undefined
afterEach(async () => {
  await edge?.close()
  edge = undefined
})

/** Far apart, so that no load can make one look like the other. */
const times = {
  routeTimeouts: { defaultMs: 30_000, besideBillerMs: 5_000, answerMs: 500 },
  billerTimeoutMs: 50_000,
  requestTimeoutMs: 20_000,
} satisfies Partial<EdgeSettings>
const defaultMs = 29_500
const billMs = 54_500
const formMs = 49_500
const loadMs = 15_000

const routes = routeRows.map(({ method, path }) => ({ method, path, name: `${method} ${path}` }))

function goodRequest(method: string, path: string) {
  const good = goodRequests.find((one) => one.method === method && one.path === path)
  if (good === undefined) throw new Error(`no good request for ${method} ${path}`)
  return draftOf(good)
}

async function send({ url }: EdgeFixture, method: string, path: string) {
  const draft = goodRequest(method, path)
  const { headers, body } = draft
  return await call(url, method, targetOf(draft), { headers, body })
}

/** Expects the time that was left of `limitMs` when a call arrived. */
function expectLeft(leftMs: number | undefined, limitMs: number): void {
  expect(leftMs).toBeLessThanOrEqual(limitMs)
  expect(leftMs).toBeGreaterThan(limitMs - loadMs)
}

describe('a request', () => {
  it('a request has 15 s, a bill payment 5 s more than its biller, and the answer half a second of them', () => {
    expect(routeTimeouts).toEqual({ defaultMs: 15_000, besideBillerMs: 5_000, answerMs: 500 })
    const settings = { billerTimeoutMs: 8_000 }
    const startedMs = Date.now()
    const [other, bill] = [deadlineOf({}, settings), deadlineOf({ waitsForBiller: true }, settings)]
    const endedMs = Date.now()
    for (const [deadlineMs, lifeMs] of [
      [other, 14_500],
      [bill, 12_500],
    ] as const) {
      expect(deadlineMs - lifeMs).toBeGreaterThanOrEqual(startedMs)
      expect(deadlineMs - lifeMs).toBeLessThanOrEqual(endedMs)
    }
    const waiting = routeRows.filter(({ waitsForBiller }) => waitsForBiller === true)
    expect(waiting.map(({ path }) => path)).toEqual(['/bill_payments/pay'])
  })

  it.each(routes)('$name hands its deadline to the services', async ({ method, path }) => {
    edge = await startEdge({ ...times, rpcTimeoutMs: 60_000 })
    const { status } = await send(edge, method, path)
    expect(status).toBeLessThan(500)
    expect(edge.seen.calls.seen).not.toEqual([])
    for (const { leftMs } of edge.seen.calls.seen) {
      expectLeft(leftMs, path === '/bill_payments/pay' ? billMs : defaultMs)
    }
  })

  it('a request with files has additional time to send them', async () => {
    edge = await startEdge({ ...times, rpcTimeoutMs: 60_000 })
    const form = new FormData()
    const { body } = goodRequest('POST', '/account/personal_account')
    for (const [name, value] of Object.entries(body as Record<string, string>)) {
      form.set(name, value)
    }
    form.set('selfie', new Blob([Buffer.from('ffd8ffe000104a464946', 'hex')]), 'selfie.jpg')
    const path = '/account/personal_account?version=2024-10-01'
    const answer = await call(edge.url, 'POST', path, { headers: goodHeaders(), body: form })
    expect(answer.status, answer.text).toBe(200)
    const [upload] = edge.seen.calls.seen
    expect(upload?.method).toBe('AccountsService.uploadPersonalAccount')
    expectLeft(upload?.leftMs, formMs)
  })

  it.concurrent.each(routes)('$name is a 504 when a service hangs', async ({ method, path }) => {
    const hasty = { defaultMs: 500, besideBillerMs: 500, answerMs: 0 }
    const settings = { routeTimeouts: hasty, billerTimeoutMs: 0, rpcTimeoutMs: 60_000 }
    const hanging = await startEdge(settings)
    try {
      // Connected by then: a service that is not reached in time is a 503.
      await send(hanging, method, path)
      hanging.seen.calls.before = () => new Promise(() => {})
      const { status, body, headers } = await send(hanging, method, path)
      expect([status, body['code']]).toEqual([504, 504])
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    } finally {
      await hanging.close()
    }
  })
})

describe('a page', () => {
  it.each([
    `/pay/${'A'.repeat(43)}`,
    `/pay/${'A'.repeat(43)}/state`,
    `/receipts/${'A'.repeat(43)}`,
  ])('a page hands its deadline on: %s', async (path) => {
    const left: number[] = []
    const note = async () => {
      left.push((currentContext()?.deadline ?? 0) - Date.now())
      throw new Error('enough seen')
    }
    const checkout = { getCheckout: note }
    const pages = { checkout, receipts: { readReceipt: note }, pageKeys: fixedKeys() }
    edge = await startEdge(times, { pages: pages as unknown as PageServices })
    await fetch(`${edge.url}${path}`).then((answer) => answer.text())
    expect(left).toHaveLength(1)
    expectLeft(left[0], defaultMs)
  })
})
