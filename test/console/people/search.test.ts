// Tests where a search leads: to a thing of any project by its id, its own id, its amount or the number of a payer.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../harness.ts'
import type { Browser } from '../http-browser.ts'
import { usualTexts } from '../rows.ts'

let harness: Harness
let browser: Browser
beforeAll(async () => {
  harness = await startHarness(usualTexts)
  browser = await harness.signedIn('yaw')
})
afterEach(() => {
  const { peers, stopped } = harness
  stopped.clear()
  peers.crowd.length = 0
  peers.pages.areFull = false
  peers.twin.isShown = false
  Object.assign(peers.second, { isShown: false, count: 1 })
  for (const one of [peers.approvals.refunds.held, peers.approvals.bills.held, peers.keys])
    one.ignoresId = false
})
afterAll(() => harness?.close())

const base = () => `/projects/${harness.peers.projects.demo.projectId}`
/** The answer to a search. One that is not complete, since a service was slow, is repeated, as its page says. */
const searched = (person: Browser, path: string, q: string) => {
  const query = new URLSearchParams({ q }).toString()
  const search = () => person.get(`${path}/search?${query}`)
  return eventually(search, (answer) => expect(answer.status).not.toBe(503))
}
const reach = async (path: string, q: string) =>
  (await searched(browser, path, q)).headers.get('location')

it('a search of the staff finds what is of a project behind the first page of their list, and is one line of the record', async () => {
  const { crowd, projects } = harness.peers
  crowd.push(...Array.from({ length: 11 }, () => randomUUID()))
  const { payment, projectId, bill } = projects.other
  expect(await reach('', payment.paymentId)).toBe(
    `/projects/${projectId}/payments/${payment.paymentId}`,
  )
  expect(await reach('', bill.transactionId)).toContain(`/bills/${bill.transactionId}`)
  const rows = { name: 'rows', text: 'select rpc, target from activity order by occur_time desc' }
  expect((await harness.db.rows<{ rpc: string }>(rows, [])).slice(0, 2)).toEqual([
    { rpc: 'search', target: bill.transactionId },
    { rpc: 'search', target: payment.paymentId },
  ])
})

it('a search that ends before it has seen every project says so', async () => {
  harness.peers.crowd.push(...Array.from({ length: 35 }, () => randomUUID()))
  const { status, text } = await searched(browser, '', 'order-0')
  expect(status).toBe(404)
  expect(text).toMatch(/Only the first \d\d projects were searched/)
})

it('a number leads to the merchant whose payer has it, and no number of a person to the record', async () => {
  const { second } = harness.peers
  second.isShown = true
  const query = new URLSearchParams({ merchant: second.merchantId, mobile: second.number })
  expect(await reach(base(), second.number)).toBe(`${base()}/payments?${query.toString()}`)
  const rows = { name: 'targets', text: 'select target from activity order by occur_time desc' }
  expect(await harness.db.row(rows, [])).toEqual({ target: '' })
})

it('the customers say of how many merchants they show the payments of a number', async () => {
  const { second } = harness.peers
  const page = `${base()}/customers?by=mobile&value=%2B12025550101`
  second.isShown = true
  expect((await browser.get(page)).text).not.toContain('These are the first')
  second.count = 8
  expect((await browser.get(page)).text).toContain('These are the first 5 of 9.')
})

it('the id of a merchant leads to its payments, and that of a review to the profile for those who may see it', async () => {
  const { projects, staff } = harness.peers
  const { merchantId } = projects.demo.payment
  const payments = `${base()}/payments?merchant=${merchantId}`
  expect(await reach(base(), merchantId)).toBe(payments)
  expect(await reach('', merchantId)).toBe(payments)
  const ama = await harness.signedIn('ama')
  const found = await searched(ama, '', staff.reviewId)
  expect(found.headers.get('location')).toBe(`/inbox/onboardings/${staff.reviewId}`)
  const merchant = await harness.signedIn('kwame')
  expect((await searched(merchant, '', staff.reviewId)).status).toBe(404)
})

it('an amount or a number that several merchants or projects have leads to a list of them', async () => {
  const { second, projects } = harness.peers
  second.isShown = true
  const inProject = await searched(browser, base(), '25.00 USD')
  expect(inProject.status).toBe(200)
  const { merchantId } = projects.demo.payment
  for (const merchant of [merchantId, second.merchantId]) {
    const path = `${base()}/payments?merchant=${merchant}&amp;amount=25.00&amp;currency=USD`
    expect(inProject.text).toContain(`href="${path}"`)
  }
  const inAll = await searched(browser, '', second.number)
  for (const { projectId } of Object.values(projects)) {
    expect(inAll.text).toContain(`href="/projects/${projectId}/payments?merchant=`)
  }
})

