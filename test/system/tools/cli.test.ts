// Shows the command line against the running system: projects by name, every list of what the console shows, payments and files. It must not know a route.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ledgerListCommands } from '../../../clients/cli/operations/ledger-lists.ts'
import { projectListCommands } from '../../../clients/cli/operations/project-lists.ts'
import { staffListCommands } from '../../../clients/cli/operations/staff-lists.ts'
import { runHere } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { accountClient, newProfile } from '../accounts/account-client.ts'
import { merchant, order, payer, person, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const root = path.resolve(import.meta.dirname, '../../..')

function payweave(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['clients/cli/payweave.mjs', ...words, '--data-dir', mesh.dataDir],
      { cwd: root },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

it.each(['demo', 'other'])('the command line knows project %s by its name', async (project) => {
  const list = await payweave('deliveries', 'list', '--project', project, '--json', '--limit', '3')
  expect(list).toMatchObject({ code: 0, err: '' })
  for (const line of list.out.split('\n').filter((text) => text !== '')) {
    expect(JSON.parse(line)).toHaveProperty('delivery_id')
  }
})

it('the command line asks for demo when no project is named', async () => {
  expect((await payweave('deliveries', 'list')).code).toBe(0)
  expect((await payweave('deliveries', 'list', '--project', 'nobody')).code).toBe(2)
})

const run = (...words: string[]) => runHere(mesh.dataDir, ...words)
const parsed = (out: string) => JSON.parse(out) as Record<string, unknown>

/** A list, and the command that shows one of its items by this field. */
const lists: [list: string, show?: string, field?: string][] = [
  ['customer list', 'customer show', 'account_id'],
  ['balance list'],
  ['balance statement'],
  ['bill list'],
  ['transfer list', 'transfer show', 'movement_id'],
  ['settlement list', 'settlement show', 'settlement_id'],
  ['quote list', 'quote show', 'quote_id'],
  ['api-log list', 'api-log show', 'entry_id'],
  ['api-log all'],
  ['onboarding list', 'onboarding show', 'review_id'],
  ['balance suspense'],
  ['ledger list', 'ledger show', 'transfer_id'],
  ['balance open'],
  ['ledger refused'],
  ['refund list'],
  ['deliveries dead-letters'],
  ['deliveries receivers'],
]

it('the command line lists what the console shows, shows one of each, and reads pages until its limit', {
  timeout: 180_000,
}, async () => {
  for (const outcome of [
    'account.available',
    'payment.paid',
    'bill.paid',
    'transfer.p2p',
    'quote.made',
  ]) {
    expect([outcome, (await run('trigger', outcome)).code]).toEqual([outcome, 0])
  }
  const walked = new Set<string>(['payments summary', 'claim list'])
  for (const [list, show, field] of lists) {
    walked.add(list).add(show ?? list)
    const plain = await run(...list.split(' '), '--limit', '3')
    expect([list, plain.code, plain.err]).toEqual([list, 0, ''])
    expect(plain.out, list).toMatch(/^([A-Z ]+\n|no )/)
    const { out } = await run(...list.split(' '), '--limit', '3', '--json')
    const lines = out.split('\n').filter((line) => line !== '')
    const items = lines.map((line) => JSON.parse(line) as Record<string, string>)
    const id = items[0]?.[field ?? '']
    if (show === undefined || field === undefined || id === undefined) continue
    expect(await run(...show.split(' '), id), show).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining(id),
    })
    const shown = await run(...show.split(' '), id, '--json')
    expect(JSON.parse(shown.out), show).toMatchObject({ [field]: id })
    const unknown = await run(...show.split(' '), randomUUID())
    expect([show, unknown.code, unknown.out]).toEqual([show, 1, ''])
  }
  const timed = [
    'balance statement',
    'bill list',
    'transfer list',
    'settlement list',
    'ledger list',
    'api-log list',
    'api-log all',
  ]
  for (const list of timed) {
    const listed = (...words: string[]) => run(...list.split(' '), '--limit', '1', ...words)
    const future = ['--created-from', '2999-01-01 00:00:00']
    expect((await listed(...future)).out, list).toMatch(/^no /)
    const past = await listed(
      '--created-from',
      '2026-01-01 00:00:00',
      '--created-to',
      '2999-01-01 00:00:00',
    )
    expect(past.out.split('\n'), list).toHaveLength(3)
    const wrong = await listed('--created-to', 'yesterday')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--created-to must be')])
  }
  for (const list of ['api-log list', 'api-log all']) {
    const listed = (...words: string[]) => run(...list.split(' '), '--limit', '1', ...words)
    // Others are refused for a key that they lack.
    const paid = ['--route', 'POST /bill_payments/pay', '--outcome', 'succeeded']
    const found = await eventually(async () => parsed((await listed(...paid, '--json')).out))
    expect([list, found['route']]).toEqual([list, 'POST /bill_payments/pay'])
    const key = String(found['idempotency_key'])
    const ofKey = parsed((await listed('--idempotency-key', key, '--json')).out)
    expect([list, ofKey['idempotency_key']]).toEqual([list, key])
    expect((await listed('--idempotency-key', 'none')).out, list).toBe('no requests\n')
  }
  expect((await run('balance', 'open', '--account', 'refunds_unpaid')).code).toBe(0)
  for (const list of [
    'onboarding list',
    'refund list',
    'balance suspense',
    'ledger refused',
    'deliveries dead-letters',
    'institution list',
  ]) {
    const { code, out } = await run(...list.split(' '), '--id', randomUUID())
    expect([list, code, out]).toEqual([list, 0, expect.stringMatching(/^no /)])
  }
  expect((await run('institution', 'list', '--name', 'Demo Wallet')).out).toContain('Demo Wallet')
  expect((await run('key', 'list', '--state', 'active')).out).not.toContain('revoked')
  expect((await run('key', 'list', '--state', 'lost')).code).toBe(2)
  expect((await run('deliveries', 'pauses', '--kind', 'onboarding')).code).toBe(0)
  for (const kind of ['announce', 'request_consent', 'attempt', 'sent_refund', 'held_quote']) {
    const { code, out } = await run('stuck', 'list', '--kind', kind, '--json')
    expect([kind, code]).toEqual([kind, 0])
    const lines = out.split('\n').filter((line) => line !== '')
    for (const line of lines) expect(parsed(line)['kind']).toBe(kind)
  }
  expect((await run('stuck', 'list', '--kind', 'payment')).code).toBe(2)
  const defined = [...projectListCommands, ...staffListCommands, ...ledgerListCommands].map(
    ({ name }) => name,
  )
  expect([...walked].toSorted()).toEqual(defined.toSorted())
  const { merchant_id: merchantId = '' } = JSON.parse(
    (await run('merchant', 'list', '--project', 'demo', '--limit', '1', '--json')).out,
  ) as Record<string, string>
  const summary = await run('payments', 'summary', merchantId)
  expect(summary).toMatchObject({ code: 0, out: expect.stringContaining('read_time') })
  const ofLedger = (...words: string[]) => run('ledger', 'list', '--limit', '1', ...words)
  for (const account of ['held', 'fee_income']) {
    expect((await ofLedger('--account', account, '--type', 'payment')).out).toContain('payment')
  }
  expect((await ofLedger('--account', 'float', '--reference', 'nothing')).out).toMatch(/^no /)
  expect(await ofLedger('--account', 'nothing')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--account must be one of a UUID, float, clearing'),
  })
  const claims = ['claim', 'list', '--kind', 'bill', '--items', randomUUID()]
  expect((await run(...claims)).out).toBe('nobody works on them\n')
  expect((await run('claim', 'list')).code).toBe(2)
  const stuck = await run('stuck', 'list')
  expect([stuck.code, stuck.err]).toEqual([0, ''])
  expect(stuck.out).toMatch(/^(KIND |nothing is stuck)/)
  const retried = await run('stuck', 'retry', 'payout', randomUUID())
  expect([retried.code, retried.out]).toEqual([1, ''])
  expect((await run('stuck', 'retry', 'nothing', randomUUID())).code).toBe(2)
  expect((await run('stuck', 'ask', 'quote', randomUUID())).code).toBe(2)
  // Each reaches its service, which knows no such thing.
  for (const words of [
    ['stuck', 'retry', 'request_consent'],
    ['stuck', 'ask', 'attempt'],
    ['stuck', 'ask', 'sent_refund'],
    ['stuck', 'ask', 'transfer'],
    ['onboarding', 'reject', '--reason', 'their passport'],
    ['refund', 'settle', '--note', 'by bank transfer'],
    ['ledger', 'retry'],
  ]) {
    const { code, out, err } = await run(...words, randomUUID())
    expect([words, code, out]).toEqual([words, 1, ''])
    expect(err).toMatch(/ no such | no refund | not found\b/)
  }
  const accept = [
    'onboarding',
    'accept',
    randomUUID(),
    '--level',
    '1',
    '--reason',
    'their passport',
  ]
  expect((await run(...accept)).code).toBe(2)
  expect((await run(...accept, '--funds-access', 'full')).code).toBe(1)
  const held = randomUUID()
  expect((await run('claim', 'take', held, '--kind', 'bill')).code).toBe(0)
  const holders = await run('claim', 'list', '--kind', 'bill', '--items', held)
  expect(holders.out).toContain(held)
  expect((await run('claim', 'release', held, '--kind', 'bill')).code).toBe(0)
  expect((await run('claim', 'take', held, '--kind', 'project')).code).toBe(2)
  const last = await run('ledger', 'last-check')
  expect(last.out).toMatch(/^(checked \d+ transfers at |no whole check so far)/)
  expect((await run('bill', 'list', '--state', 'soon')).code).toBe(2)
  expect((await run('customer', 'list', '--by', 'mobile')).code).toBe(2)
  expect((await run('customer', 'show')).code).toBe(2)
})

