// Tests the CSV files of lists: whole lists by the filter of their page, without formulas, and only for those who may see the page.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Harness, startHarness } from '../harness.ts'
import type { Browser } from '../http-browser.ts'
import { routeOf, routesOf } from '../people/routes.ts'
import { evil } from '../rows.ts'

let harness: Harness
let browser: Browser
beforeAll(async () => {
  harness = await startHarness()
  browser = await harness.signedIn('ama')
})
afterAll(() => harness?.close())

/** The page of each file, what links to it, and how many lines it has. */
const files: Record<string, { page: string; lines: number }> = {
  '/projects.csv': { page: '/', lines: 2 },
  '/projects.csv?name=none': { page: '/?name=none', lines: 0 },
  '/approvals.csv': { page: '/approvals', lines: 2 },
  '/approvals.csv?state=all': { page: '/approvals?state=all', lines: 2 },
  '/ledger/refused.csv': { page: '/ledger', lines: 1 },
  '/ledger/refused.csv?settlement=00000000-0000-4000-8000-000000000000': {
    page: '/ledger?settlement=00000000-0000-4000-8000-000000000000',
    lines: 0,
  },
  '/routing/changes.csv': { page: '/routing', lines: 1 },
  '/routing/changes.csv?kind=charge': { page: '/routing?kind=charge', lines: 0 },
  '/api-log.csv': { page: '/api-log', lines: 4 },
  '/audit/calls.csv?target=none': { page: '/audit/calls?target=none', lines: 0 },
  'approvals.csv': { page: 'approvals', lines: 2 },
  'developers/keys.csv': { page: 'developers', lines: 3 },
  'developers/keys.csv?state=revoked': { page: 'developers?state=revoked', lines: 1 },
  'developers/grants.csv': { page: 'developers', lines: 1 },
  'developers/grants.csv?institution=none': { page: 'access?institution=none', lines: 0 },
  'developers/signing-secrets.csv': { page: 'developers', lines: 1 },
  'developers/signing-secrets.csv?institution=none': {
    page: 'developers?institution=none',
    lines: 0,
  },
  'payments.csv': { page: 'payments', lines: 2 },
  'bills.csv': { page: 'bills', lines: 2 },
  'transfers.csv': { page: 'transfers', lines: 2 },
  'pushes.csv': { page: 'pushes', lines: 2 },
  'pushes/replays.csv': { page: 'pushes/replays', lines: 1 },
  'pushes/replays.csv?state=done': { page: 'pushes/replays?state=done', lines: 0 },
  'api-log.csv': { page: 'api-log', lines: 2 },
  'balances.csv': { page: 'balances', lines: 2 },
  'balances/settlements.csv': { page: 'balances/settlements', lines: 2 },
  'ledger.csv': { page: 'ledger', lines: 4 },
  'ledger.csv?account=held': { page: 'ledger?account=held', lines: 0 },
  'balances/statement.csv': { page: 'balances', lines: 2 },
  '/audit.csv': { page: '/audit', lines: 1 },
  '/audit/catalogue.csv': { page: '/audit/catalogue', lines: 1 },
  '/audit/actions.csv': { page: '/audit/actions', lines: 2 },
  '/audit/actions.csv?target=none': { page: '/audit/actions?target=none', lines: 0 },
  '/routing.csv': { page: '/routing', lines: 1 },
  '/routing.csv?kind=payout': { page: '/routing?kind=payout', lines: 0 },
  '/catalogue.csv': { page: '/catalogue', lines: 2 },
  '/catalogue.csv?code=POWER': { page: '/catalogue?code=POWER', lines: 2 },
  '/catalogue.csv?state=inactive': { page: '/catalogue?state=inactive', lines: 0 },
  '/stuck.csv': { page: '/stuck', lines: 6 },
  '/stuck.csv?kind=quote': { page: '/stuck?kind=quote', lines: 1 },
  '/inbox.csv': { page: '/inbox', lines: 6 },
  '/inbox.csv?kind=refund': { page: '/inbox?kind=refund', lines: 1 },
  '/inbox.csv?item=00000000-0000-4000-8000-000000000000': {
    page: '/inbox?item=00000000-0000-4000-8000-000000000000',
    lines: 0,
  },
  '/receivers.csv': { page: '/receivers', lines: 4 },
  '/receivers.csv?breaker=closed': { page: '/receivers?breaker=closed', lines: 0 },
  '/dead-letters.csv': { page: '/dead-letters', lines: 2 },
  '/dead-letters/events/decisions.csv': { page: '/dead-letters/events/decisions', lines: 3 },
  '/dead-letters/events/decisions.csv?service=accounts': {
    page: '/dead-letters/events/decisions?service=accounts',
    lines: 1,
  },
  '/dead-letters/events.csv': { page: '/dead-letters/events', lines: 3 },
  '/dead-letters/events.csv?service=payments': {
    page: '/dead-letters/events?service=payments',
    lines: 1,
  },
  '/dead-letters.csv?state=gone': { page: '/dead-letters?state=gone', lines: 0 },
  'customers.csv': { page: 'customers', lines: 2 },
  'customers.csv?by=email&value=help%40shop.example': {
    page: 'customers?by=email&value=help%40shop.example',
    lines: 1,
  },
  'quotes.csv': { page: 'quotes', lines: 2 },
  'quotes.csv?state=expired': { page: 'quotes?state=expired', lines: 0 },
  'receivers.csv': { page: 'receivers', lines: 2 },
  'receivers.csv?breaker=half_open': { page: 'receivers?breaker=half_open', lines: 0 },
  'receivers/pauses.csv': { page: 'receivers', lines: 2 },
  'receivers/pauses.csv?pauses_of=onboarding': {
    page: 'receivers?pauses_of=onboarding',
    lines: 0,
  },
  'payments.csv?amount=25.00&currency=USD': {
    page: 'payments?amount=25.00&currency=USD',
    lines: 2,
  },
}

