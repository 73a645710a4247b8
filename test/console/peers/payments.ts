// The payments that the console calls: one in each project.
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  PaymentEventType,
  PaymentState,
  type PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { SettlementKind, type SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { approvalPeers } from '../approvals/peer.ts'
import { dayOf, type Project, paymentOf } from '../projects.ts'
import { type Many, type Texts, time } from '../rows.ts'

type Of = {
  of: (projectId: string) => Project
  seen: (rpc: string) => void
  many: Many
  pages: { areFull: boolean }
  crowd: string[]
  refunds: ReturnType<typeof approvalPeers>['refunds']
  texts: Texts
}

/** Serves the payments of projects. `most` is how many calls were open at once. */
export function paymentsPeer({ of, seen, many, pages, crowd, refunds, texts }: Of) {
  let open = 0
  const most = { atOnce: 0 }
  /** Another merchant of each project, when it is shown: the only one with payments of its number. */
  const second = {
    isShown: false,
    /** How often it is in the list. */
    count: 1,
    merchantId: randomUUID(),
    number: '+12025550199',
    /** A merchant that no list has, as one beyond its first page. */
    unlistedId: randomUUID(),
  }
  const payments: Partial<ServiceImpl<typeof PaymentsService>> = {
    async getPayment({ projectId, paymentId }) {
      seen('GetPayment')
      open += 1
      most.atOnce = Math.max(most.atOnce, open)
      await setImmediate()
      open -= 1
      if (crowd.includes(projectId)) throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
    listPayments({ projectId, merchantId, pageToken, transactionId, state, pageSize, ...wanted }) {
      seen('ListPayments')
      const { payment } = of(projectId)
      const isSecond = second.isShown && merchantId === second.merchantId
      const isNumbers = isSecond && wanted.mobileNumberE164 === second.number
      const isWanted =
        (merchantId === payment.merchantId || isSecond) &&
        (wanted.mobileNumberE164 === '' || !second.isShown || isNumbers) &&
        (transactionId === '' || transactionId === payment.transactionId) &&
        (state === PaymentState.UNSPECIFIED || state === payment.state)
      if (!isWanted) return {}
      const { $typeName: _, ...summary } = payment
      return { payments: many(summary, pageSize), nextPageToken: pageToken === '' ? 'second' : '' }
    },
    listPaymentEvents({ projectId, merchantId, paymentId }) {
      const { currency, merchantId: owner } = paymentOf(of(projectId), paymentId)
      if (merchantId !== owner) throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
      const events = [
        { type: PaymentEventType.PAYMENT_CREATED, amountMinor: 2_500n },
        {
          type: PaymentEventType.ATTEMPT_SUCCEEDED,
          amountMinor: 2_500n,
          party: { case: 'payerMobileNumber' as const, value: texts.number },
        },
        { type: PaymentEventType.PAYMENT_REFUNDED, amountMinor: 2_500n, reason: texts.note },
      ]
      return { events: events.map((event) => ({ ...event, time })), currency }
    },
    getPaymentSummary({ projectId, merchantId }) {
      seen('GetPaymentSummary')
      return merchantId === of(projectId).payment.merchantId ? dayOf(pages.areFull) : {}
    },
    cancelPayment({ projectId, paymentId }) {
      seen('CancelPayment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
    refundPayment({ projectId, paymentId }) {
      seen('RefundPayment')
      const approval = refunds.held.isShown ? { approval: refunds.approval() } : {}
      return { payment: paymentOf(of(projectId), paymentId), ...approval }
    },
  }
  const paymentSettlements: Partial<ServiceImpl<typeof SettlementService>> = {
    listProjectSettlements({ projectId, pageToken, pageSize }) {
      seen('ListProjectSettlements')
      const { paymentId, merchantId, transactionId, currency } = of(projectId).payment
      const ids = { settlementId: randomUUID(), projectId, paymentId, merchantId, transactionId }
      const moved = { kind: SettlementKind.PAYOUT, amountMinor: 2_500n, currency, createTime: time }
      const settlements = many({ ...ids, ...moved }, pageSize)
      return { settlements, nextPageToken: pageToken === '' ? 'second' : '' }
    },
  }
  return { payments, paymentSettlements, most, second }
}
