// Calls about payment requests: create, read, cancel, refund, list, follow, wait, and confirm a push.
import { PayweaveError } from './error.ts'
import { PageList } from './pages.ts'
import { type Push, type ReceivedRequest, readPush, WebhookError } from './pushes.ts'
import type { CallOptions, Send } from './transport.ts'
import type { PaymentEvent, PaymentFilter, PaymentSummary } from './types/lists.ts'
import type { CreatedPayment, EndedPayment, NewPayment, PaymentSnapshot } from './types/payments.ts'
import { type WaitOptions, waitUntil } from './wait.ts'

/** State of a payment request. */
export type PaymentStatus = PaymentSummary['status']

const contract = '2024-10-01'
const extension = '2026-12-01'

/** Makes the calls about payment requests of one merchant. They reject with a PayweaveError. */
export function paymentCalls(send: Send, api_key: string) {
  const status = (id: string, options?: CallOptions): Promise<PaymentSnapshot> => {
    const query = { api_key, payment_details_id: id }
    return send({ method: 'GET', path: '/payments/status', version: contract, query }, options)
  }
  const post = async <T>(path: string, version: string, fields: object, options?: CallOptions) => {
    const body = { api_key, ...fields }
    const call = { method: 'POST', path, version, body } as const
    return (await send<{ payment_details: T }>(call, options)).payment_details
  }

  return {
    /** Creates a payment request. The same `id` with the same content is one payment, however often it is sent. */
    create(payment: NewPayment, options?: CallOptions): Promise<CreatedPayment> {
      return post('/payments/request', contract, { transaction_request: payment }, options)
    },

    /** Reads the current state of a request. `id` is the `payment_details.id`. */
    status,

    /** Cancels a request that nobody has paid or is paying. A repeat returns the same. */
    cancel(id: string, options?: CallOptions): Promise<EndedPayment> {
      return post('/payments/cancel', contract, { payment_details_id: id }, options)
    },

    /** Refunds a paid request in full. A repeat returns the same; `reason` has at most 200 characters. */
    refund(id: string, reason?: string, options?: CallOptions): Promise<EndedPayment> {
      return post('/payments/refund', extension, { payment_details_id: id, reason }, options)
    },

    /** Lists requests, newest first: `for await (const payment of payweave.payments.list({ status: 'paid' }))`. */
    list(filter: PaymentFilter = {}, options?: CallOptions): PageList<PaymentSummary> {
      return new PageList(async (cursor) => {
        const query = { api_key, ...filter, cursor }
        const call = { method: 'GET', path: '/payments/list', version: extension, query } as const
        type Listed = { payments: PaymentSummary[]; next_cursor: string | null }
        const { payments, next_cursor } = await send<Listed>(call, options)
        return { items: payments, nextCursor: next_cursor ?? undefined }
      })
    },

    /** Reads what happened to a request, oldest first. */
    async events(id: string, options?: CallOptions): Promise<PaymentEvent[]> {
      const query = { api_key, payment_details_id: id }
      const call = { method: 'GET', path: '/payments/events', version: extension, query } as const
      return (await send<{ events: PaymentEvent[] }>(call, options)).events
    },

    /**
     * Waits until a request has a status. Rejects with a WaitError when it can no longer reach it, or when the time is
     * over: 60 s unless `withinMs` says otherwise. A server should rather receive pushes.
     */
    waitFor(
      id: string,
      wanted: PaymentStatus,
      options: WaitOptions = {},
    ): Promise<PaymentSnapshot> {
      const look = ({ payment_details: { status: is } }: PaymentSnapshot) => ({
        is,
        isWanted: is === wanted,
        isFinal: followers[is]?.includes(wanted) === false,
      })
      return waitUntil((callOptions) => status(id, callOptions), look, options)
    },

    /**
     * Reads a push about a payment and confirms it: payment pushes have no signature, so the state that counts is the
     * one that this call reads. Rejects with a WebhookError for what is no push about a payment of yours.
     */
    async confirmPush(
      request: ReceivedRequest,
      options?: CallOptions,
    ): Promise<{ push: Push; payment: PaymentSnapshot }> {
      const push = readPush(request)
      const payment = await status(push.paymentDetailsId, options).catch((error: unknown) => {
        const isUnknown = error instanceof PayweaveError && error.reason === 'PAYMENT_NOT_FOUND'
        throw isUnknown
          ? new WebhookError('the merchant has no payment with the id of the push')
          : error
      })
      if (payment.transaction_request.id !== push.transactionId) {
        throw new WebhookError('the body of the push is about another payment than its header')
      }
      return { push, payment }
    },
  }
}

/** The statuses that a request may still reach. A newer API may send statuses that this version does not know. */
const followers: { [status in PaymentStatus]?: readonly PaymentStatus[] } = {
  Pending: ['Partially_paid', 'paid', 'Cancelled', 'Expired', 'Failed', 'Refunded'],
  Partially_paid: ['paid', 'Expired', 'Failed', 'Refunded'],
  paid: ['Refunded'],
  Cancelled: [],
  Expired: [],
  Failed: [],
  Refunded: [],
}
