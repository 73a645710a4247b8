// For every merchant route a request that the edge accepts; it must not call anything.
import { apiKey, paymentId } from '../harness.ts'
import type { GoodRequest } from './good-request.ts'
import { deliveryId } from './merchant.ts'

/** What the routes beyond the contract have in common. */
const extension = { version: '2026-12-01', errors: 'full', credential: 'api_key' } as const

/** The routes beyond the contract. */
export const merchantRequests: GoodRequest[] = [
  {
    ...extension,
    method: 'GET',
    path: '/payments/list',
    query: { api_key: apiKey },
    required: ['api_key'],
  },
  {
    ...extension,
    method: 'GET',
    path: '/payments/events',
    query: { api_key: apiKey, payment_details_id: paymentId },
    required: ['api_key', 'payment_details_id'],
  },
  {
    ...extension,
    method: 'POST',
    path: '/payments/refund',
    query: {},
    required: [],
    body: { api_key: apiKey, payment_details_id: paymentId },
    fields: ['api_key', 'payment_details_id'],
  },
  {
    ...extension,
    method: 'GET',
    path: '/deliveries/list',
    query: { api_key: apiKey },
    required: ['api_key'],
  },
  {
    ...extension,
    method: 'GET',
    path: '/deliveries/delivery',
    query: { api_key: apiKey, delivery_id: deliveryId },
    required: ['api_key', 'delivery_id'],
  },
  {
    ...extension,
    method: 'POST',
    path: '/deliveries/resend',
    query: {},
    required: [],
    body: { api_key: apiKey, delivery_id: deliveryId },
    fields: ['api_key', 'delivery_id'],
  },
]
