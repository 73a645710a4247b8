// Who may call what, and that the table names only methods that exist.

import { randomUUID } from 'node:crypto'
import { create, type DescMethod, type DescService } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.js'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { ItemClaimService } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { KeyAdministrationService } from '#gen/payweave/accounts/v1/key_administration_pb.js'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { KeyService } from '#gen/payweave/keys/v1/keys_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { GetPaymentRequestSchema, PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { CallService } from '#gen/payweave/rpc/v1/call_pb.js'
import { type CallContext, type Caller, runWithContext } from '../context.ts'
import { bindToProject, callers, permissionOf, secretMethods } from './callers.ts'

const services: DescService[] = [
  AccessService,
  AccountsService,
  CustomerService,
  ItemClaimService,
  KeyAdministrationService,
  KeyService,
  BalanceService,
  LedgerService,
  MovementService,
  OnboardingService,
  ReviewReportService,
  SettlementPostingService,
  BillerService,
  BillingService,
  CallService,
  CatalogueService,
  ClockService,
  ChargeService,
  PayoutService,
  RateService,
  ReviewService,
  TransferService,
  TransferReportService,
  InstitutionService,
  ApiLogService,
  DeadLetterService,
  MerchantDeliveryService,
  InboxService,
  ActionAuditService,
  EventDeadLetterService,
  ServerReflection,
  ServerReflectionAlpha,
  ChargeReportService,
  CheckoutService,
  PaymentsService,
  SettlementService,
  PaymentOperationsService,
  RoutingService,
  ApprovalService,
  QuotesService,
]
const methods = new Map<string, DescMethod>(
  services.flatMap((service) =>
    service.methods.map((method) => [`${service.typeName}/${method.name}`, method] as const),
  ),
)

function may(name: string, rpc: string): boolean {
  const method = methods.get(rpc)
  if (method === undefined) throw new Error(`no method ${rpc}`)
  return permissionOf(method)({ kind: 'service', name })
}

describe('a bearer that is bound to a project', () => {
  const bound: Caller = { kind: 'bearer', name: 'shop', rpcs: ['*'], projectId: 'p-1' }
  const allowed = [...methods].filter(([, method]) => permissionOf(method)(bound))
  const names = new Set(allowed.map(([name]) => name))

  it('a bearer that is bound to a project may call methods whose request names one project, reflection, and a call stream', () => {
    for (const [name, { input }] of allowed) {
      if (/^(grpc\.reflection|payweave\.rpc)\./.test(name)) continue
      expect([name, input.fields.some((field) => field.name === 'project_id')]).toEqual([
        name,
        true,
      ])
    }
    for (const name of ['PaymentsService/GetPayment', 'PaymentsService/RefundPayment']) {
      expect(names).toContain(`payweave.payments.v1.${name}`)
    }
    expect(names.size).toBeGreaterThan(40)
  })

  it.each([
    ['is about no project', 'payweave.accounts.v1.AccessService/ListProjects'],
    ['could name another one deeper inside', 'payweave.accounts.v1.LedgerService/PostTransfer'],
    ['comes in several messages', 'payweave.accounts.v1.AccountsService/UploadPersonalAccount'],
    ['brings events of all', 'payweave.payments.v1.SettlementService/ListSettlements'],
  ])('a bearer that is bound to a project may not call a method that %s', (_, name) => {
    expect(methods.has(name)).toBe(true)
    expect(names).not.toContain(name)
  })
})

