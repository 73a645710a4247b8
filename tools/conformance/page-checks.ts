// Checks of everything that needs no key: payers' pages, documents, health.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { eventually } from '../../clients/cli/api/eventually.ts'
import { order, payer } from '../../clients/cli/api/order.ts'
import {
  collectCash,
  fillIn,
  formOf,
  open,
  type Page,
  payByCard,
  unescaped,
} from '../../clients/cli/api/page.ts'
import { type Check, type CheckContext, demand, demandShape, groupOf } from './check.ts'
import { contractRoutes } from './route-checks.ts'
import { holding } from './shape.ts'

const pages = groupOf('pages', 'api key')
const documents = groupOf('documents')

async function pageFor(
  { shop }: CheckContext,
  more: Json = {},
): Promise<{ id: string; page: Page }> {
  const { id, urls } = await shop.create(order(more))
  return { id, page: await open(urls[0] ?? '') }
}

/** What a page would load or talk to. */
function originsIn({ html, url }: Page): Set<string> {
  const addresses = [...html.matchAll(/\s(?:src|href|action|data|poster)="([^"]*)"/g)]
  return new Set(addresses.map(([, address = '']) => new URL(unescaped(address), url).origin))
}

const pageChecks: Check[] = [
  pages(
    'open',
    "A payer's url is an HTML page that shows merchant, amount, currency and description.",
    async (context) => {
      const { page } = await pageFor(context, { description: 'Two tickets' })
      demand(page.status === 200, `answered ${page.status}`)
      demandShape(page.headers['content-type'], /^text\/html; ?charset=utf-8$/i, 'content-type')
      for (const part of ['100.00', 'USD', 'Two tickets']) {
        demandShape(unescaped(page.html), holding(part), 'the page')
      }
    },
  ),
  pages(
    'policy',
    'A page has a strict content security policy and cannot be framed or cached.',
    async (context) => {
      const { page } = await pageFor(context)
      const policy = page.headers['content-security-policy'] ?? ''
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        demandShape(policy, holding(rule), 'the policy')
      }
      demand(!/unsafe|\*/.test(policy), 'the policy has unsafe parts')
      demandShape(page.headers['cache-control'], holding('no-store'), 'cache-control')
      demandShape(page.headers['x-content-type-options'], 'nosniff', 'x-content-type-options')
    },
  ),
  pages('own-origin', 'A page asks nothing of any other origin.', async (context) => {
    const { page } = await pageFor(context)
    const others = [...originsIn(page)].filter((origin) => origin !== new URL(page.url).origin)
    demand(others.length === 0, `the page asks ${others.join(', ')}`)
  }),
  pages('hostile-text', 'Texts of a request are shown as texts.', async (context) => {
    const { page } = await pageFor(context, { description: '<img src=x onerror=alert(1)>' })
    demand(!page.html.includes('<img src=x'), 'a text of the request became a tag')
  }),
  pages('unknown', 'An unknown token is a 404 HTML page.', async ({ target }) => {
    const page = await open(`${target.baseUrl}/pay/${'A'.repeat(43)}`)
    demand(page.status === 404, `answered ${page.status}, not 404`)
    demandShape(page.headers['content-type'], /^text\/html/, 'content-type')
  }),
  pages(
    'cancelled',
    'The page of a cancelled request says so and has no form.',
    async (context) => {
      const { id, page } = await pageFor(context)
      await context.shop.cancel(id)
      const after = await open(page.url)
      demandShape(after.html, holding('cancelled'), 'the page')
      demand(formOf(after) === undefined, 'a cancelled page can be paid on')
    },
  ),
  pages(
    'qr-code',
    'direct_pos shows a QR code as an image of the page itself.',
    async (context) => {
      const payers = [payer(20, { payment_channel: 'direct_pos', payment_method: 'qr_code' })]
      const { page } = await pageFor(context, { payers })
      demandShape(page.html, /<svg\b/, 'the page')
    },
  ),
  pages(
    'wallet',
    'PIN 000002 is refused and can be tried again; 123456 pays once, regardless of other fields in the form.',
    async (context) => {
      const { id, page } = await pageFor(context)
      await fillIn(page.url, { pin: '000002' })
      await eventually('a refusal on the page', async () => {
        const { html } = await open(page.url)
        return /refused|declined/i.test(html) && html.includes('name="pin"') ? true : undefined
      })
      await fillIn(page.url, { pin: '123456', amount: '0.01' })
      const { body } = await context.shop.becomes(id, 'paid')
      demandShape(body, { payment_details: { payments_status: { paid: '100.00 USD' } } })
      const after = await open(page.url)
      demandShape(after.html, /\bpaid\b/i, 'the page')
      demand(formOf(after) === undefined, 'a paid page can be paid on again')
    },
    'sandbox',
  ),
  pages('foreign-form', 'A form that is not ours pays nothing.', async (context) => {
    const { id, page } = await pageFor(context)
    const action = formOf(page)?.action ?? page.url
    const { status } = await open(action, { pin: '123456' })
    demand(status >= 400 && status < 500, `answered ${status}, not 4xx`)
    demandShape((await context.shop.status(id)).body['payers'], [{ status: 'Pending' }], 'payers')
  }),
  pages(
    'card',
    "Card 4000 0000 0000 0002 is declined, 4242 4242 4242 4242 approved, in the back end's frame.",
    async (context) => {
      const { id, page } = await pageFor(context, {
        payers: [payer(20, { payment_method: 'card' })],
      })
      const declined = await payByCard(page.url, '4000000000000002')
      demandShape(declined.html, holding('declined'), 'the frame')
      await eventually('the payer is asked again', async () => {
        const [payer] = (await context.shop.status(id)).body['payers'] as Json[]
        return payer?.['status'] === 'Pending' ? true : undefined
      })
      await payByCard(page.url, '4242424242424242')
      await context.shop.becomes(id, 'paid')
    },
    'sandbox',
  ),
  pages(
    'cash',
    'An agent collects cash for the code of the page, once.',
    async (context) => {
      const payers = [payer(20, { payment_channel: 'agent', payment_method: 'cash' })]
      const { id, page } = await pageFor(context, { payers })
      demand(!page.html.includes('name="pin"'), 'a page for cash asks for a PIN')
      await collectCash(context.target.simulatorUrl ?? '', page.url)
      await context.shop.becomes(id, 'paid')
    },
    'sandbox',
    'simulator',
  ),
]

