// Makes the Postman collection (format v2.1) and its environment, without credentials, out of the documents.
import type { RouteRow } from '../../gateway/http/route.ts'
import {
  demo,
  type Example,
  type Operation,
  type OperationName,
  type Operations,
  type Variable,
} from '../../gateway/openapi/operation.ts'
import { variableFields } from '../../gateway/openapi/shell-examples.ts'

type Script = { listen: 'prerequest' | 'test'; lines: string[] }

/** Groups in an order in which a run from top to bottom finds what it needs. */
const order = [
  'Payment requests',
  'Accounts',
  'Quotes',
  'Institution transactions',
  'Bill payments',
  'Payments of a merchant',
  'Pushes of a merchant',
]

/** Variables that a user fills in, with what is known of a local start. */
const environment = [
  { key: 'base_url', value: 'http://127.0.0.1:8080' },
  { key: 'simulator_url', value: 'http://127.0.0.1:7108' },
  { key: 'subscription_key' },
  { key: 'api_key' },
  { key: 'institution_key_id' },
  { key: 'institution_shared_key' },
]

const beforeEach: Script = {
  listen: 'prerequest',
  lines: [
    "pm.variables.set('request_date', new Date().toISOString().slice(0, 19).replace('T', ' '))",
    "pm.variables.set('seven_digits', String(2000000 + Math.floor(Math.random() * 8000000)))",
  ],
}

/** The id of a transaction is the client's own; a later request reads by it. */
const transactionId = {
  of: 'POST /institution/transaction',
  example: `transfer-${demo.unique}`,
  variable: '{{transaction_id}}',
  line: "pm.collectionVariables.set('transaction_id', pm.variables.replaceIn('transfer-{{$guid}}'))",
}

const known: Record<string, string> = {
  [transactionId.example]: transactionId.variable,
  [demo.apiKey]: '{{api_key}}',
  [demo.unique]: '{{$guid}}',
}

/** AES-256-GCM out of the counter mode of crypto-js: Newman's sandbox has no Web Crypto. */
const seal = [
  '// The session token under the shared key of the institution: version, key id, nonce, ciphertext, tag.',
  "const { AES, enc, mode, pad } = require('crypto-js')",
  "const text = (name) => pm.variables.get(name) || ''",
  "const key = enc.Base64.parse(text('institution_shared_key'))",
  "const nonce = pm.variables.replaceIn('{{$guid}}').replace(/-/g, '').slice(8)",
  'const encrypt = (plain, counter) => {',
  '  const options = { mode: mode.CTR, padding: pad.NoPadding, iv: enc.Hex.parse(counter) }',
  '  return AES.encrypt(plain, key, options).ciphertext.toString(enc.Hex)',
  '}',
  "const zeros = '0'.repeat(32)",
  "const sealed = encrypt(enc.Utf8.parse(text('session_token')), nonce + '00000002')",
  "const purpose = enc.Hex.stringify(enc.Utf8.parse('session_token'))",
  '// The tag is a polynomial over GF(2^128) of purpose, ciphertext and their lengths in bits.',
  'const padded = (hex) => hex.padEnd(32 * Math.ceil(hex.length / 32), zeros)',
  "const bits = (hex) => (4 * hex.length).toString(16).padStart(16, '0')",
  "const number = (hex) => BigInt('0x' + hex)",
  'const hashKey = number(encrypt(enc.Hex.parse(zeros), zeros))',
  'let tag = 0n',
  'for (const block of (padded(purpose) + padded(sealed) + bits(purpose) + bits(sealed)).match(/.{32}/g)) {',
  '  const factor = tag ^ number(block)',
  '  let power = hashKey',
  '  tag = 0n',
  '  for (let bit = 127n; bit >= 0n; bit -= 1n) {',
  '    if ((factor >> bit) & 1n) tag ^= power',
  '    power = power & 1n ? (power >> 1n) ^ (0xe1n << 120n) : power >> 1n',
  '  }',
  '}',
  "tag ^= number(encrypt(enc.Hex.parse(zeros), nonce + '00000001'))",
  "const all = '01' + text('institution_key_id') + nonce + sealed + tag.toString(16).padStart(32, '0')",
  "pm.variables.set('session_token_enc', enc.Base64.stringify(enc.Hex.parse(all)))",
]

/** Repeats the status of the first payment of the run until it is paid or, later in the run, refunded; for 20 s. */
const awaitPaid = [
  "const query = 'version=2024-10-01&api_key=' + pm.variables.get('api_key')",
  "const url = pm.variables.get('base_url') + '/payments/status?' + query",
  'const header = {',
  "  'PW-subscription-key': pm.variables.get('subscription_key'),",
  "  'PW-origin-country': 'US',",
  "  'PW-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),",
  "  'PW-ip-address': '127.0.0.1',",
  '}',
  "const statusRequest = { url: url + '&payment_details_id=' + pm.variables.get('paid_payment_id'), method: 'GET', header }",
  'const ask = (left) =>',
  '  pm.sendRequest(statusRequest, (error, response) => {',
  `    const isPaid = !error && /"status":"(paid|Refunded)"/.test(response.text())`,
  '    if (!isPaid && left > 0) setTimeout(() => ask(left - 1), 500)',
  '  })',
  'ask(40)',
]

