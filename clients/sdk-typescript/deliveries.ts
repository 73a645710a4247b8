// Calls about pushes of the service to the merchant.
import { randomUUID } from 'node:crypto'
import { PageList } from './pages.ts'
import { type CallOptions, idempotencyHeader, type Send } from './transport.ts'
import type { Delivery, DeliveryFilter, DeliverySummary } from './types/pushes.ts'

const version = '2026-12-01'

/** Options of `resend`. */
export type ResendOptions = CallOptions & {
  /** 1 to 255 visible ASCII characters: a key sends a push again once. A new one when unset, the same in each attempt of the call. */
  idempotencyKey?: string
}

/** Makes the calls about pushes of one merchant. */
export function deliveryCalls(send: Send, api_key: string) {
  return {
    /** Lists pushes, newest first. */
    list(filter: DeliveryFilter = {}, options?: CallOptions): PageList<DeliverySummary> {
      return new PageList(async (cursor) => {
        const query = { api_key, ...filter, cursor }
        const call = { method: 'GET', path: '/deliveries/list', version, query } as const
        type Listed = { deliveries: DeliverySummary[]; next_cursor: string | null }
        const { deliveries, next_cursor } = await send<Listed>(call, options)
        return { items: deliveries, nextCursor: next_cursor ?? undefined }
      })
    },

    /** Reads a push with its attempts and its body. */
    async get(id: string, options?: CallOptions): Promise<Delivery> {
      const query = { api_key, delivery_id: id }
      const call = { method: 'GET', path: '/deliveries/delivery', version, query } as const
      return (await send<{ delivery: Delivery }>(call, options)).delivery
    },

    /** Sends a push again, with the same id and body: a pending one now, any other in a new round of attempts. Rejects with a TypeError for an invalid key. */
    async resend(
      id: string,
      { idempotencyKey = randomUUID(), ...options }: ResendOptions = {},
    ): Promise<Delivery> {
      const body = { api_key, delivery_id: id }
      const headers = idempotencyHeader(idempotencyKey)
      const call = { method: 'POST', path: '/deliveries/resend', version, body, headers } as const
      return (await send<{ delivery: Delivery }>(call, options)).delivery
    },
  }
}
