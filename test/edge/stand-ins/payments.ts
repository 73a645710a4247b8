// The stand-in for payments, which knows one payment; it must not hold assertions.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  type CreatePaymentRequest,
  FraudCheckStatus,
  PayerState,
  type Payment,
  PaymentSchema,
  PaymentState,
  type PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { paymentId, paymentListsStandIn, type SeenMerchant } from './merchant.ts'

/** What the stand-in was asked, and how it answers. */
export type SeenPayments = {
  created: CreatePaymentRequest[]
  /** Runs in place of the usual answer when set. */
  onCreate?: (() => Promise<Payment>) | undefined
  merchant: SeenMerchant
}

/** The calls of payments that the gateway makes. */
export function paymentsStandIn(seen: SeenPayments): Partial<ServiceImpl<typeof PaymentsService>> {
  const stored = () => paymentOf(seen.created.at(-1))
  return {
    async createPayment(request) {
      seen.created.push(request)
      return { payment: seen.onCreate === undefined ? paymentOf(request) : await seen.onCreate() }
    },
    getPayment({ paymentId: asked }) {
      if (asked !== paymentId) throw new Failure('PAYMENT_NOT_FOUND', `no payment ${asked}`)
      return { payment: stored() }
    },
    cancelPayment({ paymentId: asked }) {
      if (asked !== paymentId) throw new Failure('PAYMENT_NOT_FOUND', `no payment ${asked}`)
      return { payment: { ...stored(), state: PaymentState.CANCELLED } }
    },
    refundPayment({ paymentId: asked, reason }) {
      if (asked !== paymentId) throw new Failure('PAYMENT_NOT_FOUND', `no payment ${asked}`)
      seen.merchant.reasons.push(reason)
      return { payment: { ...stored(), state: PaymentState.REFUNDED } }
    },
    ...paymentListsStandIn(seen.merchant),
  }
}

function paymentOf(request: CreatePaymentRequest | undefined): Payment {
  const now = timestampFromDate(new Date('2026-01-01T00:00:00.000Z'))
  return create(PaymentSchema, {
    paymentId,
    transactionId: request?.transactionId ?? 'order-1',
    amountMinor: request?.amountMinor ?? 10_000n,
    currency: request?.currency ?? 'TTD',
    state: PaymentState.PENDING,
    fraudCheckStatus: FraudCheckStatus.SKIPPED,
    fees: {},
    createTime: now,
    updateTime: now,
    expireTime: now,
    payers: (request?.payers ?? []).map((payer, index) => ({
      mobileNumber: payer.mobileNumber,
      mobileNumberE164: payer.mobileNumberE164,
      paymentChannel: payer.paymentChannel,
      paymentMethod: payer.paymentMethod,
      amountMinor: payer.amountMinor,
      state: PayerState.PENDING,
      expireTime: now,
      linkToken: `link-${index}`,
    })),
  })
}
