// The paths of all pages of the console, with things of the peers.
import type { Peers } from './peers.ts'
import { evil } from './rows.ts'

/** Every page of the console. */
export function pagesOf(peers: Peers): string[] {
  const { projectId, payment, bill, transfer, quote, delivery, job, request, customer } =
    peers.projects.demo
  const { staff } = peers
  const base = `/projects/${projectId}`
  return [
    '/',
    base,
    `${base}/payments`,
    `${base}/payments?mobile=%2B12025550101&transaction=${encodeURIComponent(evil.slice(0, 64))}`,
    `${base}/payments?amount=25.00&currency=USD`,
    `${base}/receivers`,
    `${base}/developers`,
    `${base}/developers/triggers`,
    `${base}/developers/triggers?subject=${encodeURIComponent(evil)}`,
    `${base}/balances`,
    `${base}/branding`,
    `${base}/access`,
    `${base}/customers`,
    `${base}/customers?by=mobile&value=%2B12025550101`,
    `${base}/customers?by=email&value=${encodeURIComponent(evil)}`,
    `${base}/customers/${customer.accountId}`,
    `${base}/customers/${customer.accountId}/personal`,
    `${base}/bills`,
    `${base}/bills?state=success`,
    `${base}/bills/${bill.transactionId}`,
    '/now',
    '/now/runbooks/jetstream-down',
    `${base}/quotes`,
    `${base}/quotes?state=used&quote=${quote.quoteId}`,
    `${base}/quotes/${quote.quoteId}?institution=${encodeURIComponent(quote.institutionName)}`,
    `${base}/transfers`,
    `${base}/transfers?state=completed`,
    `${base}/transfers/${transfer.movementId}`,
    '/inbox',
    '/inbox?kind=dead_letter',
    `/inbox/onboardings/${staff.reviewId}`,
    '/approvals',
    '/stuck',
    '/receivers?breaker=open',
    '/dead-letters?state=exhausted',
    '/api-log',
    `/ledger?project=${staff.projectId}&id=${staff.transferId}`,
    `/ledger?project=${staff.projectId}&id=${staff.holdId}`,
    '/catalogue',
    '/routing',
    '/audit',
    '/audit/calls',
    `${base}/pushes`,
    `${base}/pushes?from=2026-01-01T00%3A00&to=2027-01-01T00%3A00`,
    `${base}/pushes?subject=${encodeURIComponent(evil.slice(0, 64))}&state=exhausted`,
    `${base}/pushes/${delivery.deliveryId}`,
    `${base}/pushes/replays`,
    `${base}/pushes/tail`,
    `${base}/pushes/replays/${job.jobId}`,
    `${base}/payments/${payment.paymentId}`,
    `${base}/api-log`,
    `${base}/api-log/${request.entryId}`,
    `${base}/search?q=${encodeURIComponent(evil)}`,
    '/signed-out',
    '/nowhere',
  ]
}
