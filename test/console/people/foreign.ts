// What a person of one project must not reach: the pages and forms of another project, and its things by their ids.
import { randomUUID } from 'node:crypto'
import type { Peers } from '../peers.ts'

/** Addresses that answer a person of `demo` as if there were nothing, with ids of `other`. */
export function foreignPages({ projects: { demo, other }, events }: Peers): string[] {
  const things = [
    `payments/${other.payment.paymentId}`,
    `bills/${other.bill.transactionId}`,
    `transfers/${other.transfer.movementId}`,
    `pushes/${other.delivery.deliveryId}`,
    `pushes/replays/${other.job.jobId}`,
    `api-log/${other.request.entryId}`,
    `customers/${other.customer.accountId}`,
  ]
  /** What no search finds by its id. */
  const unsearched = [
    `quotes/${other.quote.quoteId}?institution=${encodeURIComponent(other.quote.institutionName)}`,
    `payments/${other.payment.paymentId}/payers/${other.payment.payers[0]?.payerId}/qr.svg`,
    `branding/preview?merchant=${other.payment.merchantId}`,
    `branding/logo.png?merchant=${other.payment.merchantId}`,
    `pushes/replays/${other.job.jobId}/events`,
  ]
  const places = [
    '',
    '/payments',
    '/payments.csv',
    `/payments?merchant=${other.payment.merchantId}`,
    '/receivers',
    '/receivers.csv',
    '/balances',
    '/customers',
    '/customers?by=mobile&value=%2B12025550101',
    `/customers/${other.customer.accountId}/personal`,
    '/bills',
    '/bills.csv',
    `/bills/${other.bill.transactionId}/receipt.pdf`,
    '/transfers',
    '/customers.csv',
    '/quotes',
    '/quotes.csv',
    '/transfers.csv',
    '/api-log',
    '/api-log.csv',
    '/access',
    '/balances.csv',
    '/balances/statement.csv',
    '/ledger',
    '/ledger.csv',
    '/balances/settlements',
    '/balances/settlements.csv',
    '/developers',
    '/developers/keys.csv',
    '/developers/grants.csv',
    '/developers/signing-secrets.csv',
    '/receivers/pauses.csv',
    '/developers/triggers',
    '/approvals',
    '/approvals.csv',
    '/branding',
    '/branding/preview',
    '/branding/logo.png',
    '/pushes',
    '/pushes.csv',
    '/pushes/replays',
    '/pushes/replays.csv',
    '/pushes/tail',
    '/pushes/tail/events',
    '/search?q=1',
  ]
  return [
    ...places.map((place) => `/projects/${other.projectId}${place}`),
    ...[...things, ...unsearched].flatMap((thing) => [
      `/projects/${other.projectId}/${thing}`,
      `/projects/${demo.projectId}/${thing}`,
    ]),
    ...things.map((thing) => `/projects/${demo.projectId}/search?q=${thing.split('/').at(-1)}`),
    ...things.map((thing) => `/search?q=${thing.split('/').at(-1)}`),
    `/search?q=${other.projectId}`,
    ...[other.quote.quoteId, other.keyId, events.eventId].flatMap((id) => [
      `/search?q=${id}`,
      `/projects/${demo.projectId}/search?q=${id}`,
    ]),
    `/projects/${randomUUID()}/pushes`,
  ]
}

/** Where the forms of `other` are sent. */
export function foreignForms({ projects: { other }, approvals }: Peers): string[] {
  const { refunds } = approvals
  return [
    `payments/${other.payment.paymentId}/cancel`,
    'developers/subscription-keys',
    'developers/api-keys',
    'developers/triggers',
    'developers/subscription-keys/rotate',
    'developers/api-keys/rotate',
    'developers/subscription-keys/revoke',
    'developers/api-keys/revoke',
    'developers/signing-secrets/rotate',
    'receivers/pauses',
    'receivers/resumes',
    'access/update',
    'branding/update',
    'branding/preview',
    'access/grants',
    `payments/${other.payment.paymentId}/refund`,
    `approvals/${refunds.approvalId}/approve`,
    `approvals/${refunds.approvalId}/reject`,
    `pushes/${other.delivery.deliveryId}/resend`,
    `pushes/${other.delivery.deliveryId}/cancel`,
    'pushes/replays',
    `pushes/replays/${other.job.jobId}/cancel`,
    `pushes/replays/${other.job.jobId}/pause`,
    `pushes/replays/${other.job.jobId}/resume`,
  ].map((place) => `/projects/${other.projectId}/${place}`)
}
