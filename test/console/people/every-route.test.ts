// Tests every route that the server registers: its pages by role, its forms against other sites, its files against formulas.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { portableCommands } from '../../../clients/cli/portable-commands.ts'
import { localPeople } from '../../../console/sign-in/local-provider.ts'
import { pages, pagesOf } from '../every-page.ts'
import { type Harness, startHarness } from '../harness.ts'
import { type Browser, formTokenIn } from '../http-browser.ts'
import { routeOf, routesOf } from './routes.ts'

let harness: Harness
let routes: string[]
let browser: Browser
beforeAll(async () => {
  harness = await startHarness()
  routes = await routesOf(harness)
  browser = await harness.signedIn('ama')
})
afterAll(() => harness?.close())

/** The provider's own, which no page of the console sends a form to. */
const isOfProvider = (route: string) => route.includes(' /local/')
const forms = () => routes.filter((route) => route.startsWith('POST ') && !isOfProvider(route))

/** A path of a route, with invalid ids, but the id of the person's own project. */
function pathOf(route: string): string {
  const { projectId } = harness.peers.projects.demo
  const path = route.slice(route.indexOf('/'))
  return path.replace(':projectId', projectId).replaceAll(/:\w+/g, '1')
}

it('no form of any page is accepted without its token, from another site or without a session', async () => {
  expect(forms().length).toBeGreaterThan(35)
  const foreign = formTokenIn((await (await harness.signedIn('esi')).follow('/')).text)
  harness.peers.calls.length = 0
  for (const route of forms()) {
    const path = pathOf(route)
    const statuses = [
      await browser.post(path, { form_token: '' }),
      await browser.post(path, { form_token: foreign }),
      await browser.post(path, {}, { headers: { 'sec-fetch-site': 'cross-site' } }),
      await browser.post(path, {}, { headers: { origin: 'https://evil.example' } }),
      await harness.browse().get(path, { method: 'POST' }),
    ].map(({ status }) => status)
    expect([route, statuses]).toEqual([route, [403, 403, 403, 403, 401]])
  }
  expect(harness.peers.calls.filter(({ rpc }) => !/^(Get|List)/.test(rpc))).toEqual([])
})

it('no page but those of the sign-in is shown without a session', async () => {
  const shown = routes.filter(
    (route) =>
      route.startsWith('GET ') && !/ \/(assets|local|sign-in|signed-out|favicon)/.test(route),
  )
  expect(shown.length).toBeGreaterThan(60)
  for (const route of shown) {
    const { status, headers, text } = await harness.browse().get(pathOf(route))
    const location = headers.get('location') ?? ''
    expect([route, status, text]).toEqual([route, 303, ''])
    expect(location).toMatch(/^\/sign-in\?return=/)
  }
})

it('every page and file of the staff is refused to merchants, by its service or before', async () => {
  const ofStaff = routes.filter(
    (route) =>
      route.startsWith('GET ') &&
      !/ \/(projects|search|assets|local|sign-in|signed-out|favicon|$)/.test(route),
  )
  expect(ofStaff.length).toBeGreaterThan(25)
  const known = pagesOf(harness.peers)
  for (const id of ['abena', 'kwame']) {
    const merchant = await harness.signedIn(id)
    for (const route of ofStaff) {
      const path = known.find((page) => routeOf('GET', page, routes) === route) ?? pathOf(route)
      // The console refuses an invalid id before it calls the service.
      const refused = route.includes(':') ? [403, 404] : [403]
      const { status, text } = await merchant.get(path)
      expect([route, refused.includes(status)]).toEqual([route, true])
      expect(text).not.toContain('<table')
    }
  }
})

it('every page of the staff and of access names commands of payweave, which exist', async () => {
  const base = `/projects/${harness.peers.projects.demo.projectId}`
  const names = portableCommands.map(({ name }) => name)
  const places =
    'inbox approvals stuck receivers dead-letters dead-letters/events dead-letters/events/decisions api-log ledger catalogue routing audit audit/catalogue audit/actions'
  const ofStaff = places.split(' ').map((place) => `/${place}`)
  for (const path of [...ofStaff, `${base}/access`, `${base}/receivers`, `${base}/developers`]) {
    const { text } = await browser.get(path)
    const named = [...text.matchAll(/<code>payweave ([^<]+)<\/code>/g)].map(([, one = '']) => one)
    expect([path, named.length > 0]).toEqual([path, true])
    const unknown = named.filter((one) => !names.some((name) => `${one} `.startsWith(`${name} `)))
    expect([path, unknown]).toEqual([path, []])
  }
})

const project = '/projects/:projectId'

