// Calls about bill payments.
import { type CallOptions, idempotencyHeader, type Send } from './transport.ts'
import type { BillAccepted, BillPaid, BillReceipt, BillStatus, NewBill } from './types/bills.ts'
import { type WaitOptions, waitUntil } from './wait.ts'

const version = '2026-07-01'

/** The response to a bill payment. `normalized_status` is null while the biller has not answered. */
export type BillPayment = BillPaid | BillAccepted

/** Options of `pay`. */
export type PayOptions = CallOptions & {
  /**
   * 1 to 255 visible ASCII characters. Store it before the call: a key pays a bill once, however often it is sent.
   */
  idempotencyKey: string
}

/** Makes the calls about bill payments. */
export function billCalls(send: Send) {
  const status = (id: string, options?: CallOptions): Promise<BillStatus> => {
    const query = { transaction_id: id }
    return send({ method: 'GET', path: '/bill_payments/status', version, query }, options)
  }
  return {
    /** Pays a bill from the float of your project. Rejects with a TypeError, and sends nothing, without a valid key. */
    async pay(bill: NewBill, { idempotencyKey, ...options }: PayOptions): Promise<BillPayment> {
      const headers = idempotencyHeader(idempotencyKey)
      const call = { method: 'POST', path: '/bill_payments/pay', version, body: bill } as const
      return send({ ...call, headers }, options)
    },

    /** Reads the state of a bill payment. `id` is its `transaction_id`. */
    status,

    /** Reads the receipt of a bill payment that is `SUCCESS`. */
    receipt(id: string, options?: CallOptions): Promise<BillReceipt> {
      const query = { transaction_id: id }
      return send({ method: 'GET', path: '/bill_payments/receipt', version, query }, options)
    },

    /** Waits for the outcome of a bill payment. Rejects with a WaitError when the time is over. */
    waitForOutcome(id: string, options: WaitOptions = {}): Promise<BillStatus> {
      return waitUntil((callOptions) => status(id, callOptions), outcomeOf, options)
    },
  }
}

function outcomeOf({ normalized_status: outcome }: BillStatus) {
  return {
    is: outcome ?? 'without an outcome',
    isWanted: outcome !== null,
    isFinal: false,
  }
}
