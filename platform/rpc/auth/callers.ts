// The one table of who may call which RPC.

import type { DescMethod } from '@bufbuild/protobuf'
import type { Caller } from '../context.ts'
import { namesOneProject } from './project.ts'
import { mayCall } from './roles.ts'

const gateway = 'gateway'
const payments = 'payments'
const quotes = 'quotes'
const institution = 'institution'
const billing = 'billing'
const producers = ['payments', 'accounts', 'institution', 'quotes', 'billing']

/** In a row of the table: every authenticated caller, bearers included. */
export const anyKnownCaller = '*'

/**
 * Callers by `pkg.Service/Method` or `pkg.Service/*`; a method may be called by those of both rows. A bearer has its
 * own list of methods instead; one that is bound to a project may call only methods that name one project. Health is
 * not listed: it needs no credential. What a person may call through the console is in roles.ts.
 */
export const callers: Readonly<Record<string, readonly string[]>> = {
  'payments.v1.PaymentsService/*': [gateway],
  'payments.v1.CheckoutService/*': [gateway],
  // A real provider's connector takes the simulator's place, under that name.
  'payments.v1.ChargeReportService/*': ['simulator'],
  'payments.v1.SettlementService/*': ['accounts'],
  'accounts.v1.AccessService/AuthenticateSubscriptionKey': [gateway],
  'accounts.v1.AccessService/AuthenticateApiKey': [gateway],
  'accounts.v1.AccessService/CheckGrant': [gateway, institution],
  'accounts.v1.AccessService/GetMerchant': [gateway, payments],
  'accounts.v1.AccessService/GetSigningSecrets': ['delivery'],
  'accounts.v1.AccessService/*': ['launcher'],
  'accounts.v1.AccountsService/ResolveSession': [gateway, quotes, institution],
  'accounts.v1.AccountsService/*': [gateway],
  'accounts.v1.LedgerService/*': [billing],
  // For operators, whose bearers list the methods that they may call.
  'accounts.v1.SettlementPostingService/*': [],
  'accounts.v1.KeyAdministrationService/*': [],
  'accounts.v1.MovementService/CheckLimits': [quotes],
  'accounts.v1.MovementService/*': [institution],
  // A real connector takes the simulator's place, under that name.
  'accounts.v1.ReviewReportService/*': ['simulator'],
  'institution.v1.InstitutionService/*': [gateway],
  'institution.v1.TransferReportService/*': ['simulator'],
  'quotes.v1.QuotesService/CreateQuote': [gateway],
  'quotes.v1.QuotesService/GetQuote': [gateway],
  'quotes.v1.QuotesService/*': [institution],
  'backend.v1.ChargeService/*': [payments],
  'backend.v1.PayoutService/*': [payments],
  'backend.v1.ReviewService/*': ['accounts'],
  'backend.v1.RateService/*': [quotes],
  'backend.v1.TransferService/*': [institution],
  'backend.v1.BillerService/*': [billing],
  'billing.v1.BillingService/*': [gateway],
  // For operators, by bearer.
  'billing.v1.CatalogueService/*': [],
  'delivery.v1.MerchantDeliveryService/*': [gateway],
  'events.v1.InboxService/*': producers,
  // For operators, who pass as bearers.
  'keys.v1.KeyService/*': [],
  // Carries calls, each of which has its own credential.
  'rpc.v1.CallService/*': [anyKnownCaller],
  'grpc.reflection.v1.ServerReflection/*': [anyKnownCaller],
  'grpc.reflection.v1alpha.ServerReflection/*': [anyKnownCaller],
}

/** Methods that return long-lived secrets: only the callers of their own row pass, and no wildcard or bearer does. */
export const secretMethods: ReadonlySet<string> = new Set([
  'accounts.v1.AccessService/GetSigningSecrets',
])

/** Whether a caller may call one method, which is known at start-up. */
export type Permission = (caller: Caller) => boolean

/** The permission of a method, with the rows of the table looked up once. */
export function permissionOf(method: DescMethod, table = callers): Permission {
  const exact = `${method.parent.typeName}/${method.name}`
  const wildcard = `${method.parent.typeName}/*`
  if (secretMethods.has(exact)) {
    const named = table[exact] ?? []
    return ({ kind, name, person }) =>
      kind === 'service' && person === undefined && named.includes(name)
  }
  const names = new Set([...(table[exact] ?? []), ...(table[wildcard] ?? [])])
  if (names.has(anyKnownCaller)) return () => true
  const isOfOneProject = namesOneProject(method)
  return (caller) => {
    if (caller.kind === 'service' && caller.person === undefined) return names.has(caller.name)
    if (caller.projectId !== undefined && !isOfOneProject) return false
    if (caller.person !== undefined)
      return mayCall(caller.person.memberships, exact, caller.projectId)
    return caller.rpcs?.some((rpc) => rpc === '*' || rpc === wildcard || rpc === exact) ?? false
  }
}
