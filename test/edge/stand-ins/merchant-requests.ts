// For every merchant route a request that the edge accepts; it must not call anything.
import { apiKey, paymentId } from '../harness.ts'
import type { GoodRequest } from './good-request.ts'
import { deliveryId } from './merchant.ts'

const extension = { version: '2026-12-01' }

/** The routes beyond the contract. */
export const merchantRequests: GoodRequest[] = [
  {
    ...extension,
    method: 'GET',
    path: '/payments/list',
    errors: 'full',
    query: { api_key: apiKey },
    required: ['api_key'],
    credential: 'api_key',
  },
  {
    ...extension,
    method: 'GET',
    path: '/payments/events',
    errors: 'full',
    query: { api_key: apiKey, payment_details_id: paymentId },
    required: ['api_key', 'payment_details_id'],
    credential: 'api_key',
  },
  {
    ...extension,
    method: 'POST',
    path: '/payments/refund',
    errors: 'full',
    query: {},
    required: [],
    body: { api_key: apiKey, payment_details_id: paymentId },
    fields: ['api_key', 'payment_details_id'],
    credential: 'api_key',
  },
  {
    ...extension,
    method: 'GET',
    path: '/deliveries/list',
    errors: 'full',
    query: { api_key: apiKey },
    required: ['api_key'],
    credential: 'api_key',
  },
  {
    ...extension,
    method: 'GET',
    path: '/deliveries/delivery',
    errors: 'full',
    query: { api_key: apiKey, delivery_id: deliveryId },
    required: ['api_key', 'delivery_id'],
    credential: 'api_key',
  },
  {
    ...extension,
    method: 'POST',
    path: '/deliveries/resend',
    errors: 'full',
    query: {},
    required: [],
    body: { api_key: apiKey, delivery_id: deliveryId },
    fields: ['api_key', 'delivery_id'],
    credential: 'api_key',
  },
]
