// The fraud check: block list, ceilings, velocity, and where it is asked for.
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  detailsOf,
  eventTypes,
  type Json,
  merchant,
  order,
  payer,
  person,
  receiver,
  sharedMesh,
  strangersNumber,
} from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

describe('the fraud check', () => {
  it('the fraud check stores a request of a blocked payer as Failed, without a link', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(
      order({ fraud_check: 1, payers: [payer(6)], urls: inbox.urls }),
    )
    const details = detailsOf(created.answer) as { payers: Json[] }
    expect(details).toMatchObject({ fraud_check_status: 'failed', payers: [{ status: 'Failed' }] })
    expect(JSON.stringify(details)).not.toContain('/pay/')
    const status = (await shop.status(created.id)).body
    expect(status).toMatchObject({
      transaction_request: { status: 'failed' },
      payment_details: {
        status: 'Failed',
        fraud_check_status: 'failed',
        payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD' },
      },
      payers: [{ mobile_number: person(6), status: 'Failed' }],
    })
    const [callback] = await inbox.calledBack(1)
    expect(callback).toMatchObject({ status: 'Failed', sequence: 1, payers: status['payers'] })
    await inbox.awaitNotifies(['payment_failed'])
    expect(eventTypes(await inbox.notifies())).toEqual(['payment_failed'])
  })

  it('the fraud check answers a repeat of a blocked request like the first time', async () => {
    const transaction = order({ fraud_check: 1, payers: [payer(6)] })
    const first = await shop.create(transaction)
    expect(detailsOf((await shop.create(transaction)).answer)).toEqual(detailsOf(first.answer))
  })

  it('the fraud check blocks the whole request when one of its payers is blocked', async () => {
    const payers = [payer(20, { amount: '50.00' }), payer(6, { amount: '50.00' })]
    const created = await shop.create(order({ fraud_check: 1, payers }))
    expect(detailsOf(created.answer)).toMatchObject({
      fraud_check_status: 'failed',
      payers: [{ status: 'Failed' }, { status: 'Failed' }],
    })
    expect((await shop.cancel(created.id)).body['errorCode']).toBe('PAYMENT_NOT_CANCELLABLE')
  })

  it('the fraud check lets a payer through who is not blocked', async () => {
    const created = await shop.create(
      order({ fraud_check: 1, payers: [payer(0, { mobile_number: strangersNumber() })] }),
    )
    expect(detailsOf(created.answer)).toMatchObject({
      fraud_check_status: 'passed',
      payers: [{ status: 'Pending' }],
    })
  })

  const chosen: [string, unknown, unknown, string][] = [
    ['left out', undefined, undefined, 'skipped'],
    ['0 inside', 0, undefined, 'skipped'],
    ['1 inside', 1, undefined, 'failed'],
    ['0 at the top', undefined, 0, 'skipped'],
    ['1 at the top', undefined, 1, 'failed'],
    ['0 inside and 1 at the top', 0, 1, 'skipped'],
    ['1 inside and 0 at the top', 1, 0, 'failed'],
  ]
  it.each(chosen)(
    'the fraud check runs or not by its flag: %s',
    async (_title, inner, top, expected) => {
      const created = await shop.create(
        order({ payers: [payer(6)], ...(inner !== undefined && { fraud_check: inner }) }),
        { ...(top !== undefined && { fraud_check: top }) },
      )
      expect(detailsOf(created.answer)['fraud_check_status']).toBe(expected)
      await shop.cancel(created.id)
    },
  )

  const ceilings: [string, string, string][] = [
    ['USD', '10000.00', 'passed'],
    ['USD', '10000.01', 'failed'],
    ['TTD', '70000.00', 'passed'],
    ['TTD', '70000.01', 'failed'],
    ['EUR', '9999999.99', 'passed'],
    ['JPY', '99999999', 'passed'],
  ]
  it.each(ceilings)(
    'the fraud check of %s %s results in %s',
    async (currency, amount, expected) => {
      const created = await shop.create(
        order({
          currency,
          amount,
          fraud_check: 1,
          payers: [payer(0, { mobile_number: strangersNumber() })],
        }),
      )
      expect(detailsOf(created.answer)['fraud_check_status']).toBe(expected)
    },
  )

  it('the fraud check lets a payer have thirty requests a minute, and no more, also at once', async () => {
    const payers = [payer(0, { mobile_number: strangersNumber() })]
    const checked = () => shop.create(order({ fraud_check: 1, payers }))
    const made = await Promise.all(Array.from({ length: 45 }, checked))
    const verdicts = made.map(({ answer }) => detailsOf(answer)['fraud_check_status'])
    expect(verdicts.filter((verdict) => verdict === 'passed')).toHaveLength(30)
    expect(verdicts.filter((verdict) => verdict === 'failed')).toHaveLength(15)
    const unchecked = await shop.create(order({ payers }))
    expect(detailsOf(unchecked.answer)['fraud_check_status']).toBe('skipped')
    const another = await shop.create(
      order({ fraud_check: 1, payers: [payer(0, { mobile_number: strangersNumber() })] }),
    )
    expect(detailsOf(another.answer)['fraud_check_status']).toBe('passed')
  })

  it('the fraud check never asks a blocked payer for money', async () => {
    const created = await shop.create(order({ fraud_check: 1, payers: [payer(6)] }))
    await shop.stateIs(created.id, 'Failed')
    await eventually(
      () => mesh.rows('select kind from payments.task where payment_id = $1', [created.id]),
      (tasks) => expect(tasks).toEqual([]),
    )
  })
})
