// Shows the command line against the running system: projects by name, and every list of what the console shows. It must not know a route.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ledgerListCommands } from '../../../clients/cli/operations/ledger-lists.ts'
import { projectListCommands } from '../../../clients/cli/operations/project-lists.ts'
import { staffListCommands } from '../../../clients/cli/operations/staff-lists.ts'
import { runHere } from '../../support/command-line.ts'
import { sharedMesh } from '../harness.ts'

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
  ['onboarding list', 'onboarding show', 'review_id'],
  ['balance suspense'],
  ['ledger list', 'ledger show', 'transfer_id'],
  ['ledger refused'],
  ['refund list'],
  ['deliveries dead-letters'],
  ['deliveries receivers'],
]

it('the command line lists what the console shows, shows one of each, and reads pages until its limit', {
  timeout: 180_000,
}, async () => {
  const run = (...words: string[]) => runHere(mesh.dataDir, ...words)
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
  for (const list of ['bill list', 'transfer list', 'settlement list', 'ledger list']) {
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
  expect((await ofLedger('--account', 'nothing')).code).toBe(2)
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
    ['stuck', 'ask', 'refund'],
    ['stuck', 'ask', 'transfer'],
    ['onboarding', 'reject', '--reason', 'their passport'],
    ['refund', 'settle', '--note', 'by bank transfer'],
    ['ledger', 'retry'],
  ]) {
    const { code, out, err } = await run(...words, randomUUID())
    expect([words, code, out]).toEqual([words, 1, ''])
    expect(err).toMatch(/ no such | no refund /)
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
  expect(last.out).toMatch(/^(checked \d+ transfers at |no check so far)/)
  expect((await run('bill', 'list', '--state', 'soon')).code).toBe(2)
  expect((await run('customer', 'list', '--by', 'mobile')).code).toBe(2)
  expect((await run('customer', 'show')).code).toBe(2)
})
