// Looks for secrets and personal data in what a whole run has left: logs and traces, and for secrets tables and messages too.
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  createdOf,
  merchant,
  order,
  payer,
  person,
  receiver,
  sharedMesh,
  unique,
} from '../harness.ts'
import { formOf, open, payByCard, submit } from '../payments/browser.ts'
import { grpcClient, refusalOf } from '../tools/grpc.ts'
import { accountClient, callbackReceiver, newProfile, tokenOf } from './account-client.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const { sandbox } = mesh

/** Secrets that this test lets fall in every place where one can. */
const canary = {
  subscriptionKey: `pwk_test_${'Canary0'.repeat(4).slice(0, 23)}`,
  apiKey: 'CanaryApiKey'.repeat(3).slice(0, 32),
  bearer: unique('CanaryBearer'),
  pin: '918273645546',
  card: '4000000000000002',
  name: 'Canarina',
  email: 'canarina@example.com',
  description: unique('CanaryDescription'),
  urlSecret: unique('CanaryUrl'),
  linkToken: 'Canary_link-token'.repeat(3).slice(0, 43),
  header: unique('CanaryHeader'),
  idempotencyKey: unique('CanaryKey'),
  idNumber: 'CanaryId7319028465',
  // What all customer references begin with.
  customerReference: '73190284',
  reference: unique('CanaryReference'),
}
const planted: string[] = []
const receiptTokens: string[] = []
const credentials: string[] = []

beforeAll(async () => {
  const inbox = receiver(mesh)
  const urls = {
    notify: `${inbox.urls.notify}?secret=${canary.urlSecret}`,
    callback: `${sandbox.simulator_url}/receivers/fail/x?secret=${canary.urlSecret}`,
    success: `https://example.com/?secret=${canary.urlSecret}`,
  }
  const people = { first_name: canary.name, last_name: canary.name, email: canary.email }
  const transaction = order({
    description: canary.description,
    payers: [payer(20, { ...people, payment_method: 'card' })],
    urls,
  })
  const created = await shop.create(transaction)
  const [url = ''] = created.urls
  planted.push(...created.urls.map((link) => link.split('/').at(-1) ?? ''))
  await payByCard(url, canary.card)
  const wallet = createdOf(await shop.request(order({ payers: [payer(20, people)] })))
  const [walletUrl = ''] = wallet.urls
  planted.push(walletUrl.split('/').at(-1) ?? '')
  const form = formOf(await open(walletUrl))
  await submit(form, { pin: canary.pin })
  await submit({ ...form, fields: {} }, { pin: canary.pin })
  await open(`${sandbox.base_url}/pay/${canary.linkToken}`)
  await open(`${sandbox.base_url}/pay/${canary.linkToken}/wallet`, { method: 'POST' })
  const call = (headers: Record<string, string>, body: unknown) =>
    shop.call('POST', '/payments/request', { headers, body })
  await call({ 'PW-subscription-key': canary.subscriptionKey }, { api_key: canary.apiKey })
  await call({}, { api_key: canary.apiKey, transaction_request: transaction })
  await call({}, `{"api_key": "${canary.apiKey}", "x": ${canary.description}`)
  await call({ Authorization: `Bearer ${canary.header}`, Cookie: canary.header }, {})
  await shop.call('GET', '/payments/status', {
    query: { api_key: canary.apiKey, payment_details_id: canary.description },
  })
  await shop.call('GET', `/unknown/${canary.description}`, { query: { key: canary.apiKey } })
  const stranger = grpcClient(mesh, canary.bearer)
  const message = { projectId: canary.description, paymentId: canary.apiKey }
  await refusalOf(stranger.payments.getPayment(message))
  stranger.close()
  // Not before the back end has reported that the card was refused.
  await eventually(
    () => shop.cancel(created.id),
    ({ status, text }) => {
      if (status !== 200) throw new Error(text)
    },
  )
  await inbox.awaitNotifies(['payment_cancelled'])
  await Promise.all([plantInAccounts(), plantInBills()])
})

