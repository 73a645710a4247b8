// Plays the pages of other origins that a payer's page leads to: the back end's card form and the merchant's shop.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { cardOrigin } from '../edge/stand-ins/checkout.ts'

const style =
  'body{margin:0;font:1rem/1.5 system-ui,sans-serif}main{padding:1rem}' +
  'input{box-sizing:border-box;width:100%;min-height:2.75rem}' +
  'button{width:100%;min-height:2.75rem;margin:0}'
/** What the simulator's form runs. */
const script = readFileSync(
  join(import.meta.dirname, '../../connectors/simulator/http/pages/card.js'),
  'utf8',
)

const page = (title: string, body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
  `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>` +
  `<link rel="icon" href="data:,"><style>${style}</style>${head}</head><body><main>${body}</main></body></html>`

const fields = ['Card number', 'Expiry', 'Security code']
  .map((name) => `<p><label>${name}<br><input autocomplete="off"></label></p>`)
  .join('')

/** Serves a card form to a tab, which speaks to `host` as the simulator's does. Its button leads to a declined result. */
export async function serveCardForm(tab: Page, host: string): Promise<void> {
  await tab.route(`${cardOrigin}/**`, (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname === '/card.js') {
      return route.fulfill({ contentType: 'text/javascript', body: script })
    }
    const speaks = (state: string) =>
      `<script src="/card.js" defer data-host="${host}" data-state="${state}"></script>`
    const form = page(
      'Card form',
      `<form action="/declined">${fields}<p style="height:8rem">…</p><button>Pay by card</button></form>`,
      speaks('ready'),
    )
    const again = `<h1>Declined</h1><p><a href="/form">Try again</a></p>`
    const body = pathname === '/declined' ? page('Declined', again, speaks('declined')) : form
    return route.fulfill({ contentType: 'text/html', body })
  })
}

/** Answers with a page of the shop. */
export function shopPage(route: Route): Promise<void> {
  return route.fulfill({ contentType: 'text/html', body: page('Shop', '<h1>The shop</h1>') })
}
