// Looks for secrets and personal data in the logs that a whole run has left.
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { PaymentsService } from '#gen/payments/v1/payments_pb.js'
import { accountClient, callbackReceiver, newProfile, tokenOf } from './account-client.ts'
import { formOf, open, payByCard, submit } from './browser.ts'
import { grpcClient, refusalOf } from './grpc.ts'
import { createdOf, merchant, order, payer, person, receiver, sharedMesh, unique } from './world.ts'

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
}
const planted: string[] = []
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
  const stranger = grpcClient(sandbox.grpc.payments, canary.bearer)
  const message = { projectId: canary.description, paymentId: canary.apiKey }
  await refusalOf(stranger.call(PaymentsService.method.getPayment, message))
  stranger.close()
  await shop.cancel(created.id)
  await inbox.told(['payment_cancelled'])
  await plantInAccounts()
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
  await demo.personalForm({ ...profile, occupation: canary.description, email: '' })
  const { body } = await demo.business({ ...newProfile(people), business_name: canary.description })
  const session_token = tokenOf(found)
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

/** Where a text stands, without showing it. */
function linesWith(pattern: RegExp): string[] {
  return logFiles().flatMap((file) =>
    fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => pattern.test(line))
      .map(
        (line) => `${path.basename(file)}: ${line.replaceAll(pattern, '<found>').slice(0, 500)}`,
      ),
  )
}

const literal = (text: string) => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g')

describe('no log file holds', () => {
  it('but log files there are', () => {
    const names = logFiles().map((file) => path.basename(file))
    for (const part of ['gateway', 'payments', 'accounts', 'delivery', 'simulator', 'launcher']) {
      expect(names).toContain(`${part}.log`)
    }
    expect(linesWith(/rpc answered|request/g).length).toBeGreaterThan(10)
  })

  it('a key, a token or a secret of the sandbox', () => {
    const secrets = Object.values(sandbox.projects).flatMap((project) => [
      project.subscription_key,
      project.api_key,
      project.authorisation_token ?? project.api_key,
    ])
    const { shared_key, signing_secret } = sandbox.institutions['Demo Wallet']
    secrets.push(shared_key, signing_secret, sandbox.grpc_token, sandbox.production_key)
    for (const secret of secrets) expect(linesWith(literal(secret))).toEqual([])
    expect(linesWith(/pwk_(test|live)_\w+/g)).toEqual([])
    expect(linesWith(/pwi1\.[\w-]+\.[\w-]+/g)).toEqual([])
  })

  it.each(Object.entries(canary))('a planted %s', (_what, text) => {
    expect(linesWith(literal(text))).toEqual([])
  })

  it('a token of a payer’s link', () => {
    for (const token of planted) {
      expect(token).toHaveLength(43)
      expect(linesWith(literal(token))).toEqual([])
    }
    expect(linesWith(/\/pay\/[\w-]{20,}/g)).toEqual([])
  })

  it('a token or a credential of accounts', () => {
    expect(credentials).toHaveLength(4)
    for (const secret of credentials) expect(linesWith(literal(secret))).toEqual([])
    expect(linesWith(/pws_[\w-]{8,}/g)).toEqual([])
  })

  it('a phone number, a name or an e-mail address', () => {
    expect(linesWith(/\+?1?202555\d{4}|1868350\d{4}|\+1246\d{7}/g)).toEqual([])
    expect(linesWith(/Boateng|Mensah|Sutherland|kofi@|Demo Store/g)).toEqual([])
  })

  it('a password of the database or of NATS', () => {
    for (const name of ['postgres', 'nats']) {
      const file = path.join(mesh.dataDir, name, 'password')
      expect(linesWith(literal(fs.readFileSync(file, 'utf8').trim()))).toEqual([])
    }
    expect(linesWith(/(postgres|nats):\/\/[^/\s"]*:[^/\s"]+@/g)).toEqual([])
  })
})
