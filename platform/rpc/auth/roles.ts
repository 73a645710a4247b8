// The one table of what a person may do in the console: RPCs by role. Services refuse all else; pages show nothing else.

import { isUuid } from '#core/identity/id.ts'

/** Roles of people. A merchant's role is held in one project, a role of the staff in all. */
export const roleNames = [
  'merchant_viewer',
  'merchant_developer',
  'support',
  'finance',
  'operator',
  'administrator',
] as const

export type Role = (typeof roleNames)[number]

const all = roleNames
const staff = ['support', 'finance', 'operator', 'administrator'] as const
/** Those who answer for what a merchant's payments and pushes do. */
const changers = ['merchant_developer', 'support', 'operator', 'administrator'] as const

/** Those who give and take access: keys, addresses, grants, accounts of new customers. */
const accessStaff = ['operator', 'administrator'] as const
const moneyStaff = ['finance', 'operator', 'administrator'] as const

/** Those who may have a back end asked again: that moves nothing twice. */
const enquirers = ['support', 'operator', 'administrator'] as const

/** Those who may return money. */
const refunders = ['merchant_developer', 'finance', 'administrator'] as const

/** Roles by `pkg.Service/Method`. An RPC without a row is for no person. */
export const permissions = {
  'payweave.payments.v1.PaymentsService/GetPayment': all,
  'payweave.payments.v1.PaymentsService/ListPayments': all,
  'payweave.payments.v1.PaymentsService/ListPaymentEvents': all,
  'payweave.payments.v1.PaymentsService/GetPaymentSummary': all,
  'payweave.payments.v1.SettlementService/ListProjectSettlements': all,
  'payweave.payments.v1.PaymentsService/CancelPayment': changers,
  'payweave.payments.v1.PaymentsService/RefundPayment': refunders,
  'payweave.payments.v1.PaymentOperationsService/ListWaitingRefunds': staff,
  'payweave.payments.v1.PaymentOperationsService/SettleRefund': ['finance', 'administrator'],
  'payweave.payments.v1.PaymentOperationsService/ListFailingCalls': staff,
  'payweave.payments.v1.PaymentOperationsService/RetryCall': accessStaff,
  'payweave.payments.v1.PaymentOperationsService/ListProcessingAttempts': staff,
  'payweave.payments.v1.PaymentOperationsService/EnquireAttempt': enquirers,
  'payweave.payments.v1.PaymentOperationsService/RepeatRefund': enquirers,
  'payweave.payments.v1.RoutingService/ListRoutes': staff,
  'payweave.payments.v1.RoutingService/PutRoute': accessStaff,
  'payweave.payments.v1.RoutingService/DeleteRoute': accessStaff,
  'payweave.payments.v1.RoutingService/ListRouteChanges': staff,
  // ApprovalService also asks whether the person may call what was requested.
  'payweave.approvals.v1.ApprovalService/ListApprovals': ['merchant_developer', ...staff],
  'payweave.approvals.v1.ApprovalService/Approve': refunders,
  'payweave.approvals.v1.ApprovalService/Reject': refunders,
  'payweave.delivery.v1.DeliveryService/ListDeliveries': all,
  'payweave.delivery.v1.DeliveryService/GetDelivery': all,
  'payweave.delivery.v1.DeliveryService/ReplayDelivery': changers,
  'payweave.delivery.v1.DeliveryService/CancelDelivery': changers,
  'payweave.delivery.v1.DeliveryService/TailDeliveries': all,
  'payweave.delivery.v1.DeadLetterService/ListDeadLetters': staff,
  'payweave.events.v1.EventDeadLetterService/ListEventDeadLetters': staff,
  'payweave.events.v1.EventDeadLetterService/RetryEventDeadLetter': accessStaff,
  'payweave.events.v1.EventDeadLetterService/DiscardEventDeadLetter': accessStaff,
  'payweave.events.v1.EventDeadLetterService/ListEventDeadLetterDecisions': staff,
  'payweave.delivery.v1.ApiLogService/ListRequests': all,
  'payweave.delivery.v1.ApiLogService/ListAllRequests': staff,
  'payweave.delivery.v1.ApiLogService/GetRequest': all,
  'payweave.delivery.v1.MerchantDeliveryService/ListPaymentPushes': all,
  'payweave.delivery.v1.MerchantDeliveryService/GetMerchantDelivery': all,
  'payweave.delivery.v1.EndpointService/ListEndpoints': all,
  'payweave.delivery.v1.EndpointService/ListAllEndpoints': staff,
  'payweave.delivery.v1.EndpointService/PauseEndpoint': changers,
  'payweave.delivery.v1.EndpointService/ResumeEndpoint': changers,
  'payweave.delivery.v1.EndpointService/ListEndpointChanges': all,
  'payweave.delivery.v1.ReplayService/CreateReplayJob': changers,
  'payweave.delivery.v1.ReplayService/GetReplayJob': all,
  'payweave.delivery.v1.ReplayService/CancelReplayJob': changers,
  'payweave.delivery.v1.ReplayService/PauseReplayJob': changers,
  'payweave.delivery.v1.ReplayService/ResumeReplayJob': changers,
  'payweave.delivery.v1.ReplayService/ListReplayJobs': all,
  'payweave.accounts.v1.AccessService/GetProject': all,
  'payweave.accounts.v1.AccessService/ListProjects': staff,
  'payweave.accounts.v1.AccessService/ListMerchants': all,
  'payweave.accounts.v1.AccessService/GetMerchant': all,
  'payweave.accounts.v1.AccessService/GetMerchantLogo': all,
  'payweave.accounts.v1.AccessService/UpdateMerchant': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/ListSubscriptionKeys': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/ListApiKeys': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/IssueSubscriptionKey': [
    'merchant_developer',
    'administrator',
  ],
  'payweave.accounts.v1.AccessService/IssueApiKey': ['merchant_developer', 'administrator'],
  'payweave.accounts.v1.AccessService/RevokeSubscriptionKey': [
    'merchant_developer',
    ...accessStaff,
  ],
  'payweave.accounts.v1.AccessService/RevokeApiKey': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/UpdateProjectAccess': accessStaff,
  'payweave.accounts.v1.AccessService/ListGrants': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/ListSigningKeys': ['merchant_developer', ...accessStaff],
  'payweave.accounts.v1.AccessService/RotateInstitutionKey': ['administrator'],
  'payweave.accounts.v1.AccessService/GrantEndpoints': ['administrator'],
  'payweave.accounts.v1.AccessService/RevokeGrants': ['administrator'],
  'payweave.accounts.v1.AccessService/ListInstitutions': accessStaff,
  'payweave.accounts.v1.AccessService/ListAudit': accessStaff,
  'payweave.audit.v1.ActionAuditService/ListActions': accessStaff,
  'payweave.accounts.v1.LedgerService/GetTransfer': moneyStaff,
  'payweave.accounts.v1.LedgerService/ListTransfers': moneyStaff,
  'payweave.accounts.v1.LedgerService/GetHold': moneyStaff,
  'payweave.accounts.v1.LedgerService/CheckLedger': moneyStaff,
  'payweave.accounts.v1.LedgerService/GetLastLedgerCheck': moneyStaff,
  'payweave.accounts.v1.BalanceService/ListProjectBalances': all,
  'payweave.accounts.v1.BalanceService/ListFloatPostings': all,
  'payweave.accounts.v1.BalanceService/ListOpenBalances': staff,
  'payweave.accounts.v1.BalanceService/ListSuspenseItems': staff,
  'payweave.accounts.v1.CustomerService/ListCustomers': all,
  'payweave.accounts.v1.CustomerService/GetCustomer': all,
  'payweave.accounts.v1.CustomerService/GetPersonalData': ['support', ...accessStaff],
  'payweave.accounts.v1.OnboardingService/ListOnboardings': ['support', ...accessStaff],
  'payweave.accounts.v1.OnboardingService/GetOnboarding': accessStaff,
  'payweave.accounts.v1.OnboardingService/ReadOnboardingArtefact': accessStaff,
  'payweave.accounts.v1.OnboardingService/DecideOnboarding': accessStaff,
  'payweave.accounts.v1.BackendTaskService/ListBackendTasks': staff,
  'payweave.accounts.v1.BackendTaskService/RetryBackendTask': accessStaff,
  // ClaimItem also asks whether the person may end an item of its kind.
  'payweave.accounts.v1.ItemClaimService/ClaimItem': staff,
  'payweave.accounts.v1.ItemClaimService/ReleaseItem': staff,
  'payweave.accounts.v1.ItemClaimService/ListItemClaims': staff,
  'payweave.accounts.v1.SettlementPostingService/GetBackfill': moneyStaff,
  'payweave.accounts.v1.SettlementPostingService/RestartBackfill': ['finance', 'administrator'],
  'payweave.accounts.v1.SettlementPostingService/RetrySettlement': ['finance', 'administrator'],
  'payweave.accounts.v1.SettlementPostingService/PostPaymentSettlements': [
    'finance',
    'administrator',
  ],
  'payweave.institution.v1.InstitutionService/ListProjectTransactions': all,
  'payweave.institution.v1.InstitutionService/GetTransaction': all,
  'payweave.institution.v1.InstitutionService/ListWaitingTransactions': staff,
  'payweave.institution.v1.InstitutionService/ResumeTransaction': enquirers,
  'payweave.quotes.v1.QuotesService/ListQuotes': all,
  'payweave.quotes.v1.QuotesService/GetQuote': all,
  'payweave.quotes.v1.QuotesService/ListHeldQuotes': staff,
  'payweave.billing.v1.BillingService/ListBillPayments': all,
  'payweave.billing.v1.BillingService/GetBillPayment': all,
  'payweave.billing.v1.BillingService/PrintReceipt': ['merchant_developer', ...staff],
  'payweave.billing.v1.CatalogueService/ListCatalogue': staff,
  'payweave.billing.v1.CatalogueService/PutBiller': accessStaff,
  'payweave.billing.v1.CatalogueService/PutProduct': accessStaff,
  'payweave.billing.v1.CatalogueService/ListCatalogueChanges': accessStaff,
  'payweave.billing.v1.CatalogueService/ListReviews': staff,
  'payweave.billing.v1.CatalogueService/ResolveReview': ['finance', 'administrator'],
} as const satisfies Record<string, readonly Role[]>