it('an own id of digits alone is found, and digits that are no number are nothing', async () => {
  const { payment, projectId } = harness.peers.projects.demo
  const own = payment.transactionId
  for (const id of ['0012345678', '20260102030405060708', '4471002']) {
    payment.transactionId = id
    expect(await reach(base(), id)).toBe(`/projects/${projectId}/payments/${payment.paymentId}`)
    expect(await reach('', id)).toBe(`/projects/${projectId}/payments/${payment.paymentId}`)
  }
  payment.transactionId = own
  for (const q of ['0012345678', '12345678901234567890', '25.001 USD']) {
    expect([q, (await searched(browser, base(), q)).status]).toEqual([q, 404])
  }
})

it('a project of a person’s roles that does not exist takes no other project from them', async () => {
  const { demo, other } = harness.peers.projects
  const roles = [demo.projectId, randomUUID(), other.projectId].map((id) => `merchant_viewer:${id}`)
  const person = await harness.signedIn('kwame')
  const give = { name: 'give', text: 'update session set roles = $1 where display_name = $2' }
  await harness.db.run(give, [roles, 'Kwame Asante'])
  const { status, text } = await person.get('/')
  expect(status).toBe(200)
  for (const { projectId } of [demo, other]) expect(text).toContain(`href="/projects/${projectId}"`)
  expect((await person.get(`/projects/${demo.projectId}/payments`)).status).toBe(200)
})

const everybody = ['ama', 'kofi', 'esi', 'yaw', 'abena', 'kwame', 'nana']
/** Where a search of each of these people leads, or its status. */
const ledBy = async (path: string, q: string) => {
  const answers = await Promise.all(
    everybody.map(async (name) => {
      const person = await harness.signedIn(name)
      const { status, headers } = await searched(person, path, q)
      return [name, headers.get('location') ?? status] as const
    }),
  )
  return Object.fromEntries(answers)
}
const forThese = (names: string[], path: string) =>
  Object.fromEntries(everybody.map((name) => [name, names.includes(name) ? path : 404]))

it('the id of an approval leads to it for those who may list it, and for nobody of another project', async () => {
  const { refunds, bills } = harness.peers.approvals
  const staff = ['ama', 'kofi', 'esi', 'yaw']
  const refund = `${base()}/approvals?approval=${refunds.approvalId}`
  expect(await ledBy('', refunds.approvalId)).toEqual(forThese([...staff, 'abena'], refund))
  const bill = `${base()}/approvals?approval=${bills.approvalId}`
  expect(await ledBy('', bills.approvalId)).toEqual(forThese(staff, bill))
  const shown = (await browser.get(bill)).text
  expect(shown).toContain(harness.peers.projects.demo.bill.transactionId)
  expect(shown).not.toContain(harness.peers.projects.demo.payment.paymentId)
  expect((await browser.get(`${base()}/approvals?approval=x`)).status).toBe(400)
})

it('the id of a key leads to it alone for those who may list keys, and for nobody of another project', async () => {
  const { demo, other } = harness.peers.projects
  const path = `${base()}/developers?key=${demo.keyId}`
  expect(await ledBy('', demo.keyId)).toEqual(forThese(['ama', 'kofi', 'abena'], path))
  const operator = await harness.signedIn('kofi')
  const keysOf = async (page: string) => {
    const { text } = await operator.get(page)
    return text.match(/name="key_id"/g)?.length ?? 0
  }
  expect(await keysOf(path)).toBeGreaterThan(0)
  expect(await keysOf(`${base()}/developers?key=${other.keyId}`)).toBe(0)
  expect(await keysOf(`${base()}/developers?state=revoked`)).toBe(0)
  const onlyNewest = 'these are the newest 200 keys.'
  harness.peers.pages.areFull = true
  const [active, revoked] = await Promise.all(
    ['active', 'revoked'].map((state) => operator.get(`${base()}/developers?state=${state}`)),
  )
  expect(active?.text).toContain(onlyNewest)
  expect(revoked?.text).not.toContain(onlyNewest)
})

it('an id that no approval and no key has leads nowhere, also where a replica ignores the id and answers with others', async () => {
  const { approvals, keys } = harness.peers
  const olds = [approvals.refunds.held, approvals.bills.held, keys]
  for (const one of olds) one.ignoresId = true
  const ama = await harness.signedIn('ama')
  const { status } = await searched(ama, base(), randomUUID())
  expect(status).toBe(404)
})

