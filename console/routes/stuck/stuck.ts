// Work that needs a manual retry: calls that the back end does not accept, charges, refunds and transfers whose outcome it has not
// reported, and quotes that stay held.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { type BackendTask, BackendTaskKind } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { type Transaction, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import {
  CallKind,
  type FailingCall,
  type ProcessingAttempt,
  type WaitingRefund,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import type { HeldQuote } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { PersonsRpc } from '#platform/rpc/auth/roles.ts'
import type { Clients } from '../../clients.ts'
import { answered, missingSection } from '../../http/answered.ts'
import type { May } from '../../http/shell.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import {
  amount,
  type Cell,
  chosenWord,
  code,
  count,
  type Form,
  moneyCell,
  type Notices,
  noticeOf,
  type RowForm,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { money, valueOf, wordOf } from '../../pages/words.ts'
import { quotePath } from '../institution/quotes.ts'
import { chained, formId, nextPageUrl, oneOf, rowsAt, sendCsv, withFilters } from '../list.ts'
import { csvHead, csvOf, type StuckKind, stuckKinds } from './csv.ts'

/** Rows of each of six sections. */
const pageSize = 7

type Options = { worker: Worker; clients: Clients }

/** Registers `/stuck`, its file and its retries. */
export function registerStuck(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/stuck',
    worker.page((work) => show(work, clients)),
  )
  app.get(
    '/stuck.csv',
    worker.page((work) => {
      const files = csvOf(clients)
      const lists = wantedKinds(work).map((kind) => files[kind])
      return sendCsv(work, 'stuck', csvHead, chained(lists))
    }, asFile),
  )
  app.post(
    '/stuck/calls',
    worker.page(async ({ reply, form }) => {
      await clients.paymentOperations.retryCall({
        subjectId: formId(form, 'subject_id'),
        kind: valueOf(CallKind, form.get('kind')) ?? CallKind.UNSPECIFIED,
      })
      return reply.redirect('/stuck?notice=retried', 303)
    }),
  )
  app.post(
    '/stuck/tasks',
    worker.page(async ({ reply, form }) => {
      await clients.backendTasks.retryBackendTask({
        subjectId: formId(form, 'subject_id'),
        kind: valueOf(BackendTaskKind, form.get('kind')) ?? BackendTaskKind.UNSPECIFIED,
      })
      return reply.redirect('/stuck?notice=retried', 303)
    }),
  )
  const asks = (path: string, ask: (form: URLSearchParams) => Promise<unknown>) =>
    app.post(
      path,
      worker.page(async ({ reply, form }) => {
        await ask(form)
        return reply.redirect('/stuck?notice=asked', 303)
      }),
    )
  asks('/stuck/attempts', (form) =>
    clients.paymentOperations.enquireAttempt({ attemptId: attemptIdOf(form) }),
  )
  asks('/stuck/refunds', (form) =>
    clients.paymentOperations.repeatRefund({ refundId: formId(form, 'refund_id') }),
  )
  asks('/stuck/transfers', (form) =>
    clients.institution.resumeTransaction({ movementId: formId(form, 'movement_id') }),
  )
}

const maxAttemptId = 64

/** The id of an attempt, which need not be a UUID. Throws INVALID_PARAMETER for a text that cannot be one. */
function attemptIdOf(form: URLSearchParams): string {
  const id = form.get('attempt_id') ?? ''
  if (id === '' || id.length > maxAttemptId) throw invalid('attempt_id', 'must be an id')
  return id
}

const notices: Notices = {
  retried: 'The call is made again now.',
  asked: 'It is asked again within seconds. What has an outcome leaves the list.',
}

const enquireRpc = 'payweave.payments.v1.PaymentOperationsService/EnquireAttempt'
const repeatRpc = 'payweave.payments.v1.PaymentOperationsService/RepeatRefund'
const resumeRpc = 'payweave.institution.v1.InstitutionService/ResumeTransaction'

/** The form of a section whose rows have the back end asked again; nothing where the reader may not. */
function asksBy(may: May, rpc: PersonsRpc, form: Omit<RowForm, 'button' | 'rpc'>) {
  const rowForm = may(rpc) ? { ...form, button: 'Ask again', rpc } : undefined
  const cellOf = (value: string): Cell =>
    rowForm === undefined ? text('support asks') : { sends: rowForm, value }
  return { rowForm, cellOf }
}

/** Reads from the query which lists to show. Throws INVALID_PARAMETER for an unknown kind. */
function wantedKinds({ query }: Work): readonly StuckKind[] {
  const wanted = oneOf(query, 'kind', stuckKinds)
  return wanted === undefined ? stuckKinds : [wanted]
}

