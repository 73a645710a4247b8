// The gateway's clients of the services, one pool of connections for each process; it must not call anything.
import type { DescService } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { AccessService } from '#gen/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/accounts/v1/accounts_pb.js'
import { BillingService } from '#gen/billing/v1/billing_pb.js'
import { InstitutionService } from '#gen/institution/v1/institution_pb.js'
import { CheckoutService } from '#gen/payments/v1/checkout_pb.js'
import { PaymentsService } from '#gen/payments/v1/payments_pb.js'
import { QuotesService } from '#gen/quotes/v1/quotes_pb.js'
import type { SettingsOf } from '#runtime/config.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import type { Identity } from '#runtime/rpc/identity.ts'

const rpcTimeoutMs = 5_000
// A payer waits for his wallet's back end.
const walletTimeoutMs = 15_000
// A bill waits for its biller: longer than the longest BILLER_TIMEOUT_S.
const billTimeoutMs = 58_000

/** Makes all clients, and what closes their connections. */
export function openClients(settings: SettingsOf<'gateway'>, identity: Identity) {
  const payments = clientsOf('payments', settings.paymentsUrl, identity)
  const accounts = clientsOf('accounts', settings.accountsUrl, identity)
  const billing = clientsOf('billing', settings.billingUrl, identity)
  const quotes = clientsOf('quotes', settings.quotesUrl, identity)
  const institution = clientsOf('institution', settings.institutionUrl, identity)
  return {
    payments: payments.of(PaymentsService),
    checkout: payments.of(CheckoutService, walletTimeoutMs),
    access: accounts.of(AccessService),
    accounts: accounts.of(AccountsService),
    billing: billing.of(BillingService, billTimeoutMs),
    quotes: quotes.of(QuotesService),
    institution: institution.of(InstitutionService),
    closers: [payments, accounts, billing, quotes, institution],
  }
}

function clientsOf(name: string, url: string, identity: Identity) {
  const pool = createRpcPool(url, { audience: name, identity })
  return {
    name,
    of: <S extends DescService>(service: S, timeoutMs = rpcTimeoutMs): Client<S> =>
      createRpcClient(service, { identity, timeoutMs, url, audience: name, pool }),
    close: () => pool.close(),
  }
}