/** The environment of a local start, its keys still to be filled in. */
export function postmanEnvironment(): object {
  return {
    name: 'Payweave local',
    values: environment.map(({ key, value = '' }) => ({
      key,
      value,
      type: value === '' ? 'secret' : 'default',
      enabled: true,
    })),
    _postman_variable_scope: 'environment',
  }
}

/** The collection: every example of every route. */
export function postmanCollection(rows: readonly RouteRow[], operations: Operations): object {
  const items = rows.map((row) => {
    const name: OperationName = `${row.method} ${row.path as `/${string}`}`
    const operation = operations[name]
    if (operation === undefined) throw new Error(`${name} has no words for the collection`)
    return { row, name, operation }
  })
  const tags = new Set(items.map(({ operation }) => operation.tag))
  const item = [...tags]
    .toSorted((one, other) => order.indexOf(one) - order.indexOf(other))
    .map((tag) => ({
      name: tag,
      item: items
        .filter(({ operation }) => operation.tag === tag)
        .toSorted((one, other) => Number(gives(other.name)) - Number(gives(one.name)))
        .flatMap(({ row, name, operation }) =>
          Object.entries(operation.examples).map(([label, example]) =>
            renderItem(row, name, operation, label, example),
          ),
        ),
    }))
  return {
    info: {
      name: 'Payweave',
      description:
        'Every route with its examples. Select the environment, copy its keys from `sandbox.json` of a local start, and run the requests from top to bottom: earlier requests set the variables of later ones.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    item,
    event: [eventOf(beforeEach)],
  }
}

/** Whether later requests need something of its answer. */
function gives(name: OperationName): boolean {
  return Object.values(variableFields).some(({ of }) => of === name)
}

function renderItem(
  row: RouteRow,
  name: OperationName,
  operation: Operation,
  label: string,
  example: Example,
): object {
  const isOnly = Object.keys(operation.examples).length === 1
  const query = Object.entries({ version: row.version, ...example.query })
  return {
    name: isOnly ? operation.summary : `${operation.summary}: ${label}`,
    event: [...beforeOf(name, example), testOf(name, operation, example)].map(eventOf),
    request: {
      method: row.method,
      description: operation.description,
      header: Object.entries(headersOf(row, example)).map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{base_url}}${row.path}?${query.map(([key, value]) => `${key}=${words(value)}`).join('&')}`,
        host: ['{{base_url}}'],
        path: row.path.split('/').slice(1),
        query: query.map(([key, value]) => ({ key, value: words(value) })),
      },
      ...bodyOf(example),
    },
    response: [],
  }
}

function headersOf(row: RouteRow, { body, form }: Example): Record<string, string> {
  return {
    'PW-subscription-key': '{{subscription_key}}',
    'PW-origin-country': 'US',
    'PW-request-date': '{{request_date}}',
    'PW-ip-address': '127.0.0.1',
    'PW-request-id': '{{$guid}}',
    ...(row.idempotencyKey === 'required' && { 'Idempotency-Key': 'bill-{{$guid}}' }),
    ...(body !== undefined && form === undefined && { 'Content-Type': 'application/json' }),
  }
}

function bodyOf({ body, form }: Example): object {
  if (form !== undefined) {
    const texts = Object.entries(form.texts).map(([key, value]) => ({
      key,
      value: words(value),
      type: 'text',
    }))
    const files = form.files.map((key) => ({ key, type: 'file', src: null }))
    return { body: { mode: 'formdata', formdata: [...texts, ...files] } }
  }
  if (body === undefined) return {}
  const raw = words(JSON.stringify(body, null, 2))
  return { body: { mode: 'raw', raw, options: { raw: { language: 'json' } } } }
}

function beforeOf(name: OperationName, { needs = [] }: Example): Script[] {
  if (needs.includes('PAID_PAYMENT_ID')) return [{ listen: 'prerequest', lines: awaitPaid }]
  if (name !== transactionId.of) return []
  return [{ listen: 'prerequest', lines: [transactionId.line, ...seal] }]
}

/** Holds the status against the document, and keeps what later requests need. */
function testOf(name: OperationName, { successes, examples }: Operation, example: Example): Script {
  const codes = Object.keys(successes).join(', ')
  // What has to be paid is the first example.
  const isFirst = Object.values(examples)[0] === example
  const kept = Object.entries(variableFields)
    .filter(([, { of, until }]) => of === name && (until === undefined || isFirst))
    .map(([variable, { field }]) => keep(variable as Variable, field))
  return {
    listen: 'test',
    lines: [
      `pm.test('has a documented status', () => pm.expect(pm.response.code).to.be.oneOf([${codes}]))`,
      ...kept,
    ],
  }
}

function keep(variable: Variable, field: string): string {
  const name = variable.toLowerCase()
  const pattern = `/"${field}":"([^"]*)"/`
  return `pm.collectionVariables.set('${name}', (${pattern}.exec(pm.response.text()) || [])[1])`
}

function eventOf({ listen, lines }: Script): object {
  return { listen, script: { type: 'text/javascript', exec: lines } }
}

/** A text of an example with Postman's variables in place of the shell's. */
function words(text: string): string {
  return Object.entries(known)
    .reduce((known, [shell, variable]) => known.replaceAll(shell, variable), text)
    .replaceAll(/\$\(\(.*?%.*?\)\)/g, '{{seven_digits}}')
    .replaceAll(/\$([A-Z_]+)/g, (_, name: string) => `{{${name.toLowerCase()}}}`)
}
