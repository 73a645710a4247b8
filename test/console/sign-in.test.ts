// Tests how people sign in and out, whose session a browser holds, and how long what they called is kept.
import { createHmac, randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import {
  deleteOldActivity,
  insertActivity,
  listActivity,
} from '../../console/store/activity-store.ts'
import { type Harness, limits, startHarness } from './harness.ts'
import { formTokenIn } from './http-browser.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.close())

const cookieName = 'payweave-console'

/** Opens a page with a cookie alone; `next` is the one that the response sets. */
async function visit(cookie: string) {
  const browser = harness.browse()
  browser.cookies.set(cookieName, cookie)
  const { status } = await browser.get('/')
  const after = browser.cookies.get(cookieName)
  return { status, next: after === cookie ? undefined : after }
}

describe('signing in', () => {
  it('the link of the banner leads to the people of the sandbox, and one click signs in', async () => {
    const browser = harness.browse()
    const choice = await browser.follow(harness.link)
    expect(choice.text).toContain('Ama Mensah')
    const [, href = ''] = /href="([^"]+login_hint=ama)"/.exec(choice.text) ?? []
    const home = await browser.follow(href.replaceAll('&amp;', '&'))
    expect([home.status, home.url]).toEqual([200, `${harness.url}/`])
    expect(home.text).toContain('administrator')
  })

  it('a browser that opened the link keeps no copy of its key', async () => {
    const browser = harness.browse()
    await browser.follow(harness.link)
    const key = harness.link.split('/').at(-1) ?? ''
    const kept = browser.cookies.get('payweave-local') ?? ''
    expect(kept).toMatch(/^[\w-]{43}$/)
    expect(kept).not.toContain(key)
    expect(await harness.browse().follow(`/local/link/${kept}`)).toMatchObject({ status: 403 })
  })

  it('nobody chooses a person without the key of the banner', async () => {
    const browser = harness.browse()
    expect(await browser.follow('/')).toMatchObject({ status: 403 })
    expect(await browser.follow('/local/link/another-key')).toMatchObject({ status: 403 })
    expect(browser.cookies.has(cookieName)).toBe(false)
  })

  it('a sign-in leads back to the page that asked for it, and to no other site', async () => {
    const path = `/projects/${harness.peers.projects.demo.projectId}/pushes?state=exhausted`
    for (const [asked, reached] of [
      [path, path],
      ['//evil.example/', '/'],
      ['/\\evil.example/', '/'],
      ['https://evil.example/', '/'],
    ] as const) {
      const browser = harness.browse()
      await browser.get(harness.link)
      const query = new URLSearchParams({ return: asked }).toString()
      const choice = await browser.follow(`/sign-in?${query}`)
      const page = await browser.follow(`${choice.url}&login_hint=ama`)
      expect(page.url).toBe(`${harness.url}${reached}`)
    }
  })

  it('a callback that this browser did not begin, or begins again, signs nobody in', async () => {
    const victim = harness.browse()
    const attacker = harness.browse()
    const choice = await attacker.follow(harness.link)
    const { headers } = await attacker.get(`${choice.url}&login_hint=ama`)
    const callback = headers.get('location') ?? ''
    expect(await victim.get(callback)).toMatchObject({ status: 403 })
    await victim.get(harness.link)
    await victim.get('/sign-in')
    expect(await victim.get(callback)).toMatchObject({ status: 403 })
    expect(victim.cookies.has(cookieName)).toBe(false)
    expect(await attacker.get(callback)).toMatchObject({ status: 303 })
    expect(await attacker.get(callback)).toMatchObject({ status: 403 })
  })

  it('the provider gives a token for a code once, and only to who has its verifier', async () => {
    const browser = harness.browse()
    const choice = await browser.follow(harness.link)
    const answer = await browser.get(`${choice.url}&login_hint=ama`)
    const callback = new URL(answer.headers.get('location') ?? '')
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      client_id: 'console-under-test',
      redirect_uri: `${harness.url}/sign-in/callback`,
      code_verifier: 'a'.repeat(43),
    })
    const token = await fetch(`${harness.url}/local/token`, { method: 'POST', body })
    expect([token.status, await token.json()]).toEqual([400, { error: 'invalid_grant' }])
    expect(await browser.get(callback.href)).toMatchObject({ status: 403 })
  })
})

