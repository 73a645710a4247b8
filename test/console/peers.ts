// The services that the console calls, with rows whose every text tries to be markup or a formula. Calls are kept with who made them.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { type AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { type BillingService, BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import { type DeliveryService, DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayJobState, type ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import {
  type InstitutionService,
  TransactionStatus,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { QuoteStatus, type QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { currentContext } from '#platform/rpc/context.ts'
import { samplePng } from '../support/files/png.ts'
import { apiLogPeer } from './api-log-peer.ts'
import { approvalPeers } from './approvals/peer.ts'
import { deliveryPeers } from './delivery-peers.ts'
import { auditPeers } from './peers/audit.ts'
import { eventPeers } from './peers/events.ts'
import { keyPeers } from './peers/keys.ts'
import { paymentsPeer } from './peers/payments.ts'
import { deliveryOf, newProject, type Project, pushOf, shown, triedOften } from './projects.ts'
import { evilTexts, type Many, type Texts, time } from './rows.ts'
import { staffPeers } from './staff-peers.ts'

/** One call that reached a service. */
export type SeenCall = { rpc: string; person: string | undefined; projectId: string | undefined }

export type Peers = ReturnType<typeof newPeers>

/** A subject whose pushes fill as many pages as are read. */
export const endlessSubject = 'endless'

/** Services of two projects, whose every text is one of `texts`: `demo` has rows, and so has `other`. */
export function newPeers(texts: Texts = evilTexts) {
  const projects = { demo: newProject('demo', texts), other: newProject('other', texts) }
  const pages = { areFull: false }
  const many: Many = (row, pageSize) =>
    Array.from({ length: pages.areFull ? pageSize || 50 : 1 }, () => row)
  const byId = new Map<string, Project>(Object.values(projects).map((one) => [one.projectId, one]))
  const calls: SeenCall[] = []
  const seen = (rpc: string) => {
    const caller = currentContext()?.caller
    calls.push({ rpc, person: caller?.person?.id, projectId: caller?.projectId })
  }
  const of = (projectId: string) => {
    const found = byId.get(projectId)
    if (found === undefined) throw new Failure('PROJECT_NOT_FOUND', 'no such project')
    return found
  }

  const approvals = approvalPeers(projects.demo, texts, many, seen)
  const { refunds } = approvals

  const institutionId = randomUUID()
  const institutionName = `${texts.name} Bank`
  /** An institution of the other environment with the same name; not shown at first. */
  const twin = { institutionId: randomUUID(), isShown: false }
  /** What was changed of a project's access and branding. */
  const changed = {
    granted: new Array<string>(),
    revoked: new Array<string>(),
    accountAccess: false,
    allowedIps: new Array<string>(),
    branding: {} as { logoPng?: Uint8Array },
    replayed: {},
  }

  /** Projects beyond the two, which know nothing. */
  const crowd: string[] = []

  const ofKeys = keyPeers(of, many, seen)
  const access: Partial<ServiceImpl<typeof AccessService>> = {
    getProject({ projectId }) {
      const { accountAccess, allowedIps } = changed
      return { project: { ...shown(of(projectId)), accountAccess, allowedIps } }
    },
    listProjects({ pageSize, pageToken, name }) {
      if (name !== '') {
        return {
          projects: Object.values(projects)
            .map(shown)
            .filter((one) => one.name === name),
        }
      }
      const all = [
        ...crowd.map((projectId) => ({ projectId, name: 'crowd' })),
        ...(pages.areFull ? many(shown(projects.demo), pageSize) : []),
        ...Object.values(projects).map(shown),
      ]
      // Fewer than a reader asks for.
      const next = Number(pageToken) + (pages.areFull ? pageSize || 50 : 10)
      const nextPageToken = next < all.length ? String(next) : ''
      return { projects: all.slice(Number(pageToken), next), nextPageToken }
    },
    listMerchants({ projectId }) {
      if (crowd.includes(projectId)) return {}
      const { payment, merchantName } = of(projectId)
      const { merchantId } = payment
      const first = { merchantId, projectId, businessName: merchantName }
      const other = { merchantId: second.merchantId, projectId, businessName: 'Second' }
      return {
        merchants: second.isShown
          ? [first, ...Array.from({ length: second.count }, () => other)]
          : [first],
      }
    },
    getMerchant({ projectId, merchantId }) {
      const { payment, merchantName, branding } = of(projectId)
      if (merchantId === second.unlistedId) {
        return { merchant: { merchantId, projectId, businessName: 'Unlisted' } }
      }
      if (merchantId !== payment.merchantId) throw new Failure('MERCHANT_NOT_FOUND', 'unknown')
      return { merchant: { merchantId, projectId, businessName: merchantName, branding } }
    },
    getMerchantLogo: ({ projectId }) => ({ logoPng: of(projectId) && samplePng() }),
    updateMerchant(wanted) {
      const { projectId, merchantId } = wanted
      seen('UpdateMerchant')
      if (wanted.websiteUrl.includes('@')) throw invalid('website_url', 'must name no user')
      Object.assign(changed, { branding: wanted })
      return { merchant: { merchantId, projectId: of(projectId).projectId } }
    },
    listGrants({ projectId }) {
      const grant = {
        institutionId,
        institutionName,
        endpoint: 'POST /institution/quote',
        grantTime: time,
      }
      return { grants: of(projectId) ? many(grant, 200) : [] }
    },
    listSigningKeys({ projectId }) {
      const named = { institutionId, institutionName, issueTime: time }
      const key = { ...named, keyId: '0a1b2c3d', isNewest: true }
      return { keys: of(projectId) ? many(key, 200) : [] }
    },
    rotateInstitutionKey() {
      seen('RotateInstitutionKey')
      return { key: { keyId: '4e5f6a7b', sharedKey: texts.id, signingSecret: 'shown-once' } }
    },
    listInstitutions({ institutionId: one, name, environment, pageSize }) {
      seen('ListInstitutions')
      const { SANDBOX, PRODUCTION, UNSPECIFIED } = Environment
      const own = many({ institutionId, environment: SANDBOX }, pageSize)
      const other = { institutionId: twin.institutionId, environment: PRODUCTION }
      const institutions = [...own, ...(twin.isShown ? [other] : [])]
        .map((each) => ({ ...each, name: institutionName }))
        .filter(
          (each) =>
            (one || each.institutionId) === each.institutionId &&
            (name || institutionName) === institutionName &&
            (environment === UNSPECIFIED || environment === each.environment),
        )
      return { institutions }
    },
    updateProjectAccess({ projectId, accountAccess, allowedIps, updateMask: { paths } = {} }) {
      seen('UpdateProjectAccess')
      if (paths?.includes('account_access') ?? true) changed.accountAccess = accountAccess
      if (paths?.includes('allowed_ips') ?? true) changed.allowedIps = allowedIps
      return { project: shown(of(projectId)) }
    },
    grantEndpoints({ projectId, endpoints }) {
      seen('GrantEndpoints')
      changed.granted.push(...endpoints)
      return of(projectId) && {}
    },
    revokeGrants({ projectId, endpoints }) {
      seen('RevokeGrants')
      changed.revoked.push(...endpoints)
      return of(projectId) && {}
    },
    ...ofKeys.access,
    ...auditPeers(seen, texts, many, institutionId).access,
  }
  const { payments, paymentSettlements, most, second } = paymentsPeer({
    of,
    seen,
    many,
    pages,
    crowd,
    refunds,
    texts,
  })
  /** How many changes a tail sends after its first ones, once a test says so, and how many of them a second. */
  const tail = { more: Promise.withResolvers<MoreChanges>() }
  const deliveries: Partial<ServiceImpl<typeof DeliveryService>> = {
    listDeliveries({ projectId, pageToken, state, subjectId, pageSize }) {
      seen('ListDeliveries')
      const { delivery } = of(projectId)
      if (subjectId === endlessSubject) {
        return { deliveries: Array.from({ length: 200 }, () => delivery), nextPageToken: 'more' }
      }
      if (state !== DeliveryState.UNSPECIFIED && state !== delivery.state) return {}
      const isFirst = pageToken === ''
      return { deliveries: many(delivery, pageSize), nextPageToken: isFirst ? 'second' : '' }
    },
    getDelivery({ projectId, deliveryId }) {
      seen('GetDelivery')
      const delivery = deliveryOf(of(projectId), deliveryId)
      return { delivery: pages.areFull ? triedOften(delivery, texts.body.repeat(66)) : delivery }
    },
    replayDelivery({ projectId, deliveryId }) {
      seen('ReplayDelivery')
      return { delivery: deliveryOf(of(projectId), deliveryId) }
    },
    cancelDelivery({ projectId, deliveryId }) {
      seen('CancelDelivery')
      return { delivery: deliveryOf(of(projectId), deliveryId) }
    },
    async *tailDeliveries({ projectId }) {
      seen('TailDeliveries')
      const { delivery } = of(projectId)
      const { deliveryId, kind, origin, attempts } = delivery
      const [attempt] = attempts
      if (attempt === undefined) throw new Error('a push that was tried')
      yield { event: { case: 'heartbeat' as const, value: {} } }
      const change = (number: number) => {
        const value = { deliveryId, projectId, kind, origin, attempt: { ...attempt, number } }
        return { event: { case: 'change' as const, value } }
      }
      for (let number = 1; number <= tailed; number += 1) yield change(number)
      const aborted = new Promise<MoreChanges>((resolve) =>
        currentContext()?.signal?.addEventListener('abort', () => resolve({ count: 0 })),
      )
      const { count, perS } = await Promise.race([aborted, tail.more.promise])
      for (let number = 1; number <= count; number += 1) {
        yield change(tailed + number)
        if (perS !== undefined && number % 10 === 0) await delay(10_000 / perS)
      }
      await aborted
    },
  }
  const jobAfter = (rpc: string) => (about: { projectId: string }) => {
    seen(rpc)
    return { job: of(about.projectId).job }
  }
  const replays: Partial<ServiceImpl<typeof ReplayService>> = {
    createReplayJob(wanted) {
      Object.assign(changed, { replayed: wanted.filter })
      return jobAfter('CreateReplayJob')(wanted)
    },
    getReplayJob({ projectId, jobId }) {
      seen('GetReplayJob')
      const { job } = of(projectId)
      if (job.jobId !== jobId) throw new Failure('REPLAY_NOT_FOUND', 'no such job')
      return { job }
    },
    listReplayJobs({ projectId, state, pageSize }) {
      const { job } = of(projectId)
      if (state !== ReplayJobState.UNSPECIFIED && state !== job.state) return {}
      return { jobs: many(job, pageSize) }
    },
    pauseReplayJob: jobAfter('PauseReplayJob'),
    resumeReplayJob: jobAfter('ResumeReplayJob'),
    cancelReplayJob: jobAfter('CancelReplayJob'),
  }
  const merchantDeliveries: Partial<ServiceImpl<typeof MerchantDeliveryService>> = {
    listPaymentPushes({ projectId }) {
      const push = pushOf(of(projectId), texts)
      return { deliveries: many(pages.areFull ? triedOften(push, '') : push, 30) }
    },
    getMerchantDelivery: ({ projectId }) => ({ delivery: pushOf(of(projectId), texts) }),
  }
  const lists = deliveryPeers({ projects, of, many, seen, texts })
  const apiLog = apiLogPeer(projects, many, seen)
  const ofDelivery = { apiLog, deliveries, merchantDeliveries, replays, ...lists }
  const billOf = (projectId: string, transactionId: string) => {
    const { bill } = of(projectId)
    if (bill.transactionId === transactionId) return bill
    throw new Failure('BILL_PAYMENT_NOT_FOUND', 'no such bill payment')
  }
  const bills: Partial<ServiceImpl<typeof BillingService>> = {
    listBillPayments({ projectId, state, pageToken, pageSize }) {
      seen('ListBillPayments')
      const { bill } = of(projectId)
      if (state !== BillPaymentState.UNSPECIFIED && state !== bill.state) return {}
      return { payments: many(bill, pageSize), nextPageToken: pageToken === '' ? 'second' : '' }
    },
    getBillPayment: ({ projectId, transactionId }) => ({
      payment: billOf(projectId, transactionId),
    }),
    printReceipt({ projectId, transactionId }) {
      seen('PrintReceipt')
      return { pdf: Buffer.from(`%PDF-${billOf(projectId, transactionId).receiptId}`) }
    },
  }
  const institution: Partial<ServiceImpl<typeof InstitutionService>> = {
    listProjectTransactions({ projectId, status, pageToken, pageSize }) {
      seen('ListProjectTransactions')
      const { transfer } = of(projectId)
      if (status !== TransactionStatus.UNSPECIFIED && status !== transfer.status) return {}
      const transactions = many(transfer, pageSize)
      return { transactions, nextPageToken: pageToken === '' ? 'second' : '' }
    },
    listWaitingTransactions: ({ pageSize }) => ({
      transactions: many(projects.demo.transfer, pageSize),
    }),
    resumeTransaction() {
      seen('ResumeTransaction')
      return {}
    },
    getTransaction({ projectId, movementId }) {
      const { transfer } = of(projectId)
      if (movementId === transfer.movementId) return { transaction: transfer }
      throw new Failure('TRANSACTION_NOT_FOUND', 'no such transaction')
    },
  }
  const quotes: Partial<ServiceImpl<typeof QuotesService>> = {
    listQuotes({ projectId, quoteId, status, pageToken, pageSize }) {
      seen('ListQuotes')
      if (crowd.includes(projectId)) return {}
      const { quote } = of(projectId)
      if (status !== QuoteStatus.UNSPECIFIED && status !== quote.status) return {}
      if (quoteId !== '') return { quotes: quoteId === quote.quoteId ? [quote] : [] }
      return { quotes: many(quote, pageSize), nextPageToken: pageToken === '' ? 'second' : '' }
    },
    listHeldQuotes: ({ pageSize }) => ({
      quotes: many(
        { quote: projects.demo.quote, movementId: randomUUID(), reserveTime: time },
        pageSize,
      ),
    }),
    getQuote({ projectId, quoteId, institutionName }) {
      const { quote } = of(projectId)
      if (quoteId === quote.quoteId && institutionName === quote.institutionName) return { quote }
      throw new Failure('QUOTE_NOT_FOUND', 'no such quote')
    },
  }
  const customerOf = (projectId: string, accountId: string) => {
    const { customer } = of(projectId)
    if (customer.accountId === accountId) return customer
    throw new Failure('ACCOUNT_NOT_FOUND', 'no account matches')
  }
  const masked = {
    nameMasked: texts.name,
    mobileNumberMasked: texts.number,
    emailMasked: texts.email,
    accountNumberMasked: texts.id,
    createTime: time,
  }
  const customers: Partial<ServiceImpl<typeof CustomerService>> = {
    listCustomers({ projectId, lookupType, pageToken, pageSize }) {
      seen('ListCustomers')
      const one = { ...of(projectId).customer, ...masked }
      if (lookupType !== LookupType.UNSPECIFIED) return { customers: [one] }
      return { customers: many(one, pageSize), nextPageToken: pageToken === '' ? randomUUID() : '' }
    },
    getCustomer: ({ projectId, accountId }) => ({
      customer: { ...customerOf(projectId, accountId), ...masked },
    }),
    getPersonalData({ projectId, accountId }) {
      seen('GetPersonalData')
      const names = { firstName: texts.name, lastName: texts.name, accountNumber: texts.id }
      const contacts = { mobileNumber: '+12025550101', email: texts.email }
      const money = { currency: 'USD', minorUnits: 12_300n }
      const account = { ...customerOf(projectId, accountId), ...names, ...contacts }
      return { account, posted: money, held: money }
    },
  }
  const handlers = {
    customers,
    access,
    payments,
    paymentSettlements,
    institution,
    quotes,
    bills,
    ...ofDelivery,
  }
  return {
    pages,
    projects,
    institutionId,
    institutionName,
    twin,
    changed,
    calls,
    crowd,
    most,
    second,
    tail,
    approvals,
    keys: ofKeys.keys,
    ...handlers,
    ...staffPeers(seen, texts, many),
    ...eventPeers(seen, texts, many),
    actions: auditPeers(seen, texts, many, institutionId).actions,
  }
}

type MoreChanges = { count: number; perS?: number }

/** Attempts that a tail shows at once. */
const tailed = 1_000
