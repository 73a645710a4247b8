// The one table of who may call which RPC, and which project a call acts for.

import type { DescField, DescMessage, DescMethod, Message } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type CallContext, type Caller, currentContext } from '../context.ts'
import { oldName } from '../old-names.ts'
import { servedCallKey } from '../server/served-call.ts'
import { isConnector } from './connector-name.ts'
import { mayCall } from './roles.ts'

const gateway = 'gateway'
const payments = 'payments'
const quotes = 'quotes'
const institution = 'institution'
const billing = 'billing'
/** In a row of the table: every connector that is trusted. */
const anyConnector = 'connector-*'
const backEnds = ['simulator', anyConnector]
const producers = ['payments', 'accounts', 'institution', 'quotes', 'billing']

/** In a row of the table: every authenticated caller, bearers included. */
export const anyKnownCaller = '*'

/**
 * Callers by `pkg.Service/Method` or `pkg.Service/*`; a method may be called by those of both rows. A bearer has its
 * own list of methods instead; one that is bound to a project may call only methods that name one project. Health is
 * not listed: it needs no credential. What a person may call through the console is in roles.ts.
 */
export const callers: Readonly<Record<string, readonly string[]>> = {
  'payweave.payments.v1.PaymentsService/*': [gateway],
  'payweave.payments.v1.CheckoutService/*': [gateway],
  'payweave.payments.v1.ChargeReportService/*': backEnds,
  'payweave.payments.v1.SettlementService/*': ['accounts'],
  // For people of the staff, in the console.
  'payweave.payments.v1.PaymentOperationsService/*': [],
  // For operators, by bearer or in the console.
  'payweave.payments.v1.RoutingService/*': [],
  // For people in the console, and for operators by bearer. It also asks whether they may call what was requested.
  'payweave.approvals.v1.ApprovalService/*': [],
  'payweave.accounts.v1.AccessService/AuthenticateSubscriptionKey': [gateway],
  'payweave.accounts.v1.AccessService/AuthenticateApiKey': [gateway],
  'payweave.accounts.v1.AccessService/CheckGrant': [gateway, institution],
  'payweave.accounts.v1.AccessService/GetMerchant': [gateway, payments],
  'payweave.accounts.v1.AccessService/GetMerchantLogo': [gateway],
  'payweave.accounts.v1.AccessService/GetSigningSecrets': ['delivery'],
  'payweave.accounts.v1.AccessService/*': ['launcher'],
  'payweave.accounts.v1.AccountsService/ResolveSession': [gateway, quotes, institution],
  'payweave.accounts.v1.AccountsService/*': [gateway],
  'payweave.accounts.v1.LedgerService/*': [billing],
  // For people, in the console.
  'payweave.accounts.v1.OnboardingService/*': [],
  'payweave.accounts.v1.BalanceService/*': [],
  'payweave.accounts.v1.CustomerService/*': [],
  // For people of the staff, in the console, and for operators by bearer.
  'payweave.accounts.v1.ItemClaimService/*': [],
  // For operators, whose bearers list the methods that they may call.
  'payweave.accounts.v1.SettlementPostingService/*': [],
  'payweave.accounts.v1.KeyAdministrationService/*': [],
  'payweave.accounts.v1.MovementService/CheckLimits': [quotes],
  'payweave.accounts.v1.MovementService/*': [institution],
  'payweave.accounts.v1.ReviewReportService/*': backEnds,
  'payweave.institution.v1.InstitutionService/*': [gateway],
  'payweave.institution.v1.TransferReportService/*': backEnds,
  'payweave.quotes.v1.QuotesService/CreateQuote': [gateway],
  'payweave.quotes.v1.QuotesService/GetQuote': [gateway],
  'payweave.quotes.v1.QuotesService/*': [institution],
  'payweave.backend.v1.ChargeService/*': [payments],
  'payweave.backend.v1.PayoutService/*': [payments],
  'payweave.backend.v1.ReviewService/*': ['accounts'],
  'payweave.backend.v1.RateService/*': [quotes],
  'payweave.backend.v1.TransferService/*': [institution],
  'payweave.backend.v1.BillerService/*': [billing],
  'payweave.billing.v1.BillingService/*': [gateway],
  // For operators, by bearer.
  'payweave.billing.v1.CatalogueService/*': [],
  // For people of the staff, in the console.
  'payweave.delivery.v1.DeadLetterService/*': [],
  'payweave.delivery.v1.ApiLogService/RecordRequests': [gateway],
  'payweave.delivery.v1.MerchantDeliveryService/*': [gateway],
  'payweave.events.v1.InboxService/*': producers,
  // For people of the staff, in the console, and for operators by bearer.
  'payweave.events.v1.EventDeadLetterService/*': [],
  // For people of the staff, in the console, and for operators by bearer.
  'payweave.audit.v1.ActionAuditService/*': [],
  // For people who test in a sandbox, by bearer.
  'payweave.clock.v1.ClockService/*': [],
  // For operators, who pass as bearers.
  'payweave.keys.v1.KeyService/*': [],
  // Carries calls, each of which has its own credential.
  'payweave.rpc.v1.CallService/*': [anyKnownCaller],
  'grpc.reflection.v1.ServerReflection/*': [anyKnownCaller],
  'grpc.reflection.v1alpha.ServerReflection/*': [anyKnownCaller],
}

