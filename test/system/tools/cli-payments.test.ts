// The commands on payments against the running system, with the keys of a merchant alone, as docs/operate/cli.md shows them.
import { describe, expect, it } from 'vitest'
import { runHere, startProcess } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { detailsOf, merchant, order, payer, receiver, sharedMesh } from '../harness.ts'

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
    const all = await withKeys('deliveries', 'replay', '--subject', id, '--state', 'delivered')
    expect(all).toMatchObject({ code: 0, out: expect.stringMatching(/^sent again \d+\n$/) })
    await eventually(async () => {
      const attempts = rows((await withKeys(...mine, '--json')).out).map((one) => one['attempts'])
      expect(attempts.every((count) => Number(count) >= 2)).toBe(true)
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
