// The commands on payments against the running system, with the keys of a merchant alone.
import { describe, expect, it } from 'vitest'
import { runHere } from '../../support/command-line.ts'
import { detailsOf, merchant, order, payer, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const { base_url, projects } = mesh.sandbox
const { subscription_key, api_key } = projects.demo
const shop = merchant(mesh)

/** Runs a command of `payments` without a data folder: an address and two keys are enough. */
const payments = (...words: string[]) => runHere('/nowhere', 'payments', ...words, ...credentials)
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
