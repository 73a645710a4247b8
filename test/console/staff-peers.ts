// The services that pages of the staff call: ledger, settlements, catalogue and reviews.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import {
  type Item,
  type ItemClaimService,
  ItemKind,
} from '#gen/payweave/accounts/v1/item_claim_pb.js'
import {
  HoldState,
  InternalAccount,
  type LedgerService,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import { AccountStatus, OnboardingStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import {
  BackendTaskKind,
  type BackendTaskService,
  type OnboardingService,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { CallKind, type PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { RouteKind, type RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { currentContext } from '#platform/rpc/context.ts'
import { auditPeers } from './peers/audit.ts'
import { type Many, type Texts, time } from './rows.ts'

const usd = (minorUnits: bigint) => ({ currency: 'USD', minorUnits })

/** A PNG of one pixel. */
export const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)

/** What the staff sees. `seen` is called with each RPC that reaches a service. */
export function staffPeers(seen: (rpc: string) => void, texts: Texts, many: Many) {
  const staff = {
    projectId: randomUUID(),
    transferId: randomUUID(),
    holdId: randomUUID(),
    /** A refused settlement that the ledger takes now. */
    postableId: randomUUID(),
    billId: `bill-${texts.id}`,
    billPaymentId: randomUUID(),
    refundId: randomUUID(),
    refusedId: randomUUID(),
    suspenseId: randomUUID(),
    reviewId: randomUUID(),
    otherReviewId: randomUUID(),
    pictureId: randomUUID(),
    paperId: randomUUID(),
    oddId: randomUUID(),
    /** Of the request for a decision on the bill that waits for a second person; empty: none does. */
    billApprovalId: '',
  }
  const details = { reference: texts.id, description: texts.note, method: 'p2p' }
  const transferOf = (projectId: string, transferId: string) => {
    const float = { holder: { case: 'floatProjectId' as const, value: projectId } }
    const clearing = {
      holder: { case: 'internal' as const, value: InternalAccount.BILLER_CLEARING },
    }
    const postings = [
      { address: float, amount: usd(-1_234n) },
      { address: clearing, amount: usd(1_234n) },
    ]
    return { transferId, projectId, postings, details, postTime: time }
  }
  const ledger: Partial<ServiceImpl<typeof LedgerService>> = {
    getTransfer({ projectId, transferId }) {
      seen('GetTransfer')
      if (transferId !== staff.transferId) throw new Failure('TRANSFER_NOT_FOUND', 'unknown')
      return { transfer: transferOf(projectId, transferId) }
    },
    listTransfers({ projectId, account, pageToken, pageSize }) {
      seen('ListTransfers')
      if (account.case !== undefined) return { nextPageToken: pageToken === '' ? 'second' : '' }
      const transfers = many(transferOf(projectId, randomUUID()), pageSize)
      return { transfers, nextPageToken: pageToken === '' ? 'second' : '' }
    },
    getHold({ projectId, holdId }) {
      seen('GetHold')
      if (holdId !== staff.holdId) throw new Failure('HOLD_NOT_FOUND', 'unknown')
      return { hold: { holdId, projectId, amount: usd(5n), state: HoldState.OPEN, details } }
    },
    getLastLedgerCheck() {
      const findings = [{ rule: 'L1', description: texts.note }]
      return { findings, transfersChecked: 3n, checkTime: time, uncheckedRules: ['L5'] }
    },
    checkLedger() {
      seen('CheckLedger')
      return { findings: [{ rule: 'L1', description: texts.note }], transfersChecked: 3n }
    },
  }
  const settlements: Partial<ServiceImpl<typeof SettlementPostingService>> = {
    getBackfill({ settlementId, pageToken, pageSize }) {
      const { projectId, refusedId } = staff
      if ((settlementId || refusedId) !== refusedId) return {}
      const ids = { settlementId: refusedId, projectId }
      const refused = many({ ...ids, reason: texts.note, refuseTime: time }, pageSize)
      const isFirst = pageToken === '' && refused.length > 1
      return { backfill: { round: 1n }, refused, nextPageToken: isFirst ? 'second' : '' }
    },
    restartBackfill() {
      seen('RestartBackfill')
      return {}
    },
    retrySettlement({ settlementId }) {
      seen('RetrySettlement')
      if (settlementId === staff.postableId) return {}
      return { refused: { settlementId, projectId: staff.projectId, reason: texts.note } }
    },
    postPaymentSettlements() {
      seen('PostPaymentSettlements')
      return { postedCount: 1 }
    },
  }
  const catalogue: Partial<ServiceImpl<typeof CatalogueService>> = {
    listCatalogue() {
      const ranges = [{ min: usd(100n), max: usd(500_000n) }]
      const named = { billerCode: 'POWER', name: texts.name, active: true }
      const product = { ...named, productCode: 'HOME', referencePattern: texts.pattern, ranges }
      // As many as a catalogue may have.
      return { billers: many(named, 200), products: many(product, 200) }
    },
    putBiller() {
      seen('PutBiller')
      return {}
    },
    putProduct() {
      seen('PutProduct')
      return {}
    },
    ...auditPeers(seen, texts, many, staff.projectId).catalogue,
    listReviews({ billPaymentId, pageSize }) {
      if ((billPaymentId || staff.billPaymentId) !== staff.billPaymentId) return {}
      const payment = {
        transactionId: staff.billId,
        billerCode: 'POWER',
        productCode: 'HOME',
        amount: usd(9_900n),
      }
      const item = {
        payment,
        projectId: staff.projectId,
        billPaymentId: staff.billPaymentId,
        approvalId: staff.billApprovalId,
      }
      return { items: many({ ...item, enquiries: 8, sinceTime: time }, pageSize) }
    },
    resolveReview() {
      seen('ResolveReview')
      return {}
    },
  }
  const paymentOperations: Partial<ServiceImpl<typeof PaymentOperationsService>> = {
    listWaitingRefunds({ refundId: one, pageSize }) {
      const { projectId, refundId } = staff
      if ((one || refundId) !== refundId) return {}
      const ids = { refundId, paymentId: randomUUID(), projectId }
      const refund = { ...ids, amountMinor: 700n, currency: 'USD', createTime: time }
      return { refunds: many(refund, pageSize) }
    },
    settleRefund() {
      seen('SettleRefund')
      return { settleTime: time }
    },
    listFailingCalls() {
      const ids = { subjectId: randomUUID(), paymentId: randomUUID(), projectId: staff.projectId }
      const times = { createTime: time, nextTime: time }
      // As many as the service lists at most.
      return { calls: many({ ...ids, ...times, kind: CallKind.PAYOUT, attemptCount: 9 }, 200) }
    },
    listProcessingAttempts({ pageSize }) {
      const ids = { payerId: randomUUID(), paymentId: randomUUID(), projectId: staff.projectId }
      const attempt = { ...ids, attemptId: texts.id, enquiryCount: 12 }
      return { attempts: many({ ...attempt, createTime: time, nextEnquiryTime: time }, pageSize) }
    },
    retryCall() {
      seen('RetryCall')
      return {}
    },
    enquireAttempt() {
      seen('EnquireAttempt')
      return {}
    },
    repeatRefund() {
      seen('RepeatRefund')
      return {}
    },
  }
  const backendTasks: Partial<ServiceImpl<typeof BackendTaskService>> = {
    listBackendTasks() {
      const task = { subjectId: randomUUID(), projectId: staff.projectId, attemptCount: 9 }
      const kind = BackendTaskKind.SUBMIT_ONBOARDING
      // As many as the service lists at most.
      return { tasks: many({ ...task, kind, createTime: time, nextTime: time }, 200) }
    },
    retryBackendTask() {
      seen('RetryBackendTask')
      return {}
    },
  }
  const routing: Partial<ServiceImpl<typeof RoutingService>> = {
    listRoutes() {
      const key = { kind: RouteKind.CHARGE, projectId: staff.projectId, currency: 'USD' }
      const choice = { connector: 'connector-card', fallbackConnector: 'simulator' }
      const route = { key, ...choice, changedBy: texts.person, updateTime: time }
      const connectors = ['simulator', 'connector-card']
      // As many as the service lists at most.
      return { routes: many(route, 1_000), connectors, defaultConnector: 'simulator' }
    },
    listRouteChanges() {
      const change = { changeTime: time, caller: texts.person, requestId: randomUUID() }
      return { changes: many({ ...change, key: { kind: RouteKind.PAYOUT } }, 200) }
    },
    putRoute() {
      seen('PutRoute')
      return {}
    },
    deleteRoute() {
      seen('DeleteRoute')
      return {}
    },
  }
  const balances: Partial<ServiceImpl<typeof BalanceService>> = {
    listProjectBalances({ projectId }) {
      const float = { projectId, posted: usd(10_000n), held: usd(99n) }
      return { balances: [float, { ...float, internal: InternalAccount.HELD }] }
    },
    listOpenBalances({ internal }) {
      const balance = { projectId: staff.projectId, internal, posted: usd(300n) }
      // As many as the service lists at most.
      return { balances: many(balance, 200) }
    },
    listSuspenseItems({ transferId }) {
      const { suspenseId, projectId } = staff
      if ((transferId || suspenseId) !== suspenseId) return {}
      // The one of this id is not among those that the service lists at most.
      const ids = { transferId: transferId || randomUUID(), projectId, paymentId: randomUUID() }
      const item = { ...ids, reference: texts.id, amount: usd(300n), sinceTime: time }
      return { items: many(item, transferId === '' ? 200 : 1) }
    },
    listFloatPostings({ pageToken, pageSize }) {
      const posting = { transferId: randomUUID(), amount: usd(-1_234n), details, cleared: true }
      const postings = many({ ...posting, time }, pageSize)
      return { postings, nextPageToken: pageToken === '' ? 'second' : '' }
    },
  }
  const onboarding = {
    reviewId: staff.reviewId,
    projectId: staff.projectId,
    institutionName: texts.name,
    firstName: texts.name,
    lastName: texts.name,
    email: texts.person,
    mobileNumber: texts.number,
    createTime: time,
    numberTaken: true,
  }
  const artefact = { field: texts.id, sizeBytes: BigInt(picture.length) }
  const artefacts = [
    { ...artefact, artefactId: staff.pictureId, mediaType: 'image/png' },
    { ...artefact, artefactId: staff.paperId, mediaType: 'application/pdf' },
    { ...artefact, artefactId: staff.oddId, mediaType: 'text/html' },
  ]
  const duplicate = {
    accountId: randomUUID(),
    firstName: texts.name,
    lastName: texts.name,
    email: 'other@example.com',
    mobileNumber: texts.number,
    createTime: time,
  }
  const duplicates = [
    { ...duplicate, status: AccountStatus.AVAILABLE, accountNumber: texts.id },
    { ...duplicate, status: AccountStatus.PENDING_REVIEW, reviewId: staff.otherReviewId },
  ]
  const openReview = (reviewId: string) => {
    if (reviewId !== staff.reviewId) throw new Failure('REVIEW_NOT_FOUND', 'unknown')
  }
  const onboardings: Partial<ServiceImpl<typeof OnboardingService>> = {
    listOnboardings: ({ reviewId, pageSize }) =>
      (reviewId || staff.reviewId) === staff.reviewId
        ? { onboardings: many(onboarding, pageSize) }
        : {},
    getOnboarding({ reviewId }) {
      openReview(reviewId)
      const details = { occupation: texts.note }
      return { onboarding: { ...onboarding, details, artefacts, duplicates } }
    },
    decideOnboarding({ reviewId, outcome }) {
      openReview(reviewId)
      seen('DecideOnboarding')
      const isAccepted = outcome.case === 'completed'
      return { status: isAccepted ? OnboardingStatus.COMPLETED : OnboardingStatus.REJECTED }
    },
    async *readOnboardingArtefact({ reviewId }) {
      openReview(reviewId)
      seen('ReadOnboardingArtefact')
      yield { chunk: picture.subarray(0, 10) }
      yield { chunk: picture.subarray(10) }
    },
  }
  /** Who has which kind of item; every other item is the reader's own. */
  const holders = new Map([[ItemKind.SUSPENSE, texts.person]])
  const claimOf = (item: Item) => {
    const own = `console:${currentContext()?.caller?.person?.id}`
    return { item, holder: holders.get(item.kind) ?? own, claimTime: time }
  }
  const claims: Partial<ServiceImpl<typeof ItemClaimService>> = {
    claimItem({ item, takeOverFrom }) {
      seen('ClaimItem')
      const holder = item === undefined ? undefined : holders.get(item.kind)
      if (item === undefined || (holder || takeOverFrom) !== takeOverFrom) {
        throw new Failure('ITEM_CLAIMED', `${holder} works on this item`)
      }
      return { claim: claimOf(item) }
    },
    releaseItem() {
      seen('ReleaseItem')
      return {}
    },
    listItemClaims: ({ items }) => ({
      claims: items.map(claimOf).filter(({ holder }) => holder !== ''),
    }),
  }
  return {
    staff,
    holders,
    claims,
    onboardings,
    ledger,
    settlements,
    catalogue,
    backendTasks,
    paymentOperations,
    routing,
    balances,
  }
}
