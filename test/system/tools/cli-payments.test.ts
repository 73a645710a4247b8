// The commands on payments against the running system, with the keys of a merchant alone, as docs/integrate/cli-merchant.md shows them.
import { describe, expect, it } from 'vitest'
import { startReceiver, status } from '../../delivery/receiver.ts'
import { runHere, startProcess } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { detailsOf, merchant, order, payer, person, receiver, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const { base_url, projects } = mesh.sandbox
const { subscription_key, api_key } = projects.demo
const shop = merchant(mesh)

/** Runs a command without a data folder: an address and two keys are enough. */
const withKeys = (...words: string[]) => runHere('/nowhere', ...words, ...credentials)
const payments = (...words: string[]) => withKeys('payments', ...words)
const address = ['--base-url', base_url, '--subscription-key', subscription_key]
const credentials = [...address, '--api-key', api_key]

const rows = (out: string): Record<string, unknown>[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('the commands on payments', { concurrent: true }, () => {
  it('payweave payments lists the payments of the merchant, in columns and as JSON', async () => {
    const transaction = order()
    const { id } = await shop.create(transaction)
    const words = ['list', '--transaction-id', transaction.id]
    const { code, out } = await payments(...words)
    expect(code).toBe(0)
    const [heading = '', row = '', ...more] = out.trim().split('\n')
    expect(heading.split(/ {2,}/)).toEqual(
      'CREATED PAYMENT STATUS AMOUNT PAID TRANSACTION'.split(' '),
    )
    expect(row).toContain(id)
    expect(more).toEqual([])
    const [listed] = rows((await payments(...words, '--json')).out)
    expect(listed).toMatchObject({ payment_details_id: id, transaction_id: transaction.id })
    const none = await payments('list', '--transaction-id', `none-${crypto.randomUUID()}`)
    expect(none).toMatchObject({ code: 0, out: 'no payments\n' })
  })

  it('payweave payments shows, cancels and refunds a payment', async () => {
    const { id } = await shop.create(order())
    const shown = await payments('show', id)
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toContain(`payment      ${id}`)
    expect(shown.out).toContain('payment_created')
    const cancelled = await payments('cancel', id, '--json')
    expect(rows(cancelled.out)).toMatchObject([{ id, status: 'Cancelled' }])
    expect(detailsOf(await shop.status(id))['status']).toBe('Cancelled')

    const paid = await shop.create(order({ payers: [payer(1)] }))
    await shop.stateIs(paid.id, 'paid')
    const refunded = await payments('refund', paid.id, '--reason', 'returned goods')
    expect(refunded.out).toContain('status       Refunded')
    expect(detailsOf(await shop.status(paid.id))['status']).toBe('Refunded')
    const late = await payments('cancel', paid.id)
    expect(late.code).toBe(1)
    expect(late.err).toMatch(/^payweave: PAYMENT_NOT_CANCELLABLE: /)
  })

  it('payweave deliveries lists, shows and sends again the pushes of the merchant, and of no other', async () => {
    const inbox = receiver(mesh)
    const { id } = await shop.create(order({ urls: inbox.urls }))
    const mine = ['deliveries', 'list', '--subject', id]
    const delivered = await eventually(async () => {
      const found = rows((await withKeys(...mine, '--state', 'delivered', '--json')).out)
      return found.length > 0 && found
    })
    const [{ delivery_id: push = '' } = {}] = delivered as { delivery_id?: string }[]
    const { code, out } = await withKeys(...mine)
    expect(code).toBe(0)
    const [heading = '', row = ''] = out.split('\n')
    expect(heading.split(/ {2,}/)).toEqual(
      'CREATED DELIVERY EVENT STATUS ATTEMPTS RECEIVER'.split(' '),
    )
    expect(row).toContain(push)
    const shown = await withKeys('deliveries', 'show', push)
    expect(shown.out).toContain(`payment   ${id}`)
    expect(shown.out).toContain(`"transaction_id"`)
    const again = rows((await withKeys('deliveries', 'replay', push, '--json')).out)
    expect(again).toMatchObject([{ delivery_id: push }])
    for (const filter of ['--state', '--event-type', '--kind', '--created-from']) {
      const filtered = await withKeys('deliveries', 'replay', push, filter, 'delivered')
      expect([filtered.code, filtered.err]).toEqual([2, expect.stringContaining(filter)])
    }
    await eventually(async () => {
      const states = rows((await withKeys(...mine, '--json')).out).map((one) => one['status'])
      expect(new Set(states)).toEqual(new Set(['delivered']))
    })
    const all = await withKeys('deliveries', 'replay', '--subject', id, '--state', 'delivered')
    expect(all).toMatchObject({ code: 0, out: expect.stringMatching(/^sent again [1-9]\d*\n$/) })
    await eventually(async () => {
      const { code, out } = await withKeys(...mine, '--json')
      const attempts = rows(out).map((one) => Number(one['attempts']))
      expect(code).toBe(0)
      expect(attempts.length).toBeGreaterThan(0)
      expect(attempts.filter((count) => count < 2)).toEqual([])
    })

    const { other } = projects
    const foreign = ['--subscription-key', other.subscription_key, '--api-key', other.api_key]
    const away = await runHere(
      '/nowhere',
      'deliveries',
      'show',
      push,
      '--base-url',
      base_url,
      ...foreign,
    )
    expect([away.code, away.err]).toEqual([1, expect.stringContaining('DELIVERY_NOT_FOUND')])
    const wrong = await withKeys('deliveries', 'list', '--kind', 'notify')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--event-type')])
  })

  it('payweave events tail shows the attempts of the merchant by their keys as they end, those of a push sent again too, and deliveries cancel needs a bearer', async () => {
    const words = ['events', 'tail', '--kind', 'callback', '--json', ...credentials]
    const tail = startProcess('/nowhere', ...words)
    await eventually(() => tail.err().includes('tailing'))
    const inbox = receiver(mesh)
    const { id } = await shop.create(order({ urls: inbox.urls }))
    await shop.cancel(id)
    const own = () => rows(tail.out()).filter((row) => row['payment_details_id'] === id)
    await eventually(() => expect(own()).toHaveLength(1))
    const [first] = own()
    expect(first).toMatchObject({ status: 'delivered', attempt: { number: 1, http_status: 200 } })
    const push = String(first?.['delivery_id'])
    expect((await withKeys('deliveries', 'replay', push)).code).toBe(0)
    await eventually(() => expect(own().at(-1)).toMatchObject({ attempt: { number: 2 } }))
    tail.child.kill('SIGINT')
    expect(await tail.ended).toMatchObject({ code: 0 })
    const refused = await runHere('/nowhere', 'deliveries', 'cancel', push)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--token')])
    const byMerchant = await withKeys('deliveries', 'cancel', push)
    expect([byMerchant.code, byMerchant.err]).toEqual([2, expect.stringContaining('410')])
  })

  it('payweave bill shows a bill payment and its receipt by the keys of the merchant, and its PDF needs a bearer', async () => {
    const { body } = await shop.call('POST', '/bill_payments/pay', {
      query: { version: '2026-07-01' },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
      body: {
        biller_code: 'DEMO_POWER',
        product_code: 'PREPAID',
        amount: '25.00',
        currency: 'USD',
        customer_reference: '12345678',
      },
    })
    const id = String(body['transaction_id'])
    const shown = await withKeys('bill', 'show', id)
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toMatch(/^status +SUCCESS$/m)
    const [receipt] = rows((await withKeys('bill', 'receipt', id, '--json')).out)
    expect(receipt).toMatchObject({
      transaction_id: id,
      amount: '25.00',
      biller_code: 'DEMO_POWER',
    })
    expect(receipt?.['receipt_id']).toBe(body['receipt_id'])
    const written = await withKeys('bill', 'receipt', id, '--out', '/nowhere/receipt.pdf')
    expect([written.code, written.err]).toEqual([2, expect.stringContaining('--token')])
  })

  it('payweave shows quotes, transfers, and balance and history of an account, by the keys of the merchant', async () => {
    const factsOf = async (outcome: string) => {
      const { code, out } = await runHere(mesh.dataDir, 'trigger', outcome, '--json')
      expect([outcome, code]).toEqual([outcome, 0])
      return rows(out).at(-1)?.['facts'] as Record<string, unknown>
    }
    const wallet = ['--institution', 'Demo Wallet']
    const quote = String((await factsOf('quote.made'))['quote_id'])
    const shown = await withKeys('quote', 'show', quote, ...wallet)
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toMatch(/^quote_status +active$/m)
    const json = rows((await withKeys('quote', 'show', quote, ...wallet, '--json')).out)
    expect(json).toMatchObject([{ quote_id: quote, request_amount: '10.00', fees: {} }])
    const unknown = await withKeys('quote', 'show', crypto.randomUUID(), ...wallet)
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('QUOTE_NOT_FOUND')])
    const unnamed = await withKeys('quote', 'show', quote)
    expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining('--institution')])
    const withBearer = await runHere(mesh.dataDir, 'quote', 'show', quote, ...wallet)
    expect([withBearer.code, withBearer.err]).toEqual([2, expect.stringContaining('keys')])

    const id = String((await factsOf('transfer.p2p'))['transaction_id'])
    const transfer = await withKeys('transfer', 'show', id, ...wallet)
    expect(transfer.out).toMatch(/^transaction_status +completed$/m)
    const list = ['transfer', 'list', '--mobile-number', person(11), '--limit', '300']
    const listed = await withKeys(...list)
    expect(listed.out).toMatch(/^POSTED +TRANSACTION +TYPE +STATUS /)
    expect(listed.out).toContain(id)
    const past = ['--created-to', '2026-01-02 00:00:00']
    expect((await withKeys(...list, ...past)).out).toBe('no transfers\n')
    expect((await withKeys('transfer', 'list')).code).toBe(2)
    expect((await withKeys(...list, '--status', 'pending')).code).toBe(2)

    const balance = await withKeys('account', 'balance', person(11))
    expect(balance.out).toMatch(/^available_balance +\d+\.\d\d$/m)
    const history = await withKeys('account', 'history', person(11), '--limit', '300')
    expect(history.out).toMatch(/^POSTED +TRANSACTION +TYPE +STATUS /)
    expect(history.out).toContain(id)
    const none = await withKeys('account', 'history', person(11), ...past)
    expect(none).toMatchObject({ code: 0, out: 'no transactions\n' })
    const nobody = await withKeys('account', 'balance', '+12462000000')
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('ACCOUNT_NOT_FOUND')])
  })

  it('payweave listen follows the pushes of the merchant by their keys, and forwards each once as its receiver gets it', async () => {
    const handler = await startReceiver(status(418))
    const to = ['--forward-to', `${handler.url}/pushes`, ...credentials]
    const listening = startProcess('/nowhere', 'listen', ...to)
    await eventually(() => listening.err().includes(`forwarded once to ${handler.url}/pushes`))
    const inbox = receiver(mesh)
    const { id } = await shop.create(order({ urls: inbox.urls }))
    await shop.cancel(id)
    const mine = () =>
      handler.requests.filter(({ headers }) => headers['pw-payment-details-id'] === id)
    // Created and cancelled, and the callback.
    await eventually(() => expect(mine()).toHaveLength(3))
    const [first] = mine()
    const push = String(first?.headers['pw-delivery-id'])
    const [{ body } = {}] = rows((await withKeys('deliveries', 'show', push, '--json')).out)
    expect([first?.path, first?.body]).toEqual(['/pushes', body])
    expect((await withKeys('deliveries', 'replay', push)).code).toBe(0)
    await eventually(() => listening.out().includes(push))
    listening.child.kill('SIGINT')
    expect(await listening.ended).toMatchObject({ code: 0 })
    expect(mine()).toHaveLength(3)
    expect(listening.err()).toContain('/pushes: HTTP 418')
    await handler.close()
    const port = await withKeys('listen', '--port', '9000')
    expect([port.code, port.err]).toEqual([2, expect.stringContaining('--port')])
    const here = startProcess('/nowhere', 'listen', '--port', '0')
    await eventually(() => here.err().includes('--base-url and the keys'))
    here.child.kill('SIGINT')
    expect((await here.ended).code).toBe(0)
  })

  it('payweave payments refuses an unknown payment, a wrong filter and a missing key, and prints no key', async () => {
    const unknown = await payments('show', crypto.randomUUID())
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('PAYMENT_NOT_FOUND')])
    const filter = await payments('list', '--status', 'moon')
    expect([filter.code, filter.err]).toEqual([1, expect.stringContaining('INVALID_PARAMETER')])
    const keyless = await runHere('/nowhere', 'payments', 'list', ...address)
    expect([keyless.code, keyless.err]).toEqual([2, expect.stringContaining('--api-key')])
    for (const { out, err } of [unknown, filter, keyless]) {
      expect(out + err).not.toContain(api_key)
      expect(out + err).not.toContain(subscription_key)
    }
  })
})