it.each(['refuses', 'hangs'] as const)(
  'a search of the staff finds a payment and the approval of its refund while billing %s every call',
  async (how) => {
    const { approvals, projects } = harness.peers
    const { payment } = projects.demo
    const ids = [payment.paymentId, approvals.refunds.approvalId, approvals.bills.approvalId]
    harness.stopped.set('billing', how)
    const found = await Promise.all(ids.map((id) => browser.get(`/search?q=${id}`)))
    expect(found.map(({ headers, status }) => headers.get('location') ?? status)).toEqual([
      `${base()}/payments/${payment.paymentId}`,
      `${base()}/approvals?approval=${approvals.refunds.approvalId}`,
      503,
    ])
    expect(found[2]?.text).toMatch(/a service does not answer: .*approvals of bills/)
  },
)

it('an id in upper case leads where the same in lower case does', async () => {
  const { staff, events, institutionId, projects } = harness.peers
  const { keyId, payment } = projects.demo
  const ama = await harness.signedIn('ama')
  for (const id of [
    staff.refundId,
    staff.refusedId,
    events.eventId,
    institutionId,
    keyId,
    payment.paymentId,
  ]) {
    const [lower, upper] = [
      await searched(ama, '', id),
      await searched(ama, '', id.toUpperCase()),
    ].map(({ headers }) => headers.get('location'))
    expect(lower).toContain(id)
    expect(upper).toBe(lower)
  }
  for (const [path, id] of [
    ['/inbox?item=', staff.refundId],
    ['/ledger?settlement=', staff.refusedId],
    [`${base()}/developers?key=`, keyId],
    [`${base()}/access?institution=`, institutionId],
  ] as const) {
    const { text } = await ama.get(`${path}${id.toUpperCase()}`)
    expect([path, text.includes(`<code>${id}</code>`) || text.includes(`refund ${id}`)]).toEqual([
      path,
      true,
    ])
  }
  const own = payment.transactionId
  payment.transactionId = randomUUID().toUpperCase()
  const found = await searched(ama, '', payment.transactionId)
  payment.transactionId = own
  expect(found.headers.get('location')).toContain(payment.paymentId)
})

it('the id of a rejected event leads the staff to its dead letters, from a project too, and nobody else', async () => {
  const path = `/dead-letters/events?event=${harness.peers.events.eventId}`
  const found = forThese(['ama', 'kofi', 'esi', 'yaw'], path)
  expect(await ledBy('', harness.peers.events.eventId)).toEqual(found)
  expect(await reach(base(), harness.peers.events.eventId)).toBe(path)
  const none = `/dead-letters/events?event=${randomUUID()}`
  expect((await browser.get(none)).text).toContain('No dead letter has this event.')
})

it('the id of an event that nobody rejects any more leads the staff to who decided about it', async () => {
  const { decidedId } = harness.peers.events
  const path = `/dead-letters/events/decisions?event=${decidedId}`
  expect(await ledBy('', decidedId)).toEqual(forThese(['ama', 'kofi', 'esi', 'yaw'], path))
  const rowsOf = async (page: string) =>
    (await browser.get(page)).text.match(
      new RegExp(`<td[^>]*><code>${decidedId}</code>\\s*</td>`, 'g'),
    )?.length
  // One in each service.
  expect(await rowsOf(path)).toBe(3)
  harness.peers.events.ignoresId = true
  const other = `/dead-letters/events/decisions`
  expect(await rowsOf(path)).toBe(3)
  expect(await rowsOf(`${other}?event=${randomUUID()}`)).toBeUndefined()
  const file = await browser.get(`${other}.csv?event=${randomUUID()}`)
  expect(file.text.trim().split('\r\n')).toHaveLength(1)
})

it('the id of an item of the Inbox without a page of its own leads the staff to it alone, while billing is down too', async () => {
  const { billPaymentId, refundId, refusedId, suspenseId } = harness.peers.staff
  const all = ['ama', 'kofi', 'esi', 'yaw']
  const ofFinance = ['ama', 'kofi', 'esi']
  for (const [id, people] of [
    [billPaymentId, all],
    [refundId, all],
    [suspenseId, ['yaw']],
    [refusedId, ofFinance],
  ] as const) {
    expect(await ledBy('', id)).toMatchObject(
      Object.fromEntries(people.map((name) => [name, `/inbox?item=${id}`])),
    )
    expect(await ledBy('', id)).toMatchObject({ abena: 404, kwame: 404, nana: 404 })
  }
  const { text } = await browser.get(`/inbox?item=${refundId}`)
  expect(text).toContain(`refund ${refundId}`)
  expect(text).not.toContain(suspenseId)
  // It is of another project.
  expect((await searched(browser, base(), refundId)).status).toBe(404)
  harness.stopped.set('billing', 'refuses')
  expect(await reach('', refundId)).toBe(`/inbox?item=${refundId}`)
  expect((await browser.get(`/search?q=${billPaymentId}`)).status).toBe(503)
})