async function show(work: Work, clients: Clients) {
  const { paymentOperations, backendTasks, institution, quotes } = clients
  const { request, reply, query, may } = work
  const page = (name: string) => ({ pageToken: query.get(name) ?? '', pageSize })
  const sent = { state: WaitingRefundState.SENT, ...page('page') }
  const missing: string[] = []
  const part =
    <T>(what: string, calls: () => Promise<T>, shown: (found: T) => Section) =>
    async (): Promise<Section[]> => {
      const found = await answered(missing, what, calls)
      return found === undefined ? [] : [shown(found)]
    }
  const paged = (section: Section, nextPageToken: string, name?: string) => ({
    ...section,
    ...nextPageUrl(request.url, nextPageToken, name),
  })
  const parts: Record<StuckKind, () => Promise<Section[]>> = {
    call: part(
      'calls to the back end',
      () => paymentOperations.listFailingCalls({}),
      ({ calls }) => callsSection(work, calls),
    ),
    task: part(
      'profiles and consents',
      () => backendTasks.listBackendTasks({}),
      ({ tasks }) => tasksSection(work, tasks),
    ),
    attempt: part(
      'payments that are processed',
      () => paymentOperations.listProcessingAttempts(page('attempts')),
      (found) => paged(attemptsSection(found.attempts, may), found.nextPageToken, 'attempts'),
    ),
    refund: part(
      'refunds',
      () => paymentOperations.listWaitingRefunds(sent),
      (found) => paged(refundsSection(found.refunds, may), found.nextPageToken),
    ),
    transfer: part(
      'transfers',
      () => institution.listWaitingTransactions(page('transfers')),
      (found) => paged(transfersSection(found.transactions, may), found.nextPageToken, 'transfers'),
    ),
    quote: part(
      'quotes',
      () => quotes.listHeldQuotes(page('quotes')),
      (found) => paged(quotesSection(found.quotes, may), found.nextPageToken, 'quotes'),
    ),
  }
  const sections = await Promise.all(wantedKinds(work).map((kind) => parts[kind]()))
  return sendSections(reply, {
    title: 'Stuck',
    notice: noticeOf(query, notices),
    sections: [
      ...missingSection(missing),
      {
        filters: {
          fields: [chosenWord('Kind', 'kind', stuckKinds, query)],
          links: [{ label: 'CSV', href: withFilters('/stuck.csv', request.url) }],
        },
      },
      ...sections.flat(),
    ],
  })
}

function retryForm({ subjectId, kind }: FailingCall): Form {
  return {
    action: '/stuck/calls',
    button: 'Retry now',
    rpc: 'payweave.payments.v1.PaymentOperationsService/RetryCall',
    hidden: { subject_id: subjectId, kind: (CallKind[kind] ?? '').toLowerCase() },
  }
}

/** Most calls and tasks that their services answer. */
const maxListed = 200

/** The note of a list that may have more than its service answers; its file ends there too. */
function cutOf(listed: unknown[]): string {
  return listed.length < maxListed ? '' : ` Here and in the CSV file are the oldest ${maxListed}.`
}

