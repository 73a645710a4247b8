// What people of two projects see of each other in the console of a running system, and how they make outcomes happen.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { Code, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { beforeAll, describe, expect, it } from 'vitest'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { type Browser, newBrowser } from '../../console/http-browser.ts'
import { eventually } from '../../support/eventually.ts'
import { merchant, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
/** The gateway of a test has the console's usual port, so the console is at its other one. */
const consoleUrl = `http://127.0.0.1:${mesh.portBase + 9}`
const idPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** A developer of one project, and a request that the project has made. */
type Side = { browser: Browser; projectId: string; requestId: string; entryId: string }

async function signIn(personId: string): Promise<Browser> {
  const key = fs.readFileSync(path.join(mesh.dataDir, 'secrets/console/sign-in.key'), 'utf8')
  const browser = newBrowser(consoleUrl)
  const choice = await browser.follow(`/local/link/${key.trim()}`)
  await browser.follow(`${choice.url}&login_hint=${personId}`)
  return browser
}

async function sideOf(personId: string, project: 'demo' | 'other'): Promise<Side> {
  const browser = await signIn(personId)
  const [, projectId = ''] =
    new RegExp(`/projects/(${idPattern})`).exec((await browser.follow('/')).text) ?? []
  const requestId = randomUUID()
  const { status } = await merchant(mesh, project).call('GET', '/payments/status', {
    headers: { 'PW-request-id': requestId },
    query: { payment_details_id: randomUUID() },
  })
  expect(status).toBeGreaterThanOrEqual(400)
  const list = `/projects/${projectId}/api-log?request=${requestId}`
  const row = new RegExp(`/projects/${projectId}/api-log/(${idPattern})"`)
  const entryId = await eventually(async () => {
    const [, found] = row.exec((await browser.get(list)).text) ?? []
    if (found === undefined) throw new Error('the request is not in the log yet')
    return found
  })
  return { browser, projectId, requestId, entryId }
}

describe('the API log of a project', () => {
  let demo: Side
  let other: Side
  beforeAll(async () => {
    demo = await sideOf('abena', 'demo')
    other = await sideOf('nana', 'other')
  })
  const bothWays = (): [own: Side, foreign: Side][] => [
    [demo, other],
    [other, demo],
  ]

  it('the API log of a project shows its people their requests, and those of another project on no page', async () => {
    for (const [own, foreign] of bothWays()) {
      const { browser } = own
      const ours = `/projects/${own.projectId}`
      const theirs = `/projects/${foreign.projectId}`
      const one = await browser.get(`${ours}/api-log/${own.entryId}`)
      expect([one.status, one.text.includes(own.requestId)]).toEqual([200, true])
      for (const page of [
        `${theirs}/api-log`,
        `${theirs}/api-log.csv`,
        `${theirs}/api-log?request=${foreign.requestId}`,
        `${theirs}/api-log/${foreign.entryId}`,
        `${ours}/api-log/${foreign.entryId}`,
        `${ours}/search?q=${foreign.requestId}`,
        `/search?q=${foreign.requestId}`,
      ]) {
        const { status, text } = await browser.follow(page)
        expect([page, status]).toEqual([page, 404])
        expect(text).not.toContain(foreign.entryId)
      }
      for (const page of ['api-log', 'api-log.csv', `api-log?request=${foreign.requestId}`]) {
        const { status, text } = await browser.get(`${ours}/${page}`)
        expect([page, status, text.includes(foreign.entryId)]).toEqual([page, 200, false])
      }
    }
  })

  it('the API log of a project is all that a call for the project returns', async () => {
    const { grpc, grpc_token: bearer } = mesh.sandbox
    const transport = createConnectTransport({ baseUrl: grpc.delivery, httpVersion: '1.1' })
    const client = createClient(ApiLogService, transport)
    const as = { headers: { authorization: `Bearer ${bearer}` } }
    for (const [own, foreign] of bothWays()) {
      const { projectId } = own
      const found = await client.listRequests({ projectId, requestId: own.requestId }, as)
      expect(found.requests.map(({ entryId }) => entryId)).toEqual([own.entryId])
      const none = await client.listRequests({ projectId, requestId: foreign.requestId }, as)
      expect(none.requests).toEqual([])
      const all = await client.listRequests({ projectId, pageSize: 200 }, as)
      expect(new Set(all.requests.map((one) => one.projectId))).toEqual(new Set([projectId]))
      await expect(
        client.getRequest({ projectId, entryId: foreign.entryId }, as),
      ).rejects.toMatchObject({ code: Code.NotFound })
    }
  })
})

it('a trigger of the console makes a payment of its project, which is shown there', async () => {
  const browser = await signIn('abena')
  const [base = ''] =
    new RegExp(`/projects/${idPattern}`).exec((await browser.follow('/')).text) ?? []
  const path = `${base}/developers/triggers`
  expect((await browser.get(path)).text).toContain('value="payment.paid"')
  const { status, text } = await browser.post(path, { trigger: 'payment.paid' })
  expect(status, text).toBe(200)
  const [paymentId = ''] =
    new RegExp(idPattern).exec(text.split('payment_details_id')[1] ?? '') ?? []
  const page = await browser.get(`${base}/payments/${paymentId}`)
  expect([page.status, page.text.includes('paid')]).toEqual([200, true])
  const { demo } = mesh.sandbox.projects
  for (const secret of [demo.api_key, demo.subscription_key]) expect(text).not.toContain(secret)
})
