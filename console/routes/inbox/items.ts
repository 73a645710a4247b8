// What waits for a person, from all services: where each kind comes from, and what may be done about it.
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { randomId } from '#core/identity/id.ts'
import type { SuspenseItem } from '#gen/payweave/accounts/v1/balances_pb.js'
import type { Onboarding } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { RefusedSettlement } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { ReviewItem } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { type Delivery, DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { type WaitingRefund, WaitingRefundState } from '#gen/payweave/payments/v1/operations_pb.js'
import type { Clients } from '../../clients.ts'
import { answered } from '../../http/answered.ts'
import type { Work } from '../../http/work.ts'
import { type Cell, code, type Field, type Form, row, text } from '../../pages/blocks.ts'
import { money, wordOf } from '../../pages/words.ts'
import { approvalsOf } from './approvals.ts'

/** Kinds of items, in the order of those of one age. */
export const agedKinds = [
  'onboarding',
  'bill',
  'refund',
  'suspense',
  'settlement',
  'dead_letter',
] as const

/** One of them. */
export type AgedKind = (typeof agedKinds)[number]

/** Something that waits for a person. */
export type InboxItem = {
  kind: AgedKind
  /** What a claim names it by. */
  id: string
  since: Timestamp | undefined
  projectId: string
  /** Its own name: an id that leads to it where it has a page. */
  name: Cell
  about: string
  amount: string
  decisions: Form[]
  /** Where a second person decides what somebody has requested; undefined: nothing is requested. */
  approvalPath?: string | undefined
}

/** A page of items of one kind, the oldest first. */
type ItemPage = { items: InboxItem[]; nextPageToken: string }
/** Where items of one kind are read. */
export type Source = { kind: AgedKind; read: (pageToken: string) => Promise<ItemPage> }

/** What lists the items of each kind. */
export const listRpcs = {
  onboarding: 'payweave.accounts.v1.OnboardingService/ListOnboardings',
  bill: 'payweave.billing.v1.CatalogueService/ListReviews',
  refund: 'payweave.payments.v1.PaymentOperationsService/ListWaitingRefunds',
  suspense: 'payweave.accounts.v1.BalanceService/ListSuspenseItems',
  settlement: 'payweave.accounts.v1.SettlementPostingService/GetBackfill',
  dead_letter: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
} as const satisfies Record<AgedKind, string>

/** Which items: of one kind or of all, the one of an id or all. */
export type ItemFilter = { kind?: AgedKind | undefined; id: string }

/** The sources that the reader may see, of the items of a filter. */
export function sourcesOf(
  { may }: Pick<Work, 'may'>,
  clients: Clients,
  { kind, id }: ItemFilter,
  pageSize: number,
): Source[] {
  const { onboardings, catalogue, paymentOperations, balances, settlements, deadLetters } = clients
  const mayOpen = may('payweave.accounts.v1.OnboardingService/GetOnboarding')
  const reads: Record<AgedKind, Source['read'] | undefined> = {
    onboarding: may(listRpcs.onboarding)
      ? async (pageToken) => {
          const page = await onboardings.listOnboardings({ reviewId: id, pageToken, pageSize })
          const items = page.onboardings.map((one) => ofOnboarding(one, mayOpen))
          return { items, nextPageToken: page.nextPageToken }
        }
      : undefined,
    bill: async (pageToken) => {
      const page = await catalogue.listReviews({ billPaymentId: id, pageToken, pageSize })
      return { items: page.items.map(ofBill), nextPageToken: page.nextPageToken }
    },
    refund: async (pageToken) => {
      const failed = { state: WaitingRefundState.FAILED, refundId: id, pageToken, pageSize }
      const page = await paymentOperations.listWaitingRefunds(failed)
      return { items: page.refunds.map(ofRefund), nextPageToken: page.nextPageToken }
    },
    suspense: async () => {
      const { items } = await balances.listSuspenseItems({ transferId: id })
      return { items: items.map(ofSuspense), nextPageToken: '' }
    },
    settlement: may(listRpcs.settlement)
      ? async (pageToken) => {
          const page = await settlements.getBackfill({ settlementId: id, pageToken, pageSize })
          return { items: page.refused.map(ofSettlement), nextPageToken: page.nextPageToken }
        }
      : undefined,
    dead_letter: async (pageToken) => {
      const wanted = { deliveryId: id, oldestFirst: true, pageToken, pageSize }
      const page = await deadLetters.listDeadLetters(wanted)
      return { items: page.deliveries.map(ofDeadLetter), nextPageToken: page.nextPageToken }
    },
  }
  return agedKinds.flatMap((one) => {
    const read = reads[one]
    if (read === undefined || (kind ?? one) !== one) return []
    return [{ kind: one, read: id === '' ? read : ofId(read, id) }]
  })
}

/** The one of an id, also while a service is upgraded whose old replicas ignore it. */
function ofId(read: Source['read'], id: string): Source['read'] {
  return async (pageToken) => {
    const page = await read(pageToken)
    return { items: page.items.filter((item) => item.id === id), nextPageToken: '' }
  }
}

function ofOnboarding(one: Onboarding, mayOpen: boolean): InboxItem {
  const path = `/inbox/onboardings/${one.reviewId}`
  return {
    kind: 'onboarding',
    id: one.reviewId,
    since: one.createTime,
    projectId: one.projectId,
    name: mayOpen ? row(one.reviewId, path) : code(one.reviewId),
    about: `${one.firstName} ${one.lastName}, ${one.mobileNumber}, at ${one.institutionName}: the number is ${one.numberTaken ? 'taken' : 'free'}`,
    amount: '',
    // Its page takes the decision.
    decisions: [],
  }
}

const decisions: Field[] = [
  {
    label: 'Decision',
    name: 'decision',
    type: 'select',
    isRequired: true,
    options: [
      { value: 'again', label: 'enquire again' },
      { value: 'paid', label: 'the biller has the money' },
      { value: 'failed', label: 'the biller does not have it' },
    ],
  },
  { label: 'Failure code, if it failed', name: 'failed_with', maxlength: 64 },
  { label: 'On what evidence', name: 'note', maxlength: 2_000, isRequired: true },
]

/** A source that ends early, with its kind among what is missing, while its service does not answer in time, or in `withinMs`. */
export function asFarAsAnswered(
  { kind, read }: Source,
  missing: string[],
  withinMs?: number,
): Source {
  const none = { items: [], nextPageToken: '' }
  return {
    kind,
    read: async (pageToken) =>
      (await answered(missing, `each ${kindWords[kind]}`, () => read(pageToken), withinMs)) ?? none,
  }
}

function ofBill({ payment, ...item }: ReviewItem): InboxItem {
  const { amount, transactionId = '', billerCode, productCode } = payment ?? {}
  const hidden = {
    project_id: item.projectId,
    transaction_id: transactionId,
    item_id: item.billPaymentId,
  }
  return {
    kind: 'bill',
    id: item.billPaymentId,
    since: item.sinceTime,
    projectId: item.projectId,
    name: code(
      transactionId,
      `/projects/${item.projectId}/bills/${encodeURIComponent(transactionId)}`,
    ),
    about: `${billerCode}/${productCode}, ${item.enquiries} enquiries, ${item.billPaymentId} at the back end`,
    amount: money(amount?.minorUnits ?? 0n, amount?.currency ?? ''),
    decisions: [
      {
        action: '/inbox/bills',
        button: 'Request',
        rpc: 'payweave.billing.v1.CatalogueService/ResolveReview',
        hidden,
        fields: decisions,
      },
    ],
    approvalPath: item.approvalId === '' ? undefined : approvalsOf(item.projectId, transactionId),
  }
}

function ofRefund(one: WaitingRefund): InboxItem {
  const settle: Form = {
    action: '/inbox/refunds',
    button: 'Paid by hand',
    rpc: 'payweave.payments.v1.PaymentOperationsService/SettleRefund',
    hidden: { refund_id: one.refundId },
    fields: [{ label: 'How', name: 'note', maxlength: 2_000, isRequired: true }],
  }
  return {
    kind: 'refund',
    id: one.refundId,
    since: one.createTime,
    projectId: one.projectId,
    name: code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
    about: `refund ${one.refundId}`,
    amount: money(one.amountMinor, one.currency),
    decisions: [settle],
  }
}

function ofSuspense(one: SuspenseItem): InboxItem {
  const { transferId, projectId, paymentId, reference } = one
  const ledger = `/ledger?project=${projectId}&id=${transferId}`
  return {
    kind: 'suspense',
    id: transferId,
    since: one.sinceTime,
    projectId,
    name:
      paymentId === ''
        ? code(transferId, ledger)
        : code(paymentId, `/projects/${projectId}/payments/${paymentId}`),
    about: `came for ${reference}, by transfer ${transferId}`,
    amount: money(one.amount?.minorUnits ?? 0n, one.amount?.currency ?? ''),
    // The contract leaves one decision: it goes back. A transfer without a payment was posted by a bearer, who reverses it.
    decisions:
      paymentId === ''
        ? []
        : [
            {
              action: '/inbox/suspense',
              button: 'Post its refund',
              rpc: 'payweave.accounts.v1.SettlementPostingService/PostPaymentSettlements',
              hidden: { payment_id: paymentId, item_id: transferId },
            },
          ],
  }
}

/** Posts a refused settlement once more. */
export function retryOf(settlementId: string): Form {
  return {
    action: '/ledger/settlements/retry',
    button: 'Retry',
    rpc: 'payweave.accounts.v1.SettlementPostingService/RetrySettlement',
    hidden: { settlement_id: settlementId },
  }
}

function ofSettlement(one: RefusedSettlement): InboxItem {
  return {
    kind: 'settlement',
    id: one.settlementId,
    since: one.refuseTime,
    projectId: one.projectId,
    name: code(one.settlementId, `/ledger?settlement=${one.settlementId}`),
    about: one.reason,
    amount: '',
    decisions: [retryOf(one.settlementId)],
  }
}

/** Sends a push that was given up once more. */
export function resendForm({ projectId, deliveryId }: Delivery): Form {
  return {
    action: '/dead-letters/resend',
    button: 'Resend',
    rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
    hidden: { project_id: projectId, delivery_id: deliveryId, request_id: randomId() },
  }
}

function ofDeadLetter(one: Delivery): InboxItem {
  const { deliveryId, projectId } = one
  return {
    kind: 'dead_letter',
    id: deliveryId,
    since: one.endTime,
    projectId,
    name: code(deliveryId, `/projects/${projectId}/pushes/${deliveryId}`),
    about: `${wordOf(DeliveryState, one.state)} after ${one.attemptCount} attempts: ${one.origin}`,
    amount: '',
    decisions: [resendForm(one)],
  }
}

/** What a kind is called. */
export const kindWords: Record<AgedKind, string> = {
  onboarding: 'new customer',
  bill: 'bill in review',
  refund: 'failed refund',
  suspense: 'amount in suspense',
  settlement: 'refused settlement',
  dead_letter: 'dead letter',
}

/** The text of a cell, for a file. */
export function nameOf({ name }: InboxItem): string {
  return 'text' in name ? name.text : ''
}

/** The project of an item, as a cell. */
export function projectCell({ projectId }: InboxItem): Cell {
  return projectId === '' ? text('') : code(projectId, `/projects/${projectId}`)
}