type Document = { openapi: string; paths: Record<string, Json>; webhooks?: Json }

const documentChecks: Check[] = [
  documents(
    'openapi',
    '/openapi.json needs no key, is OpenAPI 3.1, and leads to both versions with every route.',
    async ({ target }) => {
      const read = async (path: string) => {
        const page = await open(new URL(path, target.baseUrl).href)
        demand(page.status === 200, `${path} answered ${page.status}`)
        return JSON.parse(page.html) as Document
      }
      const first = await read('/openapi.json')
      demandShape(first.openapi, /^3\.1\./, 'openapi')
      const linked = JSON.stringify(first).matchAll(/\/openapi\.json\?version=[\d-]+/g)
      const paths = new Set([...linked].map(([path]) => path))
      const all = [first, ...(await Promise.all([...paths].map(read)))]
      for (const { method, path } of contractRoutes) {
        const found = all.some((one) => one.paths[path]?.[method.toLowerCase()] !== undefined)
        demand(found, `${method} ${path} is in no document`)
      }
      demand(
        all.some(({ webhooks }) => webhooks !== undefined),
        'no document describes the pushes',
      )
    },
  ),
  documents(
    'docs',
    '/docs is a page that loads nothing from other origins.',
    async ({ target }) => {
      let page = await open(`${target.baseUrl}/docs`)
      if (page.status >= 300 && page.status < 400) {
        page = await open(new URL(page.headers['location'] ?? '', page.url).href)
      }
      demand(page.status === 200, `answered ${page.status}`)
      demandShape(page.headers['content-type'], /^text\/html/, 'content-type')
      const own = new URL(target.baseUrl).origin
      const others = [...originsIn(page)].filter((origin) => origin !== own)
      demand(others.length === 0, `the page asks ${others.join(', ')}`)
    },
  ),
  documents('livez', '/livez answers 200 without a key.', async ({ target }) => {
    demand((await open(`${target.baseUrl}/livez`)).status === 200, 'it did not')
  }),
  documents('readyz', '/readyz answers 200 when every part is ready.', async ({ target }) => {
    let last = ''
    // A part that stalls for a moment is not ready for that moment.
    const isReady = eventually(
      'ready',
      async () => {
        const { status, html } = await open(`${target.baseUrl}/readyz`)
        last = `answered ${status}: ${html.slice(0, 300)}`
        return status === 200 || undefined
      },
      { withinMs: 10_000 },
    )
    demand(await isReady.catch(() => false), last)
  }),
  documents('nothing-else', 'No list of billers and no metrics are public.', async ({ target }) => {
    for (const path of ['/metrics', '/billers', '/bill_payments', '/products', '/admin']) {
      const { status } = await open(`${target.baseUrl}${path}`)
      demand(status === 404, `${path} answered ${status}, not 404`)
    }
  }),
]

export const openChecks: Check[] = [...pageChecks, ...documentChecks]
