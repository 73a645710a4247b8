// Plays the pages of other origins that a payer's page leads to: the back end's card form and the merchant's shop.
import type { Route } from 'playwright-core'

const style =
  'body{margin:1rem;font:1rem/1.5 system-ui,sans-serif}' +
  'input{box-sizing:border-box;width:100%;min-height:2.75rem}'

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
  `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>` +
  `<link rel="icon" href="data:,"><style>${style}</style></head><body><main>${body}</main></body></html>`

const fields = ['Card number', 'Expiry', 'Security code']
  .map((name) => `<p><label>${name}<br><input autocomplete="off"></label></p>`)
  .join('')

/** Answers with a card form. */
export function cardForm(route: Route): Promise<void> {
  return route.fulfill({ contentType: 'text/html', body: page('Card form', fields) })
}

/** Answers with a page of the shop. */
export function shopPage(route: Route): Promise<void> {
  return route.fulfill({ contentType: 'text/html', body: page('Shop', '<h1>The shop</h1>') })
}