/** Methods that return long-lived secrets: only the callers of their own row pass, and no wildcard or bearer does. */
export const secretMethods: ReadonlySet<string> = new Set([
  'payweave.accounts.v1.AccessService/GetSigningSecrets',
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
  const forConnectors = names.has(anyConnector)
  const isOfOneProject = namesOneProject(method)
  // A bearer that was issued before names the method as it was called then.
  const listed = new Set(['*', exact, wildcard, oldName(exact), oldName(wildcard)])
  return (caller) => {
    if (caller.kind === 'service' && caller.person === undefined)
      return names.has(caller.name) || (forConnectors && isConnector(caller.name))
    if (caller.projectId !== undefined && !isOfOneProject) return false
    if (caller.person !== undefined)
      return mayCall(caller.person.memberships, exact, caller.projectId)
    return caller.rpcs?.some((rpc) => listed.has(rpc)) ?? false
  }
}

/**
 * The project of a call: the one that its request names, which must be the token's when the token names one. Throws
 * PERMISSION_DENIED when they differ, MISSING_PARAMETER when neither names any.
 */
export function projectOf(
  context: HandlerContext | CallContext | undefined,
  requested: string,
): string {
  const call =
    context !== undefined && 'values' in context ? context.values.get(servedCallKey) : context
  const granted = (call ?? currentContext())?.caller?.projectId
  if (granted !== undefined && requested !== '' && granted !== requested) {
    throw new Failure('PERMISSION_DENIED', 'the credential is for another project')
  }
  const projectId = requested === '' ? granted : requested
  if (projectId === undefined) {
    throw new Failure('MISSING_PARAMETER', 'project_id is required', {
      details: { field: 'project_id' },
    })
  }
  return projectId
}

const projectField = 'project_id'

/**
 * Whether the request of a method names its project in one field of its own, and nowhere else. Only such a method can
 * be called by a bearer or a person that is bound to a project.
 */
function namesOneProject({ input, methodKind }: DescMethod): boolean {
  const isOneMessage = methodKind === 'unary' || methodKind === 'server_streaming'
  const own = input.fields.filter(isProjectField)
  return isOneMessage && own.length === 1 && projectFieldsIn(input, new Set()) === 1
}

function isProjectField(field: DescField): boolean {
  return field.name === projectField && field.fieldKind === 'scalar' && field.oneof === undefined
}

/** Fields that name a project, in a message and all that it may hold; `float_project_id` is one too. */
function projectFieldsIn(message: DescMessage, seen: Set<DescMessage>): number {
  if (seen.has(message)) return 0
  seen.add(message)
  return message.fields
    .map((field) => {
      const inner = field.message === undefined ? 0 : projectFieldsIn(field.message, seen)
      return inner + (field.name.endsWith(projectField) ? 1 : 0)
    })
    .reduce((sum, count) => sum + count, 0)
}

/**
 * Makes the check of a method's messages against the project of a bearer or person that is bound to one. The check throws
 * PERMISSION_DENIED for another project and for a call without a caller, and fills in the project of a message that
 * names none. Undefined for a method that no such caller may call.
 */
export function bindToProject(method: DescMethod): ((message: Message) => void) | undefined {
  if (!namesOneProject(method)) return undefined
  const field = method.input.fields.find(isProjectField)
  const name = field?.localName ?? ''
  return (message) => {
    const call = currentContext()
    if (call?.caller === undefined) {
      throw new Failure('PERMISSION_DENIED', 'the call has no caller')
    }
    const { kind, person, projectId } = call.caller
    if (projectId === undefined || (kind !== 'bearer' && person === undefined)) return
    const named = message as unknown as Record<string, string | undefined>
    named[name] = projectOf(call, named[name] ?? '')
  }
}
