// The gateway's clients of the services, one connection pool for each process.
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { SettingsOf } from '#platform/config/config.ts'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import { maxTimeoutMs } from '#platform/rpc/limits/limits.ts'

// Requests share the answers about access, so these calls have the deadline of none of them: hedged after 300 ms, and this long in all.
const credentialTimeoutMs = 1_000

/** Of a batch of the API log, for which no request waits. */
const batchTimeoutMs = 5_000

/** Makes all clients, and what closes their connections. Every other call has the deadline of its request. */
export function openClients(settings: SettingsOf<'gateway'>, identity: Identity) {
  const payments = openPeer('payments', settings.paymentsUrl, identity)
  const accounts = openPeer('accounts', settings.accountsUrl, identity)
  const billing = openPeer('billing', settings.billingUrl, identity)
  const quotes = openPeer('quotes', settings.quotesUrl, identity)
  const institution = openPeer('institution', settings.institutionUrl, identity)
  const delivery = openPeer('delivery', settings.deliveryUrl, identity)
  return {
    payments: payments.of(PaymentsService, maxTimeoutMs),
    checkout: payments.of(CheckoutService, maxTimeoutMs),
    access: accounts.of(AccessService, credentialTimeoutMs),
    accounts: accounts.of(AccountsService, maxTimeoutMs),
    billing: billing.of(BillingService, maxTimeoutMs),
    quotes: quotes.of(QuotesService, maxTimeoutMs),
    institution: institution.of(InstitutionService, maxTimeoutMs),
    deliveries: delivery.of(MerchantDeliveryService, maxTimeoutMs),
    apiLog: delivery.of(ApiLogService, batchTimeoutMs),
    closers: [payments, accounts, billing, quotes, institution, delivery],
  }
}
