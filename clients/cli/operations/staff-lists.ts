// The commands that list what waits for the staff in all projects: new customers, refunds, dead letters, receivers, claims.
import {
  BalanceService,
  ProjectBalanceSchema,
  SuspenseItemSchema,
} from '#gen/payweave/accounts/v1/balances_pb.js'
import {
  ItemClaimSchema,
  ItemClaimService,
  ItemKind,
} from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { OnboardingSchema, OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import {
  RefusedSettlementSchema,
  SettlementPostingService,
} from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import {
  DeliveryKind,
  DeliverySchema,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  BreakerState,
  EndpointSchema,
  EndpointService,
} from '#gen/payweave/delivery/v1/endpoint_pb.js'
import {
  PaymentOperationsService,
  WaitingRefundSchema,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import type { Command } from '../command.ts'
import { time, valueOf, wordOf } from '../output/print.ts'
import { UsageError } from '../usage-error.ts'
import { allApiLogCommand } from './api-log.ts'
import { listCommand, money, showCommand } from './list-command.ts'

const isOfProject = false

/** The commands on what waits for the staff. */
export const staffListCommands: Command[] = [
  listCommand({
    name: 'onboarding list',
    summary: 'Lists the new customers that wait for a decision, oldest first.',
    part: 'accounts',
    isOfProject,
    options: { id: 'UUID of a review' },
    schema: OnboardingSchema,
    headings: ['SINCE', 'REVIEW', 'INSTITUTION', 'NAME', 'NUMBER', 'PROJECT'],
    cells: (one) => [
      time(one.createTime),
      one.reviewId,
      one.institutionName,
      `${one.firstName} ${one.lastName}`,
      one.numberTaken ? 'taken' : 'free',
      one.projectId,
    ],
    none: 'no new customers wait',
    idOf: ({ reviewId }) => reviewId,
    async read({ connection, options }, page) {
      const wanted = { reviewId: options['id'] ?? '', ...page }
      const listed = await connection.client(OnboardingService).listOnboardings(wanted)
      return { items: listed.onboardings, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'onboarding show',
    summary: 'Shows the profile of a new customer, with personal data.',
    operand: 'review id',
    part: 'accounts',
    isOfProject,
    schema: OnboardingSchema,
    async read({ connection }, reviewId) {
      return (await connection.client(OnboardingService).getOnboarding({ reviewId })).onboarding
    },
  }),
  listCommand({
    name: 'balance suspense',
    summary: 'Lists the money in suspense by payment, oldest first; at most 200.',
    part: 'accounts',
    isOfProject,
    options: { id: 'UUID of the transfer that an item shows' },
    schema: SuspenseItemSchema,
    headings: ['SINCE', 'AMOUNT', 'PAYMENT', 'REFERENCE', 'TRANSFER', 'PROJECT'],
    cells: (one) => [
      time(one.sinceTime),
      money(one.amount),
      one.paymentId || '-',
      one.reference,
      one.transferId,
      one.projectId,
    ],
    none: 'no money is in suspense',
    idOf: ({ transferId }) => transferId,
    async read({ connection, options }) {
      const wanted = { transferId: options['id'] ?? '' }
      const listed = await connection.client(BalanceService).listSuspenseItems(wanted)
      return { items: listed.items, nextPageToken: '' }
    },
  }),
  listCommand({
    name: 'balance open',
    example: 'balance open --account refunds_unpaid',
    summary:
      'Lists the balances of suspense by project and currency; with --account refunds_unpaid, refunds that are still to be paid. At most 200.',
    part: 'accounts',
    isOfProject,
    options: { account: 'suspense or refunds_unpaid (suspense)' },
    schema: ProjectBalanceSchema,
    headings: ['POSTED', 'HELD', 'PROJECT'],
    cells: (one) => [money(one.posted), money(one.held), one.projectId],
    none: 'no open balances',
    async read({ connection, options }) {
      const internal = valueOf(InternalAccount, options['account'] ?? 'suspense', 'account')
      const listed = await connection.client(BalanceService).listOpenBalances({ internal })
      return { items: listed.balances, nextPageToken: '' }
    },
  }),
  allApiLogCommand,
  listCommand({
    name: 'ledger refused',
    summary: 'Lists the settlements that the ledger refused, oldest first.',
    part: 'accounts',
    isOfProject,
    options: { id: 'UUID of a settlement' },
    schema: RefusedSettlementSchema,
    headings: ['FOUND', 'SETTLEMENT', 'PROJECT', 'REASON'],
    cells: (one) => [time(one.refuseTime), one.settlementId, one.projectId, one.reason],
    none: 'no settlement is refused',
    idOf: ({ settlementId }) => settlementId,
    async read({ connection, options }, page) {
      const wanted = { settlementId: options['id'] ?? '', ...page }
      const listed = await connection.client(SettlementPostingService).getBackfill(wanted)
      return { items: listed.refused, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'refund list',
    summary:
      'Lists refunds that the back end refused, or with --state sent those without an outcome, oldest first.',
    part: 'payments',
    isOfProject,
    options: { state: 'failed or sent (failed)', id: 'UUID of a refund' },
    schema: WaitingRefundSchema,
    headings: ['SINCE', 'REFUND', 'AMOUNT', 'PAYMENT', 'PROJECT'],
    cells: (one) => [
      time(one.endTime ?? one.createTime),
      one.refundId,
      money({
        $typeName: 'payweave.types.v1.Money',
        currency: one.currency,
        minorUnits: one.amountMinor,
      }),
      one.paymentId,
      one.projectId,
    ],
    none: 'no refunds wait',
    idOf: ({ refundId }) => refundId,
    async read({ connection, options }, page) {
      const state = valueOf(WaitingRefundState, options['state'] ?? 'failed', 'state')
      const operations = connection.client(PaymentOperationsService)
      const wanted = { state, refundId: options['id'] ?? '', ...page }
      const listed = await operations.listWaitingRefunds(wanted)
      return { items: listed.refunds, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'deliveries dead-letters',
    summary: 'Lists the pushes of all projects that were given up, oldest first.',
    part: 'delivery',
    isOfProject,
    options: { state: 'exhausted, blocked or gone', id: 'UUID of a push' },
    schema: DeliverySchema,
    headings: ['GIVEN UP', 'DELIVERY', 'KIND', 'STATE', 'RECEIVER', 'PROJECT'],
    cells: (one) => [
      time(one.endTime),
      one.deliveryId,
      wordOf(DeliveryKind, one.kind),
      wordOf(DeliveryState, one.state),
      one.origin,
      one.projectId,
    ],
    none: 'no pushes were given up',
    idOf: ({ deliveryId }) => deliveryId,
    async read({ connection, options }, page) {
      const state = valueOf(DeliveryState, options['state'], 'state')
      const deliveryId = options['id'] ?? ''
      const wanted = { state, deliveryId, oldestFirst: true, ...page }
      const listed = await connection.client(DeadLetterService).listDeadLetters(wanted)
      return { items: listed.deliveries, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'deliveries receivers',
    summary: 'Lists the lanes of all projects with their circuit breakers and waiting pushes.',
    part: 'delivery',
    isOfProject,
    options: { breaker: 'closed, open or half_open' },
    schema: EndpointSchema,
    headings: ['RECEIVER', 'KIND', 'BREAKER', 'LIMIT', 'PENDING', 'SENDING', 'PROJECT'],
    cells: (one) => [
      one.origin,
      wordOf(DeliveryKind, one.kind),
      wordOf(BreakerState, one.breaker),
      String(one.limitNow),
      String(one.pendingCount),
      String(one.sendingCount),
      one.projectId,
    ],
    none: 'no receivers',
    async read({ connection, options }, page) {
      const breaker = valueOf(BreakerState, options['breaker'], 'breaker')
      const endpoints = connection.client(EndpointService)
      const listed = await endpoints.listAllEndpoints({ breaker, ...page })
      return { items: listed.endpoints, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'claim list',
    summary: 'Lists who works on these items of the inbox.',
    part: 'accounts',
    isOfProject,
    options: {
      kind: 'onboarding, bill, refund, suspense, settlement or dead_letter',
      items: 'ids of the items, comma-separated',
    },
    schema: ItemClaimSchema,
    headings: ['SINCE', 'ITEM', 'KIND', 'HOLDER', 'TAKEN FROM'],
    cells: (one) => [
      time(one.claimTime),
      one.item?.itemId ?? '',
      wordOf(ItemKind, one.item?.kind ?? 0),
      one.holder,
      one.takenFrom,
    ],
    none: 'nobody works on them',
    async read({ connection, options }) {
      const kind = valueOf(ItemKind, options['kind'], 'kind')
      const ids = options['items']?.split(',') ?? []
      if (kind === 0 || ids.length === 0) throw new UsageError('pass --kind and --items')
      const items = ids.map((itemId) => ({ kind, itemId }))
      const { claims } = await connection.client(ItemClaimService).listItemClaims({ items })
      return { items: claims, nextPageToken: '' }
    },
  }),
]
