// Tests how billing maps the answers of the back end.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import {
  type BillerService,
  type BillOutcome,
  BillOutcomeSchema,
  BillState,
  RetryCategory,
} from '#gen/payweave/backend/v1/billers_pb.js'
import type { BillOrder } from '../domain/bill.ts'
import { billersOver } from './backend.ts'

const order: BillOrder = {
  projectId: 'p',
  idempotencyKey: 'k',
  fingerprint: Buffer.alloc(32),
  billerCode: 'DEMO_POWER',
  productCode: 'PREPAID',
  amountMinor: 2_000n,
  currency: 'USD',
  customerReference: '12345678',
  customerMobileNumber: '',
  externalReference: undefined,
  clientReceiptId: undefined,
  idType: '',
  idNumber: '',
  description: '',
  otherData: '',
  metadataJson: '',
}

/** The billers of a back end that gives one answer to everything. */
function saying(answer: () => Promise<{ outcome?: BillOutcome }>) {
  return billersOver(
    { payBill: answer, enquireBill: answer } as unknown as Client<typeof BillerService>,
    1_000,
  )
}

function answeringWith(outcome: MessageInitShape<typeof BillOutcomeSchema>) {
  return saying(async () => ({ outcome: create(BillOutcomeSchema, outcome) }))
}

function refusing(reason: Reason) {
  return saying(() => Promise.reject(new Failure(reason, 'refused')))
}

describe('the answer to a payment', () => {
  it('the answer to a payment is definitive when the back end refuses for ever what it once called unknown', async () => {
    expect(await refusing('REFERENCE_REFUSED').pay('id', order)).toEqual({ state: 'not_found' })
  })

  it.each<Reason>(['TIMEOUT', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'INVALID_PARAMETER'])(
    'a payment has no answer when the call ends with %s',
    async (reason) => {
      await expect(refusing(reason).pay('id', order)).rejects.toMatchObject({ reason })
    },
  )

  it('the answer to a payment is unclear when the back end does not know what it was just handed', async () => {
    const billers = answeringWith({ state: BillState.NOT_FOUND })
    expect(await billers.pay('id', order)).toEqual({ state: 'unclear' })
    expect(await billers.enquire('id')).toEqual({ state: 'not_found' })
  })

  it.each([
    ['BILL_ALREADY_PAID', 'BILL_ALREADY_PAID'],
    ['the customer’s account is closed', 'REFUSED_BY_BILLER'],
    ['', 'REFUSED_BY_BILLER'],
  ])(
    'the answer to a payment shows of the biller’s own words nothing but a code: "%s"',
    async (given, shown) => {
      const state = BillState.REFUSED
      const retryCategory = RetryCategory.NON_RETRIABLE
      const answer = await answeringWith({ state, failureCode: given, retryCategory }).pay(
        'id',
        order,
      )
      expect(answer).toMatchObject({ failureCode: shown, retryCategory: 'NON_RETRIABLE' })
    },
  )

  it('the answer to a payment has a reference that can be stored', async () => {
    for (const state of [BillState.PAID, BillState.REFUSED]) {
      const billers = answeringWith({ state, providerReference: `R\u0000${'1'.repeat(2_000)}` })
      const providerReference = `R\uFFFD${'1'.repeat(998)}`
      expect(await billers.pay('id', order)).toMatchObject({ providerReference })
      expect(await billers.enquire('id')).toMatchObject({ providerReference })
    }
  })

  it.each([BillState.UNSPECIFIED, BillState.PENDING, 99])(
    'the answer to a payment is unclear for state %i',
    async (state) => {
      expect(await answeringWith({ state }).pay('id', order)).toEqual({ state: 'unclear' })
    },
  )
})