/** An RPC that people may call. */
export type PersonsRpc = keyof typeof permissions

/** By kind of what waits for the staff: the RPC that ends it. Who may call it may claim the item. */
export const itemEndings = {
  onboarding: 'payweave.accounts.v1.OnboardingService/DecideOnboarding',
  bill: 'payweave.billing.v1.CatalogueService/ResolveReview',
  refund: 'payweave.payments.v1.PaymentOperationsService/SettleRefund',
  suspense: 'payweave.accounts.v1.SettlementPostingService/PostPaymentSettlements',
  settlement: 'payweave.accounts.v1.SettlementPostingService/RetrySettlement',
  dead_letter: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
} as const satisfies Record<string, PersonsRpc>

/** A role that a person holds: of the staff for all projects, of a merchant for one. */
export type Membership = { role: Role; projectId?: string | undefined }

/** Whether a role is held in one project only. */
function isMerchantRole(role: Role): boolean {
  return !staff.some((name) => name === role)
}

/** Whether a person has a role of the staff, which sees what a merchant does not. */
export function isOfStaff(memberships: readonly Membership[]): boolean {
  return memberships.some(({ role }) => !isMerchantRole(role))
}

/**
 * Reads `operator`, or `merchant_viewer:<project id>`. Undefined for another text, for a merchant's role without a
 * project and for a role of the staff with one.
 */
export function parseMembership(text: string): Membership | undefined {
  const [name = '', projectId, ...rest] = text.split(':')
  const role = roleNames.find((one) => one === name)
  if (role === undefined || rest.length > 0) return undefined
  if (isMerchantRole(role)) {
    return projectId !== undefined && isUuid(projectId) ? { role, projectId } : undefined
  }
  return projectId === undefined ? { role } : undefined
}

/** The text that `parseMembership` reads. */
export function formatMembership({ role, projectId }: Membership): string {
  return projectId === undefined ? role : `${role}:${projectId}`
}

/** Whether a person may call an RPC for one project or, without one, for all. */
export function mayCall(
  memberships: readonly Membership[],
  rpc: string,
  projectId: string | undefined,
): boolean {
  if (!Object.hasOwn(permissions, rpc)) return false
  const row: readonly Role[] = permissions[rpc as PersonsRpc]
  return memberships.some(
    (held) =>
      row.includes(held.role) && (held.projectId === undefined || held.projectId === projectId),
  )
}