describe('a session', () => {
  it('a session gets a token of its own at the sign-in: one that was there before stays worthless', async () => {
    const browser = harness.browse()
    const planted = 'A'.repeat(43)
    browser.cookies.set(cookieName, planted)
    const choice = await browser.follow(harness.link)
    await browser.follow(`${choice.url}&login_hint=ama`)
    expect(browser.cookies.get(cookieName)).not.toBe(planted)
    const other = harness.browse()
    other.cookies.set(cookieName, planted)
    expect((await other.get('/')).headers.get('location')).toMatch(/^\/sign-in/)
  })

  it('a session ends when the same browser signs in again, and another begins', async () => {
    const browser = await harness.signedIn('ama')
    const before = browser.cookies.get(cookieName) ?? ''
    const choice = await browser.follow('/sign-in')
    await browser.follow(`${choice.url}&login_hint=esi`)
    const old = harness.browse()
    old.cookies.set(cookieName, before)
    expect((await old.get('/')).status).toBe(303)
    expect((await browser.get('/')).text).toContain('finance')
  })

  it('a session ends with its sign-out, for every copy of its cookie', async () => {
    const browser = await harness.signedIn('ama')
    const copy = harness.browse()
    copy.cookies.set(cookieName, browser.cookies.get(cookieName) ?? '')
    expect((await browser.post('/sign-out')).headers.get('location')).toBe('/signed-out')
    expect((await copy.get('/')).status).toBe(303)
    expect(browser.cookies.has(cookieName)).toBe(false)
  })

  it('a session ends after the idle time, and after its whole time however busy it is', async () => {
    const idle = await harness.signedIn('ama')
    harness.clock.advance((limits.idleS / 2) * 1_000)
    expect((await idle.get('/')).status).toBe(200)
    harness.clock.advance((limits.idleS + 1) * 1_000)
    expect((await idle.get('/')).status).toBe(303)

    const busy = await harness.signedIn('ama')
    for (let passedS = 0; passedS < limits.lifetimeS; passedS += limits.idleS - 60) {
      expect((await busy.get('/')).status).toBe(200)
      harness.clock.advance((limits.idleS - 60) * 1_000)
    }
    expect((await busy.get('/')).status).toBe(303)
  })

  it('a page that renews itself does not prolong a session, and its stream is written down once', async () => {
    const { projectId, job } = harness.peers.projects.demo
    const path = `/projects/${projectId}/pushes/replays/${job.jobId}`
    const browser = await harness.signedIn('ama')
    const page = await browser.get(path)
    expect(page.text).toContain(`data-source="${path}/events"`)
    harness.clock.advance((limits.idleS / 2) * 1_000)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const leaving = new AbortController()
    const { body } = await fetch(`${harness.url}${path}/events`, {
      headers: { cookie },
      signal: leaving.signal,
    })
    let text = ''
    for await (const part of body ?? []) {
      text += Buffer.from(part).toString()
      if (text.split('event: part').length > 3) break
    }
    leaving.abort()
    harness.clock.advance((limits.idleS / 2 + 1) * 1_000)
    expect((await browser.get('/')).status).toBe(303)
    const count = {
      name: 'count_of_job',
      text: `select count(*)::int as rows from activity where target = '${job.jobId}'`,
    }
    expect(await harness.db.row(count, [])).toEqual({ rows: 2 })
  })

  it('a session is stored without anything that would open it', async () => {
    const browser = await harness.signedIn('ama')
    const token = browser.cookies.get(cookieName) ?? ''
    expect(token).toMatch(/^[\w-]{43}$/)
    const dump = { name: 'dump_sessions', text: 'select s::text as row from session s' }
    const rows = await harness.db.rows<{ row: string }>(dump, [])
    expect(rows.length).toBeGreaterThan(0)
    for (const { row } of rows) expect(row).not.toContain(token)
  })

  it('a session in use changes its token every quarter of an hour, and open pages and requests in flight stay valid', async () => {
    const browser = await harness.signedIn('ama')
    const token = () => browser.cookies.get(cookieName) ?? ''
    const opens = async (cookie: string) => (await visit(cookie)).status
    const first = token()
    const formToken = formTokenIn((await browser.get('/')).text)
    expect(token()).toBe(first)
    // As a replica of the previous release computes it.
    expect(formToken).toBe(createHmac('sha256', first).update('form').digest('base64url'))
    harness.clock.advance((limits.idleS - 30) * 1_000)
    await browser.get('/')
    expect(token()).toBe(first)
    harness.clock.advance(31_000)
    const answers = await Promise.all([browser.get('/'), browser.get('/'), browser.get('/')])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const cookies = answers.flatMap(({ headers }) => headers.getSetCookie())
    expect([cookies.length, new Set(cookies).size]).toEqual([3, 1])
    const second = token()
    expect(second).not.toBe(first)
    expect([await opens(first), await opens(second)]).toEqual([200, 200])
    expect(formTokenIn((await browser.get('/')).text)).toBe(formToken)
    harness.clock.advance(61_000)
    expect([await opens(first), await opens(second)]).toEqual([303, 200])
    expect((await browser.post('/ledger/check', { form_token: formToken })).status).toBe(200)
    await browser.post('/sign-out', { form_token: formToken })
    expect([await opens(first), await opens(second)]).toEqual([303, 303])
  })

  it('a session outlives the loss of the response with its new token, and the previous token ends a minute after the new one is used', async () => {
    const first = (await harness.signedIn('ama')).cookies.get(cookieName) ?? ''
    harness.clock.advance((limits.idleS - 30) * 1_000)
    expect(await visit(first)).toEqual({ status: 200, next: undefined })
    harness.clock.advance(31_000)
    const lost = await visit(first)
    harness.clock.advance(61_000)
    const again = await visit(first)
    expect(again).toEqual({ status: 200, next: expect.stringMatching(/^[\w-]{43}$/) })
    expect(again).toEqual(lost)
    const second = again.next ?? ''

    // The new token is used first when it is due already: the minute of the previous one ends before that.
    harness.clock.advance((limits.idleS - 30) * 1_000)
    expect(await visit(second)).toEqual({ status: 200, next: undefined })
    expect(await visit(first)).toEqual({ status: 200, next: undefined })
    harness.clock.advance(61_000)
    expect((await visit(first)).status).toBe(303)
    const third = (await visit(second)).next
    expect(third).toMatch(/^[\w-]{43}$/)
    expect([first, second]).not.toContain(third)
  })

  it('a cookie of a session is for this origin, for requests alone, and goes with no form of another site', async () => {
    const browser = harness.browse()
    const choice = await browser.follow(harness.link)
    const callback = await browser.get(`${choice.url}&login_hint=ama`)
    const { headers } = await browser.get(callback.headers.get('location') ?? '')
    const set = headers.getSetCookie().find((one) => one.startsWith(`${cookieName}=`)) ?? ''
    expect(set).toMatch(/; Path=\/(;|$)/)
    expect(set).toMatch(/; HttpOnly(;|$)/)
    expect(set).toMatch(/; SameSite=Lax(;|$)/)
    expect(set).not.toMatch(/Domain/i)
  })
})