describe('the table of callers', () => {
  it('the table of callers names only methods that exist', () => {
    const known = new Set([
      ...methods.keys(),
      ...services.map((service) => `${service.typeName}/*`),
    ])
    expect(Object.keys(callers).filter((row) => !known.has(row))).toEqual([])
  })

  it.each([
    ['gateway', 'payweave.payments.v1.PaymentsService/CreatePayment', true],
    ['gateway', 'payweave.payments.v1.CheckoutService/GetCheckout', true],
    ['gateway', 'payweave.payments.v1.ChargeReportService/ReportCharge', false],
    ['simulator', 'payweave.payments.v1.ChargeReportService/ReportCharge', true],
    ['simulator', 'payweave.payments.v1.PaymentsService/CreatePayment', false],
    ['connector-momo', 'payweave.payments.v1.ChargeReportService/ReportCharge', true],
    ['connector-momo', 'payweave.accounts.v1.ReviewReportService/ReadArtefact', true],
    ['connector-momo', 'payweave.institution.v1.TransferReportService/ReportTransfer', true],
    ['connector-momo', 'payweave.payments.v1.PaymentsService/CreatePayment', false],
    ['connector-*', 'payweave.payments.v1.PaymentsService/CreatePayment', false],
    ['connector-', 'payweave.payments.v1.ChargeReportService/ReportCharge', false],
    ['connectors', 'payweave.payments.v1.ChargeReportService/ReportCharge', false],
    ['gateway', 'payweave.accounts.v1.AccessService/AuthenticateApiKey', true],
    ['gateway', 'payweave.accounts.v1.AccessService/CreateProject', false],
    ['launcher', 'payweave.accounts.v1.AccessService/CreateProject', true],
    ['launcher', 'payweave.accounts.v1.AccessService/GetMerchant', true],
    ['payments', 'payweave.accounts.v1.AccessService/GetMerchant', true],
    ['delivery', 'payweave.accounts.v1.AccessService/GetSigningSecrets', true],
    ['gateway', 'payweave.accounts.v1.AccessService/GetSigningSecrets', false],
    ['launcher', 'payweave.accounts.v1.AccessService/GetSigningSecrets', false],
    ['payments', 'payweave.accounts.v1.AccessService/AuthenticateApiKey', false],
    ['gateway', 'payweave.institution.v1.InstitutionService/CreateTransaction', true],
    ['simulator', 'payweave.institution.v1.InstitutionService/CreateTransaction', false],
    ['simulator', 'payweave.institution.v1.TransferReportService/ReportTransfer', true],
    ['institution', 'payweave.accounts.v1.AccessService/CheckGrant', true],
    ['payments', 'payweave.backend.v1.ChargeService/GetAttempt', true],
    ['payments', 'payweave.backend.v1.PayoutService/CreatePayout', true],
    ['gateway', 'payweave.backend.v1.PayoutService/CreatePayout', false],
    ['gateway', 'payweave.quotes.v1.QuotesService/CreateQuote', true],
    ['gateway', 'payweave.quotes.v1.QuotesService/ReserveQuote', false],
    ['institution', 'payweave.quotes.v1.QuotesService/ReserveQuote', true],
    ['payments', 'payweave.events.v1.InboxService/Seen', true],
    ['gateway', 'payweave.events.v1.InboxService/Seen', false],
    ['accounts', 'payweave.payments.v1.SettlementService/ListSettlements', true],
    ['gateway', 'payweave.payments.v1.SettlementService/ListSettlements', false],
    ['gateway', 'payweave.accounts.v1.SettlementPostingService/RestartBackfill', false],
    ['delivery', 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo', true],
    ['gateway', 'payweave.rpc.v1.CallService/StreamCalls', true],
  ])('the table of callers says of %s calling %s: %s', (name, rpc, expected) => {
    expect(may(name, rpc)).toBe(expected)
  })

  it('the table of callers does not restrict bearers, which have their own patterns', () => {
    const bearer = (...rpcs: string[]): Caller => ({ kind: 'bearer', name: 'gateway', rpcs })
    const method = methods.get('payweave.payments.v1.PaymentsService/GetPayment')
    if (method === undefined) throw new Error('no method')
    const permits = permissionOf(method)
    expect(permits(bearer('*'))).toBe(true)
    expect(permits(bearer('payweave.payments.v1.PaymentsService/*'))).toBe(true)
    expect(permits(bearer('payweave.payments.v1.PaymentsService/GetPayment'))).toBe(true)
    expect(permits(bearer('payweave.payments.v1.PaymentsService/CreatePayment'))).toBe(false)
    // As the method was called before.
    expect(permits(bearer('payments.v1.PaymentsService/*'))).toBe(true)
    expect(permits(bearer('payments.v1.PaymentsService/GetPayment'))).toBe(true)
    expect(permits(bearer('payments.v1.PaymentsService/CreatePayment'))).toBe(false)
    expect(permits(bearer('payweave.payments.v1.*'))).toBe(false)
    expect(permits(bearer())).toBe(false)
  })

  it('the table of callers lets no bearer read lasting secrets, with any patterns', () => {
    for (const rpc of secretMethods) {
      const method = methods.get(rpc)
      if (method === undefined) throw new Error(`no method ${rpc}`)
      const caller: Caller = { kind: 'bearer', name: 'delivery', rpcs: ['*', rpc] }
      expect(permissionOf(method)(caller)).toBe(false)
    }
  })
})

const bind = bindToProject(PaymentsService.method.getPayment)
const context = { requestId: randomUUID(), traceparent: '' }
const message = () => create(GetPaymentRequestSchema, { projectId: randomUUID() })

it('a call without a context or a caller is refused', () => {
  const refused = expect.objectContaining({ reason: 'PERMISSION_DENIED' })
  expect(() => bind?.(message())).toThrow(refused)
  expect(() => runWithContext(context, () => bind?.(message()))).toThrow(refused)
})

it('a call of a process passes for each project, one of a bearer for its own alone', () => {
  const as = (caller: CallContext['caller']) => () =>
    runWithContext({ ...context, caller }, () => bind?.(message()))
  expect(as({ kind: 'service', name: 'gateway' })).not.toThrow()
  expect(as({ kind: 'bearer', name: 'team', projectId: randomUUID() })).toThrow(
    expect.objectContaining({ reason: 'PERMISSION_DENIED' }),
  )
})