it.each(Object.entries(files))(
  'the file %s has the list of its page, without formulas',
  async (file, { page, lines }) => {
    const { projectId } = harness.peers.projects.demo
    const at = (path: string) => (path.startsWith('/') ? path : `/projects/${projectId}/${path}`)
    const { text: shown } = await browser.get(at(page))
    expect(shown).toContain(`href="${at(file).replaceAll('&', '&amp;')}"`)
    const { text, headers } = await browser.get(at(file))
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[a-z-]+\.csv"$/)
    const rows = cellsOf(text)
    expect(rows).toHaveLength(lines + 1)
    const [head, ...rest] = rows
    for (const row of rest) {
      expect(row).toHaveLength(head?.length ?? 0)
      const texts = row.filter((cell) => !/^-\d+\.\d\d$/.test(cell))
      for (const cell of texts) expect(cell).not.toMatch(/^[=+\-@|%\t\r\n]/)
    }
  },
)

it('a filter by an id, an institution or a kind keeps what has it, on the page and in the file', async () => {
  const { institutionId, staff, projects } = harness.peers
  const base = `/projects/${projects.demo.projectId}`
  const none = randomUUID()
  for (const [page, file, filter, wanted] of [
    [`${base}/developers`, `${base}/developers/grants.csv`, 'institution', institutionId],
    [`${base}/developers`, `${base}/developers/signing-secrets.csv`, 'institution', institutionId],
    [`${base}/receivers`, `${base}/receivers/pauses.csv`, 'pauses_of', 'notify'],
    ['/ledger', '/ledger/refused.csv', 'settlement', staff.refusedId],
    ['/inbox', '/inbox.csv', 'item', staff.refundId],
    ['/inbox', '/inbox.csv', 'item', staff.suspenseId],
  ] as const) {
    const query = `?${filter}=${wanted}`
    const rows = cellsOf((await browser.get(`${file}${query}`)).text).slice(1)
    expect([file, filter, rows.length > 0]).toEqual([file, filter, true])
    expect(rows.filter((row) => !row.includes(wanted))).toEqual([])
    const { text: shown } = await browser.get(`${page}${query}`)
    const cells = [...shown.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell)
    expect([page, filter, cells.some((cell) => cell.includes(wanted))]).toEqual([
      page,
      filter,
      true,
    ])
    const other = filter === 'pauses_of' ? 'onboarding' : none
    const left = cellsOf((await browser.get(`${file}?${filter}=${other}`)).text)
    expect([file, filter, left.length]).toEqual([file, filter, 1])
  }
})

it('a filter value that is no id, or not one of the list’s words, is refused', async () => {
  const { projectId } = harness.peers.projects.demo
  for (const path of [
    '/catalogue?state=x',
    '/routing?kind=x',
    '/routing.csv?project=x',
    '/dead-letters/events?service=x',
    '/dead-letters/events.csv?event=x',
    '/dead-letters/events/decisions?event=x',
    '/stuck.csv?kind=x',
    '/ledger?settlement=x',
    '/inbox?item=x',
    '/inbox.csv?kind=x',
    `/projects/${projectId}/receivers?pauses_of=x`,
    `/projects/${projectId}/receivers/pauses.csv?pauses_of=x`,
    `/projects/${projectId}/developers?state=x`,
    `/projects/${projectId}/developers/keys.csv?key=x`,
  ]) {
    expect([path, (await browser.get(path)).status]).toEqual([path, 400])
  }
})