/** The commands that print what each file of a list has. The record of people's calls is the console's own. */
const commandsOfFiles: Record<string, string[]> = {
  '/api-log.csv': ['api-log all'],
  '/approvals.csv': ['approval list'],
  '/audit.csv': ['audit list'],
  '/audit/actions.csv': ['audit actions'],
  '/audit/calls.csv': [],
  '/audit/catalogue.csv': ['audit catalogue'],
  '/catalogue.csv': ['biller list'],
  '/dead-letters.csv': ['deliveries dead-letters'],
  '/dead-letters/events.csv': ['events dead'],
  '/dead-letters/events/decisions.csv': ['events dead'],
  '/inbox.csv': [
    'onboarding list',
    'bill reviews',
    'refund list',
    'balance suspense',
    'ledger refused',
    'deliveries dead-letters',
  ],
  '/ledger/refused.csv': ['ledger refused'],
  '/projects.csv': ['project list'],
  '/receivers.csv': ['deliveries receivers'],
  '/routing.csv': ['routes list'],
  '/routing/changes.csv': ['routes changes'],
  '/stuck.csv': ['stuck list'],
  [`${project}/api-log.csv`]: ['api-log list'],
  [`${project}/approvals.csv`]: ['approval list'],
  [`${project}/balances.csv`]: ['balance list'],
  [`${project}/balances/settlements.csv`]: ['settlement list'],
  [`${project}/balances/statement.csv`]: ['balance statement'],
  [`${project}/bills.csv`]: ['bill list'],
  [`${project}/customers.csv`]: ['customer list'],
  [`${project}/developers/grants.csv`]: ['grant list'],
  [`${project}/developers/keys.csv`]: ['key list'],
  [`${project}/developers/signing-secrets.csv`]: ['institution secrets'],
  [`${project}/ledger.csv`]: ['ledger list'],
  [`${project}/payments.csv`]: ['payments list'],
  [`${project}/pushes.csv`]: ['deliveries list'],
  [`${project}/pushes/replays.csv`]: ['replay list'],
  [`${project}/quotes.csv`]: ['quote list'],
  [`${project}/receivers.csv`]: ['deliveries lanes'],
  [`${project}/receivers/pauses.csv`]: ['deliveries pauses'],
  [`${project}/transfers.csv`]: ['transfer list'],
}

it('every list of the console that a person can download is a command of payweave too', () => {
  const files = routes.filter((route) => /^GET .*\.csv$/.test(route)).map((route) => route.slice(4))
  expect(files.toSorted()).toEqual(Object.keys(commandsOfFiles).toSorted())
  const names = new Set(portableCommands.map(({ name }) => name))
  const missing = Object.values(commandsOfFiles).flatMap((commands) =>
    commands.filter((name) => !names.has(name)),
  )
  expect(missing).toEqual([])
})

describe.each(localPeople.filter(({ project }) => project !== 'other'))('$role', ({ id, role }) => {
  const linksIn = ({ text }: { text: string }) => {
    const [, navigation = ''] = /<nav class="nav"[^>]*>(.*?)<\/nav>/s.exec(text) ?? []
    return [...navigation.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href)
  }

  it('the navigation leads to the pages that they may open, and all others are refused', async () => {
    const base = `/projects/${harness.peers.projects.demo.projectId}`
    const all = linksIn(await browser.get(base))
    expect(all.length).toBeGreaterThan(24)
    const person = await harness.signedIn(id)
    const own = linksIn(await person.get(base))
    expect([role, own.filter((link) => !all.includes(link))]).toEqual([role, []])
    for (const link of all) {
      const { status } = await person.follow(link)
      expect([role, link, status]).toEqual([role, link, own.includes(link) ? 200 : 403])
    }
  })
})

/** Routes that show no page by themselves. */
const others = [
  // Files and pictures.
  /\.(csv|pdf|png|svg|ico)$/,
  /^GET \/inbox\/onboardings\/:reviewId\/files\//,
  // The script and the style.
  /^GET \/assets\//,
  // Streams.
  /\/events$/,
  // A frame of the branding, which has a test of its own.
  /\/branding\/preview$/,
  // Redirects and data of the sign-in; its page has a test of its own.
  /^GET \/(sign-in|local)/,
]

it('every route that shows a page is one that the tests of pages look at, in a browser too', () => {
  const { peers } = harness
  const seen = new Set(Object.values(pages).map((of) => routeOf('GET', of(peers), routes)))
  const left = routes.filter((route) => route.startsWith('GET ') && !seen.has(route))
  expect(left.filter((route) => !others.some((other) => other.test(route)))).toEqual([])
})