describe('a form', () => {
  it.each([
    ['no token', { form_token: '' }, {}],
    ['the token of another session', { form_token: 'other' }, {}],
    ['the headers of another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['the headers of a sibling site', {}, { 'sec-fetch-site': 'same-site' }],
    ['another origin', {}, { origin: 'https://evil.example' }],
  ])('a form with %s changes nothing', async (_, fields, headers) => {
    const { demo } = harness.peers.projects
    const browser = await harness.signedIn('ama')
    const other = await harness.signedIn('esi')
    const foreign = formTokenIn((await other.follow('/')).text)
    const given =
      'form_token' in fields && fields.form_token === 'other' ? { form_token: foreign } : fields
    harness.peers.calls.length = 0
    const path = `/projects/${demo.projectId}/payments/${demo.payment.paymentId}/refund`
    expect((await browser.post(path, given, { headers })).status).toBe(403)
    expect(harness.peers.calls.map(({ rpc }) => rpc)).not.toContain('RefundPayment')
    expect((await browser.post(path)).status).toBe(303)
    expect(harness.peers.calls.map(({ rpc }) => rpc)).toContain('RefundPayment')
  })

  it('a form without a session leads to the sign-in', async () => {
    const answer = await harness.browse().get('/sign-out', { method: 'POST' })
    expect(answer.status).toBe(401)
    expect(answer.text).toContain('href="/sign-in?return=%2F"')
  })

  it('a form that asks for a list after the session ended leads to the provider by a link, which no policy blocks', async () => {
    const init = { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' } }
    const answer = await harness.browse().get('/audit?project=', init)
    expect([answer.status, answer.headers.get('location')]).toEqual([401, null])
    expect(answer.text).toContain('href="/sign-in?return=%2Faudit%3Fproject%3D"')
  })
})

it('a request for another host is answered by nothing of ours', async () => {
  const { port } = new URL(harness.url)
  const answer = await fetch(`http://localhost:${port}/signed-out`)
  expect([answer.status, await answer.text()]).toEqual([421, 'misdirected request'])
})

it('calls of people are deleted after 400 days, a batch at a time, and none before', async () => {
  const { db, clock } = harness
  const passDays = (days: number) => clock.advance(days * 86_400_000)
  const call = (target: string) =>
    insertActivity(db, {
      activityId: newId(),
      sessionId: randomUUID(),
      person: 'someone',
      rpc: 'payweave.payments.v1.PaymentsService/GetPayment',
      projectId: undefined,
      target,
      requestId: randomUUID(),
    })
  const kept = async () => {
    const wanted = { person: 'someone', projectId: '', before: '', limit: 10 }
    return (await listActivity(db, wanted)).map(({ target }) => target)
  }
  await call('first')
  await call('second')
  passDays(1)
  await call('third')
  passDays(398)
  expect(await deleteOldActivity(db, 1_000)).toBe(0)
  passDays(1)
  expect(await deleteOldActivity(db, 1)).toBe(1)
  while ((await deleteOldActivity(db, 1_000)) > 0);
  expect(await kept()).toEqual(['third'])
  const admin = new Client({ connectionString: harness.adminUrl })
  await admin.connect()
  await expect(admin.query('delete from console.activity')).rejects.toThrow('append-only')
  await admin.end()
})