it('the command line shows payments of any merchant with a bearer, and no token of a page', async () => {
  const shop = merchant(mesh)
  const transaction = order({ payers: [payer(1)] })
  const { id } = await shop.create(transaction)
  await shop.stateIs(id, 'paid')
  const bearer = ['--url', mesh.sandbox.grpc.payments, '--token', mesh.sandbox.grpc_token]
  const shown = await run('payments', 'show', id, ...bearer, '--json')
  const { merchant_id: merchantId, ...payment } = parsed(shown.out)
  expect(payment).toMatchObject({ payment_id: id, state: 'PAYMENT_STATE_PAID' })
  expect(shown.out).not.toContain('link_token')
  const ofMerchant = ['--merchant', String(merchantId), '--project', 'demo']
  const lines = await run('payments', 'show', id, ...ofMerchant)
  expect(lines).toMatchObject({ code: 0, err: '' })
  expect(lines.out).toMatch(/^status +paid$/m)
  expect(lines.out).toMatch(/^TIME +EVENT +PARTY +AMOUNT +DETAILS$/m)
  const events = await run('payments', 'events', id, ...ofMerchant)
  expect(events.out).toMatch(/ payment_created .*\n.*\n.*payment_paid /s)
  const list = ['payments', 'list', '--transaction-id', transaction.id, ...ofMerchant]
  const listed = await run(...list, '--status', 'paid', '--created-from', '2026-01-01 00:00:00')
  expect(listed.out).toMatch(new RegExp(`^CREATED +PAYMENT +STATUS .*\n.* ${id} +paid `))
  expect((await run(...list, '--created-from', '2999-01-01 00:00:00')).out).toBe('no payments\n')
  const other = await run('payments', 'show', id, '--merchant', randomUUID())
  expect([other.code, other.err]).toEqual([1, expect.stringContaining('PAYMENT_NOT_FOUND')])
  const unnamed = await run('payments', 'list', ...bearer)
  expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining('--merchant')])
  expect((await run('payments', 'list', '--merchant', 'demo')).code).toBe(2)
  expect((await run(...list, '--status', 'soon')).code).toBe(2)
  const own = await run('payments', 'events', id, '--json')
  expect(own.out).toContain('"type":"payment_paid"')
})