it('the id of money in suspense leads to the Inbox and to its transfer for those who may open it, and so does a search in its project', async () => {
  const { staff, projects } = harness.peers
  const { transferId, projectId, suspenseId } = staff
  const { demo } = projects
  Object.assign(staff, { suspenseId: transferId, projectId: demo.projectId })
  const ama = await harness.signedIn('ama')
  const answers = [await searched(ama, '', transferId), await searched(ama, base(), transferId)]
  Object.assign(staff, { suspenseId, projectId })
  for (const { status, text } of answers) {
    expect(status).toBe(200)
    const links = [...text.matchAll(/href="([^"]*)"[^>]*>The ([^<]*)</g)].map(
      ([, , label]) => label,
    )
    expect(links).toEqual(['amount in suspense', 'ledger transfer'])
    expect(text).toContain(`href="/inbox?item=${transferId}"`)
    expect(text).toContain(`href="/ledger?project=${demo.projectId}&amp;id=${transferId}"`)
    expect(text).not.toContain('PaymentsService/ListPayments')
  }
})

it('an institution and a payment with the same text are both listed, in a project and in all', async () => {
  const { projects, institutionName, institutionId } = harness.peers
  const { payment } = projects.demo
  const own = payment.transactionId
  payment.transactionId = institutionName
  const ama = await harness.signedIn('ama')
  const answers = [
    await searched(ama, '', institutionName),
    await searched(ama, base(), institutionName),
  ]
  payment.transactionId = own
  for (const { text } of answers) {
    expect(text).toContain(`>The institution ${institutionName} (sandbox)<`)
    expect(text).toContain(institutionId)
    expect(text).toContain(`href="${base()}/payments/${payment.paymentId}"`)
    expect(text).toContain('AccessService/ListInstitutions')
  }
})

it('a name that institutions of both environments have leads to both, and in a project to that of its environment', async () => {
  const { institutionId, institutionName, twin } = harness.peers
  twin.isShown = true
  const ama = await harness.signedIn('ama')
  const { text } = await searched(ama, '', institutionName)
  expect(text).toMatch(new RegExp(`${institutionId}"[^>]*>The institution [^<]* .sandbox.<`))
  expect(text).toMatch(
    new RegExp(`${twin.institutionId}"[^>]*>The institution [^<]* .production.<`),
  )
  const inProject = await searched(ama, base(), institutionName)
  expect(inProject.headers.get('location')).toBe(`${base()}/access?institution=${institutionId}`)
  expect((await searched(ama, base(), twin.institutionId)).status).toBe(404)
})

it('the id and the name of an institution lead to its grants in a project, else to its changes, for those who may list them', async () => {
  const { institutionId, institutionName } = harness.peers
  const changes = forThese(['ama', 'kofi'], `/audit?target=${institutionId}`)
  expect(await ledBy('', institutionId)).toEqual(changes)
  expect(await ledBy('', institutionName)).toEqual(changes)
  const operator = await harness.signedIn('kofi')
  const path = `${base()}/access?institution=${institutionId}`
  const { headers } = await searched(operator, base(), institutionId)
  expect(headers.get('location')).toBe(path)
  expect((await operator.get(path)).text).toContain(`>${institutionId}<`)
  const none = await operator.get(`${base()}/access?institution=none`)
  expect(none.text).toContain('No institution matches.')
})

it('a number that no payment has leads to the customers with it, who are shown masked', async () => {
  const number = '+233 20 555 0123'
  const query = new URLSearchParams({ by: 'mobile', value: number }).toString()
  const path = `${base()}/customers?${query}`
  // Payments of another number alone.
  harness.peers.second.isShown = true
  expect(await reach(base(), number)).toBe(path)
  const led = await ledBy('', number)
  expect(led).toMatchObject({ kwame: path, abena: path })
  expect(led['nana']).not.toBe(path)
  // The staff finds them in both projects.
  expect(led['yaw']).toBe(200)
})
