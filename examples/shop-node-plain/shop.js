// The shop of shop-node without the SDK: Node.js and nothing else.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

const port = Number(process.env.SHOP_PORT ?? 4002)
const shopUrl = `http://127.0.0.1:${port}`
const dataDir = process.env.PAYWEAVE_DATA_DIR ?? `${import.meta.dirname}/../../.payweave`
const { base_url, projects } = JSON.parse(readFileSync(`${dataDir}/sandbox.json`, 'utf8'))

class PayweaveError extends Error {
  constructor({ code, errorCode, message, request_id }) {
    super(`${errorCode}: ${message} (request ${request_id ?? 'without a response'})`)
    this.status = code
  }
}

/** Sends a call. After a transient error it sends the same body and ids again, up to three times. */
async function payweave(method, path, version, fields) {
  const all = { api_key: projects.demo.api_key, ...fields }
  const query = new URLSearchParams({ version, ...(method === 'GET' ? all : {}) })
  const url = `${base_url}${path}?${query}`
  const body = method === 'POST' ? JSON.stringify(all) : undefined
  for (let attempt = 0; ; attempt++) {
    const { retryAfterMs, ...answer } = await send(url, { method, body })
    if (answer.code >= 200 && answer.code < 300) return answer
    const isTransient = [0, 408, 429, 500, 502, 503, 504].includes(answer.code)
    if (attempt === 3 || !isTransient) throw new PayweaveError(answer)
    await setTimeout(Math.max(retryAfterMs, Math.random() * 250 * 2 ** attempt))
  }
}

/** Sends one request. Without a response the `code` is 0: whether it was executed is not known. */
async function send(url, request) {
  const headers = {
    'PW-subscription-key': projects.demo.subscription_key,
    'PW-origin-country': 'US',
    'PW-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),
    'PW-ip-address': '127.0.0.1',
    'User-Agent': 'shop/1.0',
    'Content-Type': 'application/json',
  }
  const signal = AbortSignal.timeout(30_000)
  try {
    const response = await fetch(url, { ...request, headers, signal, redirect: 'error' })
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000
    return { ...(await response.json()), code: response.status, retryAfterMs }
  } catch (error) {
    return { code: 0, errorCode: 'NO_RESPONSE', message: String(error), retryAfterMs: 0 }
  }
}

// Several pushes can find one payment paid, and each can repeat. A real shop ships in one transaction of its database: it changes
// the order from open to shipped, and ships only if the order was open.
const shipped = new Set()

const routes = {
  async 'GET /'(request, response) {
    const { payments } = await payweave('GET', '/payments/list', '2026-12-01', { limit: '20' })
    response.setHeader('content-type', 'text/html; charset=utf-8').end(page(payments))
  },

  // The id of the order is in the form: a second click on "Buy" is the same order, and the same payment.
  async 'POST /buy'(request, response) {
    const form = new URLSearchParams(await text(request))
    const { payment_details } = await payweave('POST', '/payments/request', '2024-10-01', {
      transaction_request: {
        id: form.get('order'),
        amount: '25.00',
        currency: 'USD',
        description: 'A mug',
        payers: [
          {
            mobile_number: form.get('mobile_number'),
            payment_channel: 'payment_link',
            payment_method: 'wallet',
          },
        ],
        urls: { success: shopUrl, error: shopUrl, callback: `${shopUrl}/webhook` },
      },
    })
    response.writeHead(303, { location: payment_details.payers[0].url }).end()
  },

  // A push is a hint: its payment is read, and neither its body nor its order is believed.
  async 'POST /webhook'(request, response) {
    request.resume()
    const fields = { payment_details_id: request.headers['pw-payment-details-id'] ?? '' }
    const payment = await payweave('GET', '/payments/status', '2024-10-01', fields)
    const { status } = payment.payment_details
    const order = payment.transaction_request.id
    const isFirst = status === 'paid' && !shipped.has(order)
    if (isFirst) shipped.add(order)
    console.log(`${order} is ${status}${isFirst ? ': ship it' : ''}`)
    response.writeHead(204).end()
  },

  async 'POST /refund'(request, response) {
    const form = new URLSearchParams(await text(request))
    const fields = { payment_details_id: form.get('payment'), reason: 'Returned by the customer' }
    await payweave('POST', '/payments/refund', '2026-12-01', fields)
    response.writeHead(303, { location: '/' }).end()
  },
}

function page(payments) {
  const rows = payments.map(
    ({ payment_details_id: id, transaction_id, amount, currency, status }) => `<tr>
      <td>${escape(transaction_id)}<td>${amount} ${currency}<td>${status}<td>${
        status === 'paid'
          ? `<form method="post" action="/refund"><button name="payment" value="${id}">Refund</button></form>`
          : ''
      }`,
  )
  return `<!doctype html><title>Mugs</title><h1>Mugs</h1>
    <form method="post" action="/buy">
      <input type="hidden" name="order" value="mug-${randomUUID()}">
      <label>Your mobile number <input name="mobile_number" value="+12025550100"></label>
      <button>Buy a mug for 25.00 USD</button>
    </form>
    <table>${rows.join('')}</table>`
}

function escape(value) {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

function refuse(request, response, error) {
  console.error(error.message)
  // No push about a payment of ours. After any other error Payweave sends the push again.
  const isForged = request.url === '/webhook' && [400, 404].includes(error.status)
  response.writeHead(isForged ? 400 : error instanceof PayweaveError ? 502 : 500)
  response.end(`${error.message}\n`)
}

http
  .createServer((request, response) => {
    const route = routes[`${request.method} ${new URL(request.url, shopUrl).pathname}`]
    if (route === undefined) response.writeHead(404).end()
    else route(request, response).catch((error) => refuse(request, response, error))
  })
  .listen(port, '127.0.0.1', () => console.log(`The shop is open: ${shopUrl}`))