it('the command line writes a file of a new customer, and does not overwrite one without --force', async () => {
  const [profile, pdf] = [newProfile({ mobile_number: person(8) }), '%PDF-1.7\na passport']
  const made = await accountClient(mesh).personalForm(profile, { id_document1_file: pdf })
  expect(made.status, made.text).toBe(200)
  const { out } = await run('onboarding', 'list', '--limit', '10000', '--json')
  const reviews = out.trim().split('\n').map(parsed)
  const { review_id: id } = reviews.find(({ email }) => email === profile.email) ?? {}
  const file = path.join(mesh.dataDir, `${profile.email}.pdf`)
  const download = (...words: string[]) => run('onboarding', 'file', String(id), ...words)
  const written = await download('id_document1_file', '--out', file)
  expect(written).toMatchObject({ code: 0, out: `${file}  application/pdf  ${pdf.length} bytes\n` })
  expect([fs.readFileSync(file, 'utf8'), fs.statSync(file).mode & 0o777]).toEqual([pdf, 0o600])
  const again = await download('id_document1_file', '--out', file)
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('--force')])
  const forced = await download('id_document1_file', '--out', file, '--force', '--json')
  expect(parsed(forced.out)).toMatchObject({ file, size_bytes: pdf.length })
  expect((await download('id_document1_file', '--out', '-')).out).toBe(pdf)
  const none = await download('selfie', '--out', '-')
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('id_document1_file')])
  expect((await download('id_document1_file')).code).toBe(2)
  fs.rmSync(file)
})
