// A shop in one file: it sells a mug, sends its customer to the payer's page, learns of the payment by a push, and refunds.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { createPayweave, PayweaveError, WebhookError } from '@payweave/sdk'

const port = Number(process.env.SHOP_PORT ?? 4000)
const shopUrl = `http://127.0.0.1:${port}`
const dataDir = process.env.PAYWEAVE_DATA_DIR ?? '../../.payweave'
const { base_url, projects } = JSON.parse(readFileSync(`${dataDir}/sandbox.json`, 'utf8'))
const payweave = createPayweave({
  baseUrl: base_url,
  subscriptionKey: projects.demo.subscription_key,
  apiKey: projects.demo.api_key,
  originCountry: 'US',
  ipAddress: '127.0.0.1',
})

// Several pushes can find one payment paid, and each can repeat. A real shop ships in one transaction of its database: it changes
// the order from open to shipped, and ships only if the order was open.
const shipped = new Set()

const routes = {
  async 'GET /'(request, response) {
    const payments = await payweave.payments.list().take(20)
    response.setHeader('content-type', 'text/html; charset=utf-8').end(page(payments))
  },

  // The id of the order is in the form: a second click on "Buy" is the same order, and the same payment.
  async 'POST /buy'(request, response) {
    const form = new URLSearchParams(await text(request))
    const payment = await payweave.payments.create({
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
    })
    response.writeHead(303, { location: payment.payers[0].url }).end()
  },

  async 'POST /webhook'(request, response) {
    const rawBody = await buffer(request)
    const { push, payment } = await payweave.payments.confirmPush({
      headers: request.headers,
      rawBody,
    })
    const { transactionId } = push
    const { status } = payment.payment_details
    const isFirst = status === 'paid' && !shipped.has(transactionId)
    if (isFirst) shipped.add(transactionId)
    console.log(`${transactionId} is ${status}${isFirst ? ': ship it' : ''}`)
    response.writeHead(204).end()
  },

  async 'POST /refund'(request, response) {
    const form = new URLSearchParams(await text(request))
    await payweave.payments.refund(form.get('payment'), 'Returned by the customer')
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

function refuse(response, error) {
  const status = error instanceof WebhookError ? 400 : error instanceof PayweaveError ? 502 : 500
  console.error(`${error.reason ?? error.name}: ${error.message} ${error.howToFix ?? ''}`)
  response.writeHead(status).end(`${error.message}\n`)
}

http
  .createServer((request, response) => {
    const route = routes[`${request.method} ${new URL(request.url, shopUrl).pathname}`]
    if (route === undefined) response.writeHead(404).end()
    else route(request, response).catch((error) => refuse(response, error))
  })
  .listen(port, '127.0.0.1', () => console.log(`The shop is open: ${shopUrl}`))