function callsSection({ request, query, may }: Work, calls: FailingCall[]): Section {
  const { rows, nextPageToken } = rowsAt(calls, query.get('calls'), pageSize)
  const mayRetry = may('payweave.payments.v1.PaymentOperationsService/RetryCall')
  return {
    heading: 'Calls to the back end',
    note: `These have failed at least three times. They are repeated for ever, at most a minute apart.${cutOf(calls)}`,
    table: {
      head: ['Due since', 'For', 'Payment', 'Attempts', 'Next', 'Retry'],
      empty: 'The back end takes every call.',
      rows: rows.map((one) => [
        { at: one.createTime },
        text(wordOf(CallKind, one.kind)),
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        count(one.attemptCount),
        { at: one.nextTime },
        mayRetry ? { forms: [retryForm(one)] } : text('operators retry'),
      ]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'calls'),
    rpc: [
      'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
      'payweave.payments.v1.PaymentOperationsService/RetryCall',
    ],
    commands: ['stuck list', 'stuck retry'],
  }
}

function tasksSection({ request, query, may }: Work, tasks: BackendTask[]): Section {
  const { rows, nextPageToken } = rowsAt(tasks, query.get('tasks'), pageSize)
  const mayRetry = may('payweave.accounts.v1.BackendTaskService/RetryBackendTask')
  return {
    heading: 'Profiles and consents',
    note: `The back end has not taken these for at least three times. They are repeated for ever, at most a minute apart.${cutOf(tasks)}`,
    table: {
      head: ['Due since', 'For', 'Review or challenge', 'Project', 'Attempts', 'Next', 'Retry'],
      empty: 'The back end takes every profile and every challenge.',
      rows: rows.map((one) => [
        { at: one.createTime },
        text(wordOf(BackendTaskKind, one.kind)),
        code(one.subjectId),
        code(one.projectId, `/projects/${one.projectId}`),
        count(one.attemptCount),
        { at: one.nextTime },
        mayRetry ? { forms: [taskForm(one)] } : text('operators retry'),
      ]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'tasks'),
    rpc: [
      'payweave.accounts.v1.BackendTaskService/ListBackendTasks',
      'payweave.accounts.v1.BackendTaskService/RetryBackendTask',
    ],
    commands: ['stuck list', 'stuck retry'],
  }
}

function taskForm({ subjectId, kind }: BackendTask): Form {
  return {
    action: '/stuck/tasks',
    button: 'Retry now',
    rpc: 'payweave.accounts.v1.BackendTaskService/RetryBackendTask',
    hidden: { subject_id: subjectId, kind: (BackendTaskKind[kind] ?? '').toLowerCase() },
  }
}

function refundsSection(refunds: WaitingRefund[], may: May): Section {
  const form = { id: 'ask-refund', action: '/stuck/refunds', name: 'refund_id' }
  const { rowForm, cellOf } = asksBy(may, repeatRpc, form)
  return {
    heading: 'Refunds without an outcome',
    note: 'The back end has accepted these and not reported on them. To ask again repeats the call, which refunds nothing twice. After three days ask the provider by the id of the refund.',
    rowForm,
    table: {
      head: ['Began', 'Payment', 'Refund', 'Amount', 'Ask'],
      empty: 'Every refund has an outcome.',
      rows: refunds.map((one) => [
        { at: one.createTime },
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        code(one.refundId),
        amount(money(one.amountMinor, one.currency)),
        cellOf(one.refundId),
      ]),
    },
    rpc: ['payweave.payments.v1.PaymentOperationsService/ListWaitingRefunds', repeatRpc],
    commands: ['refund list --state sent', 'stuck ask sent_refund'],
  }
}

function attemptsSection(attempts: ProcessingAttempt[], may: May): Section {
  const form = { id: 'ask-attempt', action: '/stuck/attempts', name: 'attempt_id' }
  const { rowForm, cellOf } = asksBy(may, enquireRpc, form)
  return {
    heading: 'Payments that are processed for too long',
    note: 'The back end has had these attempts of payers for ten minutes and has not reported an outcome. It is asked for each again and again, at most five minutes apart.',
    rowForm,
    table: {
      head: ['Began', 'Payment', 'Attempt', 'Enquiries', 'Next', 'Ask'],
      empty: 'No payment is processed for more than ten minutes.',
      rows: attempts.map((one) => [
        { at: one.createTime },
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        code(one.attemptId),
        count(one.enquiryCount),
        { at: one.nextEnquiryTime },
        cellOf(one.attemptId),
      ]),
    },
    rpc: ['payweave.payments.v1.PaymentOperationsService/ListProcessingAttempts', enquireRpc],
    commands: ['stuck list', 'stuck ask attempt'],
  }
}

function transfersSection(transfers: Transaction[], may: May): Section {
  const form = { id: 'ask-transfer', action: '/stuck/transfers', name: 'movement_id' }
  const { rowForm, cellOf } = asksBy(may, resumeRpc, form)
  return {
    heading: 'Transfers without a decision',
    note: 'Institutions have not decided on these for ten minutes.',
    rowForm,
    table: {
      head: ['Created', 'Transfer', 'Type', 'Amount', 'Institution', 'Ask'],
      empty: 'No transfer waits for more than ten minutes.',
      rows: transfers.map((one) => [
        { at: one.createTime },
        code(one.transactionId, `/projects/${one.projectId}/transfers/${one.movementId}`),
        text(wordOf(TransactionType, one.type)),
        moneyCell(one.amount),
        text(one.institutionName),
        cellOf(one.movementId),
      ]),
    },
    rpc: ['payweave.institution.v1.InstitutionService/ListWaitingTransactions', resumeRpc],
    commands: ['stuck list', 'stuck ask transfer'],
  }
}

function quotesSection(held: HeldQuote[], may: May): Section {
  const form = { id: 'ask-quote', action: '/stuck/transfers', name: 'movement_id' }
  const { rowForm, cellOf } = asksBy(may, resumeRpc, form)
  return {
    heading: 'Held quotes',
    note: 'A movement has reserved these quotes ten minutes ago or earlier and neither used nor released them. To ask again has the institution service finish the movement.',
    rowForm,
    table: {
      head: ['Since', 'Quote', 'Amount', 'Quoted', 'Institution', 'Movement', 'Ask'],
      empty: 'No quote is held for more than ten minutes.',
      rows: held.map(({ quote, movementId, reserveTime }) => [
        { at: reserveTime },
        quote === undefined ? text('') : code(quote.quoteId, quotePath(quote)),
        moneyCell(quote?.requested),
        moneyCell(quote?.quoted),
        text(quote?.institutionName ?? ''),
        code(movementId, `/projects/${quote?.projectId ?? ''}/transfers/${movementId}`),
        cellOf(movementId),
      ]),
    },
    rpc: ['payweave.quotes.v1.QuotesService/ListHeldQuotes', resumeRpc],
    commands: ['stuck list', 'stuck ask transfer'],
  }
}