/** The same in the routes of accounts: look-ups, profiles, credentials, consent, and what is refused of each. */
async function plantInAccounts(): Promise<void> {
  const demo = accountClient(mesh)
  const found = await demo.session({ lookup_type: 'MOBILE', lookup_value: person(0) })
  const callback = callbackReceiver(mesh)
  const people = { first_name: canary.name, last_name: canary.name, email: canary.email }
  const profile = { ...newProfile(people), ...callback.asked }
  await demo.personalForm(
    { ...profile, occupation: canary.description },
    { selfie: `%PDF-${canary.urlSecret}` },
  )
  await callback.proved()
  await demo.personalForm({
    ...profile,
    occupation: canary.description,
    email: '',
    id_document1_number: canary.idNumber,
    address_line1: canary.description,
  })
  await demo.session({ lookup_type: 'EMAIL', lookup_value: canary.email, first_name: canary.name })
  const { body } = await demo.business({ ...newProfile(people), business_name: canary.description })
  const session_token = tokenOf(found)
  const quote = { institution_name: 'Demo Wallet', request_amount: '1.00', request_currency: 'USD' }
  const parties = { debit_party: { mobile_number: person(0) }, credit_party: { currency: 'TTD' } }
  await shop.call('POST', '/quote', { body: { ...quote, ...parties, session_token } })
  await shop.call('POST', '/quote', {
    body: { ...quote, ...parties, session_token_enc: `${canary.linkToken}=` },
  })
  const { mobile_number: _, ...rest } = profile
  await demo.register({ ...rest, mobile_number: person(0), session_token })
  await demo.register({
    ...rest,
    mobile_number: person(0),
    session_token: `pws_${canary.linkToken}`,
  })
  credentials.push(
    session_token,
    callback.asked.authorisation_token,
    String(body['api_key']),
    String(body['authorisation_token']),
  )
}

/** The same in bills: paid, refused, unknown at the biller and to us, repeated, and receipts at their links. */
async function plantInBills(): Promise<void> {
  const body = {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '1.00',
    currency: 'USD',
    customer_reference: `${canary.customerReference}1111`,
    customer_mobile_no: person(1),
    external_reference: canary.reference,
    client_receipt_id: canary.reference,
    id_type: 'DP',
    id_number: canary.idNumber,
    description: canary.description,
    other_data: canary.reference,
    metadata: { [canary.reference]: canary.description },
  }
  const pay = (more: object = {}, key = unique(canary.idempotencyKey)) =>
    shop.call('POST', '/bill_payments/pay', {
      query: { version: '2026-07-01' },
      headers: { 'Idempotency-Key': key },
      body: { ...body, ...more },
    })
  const key = unique(canary.idempotencyKey)
  const paid = await pay({}, key)
  await pay({}, key)
  await pay({ amount: '2.00' }, key)
  await pay({ biller_code: canary.reference })
  await pay({ customer_reference: canary.reference })
  await pay({ amount: canary.reference })
  await pay({ customer_reference: `${canary.customerReference}0402` })
  const lost = await pay({ customer_reference: `${canary.customerReference}0404` })
  expect([paid.status, lost.status]).toEqual([201, 202])
  await plantInReceipts(String(paid.body['transaction_id']))
}

async function plantInReceipts(transactionId: string): Promise<void> {
  const query = { version: '2026-07-01' }
  for (const id of [transactionId, canary.reference]) {
    await shop.call('GET', '/bill_payments/status', { query: { ...query, transaction_id: id } })
    await shop.call('GET', '/bill_payments/receipt', { query: { ...query, transaction_id: id } })
  }
  const [project] = await mesh.rows<{ id: string }>(
    `select project_id as id from accounts.project where name = 'demo'`,
  )
  const team = grpcClient(mesh)
  const { url } = await team.billing.printReceipt({ projectId: project?.id ?? '', transactionId })
  await refusalOf(team.billing.readReceipt({ token: canary.linkToken }))
  team.close()
  receiptTokens.push(url.split('/').at(-1) ?? '')
  await open(url)
  await open(`${sandbox.base_url}/receipts/${canary.linkToken}`)
}

