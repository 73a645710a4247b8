// Tests which part of a body its fingerprint covers.
import { describe, expect, it } from 'vitest'
import { fingerprint } from '#core/identity/digest.ts'
import { billPayBody } from '../../routes/bill-payments/schemas.ts'
import { institutionTransactionBody } from '../../routes/institution/schemas.ts'
import { paymentRequestBody } from '../../routes/payments/schemas.ts'
import { knownFields } from './schema-fields.ts'

describe('the known fields of a body', () => {
  it('the known fields of a body leave out what the schema does not know, at every level', () => {
    const pick = knownFields(paymentRequestBody, ['api_key'])
    const body = {
      api_key: 'secret',
      fraud_check: 1,
      extra: true,
      transaction_request: {
        id: 'a',
        extra: {},
        payers: [{ mobile_number: '1', extra: 2 }],
        urls: { notify: 'https://example.com', extra: 3 },
      },
    }
    expect(pick(body)).toEqual({
      fraud_check: 1,
      transaction_request: {
        id: 'a',
        payers: [{ mobile_number: '1' }],
        urls: { notify: 'https://example.com' },
      },
    })
  })

  it('the known fields of a body keep an object of the client’s own whole', () => {
    const metadata = { a: [{ b: 1 }], c: null }
    expect(knownFields(billPayBody)({ metadata, x: 1 })).toEqual({ metadata })
  })

  it('the known fields of a body follow both documented shapes', () => {
    const pick = knownFields(institutionTransactionBody)
    const pairs = { debit_party: [{ key: 'a', value: 'b', x: 1 }] }
    expect(pick(pairs)).toEqual({ debit_party: [{ key: 'a', value: 'b' }] })
    expect(pick({ debit_party: { account_number: '1', x: 1 } })).toEqual({
      debit_party: { account_number: '1' },
    })
  })

  it('the known fields of a body keep the fingerprint that earlier versions have stored', () => {
    const pick = knownFields(paymentRequestBody, ['api_key'])
    const payer = {
      payment_method: 'wallet',
      payment_channel: 'payment_link',
      mobile_number: '+12025550108',
      first_name: 'Zo\u00eb "Z"',
    }
    const transaction_request = { payers: [payer], id: 'order-1', currency: 'USD', amount: '1.50' }
    const body = { transaction_request, fraud_check: 0, extra: 1, api_key: 'secret' }
    expect(fingerprint(pick(body)).toString('hex')).toBe(
      '81776b64a4908f6c6d58150efffe00eea964cc1e4b04300501fb54f65789c5c2',
    )
  })

  it('the known fields of a body distinguish "10.0" from "10.00"', () => {
    const pick = knownFields(billPayBody)
    expect(fingerprint(pick({ amount: '10.0' }))).not.toEqual(
      fingerprint(pick({ amount: '10.00' })),
    )
  })
})
