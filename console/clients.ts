// The console's clients of the services. Each call of a person is written down before it is made.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { isUuid, newId } from '#core/identity/id.ts'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { ItemClaimService } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { BackendTaskService, OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { recordMadeCall, type ServedRpc } from './http/made-calls.ts'
import type { Activity } from './store/activity-store.ts'

/** Addresses of the services. */
type Urls = {
  [part in
    | 'accounts'
    | 'payments'
    | 'institution'
    | 'quotes'
    | 'billing'
    | 'delivery' as `${part}Url`]: string
}

/** Writes down a call; it is not made when that fails. */
export type Record = (activity: Activity) => Promise<void>

/** The clients of all services, in whose calls a person acts. */
export type Clients = ReturnType<typeof openClients>

/** Set within calls that one line stands for. */
const summed = new AsyncLocalStorage<true>()

/** What every page reads to show where it is. */
const navigation = new Set([
  'payweave.accounts.v1.AccessService/GetProject',
  'payweave.accounts.v1.AccessService/ListProjects',
])

/** Makes all clients, and what closes their connections. */
export function openClients(urls: Urls, identity: Identity, record: Record) {
  const served: ServedRpc[] = []
  const open = (name: string, url: string) => {
    const pool = createRpcPool(url, { audience: name, identity })
    // A tail lasts: it must not wait behind, or be hedged as, a call that ends.
    const lasting = createRpcPool(url, { audience: name, identity, lasting: true })
    const options = { identity, url, audience: name }
    return {
      name,
      of: <S extends DescService>(service: S) => {
        served.push(...service.methods.map((method) => ({ process: name, method })))
        return recorded(name, service, createRpcClient(service, { ...options, pool }), record)
      },
      /** For a stream that repeats the call which its opening wrote down. */
      unrecordedOf: <S extends DescService>(service: S) =>
        createRpcClient(service, { ...options, pool }),
      lastingOf: <S extends DescService>(service: S, timeoutMs: number) =>
        recorded(
          name,
          service,
          createRpcClient(service, { ...options, pool: lasting, timeoutMs }),
          record,
        ),
      close: async () => {
        await Promise.all([pool.close(), lasting.close()])
      },
    }
  }
  const accounts = open('accounts', urls.accountsUrl)
  const payments = open('payments', urls.paymentsUrl)
  const institution = open('institution', urls.institutionUrl)
  const quotes = open('quotes', urls.quotesUrl)
  const billing = open('billing', urls.billingUrl)
  const delivery = open('delivery', urls.deliveryUrl)
  return {
    access: accounts.of(AccessService),
    ledger: accounts.of(LedgerService),
    balances: accounts.of(BalanceService),
    customers: accounts.of(CustomerService),
    claims: accounts.of(ItemClaimService),
    onboardings: accounts.of(OnboardingService),
    backendTasks: accounts.of(BackendTaskService),
    settlements: accounts.of(SettlementPostingService),
    payments: payments.of(PaymentsService),
    paymentOperations: payments.of(PaymentOperationsService),
    routing: payments.of(RoutingService),
    paymentSettlements: payments.of(SettlementService),
    refundApprovals: payments.of(ApprovalService),
    institution: institution.of(InstitutionService),
    quotes: quotes.of(QuotesService),
    bills: billing.of(BillingService),
    catalogue: billing.of(CatalogueService),
    billApprovals: billing.of(ApprovalService),
    deliveries: delivery.of(DeliveryService),
    tails: delivery.lastingOf(DeliveryService, tailMs),
    apiLog: delivery.of(ApiLogService),
    deadLetters: delivery.of(DeadLetterService),
    eventDeadLetters: ofParts({ delivery, accounts, payments }, EventDeadLetterService),
    actions: ofParts({ payments, institution }, ActionAuditService),
    merchantDeliveries: delivery.of(MerchantDeliveryService),
    endpoints: delivery.of(EndpointService),
    replays: delivery.of(ReplayService),
    replayPolls: delivery.unrecordedOf(ReplayService),
    /** Makes calls that one line of the record stands for, such as the many looks of a search. */
    summedUp: async <T>(what: string, target: string, calls: () => Promise<T>): Promise<T> => {
      await note(record, what, { itemId: target })
      return await summed.run(true, calls)
    },
    /** Every RPC that the console can call, once for each process that serves it. */
    served,
    closers: [accounts, payments, institution, quotes, billing, delivery],
  }
}