/** Every file that parts and stores write their logs to. */
function logFiles(): string[] {
  const folder = path.join(mesh.dataDir, 'logs')
  const ours = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const stores = ['postgres', 'nats'].flatMap((name) =>
    fs
      .readdirSync(path.join(mesh.dataDir, name))
      .flatMap((file) => (file.endsWith('.log') ? [path.join(mesh.dataDir, name, file)] : [])),
  )
  return [...ours.map((file) => path.join(folder, file)), ...stores]
}

const texts = new Map<string, { size: number; text: string }>()

/** What stands in a file now. Dozens of looks at all that a run has logged are long, and few files grow meanwhile. */
function textOf(file: string): string {
  const { size } = fs.statSync(file)
  const known = texts.get(file)
  if (known?.size === size) return known.text
  const text = fs.readFileSync(file, 'utf8')
  texts.set(file, { size, text })
  return text
}

/** Location of a text, without showing it. */
function linesWith(pattern: RegExp): string[] {
  return logFiles().flatMap((file) => {
    const text = textOf(file)
    // Most files have none, and then their lines need no look each.
    if (text.search(pattern) < 0) return []
    return text
      .split('\n')
      .filter((line) => line.search(pattern) >= 0)
      .map((line) => `${path.basename(file)}: ${line.replaceAll(pattern, '<found>').slice(0, 500)}`)
  })
}

const literal = (text: string) => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g')

const parts = [
  'gateway',
  'payments',
  'accounts',
  'quotes',
  'billing',
  'delivery',
  'simulator',
  'console',
  'launcher',
  'traces',
]

describe('no log file holds', () => {
  it('there are log files', () => {
    const names = logFiles().map((file) => path.basename(file))
    for (const part of parts) {
      expect(names).toContain(`${part}.log`)
    }
    expect(linesWith(/rpc answered|request/g).length).toBeGreaterThan(10)
  })

  it('no log file holds a key, a token or a secret of the sandbox', () => {
    const secrets = Object.values(sandbox.projects).flatMap((project) => [
      project.subscription_key,
      project.api_key,
      project.authorisation_token ?? project.api_key,
    ])
    const { shared_key, signing_secret } = sandbox.institutions['Demo Wallet']
    secrets.push(shared_key, signing_secret, sandbox.grpc_token, sandbox.production_key)
    for (const secret of secrets) expect(linesWith(literal(secret))).toEqual([])
    expect(linesWith(/pwk_(test|live)_\w+/g)).toEqual([])
    expect(linesWith(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)).toEqual([])
  })

  it.each(Object.entries(canary))('no log file holds a planted %s', (_what, text) => {
    expect(linesWith(literal(text))).toEqual([])
  })

  it('no log file holds a token of a payer’s link', () => {
    for (const token of planted) {
      expect(token).toHaveLength(43)
      expect(linesWith(literal(token))).toEqual([])
    }
    expect(linesWith(/\/pay\/[\w-]{20,}/g)).toEqual([])
  })

  it('no log file holds a token of a receipt’s link', () => {
    expect(receiptTokens.map(({ length }) => length)).toEqual([43])
    for (const token of receiptTokens) expect(linesWith(literal(token))).toEqual([])
    expect(linesWith(/\/receipts\/[\w-]{20,}/g)).toEqual([])
  })

  it('no log file holds a token or a credential of accounts', () => {
    expect(credentials).toHaveLength(4)
    for (const secret of credentials) expect(linesWith(literal(secret))).toEqual([])
    expect(linesWith(/pws_[\w-]{8,}/g)).toEqual([])
  })

  it('no log file holds a phone number, a name or an e-mail address', () => {
    expect(linesWith(/\+?1?202555\d{4}|1868350\d{4}|\+1246\d{7}/g)).toEqual([])
    expect(linesWith(/Boateng|Mensah|Sutherland|kofi@|Demo Store/g)).toEqual([])
  })

  it('no log file holds a key of which stored rows are made', () => {
    const keys = keysOf(mesh.dataDir)
    expect(keys).toHaveLength(6)
    for (const key of keys) {
      const bytes = Buffer.from(key, 'hex')
      for (const text of [key, bytes.toString('base64'), bytes.toString('base64url')]) {
        expect(linesWith(literal(text))).toEqual([])
      }
    }
  })

  it('no log file holds a password of the database or of NATS', () => {
    const files = fs
      .readdirSync(mesh.dataDir, { recursive: true, encoding: 'utf8' })
      .filter((file) => /(^|\/)(database-|nats-)?password$/.test(file))
    // The superuser's, those of eight with a schema and of eight users of NATS.
    expect(files).toHaveLength(17)
    for (const file of files) {
      const password = fs.readFileSync(path.join(mesh.dataDir, file), 'utf8').trim()
      expect([file, linesWith(literal(password))]).toEqual([file, []])
    }
    expect(linesWith(/(postgres|nats):\/\/[^/\s"]*:[^/\s"]+@/g)).toEqual([])
  })
})