it('every file of the console is one of these', async () => {
  const { projectId } = harness.peers.projects.demo
  const routes = (await routesOf(harness)).filter((route) => /^GET .*\.csv$/.test(route))
  const at = (file: string) => (file.startsWith('/') ? file : `/projects/${projectId}/${file}`)
  const tried = new Set(Object.keys(files).map((file) => routeOf('GET', at(file), routes)))
  expect(routes.filter((route) => !tried.has(route))).toEqual([])
})

/** The cells of a file, as RFC 4180 has them. */
function cellsOf(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r]*))(,|\r\n)/g,
  )) {
    row.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end !== ',') {
      rows.push(row)
      row = []
    }
  }
  return rows
}

it('an amount is searched for in its currency, and must be one that the currency has', async () => {
  const { projectId } = harness.peers.projects.demo
  const base = `/projects/${projectId}`
  const found = await browser.get(`${base}/search?q=25.00+usd`)
  expect(found.headers.get('location')).toBe(`${base}/payments?amount=25.00&currency=USD`)
  for (const wrong of ['amount=25.00', 'amount=25.001&currency=USD', 'amount=x&currency=USD']) {
    expect([wrong, (await browser.get(`${base}/payments?${wrong}`)).status]).toEqual([wrong, 400])
  }
})

it('a quote is found by its id', async () => {
  const { projectId, quote } = harness.peers.projects.demo
  const found = await browser.get(`/search?q=${quote.quoteId}`)
  expect(found.headers.get('location')).toContain(`/projects/${projectId}/quotes/${quote.quoteId}`)
})

it('the audits are filtered by person, by what was changed or read, and by time, in their files too', async () => {
  const rowsOf = async (path: string) => (await browser.get(path)).text.match(/<tr>/g)?.length ?? 0
  const linesOf = async (path: string) => (await browser.get(path)).text.trim().split('\r\n').length
  const person = encodeURIComponent(evil)
  const { institutionId } = harness.peers
  for (const [audit, target] of [
    ['/audit', institutionId],
    ['/audit/catalogue', 'POWER'],
  ]) {
    const found = `?person=${person}&target=${target}`
    expect(await rowsOf(`${audit}${found}`), audit).toBeGreaterThan(1)
    expect(await linesOf(`${audit}.csv${found}`), audit).toBeGreaterThan(1)
    for (const other of ['?person=ama@example.com', '?target=nothing']) {
      expect((await browser.get(`${audit}${other}`)).text).toContain('No change matches.')
      expect(await linesOf(`${audit}.csv${other}`)).toBe(1)
    }
    expect((await browser.get(`${audit}?from=soon`)).status).toBe(400)
  }
  expect((await browser.get('/audit?from=2999-01-01T00:00')).text).toContain('No change matches.')
  const { projectId, quote } = harness.peers.projects.demo
  await browser.get(`/projects/${projectId}/quotes/${quote.quoteId}?institution=x`)
  const call = `/audit/calls?target=${quote.quoteId}&project=${projectId}`
  expect((await browser.get(call)).text).toContain('payweave.quotes.v1.QuotesService/GetQuote')
  for (const other of [
    '&to=2020-01-01T00:00',
    '&from=2999-01-01T00:00',
    '&person=kofi@example.com',
  ]) {
    expect((await browser.get(`${call}${other}`)).text).toContain('No call matches.')
  }
})

it('while delivery is upgraded, pages and files leave out what an old replica answers beyond their filter', async () => {
  const { lanes, projects } = harness.peers
  const base = `/projects/${projects.demo.projectId}`
  const kind = 'pauses_of=onboarding'
  lanes.ignoresFilters = true
  const [page, file, home] = await Promise.all(
    [`/receivers?${kind}`, `/receivers/pauses.csv?${kind}`, ''].map((path) =>
      browser.get(`${base}${path}`),
    ),
  )
  lanes.ignoresFilters = false
  expect(page?.text).toContain('No pause matches.')
  expect(cellsOf(file?.text ?? '')).toHaveLength(1)
  expect(home?.text).toContain('None of the first receivers fails.')
  expect(home?.text).not.toContain('Every receiver takes its pushes.')
})