type Part = { of: <S extends DescService>(service: S) => Client<S> }

/** The clients of a service that several parts serve, by part. */
function ofParts<P extends string, S extends DescService>(
  parts: { [part in P]: Part },
  service: S,
): { [part in P]: Client<S> } {
  const entries = Object.entries<Part>(parts)
  const clients = entries.map(([name, part]) => [name, part.of(service)])
  return Object.fromEntries(clients) as { [part in P]: Client<S> }
}

/** Maximum duration of a tail; the browser then opens another one, which needs a live session. */
const tailMs = 5 * 60_000

type Call = (request: object, options?: object) => unknown

/** A client whose every call is written down first. */
function recorded<S extends DescService>(
  process: string,
  service: S,
  client: Client<S>,
  record: Record,
): Client<S> {
  const calls: { [method: string]: Call } = {}
  for (const method of service.methods) {
    const call = (client as { [method: string]: Call })[method.localName]
    if (call === undefined) continue
    const rpc = `${service.typeName}/${method.name}`
    const first = async (request: object) => {
      if (!navigation.has(rpc) && summed.getStore() === undefined) await note(record, rpc, request)
    }
    calls[method.localName] =
      method.methodKind === 'unary'
        ? async (request, options) => {
            await first(request)
            recordMadeCall({ process, method, request })
            return await (call(request, options) as Promise<unknown>).catch(refuse)
          }
        : streaming(method, call, first)
  }
  return calls as Client<S>
}

function streaming(
  { methodKind }: DescMethod,
  call: Call,
  first: (request: object) => Promise<void>,
): Call {
  if (methodKind !== 'server_streaming') throw new Error('a person sends no streams')
  return async function* (request, options) {
    await first(request)
    try {
      yield* call(request, options) as AsyncIterable<unknown>
    } catch (error) {
      refuse(error)
    }
  }
}

/** To a process a refused permission is a bug of ours; to a person it says that their roles do not allow this. */
function refuse(error: unknown): never {
  const cause = error instanceof Failure ? error.cause : undefined
  if (cause instanceof ConnectError && cause.code === Code.PermissionDenied) {
    throw new Failure('PERMISSION_DENIED', 'Your roles do not allow this.', { cause })
  }
  throw error
}

/** Fields that name what a call is about, the narrowest first. */
const targetFields = [
  'entryId',
  'approvalId',
  'deadLetterId',
  'eventId',
  'attemptId',
  'settlementId',
  'deliveryId',
  'jobId',
  'endpointId',
  'paymentId',
  'transferId',
  'holdId',
  'refundId',
  'artefactId',
  'reviewId',
  'movementId',
  'quoteId',
  'transactionId',
  'subjectId',
  'itemId',
  'accountId',
  'keyId',
  'institutionId',
  'merchantId',
]

async function note(record: Record, rpc: string, request: object): Promise<void> {
  const context = currentContext()
  const acting = context?.acting
  // Without a person the service refuses the call; there is nobody to write down.
  if (context === undefined || acting === undefined) return
  const { item } = request as { item?: object }
  const fields: { [field: string]: unknown } = { ...request, ...item }
  const target = targetOf(targetFields.map((name) => fields[name]).find(isText) ?? '')
  const { person, projectId, sessionId } = acting
  await record({
    activityId: newId(),
    sessionId,
    person: person.id,
    rpc,
    projectId: projectId ?? idOf(fields['projectId']),
    target,
    requestId: context.requestId,
  })
}

const maxTargetLength = 255

/** What a form gave is no longer than any id, and one line. */
function targetOf(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}]/gu, '').slice(0, maxTargetLength)
}

function idOf(value: unknown): string | undefined {
  return isText(value) && isUuid(value) ? value : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