/** The keys of all processes, as their files hold them. */
function keysOf(dataDir: string): string[] {
  const folder = path.join(dataDir, 'secrets')
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\/(pepper|(seal|session|link|page)\.key)$/.test(file))
    .flatMap(
      (file) => fs.readFileSync(path.join(folder, file), 'utf8').match(/[0-9a-f]{64}/g) ?? [],
    )
}

/** What nobody but its owner may be able to read anywhere. */
function secrets(): string[] {
  const { shared_key, signing_secret } = sandbox.institutions['Demo Wallet']
  return [
    ...Object.values(sandbox.projects).flatMap((project) => [
      project.subscription_key,
      project.api_key,
    ]),
    shared_key,
    signing_secret,
    sandbox.grpc_token,
    sandbox.production_key,
    ...keysOf(mesh.dataDir),
    fs.readFileSync(path.join(mesh.dataDir, 'secrets/console/sign-in.key'), 'utf8').trim(),
    ...planted,
    ...receiptTokens,
    ...credentials,
    canary.apiKey,
    canary.subscriptionKey,
    canary.bearer,
    canary.header,
    canary.pin,
    canary.card,
    canary.idNumber,
  ]
}

describe('in clear text, a secret stands', () => {
  it('a secret is in clear text in no column of our tables, events to be published included', async () => {
    const columns = await mesh.rows<{ place: string; type: string }>(
      `select format('%I.%I.%I', table_schema, table_name, column_name) as place, data_type as type
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
       where table_type = 'BASE TABLE' and data_type in ('text', 'jsonb', 'bytea')
         and table_schema in ('payments', 'accounts', 'institution', 'quotes', 'billing', 'delivery', 'console')`,
    )
    expect(columns.map(({ place }) => place)).toContain('accounts.outbox.payload')
    const looks = columns.map(({ place, type }) => {
      const [schema, table, column] = place.split('.')
      const found =
        type === 'bytea'
          ? `position(convert_to(secret, 'UTF8') in ${column}) > 0`
          : `position(secret in ${column}::text) > 0`
      return `select '${place}' as place where exists
        (select from ${schema}.${table}, unnest($1::text[]) secret where ${found})`
    })
    expect(await mesh.rows(looks.join(' union all '), [secrets()])).toEqual([])
  })

  it('a secret is in clear text in no message that NATS keeps', () => {
    const folder = path.join(mesh.dataDir, 'nats')
    const kept = fs
      .readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.blk'))
      .map((file) => fs.readFileSync(path.join(folder, file)))
    const bytes = Buffer.concat(kept)
    const found = [...secrets(), 'pw.accounts.'].filter((text) => bytes.indexOf(text) >= 0)
    expect(found).toEqual(['pw.accounts.'])
  })
})
